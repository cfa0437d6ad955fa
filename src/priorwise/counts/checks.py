"""Checks of probabilities of the cells of trees that were read from a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise.common.stored.checks import check_numbers, require
from priorwise.counts.tree import CountTree


def check_cells(tree: CountTree, cells: Any) -> None:
    """Raise unless the numbers of the cells of a tree are distributions, node by node."""
    check_numbers("probabilities", cells, tree.n_cells, least=0.0, most=1.0 + 1e-6)
    sums = np.add.reduceat(np.append(cells, 0.0), tree.row_start[:-1])
    n_listed = np.diff(tree.row_start)
    sums[n_listed == 0] = 0.0
    require((sums <= 1.0 + 1e-6).all(), "probabilities of a context must sum to at most one")
    require(
        (sums[n_listed == tree.n_outcomes] >= 1.0 - 1e-6).all(),
        "probabilities of a context must sum to one",
    )
