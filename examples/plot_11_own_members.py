"""
Pooling your own classifiers
============================

`LogLinearPool` joins any scikit-learn classifiers: it multiplies their probabilities, each raised
to a weight that is learnt from rows the member has not seen. Members that say the same share a
weight, and a bad one gets little.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from priorwise import LogLinearPool, SplineLogisticClassifier
from priorwise.datasets import make_waveform
from priorwise.evaluation import cross_entropy

X, y = make_waveform(900, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.6, random_state=0)
members = [
    ("Gaussian", GaussianNB()),
    ("neighbours", KNeighborsClassifier(8)),
    ("extra trees", ExtraTreesClassifier(40)),
    ("splines", SplineLogisticClassifier()),
]
pool = LogLinearPool(members, random_state=0).fit(X_train, y_train)
print(pool.score_report())

# %%
# Scores on new rows, and the weights. Frequencies of neighbours are often exactly zero, which the
# log-loss punishes; the pool takes none below 0.001.

scores = {
    name: cross_entropy(y_test, member.predict_proba(X_test))
    for name, member in pool.estimators_.items()
}
scores["pool"] = cross_entropy(y_test, pool.predict_proba(X_test))
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
finite = {name: min(score, 1.0) for name, score in scores.items()}
bars = left.barh(list(finite), list(finite.values()), color=["C0"] * 4 + ["black"])
labels = [f"{score:.3f}" for score in scores.values()]
left.bar_label(bars, labels, padding=3)
left.set(xlabel="log-loss on new rows (inf: a probability of zero)", xlim=(0, 1.2))
right.barh(list(pool.pool_weights_), list(pool.pool_weights_.values()), color="C1")
right.set(xlabel="weight in the pool")
for axis in (left, right):
    axis.invert_yaxis()
    axis.spines[["top", "right"]].set_visible(False)
