"""
The explorer page
=================

`explorer` writes one HTML file that holds the model: move a slider and see the probabilities, and
what each feature adds to them. It needs no server and no network; the one below is such a file.
"""

from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

from priorwise import TANClassifier
from priorwise.explain import plot_shape

data = load_iris(as_frame=True)
X = data.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
y = data.target_names[data.target]
model = TANClassifier().fit(X, y)

# %%
# What a feature contributes by its value, as a picture:

overview = model.explain_global(X)
figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
plot_shape(overview, "petal length", ax=axis)

# %%
# The same model to try. In a notebook `model.explorer` writes a file that a browser opens.


class Page:
    """A page shown within another."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        frame = f'<iframe srcdoc="{escape(self.text)}" title="explorer"'
        return f'{frame} style="width: 100%; height: 760px; border: 1px solid #8888"></iframe>'


with TemporaryDirectory() as folder:
    path = Path(folder, "explorer.html")
    model.explorer(path, X, y)
    page = Page(path.read_text(encoding="utf-8"))
page  # noqa: B018
