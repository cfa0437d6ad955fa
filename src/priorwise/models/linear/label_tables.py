"""Tables of the labels of nominal features given the class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STRENGTHS = 2.0 ** np.arange(-3, 11)


def fit_table(
    codes: NDArray[np.int32],
    y: NDArray[np.int32],
    n_labels: int,
    n_classes: int,
    weight: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return log p(label | class), shrunk towards the labels' shares among all rows.

    p = (n + c q) / (N + c), with c the strength of the largest leave-one-out likelihood. Rows
    without a label are left out. Shape (n_labels, n_classes).
    """
    known = codes >= 0
    key = codes[known].astype(np.intp) * n_classes + y[known]
    part = None if weight is None else weight[known]
    count = np.bincount(key, part, minlength=n_labels * n_classes).reshape(n_labels, n_classes)
    share = (count.sum(axis=1) + 1.0 / n_labels) / (count.sum() + 1.0)
    total = count.sum(axis=0)
    likelihood = []
    for c in STRENGTHS:
        rest = np.maximum(count - 1.0, 0.0) + c * share[:, None]
        likelihood.append((count * np.log(rest / (np.maximum(total - 1.0, 0.0) + c))).sum())
    c = STRENGTHS[int(np.argmax(likelihood))]
    return np.asarray(np.log((count + c * share[:, None]) / (total + c)))
