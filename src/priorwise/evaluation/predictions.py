"""Checked predictions: the class codes, probabilities and weights every score starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise.common.validation import check_relative_weight

ROW_SUM_TOLERANCE = 1e-4
"""How far a row of probabilities may be from a sum of one: enough for single precision."""

PREDICTIONS = """
Parameters
----------
y_true : array-like of shape (n_rows,)
    Class label of each row.
proba : array-like of shape (n_rows, n_classes) or (n_rows,)
    Predicted probability of each class; one column means the second of two classes.
labels : array-like of shape (n_classes,), optional
    Class of each column of `proba`; by default the sorted distinct values of `y_true`. Needed if
    a class has no row.
sample_weight : array-like of shape (n_rows,), optional
    Weight of each row; only ratios of weights matter, except in sums.
"""
"""Descriptions of the parameters that all scores share."""


@dataclass(frozen=True)
class Predictions:
    """True classes and predicted probabilities of N rows over K classes.

    `codes[i]` is the column of `proba` that belongs to the true class of row i.
    """

    codes: NDArray[np.intp]
    proba: NDArray[np.float64]
    weight: NDArray[np.float64]
    labels: NDArray[Any]

    @property
    def n_classes(self) -> int:
        return self.proba.shape[1]

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
        return float(weighted_sum(per_row, self.weight) / self.weight.sum())


def weighted_sum(per_row: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Sum of weight times value over the rows of positive weight, even if others are infinite."""
    counted = weight > 0
    return float(np.dot(per_row[counted], weight[counted]))


def check_predictions(
    y_true: ArrayLike,
    proba: ArrayLike,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Predictions:
    """Check the arguments that all scores share, described in `PREDICTIONS`."""
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
    """Check that `proba` has one distribution per row, and expand one column to two."""
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
    """Check weights of which only ratios matter; None is the same as ones."""
    return (
        np.ones(n_rows) if sample_weight is None else check_relative_weight(sample_weight, n_rows)
    )


def encode_labels(truth: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Position of every value of `truth` in `labels`, or a ValueError."""
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
