"""A table as arrays: columns of features, distinct values of numbers, and codes of classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from priorwise import _core
from priorwise.common.texts import FEW, count
from priorwise.common.validation import check_number, check_relative_weight


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

    def find_blank(self, parts: Sequence[Any]) -> NDArray[np.intp] | None:
        """Return the places of rows in which no label and no number is known; None for none.

        The last numbers are the `parts` of columns, which follow from others and do not count.
        """
        codes = self.nominal_codes
        first, least = (codes, 0.0) if codes.size else (self.values, -np.inf)
        if first.shape[1] == 1 and first.item(0) >= least:  # one row need not wait for arrays
            return None
        rows = np.flatnonzero(~(first[0] >= least))
        numbers = self.values[: len(self.values) - len(parts), rows]
        known = (codes[:, rows] >= 0).any(axis=0) | ~np.isnan(numbers).all(axis=0)
        return None if known.all() else rows[~known]

    def take(self, rows: NDArray[np.intp]) -> Columns:
        """Return some of the rows, without those that were given."""
        return Columns(
            np.ascontiguousarray(self.nominal_codes[:, rows]),
            np.ascontiguousarray(self.values[:, rows]),
            self.is_nominal,
        )


def encode_labels(
    y: Any, *, min_classes: int = 1, classes: ArrayLike | None = None
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return each row's class code and the classes in ascending order.

    Labels are of any kind that sorts. If `classes` is given, a label outside of them is an error.

    >>> codes, classes = encode_labels(["no", "yes", "no"])
    >>> codes.tolist(), classes.tolist()
    ([0, 1, 0], ['no', 'yes'])
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels = column_or_1d(_to_array(y), warn=True)
    if labels.size == 0:
        raise ValueError("y must hold at least one row, got 0")
    if labels.dtype.kind == "O" and type(labels[0]) is str:
        # Looked up, not sorted: as many labels as rows are too many to compare.
        coded = _code_text(labels.tolist(), classes, min_classes)
        if coded is not None:
            return coded
    _refuse_missing(labels)
    try:
        check_classification_targets(labels)
        found, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise TypeError(f"y must hold labels of one kind, got {', '.join(kinds)}") from None
    if classes is not None:
        found = np.unique(np.asarray(classes))
        codes = np.searchsorted(found, labels)
        inside = codes < len(found)
        inside[inside] = found[codes[inside]] == labels[inside]
        if not inside.all():
            wrong = repr(labels[~inside].tolist()[0])
            raise ValueError(f"y must hold labels among {found.tolist()}, got {wrong}")
    _require_classes(found, min_classes)
    return codes.astype(np.int32), found


def weigh_classes(class_weight: Any, y: Any, sample_weight: Any) -> Any:
    """Return weights of rows, multiplied by those of their classes; the same if there are none.

    >>> weigh_classes("balanced", ["a", "a", "a", "b"], None).round(2).tolist()
    [0.67, 0.67, 0.67, 2.0]
    """
    if class_weight is None:
        return sample_weight
    codes, classes = encode_labels(y)
    weight = np.ones(len(codes))
    if sample_weight is not None:
        weight = check_relative_weight(sample_weight, len(codes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, weight, len(classes))
        share = totals.sum() / (totals > 0).sum() / np.where(totals > 0, totals, 1.0)
        return weight * share[codes]
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be 'balanced', a dict or None, got {class_weight!r}")
    place = {label: code for code, label in enumerate(classes.tolist())}
    factor = np.ones(len(classes))
    for label, value in class_weight.items():
        if label not in place:
            raise ValueError(f"class_weight must name labels of y, {list(place)}, got {label!r}")
        factor[place[label]] = check_number(f"class_weight of {label!r}", value, least=0)
    return weight * factor[codes]


def _code_text(
    labels: list[Any], classes: ArrayLike | None, min_classes: int
) -> tuple[NDArray[np.int32], NDArray[Any]] | None:
    """Codes and classes where all labels are text; None where that, or an error, needs a look."""
    distinct = set(labels)
    if any(type(label) is not str for label in distinct):
        return None
    found = np.array(sorted(distinct), dtype=object)
    if classes is not None:
        found = np.unique(np.asarray(classes))
        if not distinct <= set(found.tolist()):
            return None
    _require_classes(found, min_classes)
    place = {label: code for code, label in enumerate(found.tolist())}
    return np.fromiter(map(place.__getitem__, labels), np.int32, len(labels)), found


def _require_classes(found: NDArray[Any], min_classes: int) -> None:
    if len(found) < min_classes:
        raise ValueError(
            f"y must hold at least {min_classes} classes, got {len(found)} class: {found.tolist()}"
        )


def _to_array(y: Any) -> NDArray[Any]:
    if isinstance(y, np.ma.MaskedArray) and y.mask.any():
        labels, is_masked = np.array(y.data, dtype=object), y.mask
        labels[is_masked] = None
        y = labels
    if isinstance(y, (list, tuple)):
        array = np.asarray(y)
        # NumPy makes text of every label as soon as one is text.
        mixed = array.ndim == 1 and array.dtype.kind == "U" and len(set(map(type, y))) > 1
        y = np.array(y, dtype=object) if mixed else array
    return check_array(
        np.asarray(y),
        ensure_2d=False,
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=0,
    )


def _refuse_missing(labels: NDArray[Any]) -> None:
    missing = np.zeros(0, dtype=bool)
    if labels.dtype.kind in "fc":
        if np.isinf(labels).any():
            raise ValueError("Input y contains infinity or a value too large for its dtype.")
        missing = np.isnan(labels)
    elif labels.dtype.kind in "Mm":
        missing = np.isnat(labels)
    elif labels.dtype.kind == "O" and any(map(_is_missing, _list_distinct(labels.tolist()))):
        missing = np.array([_is_missing(label) for label in labels.tolist()])
    rows = np.flatnonzero(missing)
    if len(rows):
        first = ", ".join(map(str, rows[:FEW])) + ", ..." * (len(rows) > FEW)
        raise ValueError(
            f"Input y contains NaN: {count(len(rows), 'row')} of {len(labels):,} "
            f"{'has' if len(rows) == 1 else 'have'} no class (rows from 0: {first}); leave such "
            "rows out of X and y"
        )


def _is_missing(label: Any) -> bool:
    if isinstance(label, Decimal):
        return label.is_nan()
    # NaN differs from itself.
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)


def _list_distinct(labels: list[Any]) -> Iterable[Any]:
    """Return distinct labels, or all if one cannot be looked up, as a signalling NaN."""
    try:
        return set(labels)
    except TypeError:
        return labels


MISSING_MARKS = (
    *("", "?", ".", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
    *("1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "\\N", "n/a", "nan", "null"),
)
"""Fields of a CSV file that are missing values, quoted or not, whatever reads the file.

