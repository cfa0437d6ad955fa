"""What is learnt of one numeric feature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class NumericFeature:
    """What an encoder has learnt about a numeric feature."""

    # ascending; a bin holds the values above one point up to and including the next
    cut_points: NDArray[np.float64]
    # whether training had a missing value, which then has a code of its own
    missing_seen: bool = False
    mean: float = 0.0  # replaces missing values where missing="impute"
