"""No cut points at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from priorwise.common.estimator import Estimator


class WholeRange(Estimator):
    """A discretiser that cuts nothing: for models that take numbers as they are."""

    learnt: ClassVar[Mapping[str, Any]] = {"cut_points_": list}

    def fit(self, X: NDArray[np.float64], y: Any = None, sample_weight: Any = None) -> Self:
        """Learn that no feature has cut points."""
        self.cut_points_ = [np.empty(0) for _ in range(X.shape[1])]
        return self