They are those of pandas, a question mark, and the point of SAS and Stata. ARFF has a rule of its
own: a question mark without quotes.
"""


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The distinct values of numeric features, and the weight of the rows at each of them.

    Rows belong to groups: classes or folds. This is all that cut points are drawn from, and it can
    be known of rows that are read in batches. The values of all features are one array, since
    thousands of small arrays take more memory than what is in them.

    >>> ranked = RankedValues.of([[3.0, 1.0, 3.0]])
    >>> counts = ValueCounts.count(ranked, np.array([0, 1, 1]), n_groups=2)
    >>> counts.values, counts.weights.tolist(), counts.starts.tolist()
    (array([1., 3.]), [[0.0, 1.0], [1.0, 1.0]], [0, 2])
    """

    values: NDArray[np.float64]
    """Those of a feature ascend, and those of the next follow; missing values are left out."""
    weights: NDArray[Any]  # of shape (values, groups)
    starts: NDArray[np.intp]  # where the values of each feature begin, and where the last ones end

    @classmethod
    def count(
        cls,
        ranked: RankedValues,
        group: NDArray[Any],
        n_groups: int,
        weight: NDArray[np.float64] | None = None,
    ) -> ValueCounts:
        """Count rows in memory."""
        starts = _find_starts(ranked.distinct)
        weights = np.empty((starts[-1], n_groups))
        for i, ranks in enumerate(ranked.ranks):
            known = ranks >= 0
            cell = ranks[known].astype(np.int64) * n_groups + group[known]
            row_weight = None if weight is None else weight[known]
            of_feature = weights[starts[i] : starts[i + 1]]
            cells = np.bincount(cell, row_weight, minlength=of_feature.size)
            of_feature[:] = cells.reshape(of_feature.shape)
        return cls(np.concatenate([np.empty(0), *ranked.distinct]), weights, starts)

    @classmethod
    def join(
        cls, values: Sequence[NDArray[np.float64]], weights: Sequence[NDArray[Any]]
    ) -> ValueCounts:
        """Join the values of each feature, and their weights of shape (values, groups)."""
        joined = np.concatenate(weights) if weights else np.empty((0, 1))
        return cls(np.concatenate([np.empty(0), *values]), joined, _find_starts(values))

    @property
    def n_features(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def below(self) -> NDArray[np.float64]:
        """Weight of the rows up to each value of a feature."""
        totals, below = self.weights.sum(axis=1), np.empty(len(self.values))
        for first, last in pairwise(self.starts.tolist()):
            totals[first:last].cumsum(out=below[first:last])
        return below

    def feature(self, i: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return the values and weights of one feature."""
        chosen = slice(self.starts[i], self.starts[i + 1])
        return self.values[chosen], self.weights[chosen]

    def without(self, group: int) -> ValueCounts:
        """Return the values that the rows of all other groups have, and the weight of each."""
        if not len(self.values):
            return self
        is_other = np.arange(self.weights.shape[1]) != group
        others = self.weights.sum(axis=1, keepdims=True, where=is_other)
        kept = others[:, 0] > 0
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return ValueCounts(self.values[kept], others[kept], starts)


def _find_starts(values: Sequence[NDArray[np.float64]]) -> NDArray[np.intp]:
    return np.cumsum([0, *map(len, values)])


@dataclass(frozen=True)
class RankedValues:
    """Each row's place among the distinct values of each feature.

    Sorting is done once, and every way to cut works on the ranks.
    """

    ranks: NDArray[np.int32]  # of shape (features, rows); -1 where the value is NaN
    distinct: list[NDArray[np.float64]]  # the distinct values of each feature, ascending

    @classmethod
    def of(cls, values: ArrayLike, *, n_threads: int = 1) -> RankedValues:
        """Rank the values of each feature, given with shape (features, rows).

        >>> RankedValues.of([[3.0, 1.0, float("nan"), 3.0]]).ranks
        array([[ 1,  0, -1,  1]], dtype=int32)
        """
        columns = np.ascontiguousarray(values, dtype=np.float64)
        ranks = np.empty(columns.shape, dtype=np.int32)
        return cls(ranks, _core.rank_values(columns, ranks, n_threads))

    def weights_of(
        self, feature: int, sample_weight: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the summed weight of the rows at each distinct value of one feature."""
        ranks = self.ranks[feature]
        known = ranks >= 0
        weight = None if sample_weight is None else sample_weight[known]
        return np.bincount(ranks[known], weight, len(self.distinct[feature])).astype(np.float64)


def midpoints(values: NDArray[np.float64], cuts: NDArray[Any]) -> NDArray[np.float64]:
    """Return the midpoints between the distinct values r and r + 1 for each r in cuts.

    Where no number lies between the two, the lower one is the cut, as bins are closed on the right.
    """
    low, high = values[cuts], values[cuts + 1]
    middle = low / 2.0 + high / 2.0
    return np.where((low <= middle) & (middle < high), middle, low)


def cut_into_bins(
    values: NDArray[np.float64],
    cut_points: list[NDArray[np.float64]],
    missing_codes: ArrayLike,
    *,
    positions: ArrayLike | None = None,
    codes: NDArray[np.int32] | None = None,
    n_threads: int = 1,
) -> NDArray[np.int32]:
    """Return the bin of each value: the number of cut points below it, `missing_codes` for NaN.

    `values` has the shape (features, rows). Feature i is written to row ``positions[i]`` of
    `codes`, which may hold more features; by default a new array is made.

    >>> cut_into_bins(np.array([[1.0, 2.0, np.nan]]), [np.array([1.0])], [-1])
    array([[ 0,  1, -1]], dtype=int32)
    """
    if codes is None:
        codes = np.empty(values.shape, dtype=np.int32)
    if positions is None:
        positions = np.arange(len(values))
    _core.cut_values(
        np.ascontiguousarray(values, dtype=np.float64),
        [np.ascontiguousarray(points, dtype=np.float64) for points in cut_points],
        np.asarray(missing_codes, dtype=np.int32),
        np.asarray(positions, dtype=np.int64),
        codes,
        n_threads,
    )
    return codes
