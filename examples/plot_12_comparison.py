"""
Comparing models with tests
===========================

Is one model better, or was it lucky? `cross_validate` runs models on many data sets, and tests say
which differences are more than chance.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    load_wine,
    make_circles,
    make_hastie_10_2,
    make_moons,
)

from priorwise import (
    NaiveBayesClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    TANClassifier,
)
from priorwise.datasets import make_led, make_waveform
from priorwise.evaluation import (
    bergmann_hommel,
    cross_validate,
    friedman_test,
    plot_critical_difference,
    win_draw_loss,
)

datasets = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    "circles": make_circles(400, noise=0.2, factor=0.5, random_state=0),
    "hastie": make_hastie_10_2(600, random_state=0),
    "iris": load_iris(return_X_y=True),
    "led": make_led(400, random_state=0),
    "led, 24 features": make_led(400, n_irrelevant=17, random_state=0),
    "moons": make_moons(400, noise=0.3, random_state=0),
    "waveform": make_waveform(400, random_state=0),
    "wine": load_wine(return_X_y=True),
}
models = {
    "tree, frequencies": ProbabilityTreeClassifier("mle", criterion="gain", soft_thresholds=None),
    "tree, smoothed": ProbabilityTreeClassifier("m-branch", criterion="gain"),
    "naive Bayes": NaiveBayesClassifier(),
    "TAN": TANClassifier(),
    "forest": ProbabilityForestClassifier(30, splitter="random", random_state=0),
}
results = cross_validate(models, datasets, protocol="1x2", scores=["rmse"], progress=False)
names, table = results.score_table("rmse")
pd.DataFrame(table, index=names).round(3)

# %%
# Wins, draws and losses of one pair; then all at once: Friedman's test, and pairs by Bergmann and
# Hommel.

print(win_draw_loss(table["forest"], table["tree, frequencies"]))
print(f"Friedman's test: p = {friedman_test(table).p_value:.3f}")
for pair in bergmann_hommel(table)[:3]:
    print(" and ".join(pair.pair), f"p = {pair.adjusted_p_value:.3f}")

# %%
# Average ranks; models joined by a bar do not differ significantly. Nine data sets show only
# large differences.

figure, axis = plt.subplots(figsize=(8, 2.4), layout="constrained")
plot_critical_difference(table, ax=axis)
