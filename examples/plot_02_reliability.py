"""
Reliability before and after smoothing
======================================

Of the rows to which a model gives 80 %, eight in ten should belong to the class. A tree that
answers with the frequencies of its leaves is far from that: leaves are grown until they are nearly
pure. The same tree, smoothed, says what it knows.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from priorwise import ProbabilityTreeClassifier
from priorwise.evaluation import cross_entropy, plot_reliability, reliability_curve, rmse

X, y = make_classification(3000, n_informative=4, flip_y=0.2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Two trees that differ in nothing but `smoothing`.

grown = {"criterion": "gain", "soft_thresholds": None, "min_samples_leaf": 1, "random_state": 0}
trees = {
    "frequencies of the leaves": ProbabilityTreeClassifier("mle", **grown),
    "smoothed along the path": ProbabilityTreeClassifier("best", **grown),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained", sharey=True)
for axis, (label, tree) in zip(axes, trees.items(), strict=True):
    proba = tree.fit(X_train, y_train).predict_proba(X_test)
    plot_reliability(reliability_curve(y_test, proba[:, 1]), ax=axis)
    scores = f"RMSE {rmse(y_test, proba):.3f}, log-loss {cross_entropy(y_test, proba):.2f}"
    axis.set_title(f"{label}\n{scores}")

# %%
# The band is where the curve of calibrated predictions lies in nine cases of ten.
