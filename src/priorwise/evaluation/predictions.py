"""Checked predictions: the class codes, probabilities and weights every score starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Rows summed in single precision by other libraries stay inside this; real mistakes do not.
ROW_SUM_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Predictions:
    """True classes and predicted probabilities of N rows over K classes.

    ``codes[i]`` is the column of ``proba`` that belongs to the true class of row i.
    """

    codes: NDArray[np.intp]
    proba: NDArray[np.float64]
    weight: NDArray[np.float64]
    labels: NDArray[Any]

    @property
    def n_classes(self) -> int:
        return self.proba.shape[1]

    @property
    def total_weight(self) -> float:
        return float(self.weight.sum())

    @property
    def true_proba(self) -> NDArray[np.float64]:
        """Probability given to the true class of each row."""
        return np.asarray(self.proba[np.arange(len(self.codes)), self.codes])

    def one_hot(self) -> NDArray[np.float64]:
        hot = np.zeros_like(self.proba)
        hot[np.arange(len(self.codes)), self.codes] = 1.0
        return hot

    def mean(self, per_row: NDArray[np.float64]) -> float:
        """Weighted mean of a quantity per row; rows of weight zero do not count."""
        return float(weighted_sum(per_row, self.weight) / self.total_weight)


def weighted_sum(per_row: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Sum of weight times value in which weight zero silences even an infinite value."""
    counted = weight > 0
    return float(np.dot(per_row[counted], weight[counted]))


def check_predictions(
    y_true: ArrayLike,
    proba: ArrayLike,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Predictions:
    """Check a score's arguments and return them as :class:`Predictions`.

    Columns of ``proba`` belong to ``labels`` in their order or, without it, to the sorted
    distinct values of ``y_true``. A one-dimensional ``proba`` is the probability of the second of
    two classes, as scikit-learn's scorers pass it.
    """
    truth = np.asarray(y_true)
    if truth.ndim != 1:
        raise ValueError(f"y_true must be one-dimensional, got shape {truth.shape}")
    if truth.shape[0] == 0:
        raise ValueError("y_true must have at least one row, got none")
    table = check_proba(proba, len(truth))
    names = _check_labels(truth, table.shape[1], labels)
    codes = encode_labels(truth, names)
    return Predictions(codes, table, check_weight(sample_weight, len(truth)), names)


def check_proba(proba: ArrayLike, n_rows: int, name: str = "proba") -> NDArray[np.float64]:
    """Check that ``proba`` holds one distribution per row; expand the binary short form."""
    table = np.asarray(proba, dtype=np.float64)
    if table.ndim == 1:
        table = np.column_stack([1.0 - table, table])
    if table.ndim != 2:
        raise ValueError(f"{name} must have one or two dimensions, got shape {table.shape}")
    if table.shape[0] != n_rows:
        raise ValueError(f"{name} must have one row per row of y_true ({n_rows}), got {len(table)}")
    if table.shape[1] < 2:
        raise ValueError(f"{name} must have at least two columns, got {table.shape[1]}")
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise ValueError(f"{name} must be finite, got {table[row].tolist()} in row {row}")
    outside = ((table < 0) | (table > 1 + ROW_SUM_TOLERANCE)).any(axis=1)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise ValueError(f"{name} must lie in [0, 1], got {table[row].tolist()} in row {row}")
    sums = table.sum(axis=1)
    wrong = np.abs(sums - 1.0) > ROW_SUM_TOLERANCE
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"{name} rows must sum to one, row {row} sums to {sums[row]:.6g}")
    return table


def check_weight(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Check weights: one per row, finite, not negative, not all zero; ``None`` means ones."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight must have shape ({n_rows},), got {weight.shape}")
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight must be finite, got NaN or infinity")
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}")
    if weight.sum() == 0:
        raise ValueError("sample_weight must have a positive sum, got all zeros")
    return weight


def encode_labels(truth: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Position of every value of ``truth`` in ``labels``; a value not there is an error."""
    position = {label: code for code, label in enumerate(labels.tolist())}
    try:
        return np.array([position[value] for value in truth.tolist()], dtype=np.intp)
    except KeyError as error:
        raise ValueError(
            f"y_true holds the label {error.args[0]!r}, which is not in labels {labels.tolist()}"
        ) from None


def _check_labels(truth: NDArray[Any], n_columns: int, labels: ArrayLike | None) -> NDArray[Any]:
    if labels is None:
        names = np.array(_sorted_distinct(truth), dtype=truth.dtype)
        if len(names) != n_columns:
            raise ValueError(
                f"y_true holds {len(names)} classes but proba has {n_columns} columns: "
                "pass labels, the class of every column"
            )
        return names
    names = np.asarray(labels)
    if names.shape != (n_columns,):
        raise ValueError(
            f"labels must name the {n_columns} columns of proba, got shape {names.shape}"
        )
    if len(set(names.tolist())) != n_columns:
        raise ValueError(f"labels must be distinct, got {names.tolist()}")
    return names


def _sorted_distinct(truth: NDArray[Any]) -> list[Any]:
    distinct = set(truth.tolist())
    if any(value != value for value in distinct) or None in distinct:
        raise ValueError("y_true must not hold missing values")
    try:
        return sorted(distinct)
    except TypeError:
        raise ValueError(
            "y_true must hold labels of one comparable type, or labels must be passed"
        ) from None
