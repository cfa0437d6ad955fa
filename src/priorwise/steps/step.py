"""What every step can answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.records import Record, part
from priorwise.data.tables import Columns
from priorwise.steps.calibration import Calibration
from priorwise.steps.explanation import Explanation

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Names:
    """What the classes and the features of a model are called, for its explanations."""

    classes: NDArray[Any]
    features: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Step(Record):
    """A fitted model as arrays: columns of a table in, class probabilities out.

    A step is all that is left of a learner once it has learnt. It is predicted from, explained,
    saved, exported and drawn without its learner.
    """

    calibration: Calibration = part(Calibration)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        raise NotImplementedError

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        """Return class probabilities of rows, of shape (n_rows, n_classes)."""
        raise NotImplementedError

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """Return what each feature adds to the log-odds of rows; here, that it is not known."""
        proba = self.predict(columns, n_threads)
        return Explanation.from_probabilities(names.classes, names.features, proba)

    def spread_parts(self, columns: Columns, proba: Floats, n_threads: int) -> dict[str, Floats]:
        """Return what the variance of the scores follows from, by name; the last is unscaled."""
        return {}

    def spread(self, columns: Columns, n_threads: int = 1) -> Floats:
        """Return the variances of the scores whose softmax are the probabilities of rows."""
        proba = self.predict(columns, n_threads)
        return self.calibration.combine(proba, self.spread_parts(columns, proba, n_threads))

    def spread_as_member(self, columns: Columns, proba: Floats, n_threads: int) -> Floats:
        """Return the variances of the scores of a member of a pool, which scales them itself."""
        parts = self.spread_parts(columns, proba, n_threads)
        return list(parts.values())[-1] if parts else self.calibration.combine(proba, parts)

    def describe(self) -> str:
        """Return in a few words what the step consists of."""
        raise NotImplementedError

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        """Raise ValueError unless the step can answer for rows of such features."""
        raise NotImplementedError
