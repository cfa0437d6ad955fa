"""One factor p(x | class, parents) of a network, ready to predict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from priorwise import _core

Codes = NDArray[np.int32] | Sequence[NDArray[np.int32]]
"""Codes of the features of rows: a matrix (features, rows), or a column for each feature."""


class Factor(_core.Factor):
    """A smoothed count tree whose levels are the class and the parents of one feature.

    For prediction the subtrees of the classes are laid over each other: a *context* stands for the
    same parent values under every class and knows, for each class, the deepest tree node on that
    path. One walk per row then answers for all classes.

    `column` is the feature, `path` its parents, most influential first, `log_p` one log probability
    per cell of the `tree`. In sparse trees, outcomes that a node does not list get `log_rest`
    relative to the parent's row if `rest_towards_parent`, else to the uniform distribution. With
    `backoff` a class that has no rows in a context answers with its nearest context that has some,
    else uniformly.
    """
