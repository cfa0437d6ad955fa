"""
How sure is an estimate?
========================

A probability from three rows and one from three thousand are not equally certain. The hierarchical
Dirichlet model behind `HDP` has a posterior distribution, from which
:meth:`~priorwise.ConditionalTable.predict_interval` draws credible intervals.
"""

import matplotlib.pyplot as plt
import numpy as np

from priorwise import ConditionalTable

rng = np.random.default_rng(4)
n_rows = [0, 1, 3, 10, 30, 100, 300, 1000]
truth = rng.beta(4, 6, len(n_rows))
town = np.repeat(np.arange(len(n_rows)), n_rows)
buys = rng.random(len(town)) < truth[town]
table = ConditionalTable("hdp", random_state=0).fit(
    np.column_stack([buys.astype(int), town]), target=0, given=[1]
)

# %%
# Towns with few customers are drawn to the mean of all towns, and have wide intervals. The first
# town has no customer at all: its interval is where a new town may lie.

asked = np.column_stack([np.zeros(len(n_rows)), np.arange(len(n_rows))]).astype(int)
mean = table.predict_proba(asked)[:, 1]
low, high = (ends[:, 1] for ends in table.predict_interval(asked, level=0.9))

figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
x = np.arange(len(n_rows))
axis.vlines(x, low, high, lw=6, color="C0", alpha=0.35, label="90 % interval")
axis.plot(x, mean, "o", color="C0", label="estimate")
axis.plot(x, truth, "_", ms=22, mew=2, color="black", label="truth")
share = [buys[town == place].mean() if count else np.nan for place, count in enumerate(n_rows)]
axis.plot(x, share, "x", color="C3", label="frequency")
axis.set_xticks(x, [f"{count:,}" for count in n_rows])
axis.set(xlabel="customers of the town", ylabel="p(buys)", ylim=(0, 1))
axis.set_title("Few rows, wide intervals")
axis.legend(frameon=False, ncols=2)
axis.spines[["top", "right"]].set_visible(False)
