"""A table that has been read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core


@dataclass(frozen=True)
class Columns:
    """A table read but not yet cut: members of an ensemble cut the same one in their own ways."""

    nominal_codes: NDArray[np.int32]  # of shape (nominal features, rows), -1 where unknown
    values: NDArray[np.float64]  # of shape (numeric features, rows), NaN where missing
    is_nominal: NDArray[np.bool_]  # of each feature, in the order of the table
    X: Any = None  # the rows as they were given, for models that read them in another way

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[1])

    @property
    def nominal_first(self) -> NDArray[np.intp]:
        """The features of the rows of `nominal_codes`, then those of the rows of `values`."""
        return np.argsort(~self.is_nominal, kind="stable")

    def in_feature_order(self) -> list[NDArray[Any]]:
        """Return one array per feature: int32 codes of labels, float64 numbers."""
        codes, values = iter(self.nominal_codes), iter(self.values)
        return [next(codes) if nominal else next(values) for nominal in self.is_nominal]

    def lay_out(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Return the places of the numeric features, and codes to be filled at these places."""
        codes = np.empty((len(self.is_nominal), self.n_rows), dtype=np.int32)
        codes[self.is_nominal] = self.nominal_codes
        return np.flatnonzero(~self.is_nominal), codes

    def cut(
        self,
        cut_points: Sequence[NDArray[np.float64]],
        missing_seen: NDArray[np.int32],
        n_threads: int,
    ) -> NDArray[np.int32]:
        """Return codes of all features (n_features, n_rows), numbers as places between points.

        A missing number is the code behind the others where `missing_seen`, and unknown elsewhere.
        """
        positions, codes = self.lay_out()
        missing_codes = [
            len(points) + 1 if seen else -1
            for points, seen in zip(cut_points, missing_seen.tolist(), strict=True)
        ]
        _core.cut_values(
            self.values, cut_points, np.array(missing_codes, dtype=np.int32), positions, codes,
            n_threads,
        )  # fmt: skip
        return codes

    def take(self, rows: NDArray[np.intp]) -> Columns:
        """Return some of the rows, without those that were given."""
        return Columns(
            np.ascontiguousarray(self.nominal_codes[:, rows]),
            np.ascontiguousarray(self.values[:, rows]),
            self.is_nominal,
        )
