"""
Interrupted and resumed
=======================

A pass over a large table may take hours, and machines stop. With `checkpoint` the counts are saved
on the way; the same call then goes on where the work stopped, and ends with the same model.
"""

from collections.abc import Iterator
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from priorwise import KDBClassifier
from priorwise.datasets import make_led

X, y = make_led(2400, random_state=0)
table = pd.DataFrame(X, columns=[f"segment {place}" for place in range(7)]).assign(digit=y)
readings: list[list[int]] = []  # batches of every reading, in each attempt


class FailingReader:
    """Frames of 100 rows, over a connection that fails after `patience` of them."""

    def __init__(self, patience: float) -> None:
        self.patience = patience

    def __call__(self) -> Iterator[pd.DataFrame]:
        readings[-1].append(0)
        for start in range(0, len(table), 100):
            if sum(readings[-1]) >= self.patience:
                raise ConnectionError("the network is down")
            readings[-1][-1] += 1
            yield table[start : start + 100]


# %%
# Three attempts. The first two fail; the last one has a connection that holds.

model = KDBClassifier(2)
with TemporaryDirectory() as folder:
    for patience in (45, 70, float("inf")):
        readings.append([])
        try:
            model.fit_dataset(
                FailingReader(patience), "digit", checkpoint=folder, batch_rows=100, cache="off"
            )
        except Exception as error:
            print(f"stopped after {sum(readings[-1])} batches: {error}"[:80])

X = table.drop(columns="digit")
same = np.array_equal(KDBClassifier(2).fit(X, y).predict_proba(X), model.predict_proba(X))
print("the same model as without a stop:", same)

# %%
# What each attempt read. The first reading only makes sure that the data is the same as before;
# it is not needed for files, which are known by their size and date.

figure, axis = plt.subplots(figsize=(8, 3), layout="constrained")
for attempt, counts in enumerate(readings):
    identified = min(25, sum(counts))  # a first frame for the columns, then all 24
    axis.barh(attempt, identified, color="0.8", label="identifies the data")
    axis.barh(attempt, sum(counts) - identified, left=identified, color="C0", label="counts")
    if attempt == 0:
        axis.legend(frameon=False, loc="lower right")
    if attempt < 2:
        axis.text(sum(counts) + 1, attempt, "failed", va="center", color="C3")
axis.set_yticks(range(3), ["first attempt", "second", "third"])
axis.invert_yaxis()
axis.set_xlabel("batches read")
axis.spines[["top", "right"]].set_visible(False)
