"""
Costs and thresholds
====================

Missing an illness costs more than a needless second look. With costs, the best decision follows
from the probabilities: `predict` takes a cost matrix and answers with the class of the least
expected cost. No threshold has to be tuned.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from priorwise import PriorwiseClassifier

X, y = make_classification(1600, weights=[0.8], n_informative=5, flip_y=0.1, random_state=3)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.6, random_state=0)
model = PriorwiseClassifier("fast", random_state=0).fit(X_train, y_train)
proba = model.predict_proba(X_test)[:, 1]

# %%
# `cost[i][j]` is the cost of answering j where i is true: a missed case costs ten needless
# alarms.

cost = np.array([[0, 1], [10, 0]])
answers = model.predict(X_test, cost)
print("mean cost by expected costs:", cost[y_test, answers].mean().round(3))
print("mean cost of the most probable class:", cost[y_test, model.predict(X_test)].mean().round(3))

# %%
# The mean cost at every threshold, for three ratios of costs. The dot is the threshold that the
# expected costs lead to, 1 / (1 + ratio): it is near the best of all thresholds.

thresholds = np.linspace(0.01, 0.99, 99)
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
for ratio in (1, 3, 10):
    missed = (proba[:, None] < thresholds) & (y_test == 1)[:, None]
    alarm = (proba[:, None] >= thresholds) & (y_test == 0)[:, None]
    mean_cost = (ratio * missed + alarm).mean(axis=0)
    (line,) = axis.plot(thresholds, mean_cost, label=f"a missed case costs {ratio}")
    best = 1 / (1 + ratio)
    axis.plot(best, np.interp(best, thresholds, mean_cost), "o", color=line.get_color())
axis.set(xlabel="threshold on the probability", ylabel="mean cost", ylim=(0, None))
axis.set_title("The threshold follows from the costs")
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
