"""
Smoothing a sparse table
========================

How likely is a stroke, given weight and height, if there are 15 patients? Some combinations have
one patient, one has none. Frequencies jump to 0 and 1 there. A smoother pulls each estimate
towards that of the same weight at any height, and this towards that of all patients.
"""

import matplotlib.pyplot as plt

from priorwise import ConditionalTable

rows = (
    [("yes", "heavy", "tall")] + [("no", "heavy", "tall")] * 3
    + [("yes", "heavy", "short")]
    + [("yes", "heavy", "medium")] + [("no", "heavy", "medium")] * 3
    + [("no", "light", "short")] * 3 + [("no", "light", "medium")] * 3
)  # fmt: skip

# %%
# One table for each smoother. `given` names the columns, the most influential first: a
# combination without patients gets what the smoother expects of a new one in its first column.

smoothers = {"frequencies": "mle", "Laplace": "laplace", "M-branch": "m-branch", "HDP": "hdp"}
tables = {
    label: ConditionalTable(name).fit(rows, target=0, given=[1, 2])
    for label, name in smoothers.items()
}
tables["HDP"].query({1: "light", 2: "tall"})

# %%
# p(yes) in each context. Grey numbers are patients with a stroke and all patients.

heights = ("short", "medium", "tall")
contexts = [(weight, height) for weight in ("heavy", "light") for height in heights]
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
for place, (label, table) in enumerate(tables.items()):
    risk = [table.query({1: weight, 2: height})["yes"] for weight, height in contexts]
    left = [x + 0.2 * (place - 1.5) for x in range(len(contexts))]
    axis.bar(left, risk, width=0.18, label=label, color=f"C{place}")
for x, (weight, height) in enumerate(contexts):
    seen = [row[0] for row in rows if row[1:] == (weight, height)]
    axis.text(x, -0.055, f"{seen.count('yes')} of {len(seen)}", ha="center", color="grey")
axis.set_xticks(range(len(contexts)), [f"{weight}\n{height}" for weight, height in contexts])
axis.tick_params(axis="x", length=0, pad=14)
axis.set(ylabel="p(stroke)", ylim=(0, 1.02), title="One heavy, short patient is no certainty")
axis.legend(frameon=False)
axis.spines[["top", "right"]].set_visible(False)

# %%
# .. seealso:: :doc:`/smoothers/index` explains each smoother.
