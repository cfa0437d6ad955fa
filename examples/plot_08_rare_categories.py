"""
Rare categories
===============

Postal codes, suppliers, diagnoses: a column with many labels, most of them rare, and new ones
every day. The classifiers take such a column as it is. A rare label counts as much as its rows are
worth, and an unknown one falls back on what is known without it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from priorwise import TANClassifier
from priorwise.evaluation import cross_entropy

rng = np.random.default_rng(0)
n_rows, n_suppliers = 6000, 500
quality = rng.beta(0.8, 2.0, n_suppliers)  # the share of faulty parts of each supplier
supplier = (rng.zipf(1.5, n_rows) - 1) % n_suppliers
part = rng.choice(["bolt", "nut", "gear", "belt"], n_rows)
risk = np.clip(quality[supplier] + 0.15 * (part == "belt"), 0, 1)
faulty = rng.random(n_rows) < risk
X = pd.DataFrame({"supplier": [f"S{code}" for code in supplier], "part": part})
train, test = slice(0, 3000), slice(3000, None)

# %%
# A network with two smoothers, and a forest on one-hot columns.

models = {
    "TAN, smoothed by HDP": TANClassifier(),
    "TAN, Laplace": TANClassifier("laplace"),
    "forest, one-hot": make_pipeline(
        OneHotEncoder(handle_unknown="ignore"),
        RandomForestClassifier(50, random_state=0),
    ),
}
seen = X["supplier"][train].value_counts()
support = X["supplier"][test].map(seen).fillna(0).to_numpy()
groups = {"0": (0, 0), "1": (1, 1), "2-5": (2, 5), "6-50": (6, 50), "above": (51, 10**9)}
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
for name, model in models.items():
    proba = model.fit(X[train], faulty[train]).predict_proba(X[test])
    print(f"{name}: log-loss {cross_entropy(faulty[test], proba):.3f}")
    error = np.abs(proba[:, 1] - risk[test])
    means = [error[(low <= support) & (support <= high)].mean() for low, high in groups.values()]
    axis.plot(list(groups), means, "o-", label=name)
axis.set(xlabel="rows of the supplier in training", ylabel="mean error of the probability")
axis.set_title("What a supplier of few rows is worth")
axis.set_ylim(0, None)
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
