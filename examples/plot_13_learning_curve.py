"""
A learning curve
================

Naive Bayes is soon as good as it gets; models that can say more need more rows, and smoothing
decides how many. The true probabilities of this problem are known, so that the error can be
measured exactly: digits on a faulty display, with some segments that mean nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from priorwise import KDBClassifier, NaiveBayesClassifier
from priorwise.datasets import led_posterior, make_led

X_test, _ = make_led(1000, n_irrelevant=6, random_state=1)
truth = led_posterior(X_test)
sizes = [50, 100, 200, 400, 800, 1600, 3200]
models = {
    "naive Bayes": lambda: NaiveBayesClassifier(),
    "kDB, 3 parents, HDP": lambda: KDBClassifier(3),
    "kDB, 3 parents, Laplace": lambda: KDBClassifier(3, smoothing="laplace"),
    "random forest": lambda: RandomForestClassifier(50, random_state=0, n_jobs=1),
}

# %%
# Segments of a digit are independent, so that naive Bayes is right here, and the question is what
# the others pay for arcs that are not needed.

figure, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
for name, make_model in models.items():
    errors = []
    for size in sizes:
        X, y = make_led(size, n_irrelevant=6, random_state=0)
        proba = make_model().fit(X, y).predict_proba(X_test)
        errors.append(np.sqrt(((proba - truth) ** 2).mean()))
    axis.plot(sizes, errors, "o-", label=name)
axis.set(xscale="log", xlabel="rows learnt from", ylabel="RMSE to the true probabilities")
axis.set_xticks(sizes, [f"{size:,}" for size in sizes])
axis.minorticks_off()
axis.set_ylim(0, None)
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)
