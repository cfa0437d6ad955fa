"""
A network drawn and read
========================

A Bayesian network classifier can be read: which features depend on which, and what the table of
each says. Here a tree-augmented naive Bayes learns to tell three kinds of wine apart.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from priorwise import TANClassifier
from priorwise.explain import plot_network

data = load_wine(as_frame=True)
names = ["alcohol", "malic_acid", "ash", "magnesium", "flavanoids", "color_intensity", "hue"]
X = data.data[[*names, "proline"]]
y = data.target_names[data.target]
model = TANClassifier().fit(X, y)

# %%
# Each feature depends on the class and on at most one other feature.

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
plot_network(model, ax=axis)
axis.set_title("What tree-augmented naive Bayes learnt from 178 wines")

# %%
# The table of one feature: p(bin of flavanoids | class, parent), with the rows behind each line.
# Numbers were cut into bins where the classes change.

model.conditional_table("flavanoids")
