"""
Learning from files that do not fit in memory
=============================================

`fit_dataset` reads a folder of Parquet files in passes, one batch at a time. The model is the one
that `fit` gives on all rows. The folder of this example is small, so that the two can be compared.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from priorwise import SelectiveKDBClassifier
from priorwise.datasets import make_led
from priorwise.evaluation import cross_entropy

folder = TemporaryDirectory()
X, y = make_led(20_000, n_irrelevant=9, random_state=0)
table = pd.DataFrame(X, columns=[f"segment {place}" for place in range(16)]).assign(digit=y)
files = [Path(folder.name, f"part-{part}.parquet") for part in range(10)]
for part, file in enumerate(files):
    table[2000 * part : 2000 * part + 2000].to_parquet(file)
print(len(files), "files:", files[0].name, "...", files[-1].name)

# %%
# Ten files, batches of 1,000 rows, two passes and one to choose features and parents.

model = SelectiveKDBClassifier(max_parents=2).fit_dataset(
    folder.name, target="digit", batch_rows=1000
)
print(model.n_passes_, "passes")

# %%
# The same rows at once give the same probabilities, bit for bit. Beside that, what more rows are
# worth: the log-loss of models that learnt from the first files only.

X = table.drop(columns="digit")
at_once = SelectiveKDBClassifier(max_parents=2).fit(X, y)
print("equal:", np.array_equal(model.predict_proba(X), at_once.predict_proba(X)))

losses = []
for n_files in range(1, 10, 2):
    part = SelectiveKDBClassifier(max_parents=2).fit_dataset(files[:n_files], target="digit")
    losses.append(cross_entropy(y[18_000:], part.predict_proba(X[18_000:])))
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
axis.plot(2000 * np.arange(1, 10, 2), losses, "o-")
axis.set(xlabel="rows learnt from", ylabel="log-loss on the last file")
axis.set_title("More files, better probabilities")
axis.spines[["top", "right"]].set_visible(False)
folder.cleanup()
