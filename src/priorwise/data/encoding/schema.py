"""What the columns of training were taken for, and how those of another table differ."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.registered import with_registered_methods
from priorwise.common.runtime import warn_user
from priorwise.common.texts import FEW, MANY, count, show_percent, show_value
from priorwise.data.tables.categories import Categories, code_numbers, name_bins, name_ranks
from priorwise.data.tables.column_kinds import Kind
from priorwise.data.tables.label_keys import NominalColumn
from priorwise.data.tables.parts import Part, as_shown, is_date, name_parts, show_number
from priorwise.data.tables.texts import TEXT, WordScores

T = TypeVar("T")


class CodeNames:
    """What fitted encoders know of codes."""

    missing: str
    is_nominal_: NDArray[np.bool_]
    categories_: list[Categories]
    orders_: dict[int, Categories]
    cut_points_: list[NDArray[np.float64]]
    missing_seen_: NDArray[np.bool_]
    means_: list[float]
    forms_: dict[int, str]  # of the columns of dates and texts
    parts_: list[Part]  # of these columns, in the order of the features that they are
    scores_: dict[int, WordScores]  # of the words of texts
    n_features_in_: int
    dtypes_: list[str]
    numbers_seen_: list[tuple[float, float, float]]

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns of a table; empty if they have none."""
        return tuple(str(name) for name in getattr(self, "feature_names_in_", ()))

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, which are columns and their parts; empty if they have none."""
        names = self.column_names
        return (*names, *name_parts(names, self.forms_, self.parts_)) if names else ()

    @property
    def feature_labels(self) -> tuple[str, ...]:
        """Names of the features; "x0", "x1" and so on for columns without names."""
        names = self.column_names or tuple(f"x{i}" for i in range(self.n_features_in_))
        return (*names, *name_parts(names, self.forms_, self.parts_))

    @property
    def kinds(self) -> list[Kind]:
        """How the columns of more rows are read."""
        return [
            "ordered"
            if i in self.orders_
            else "words"
            if self.forms_.get(i) == TEXT
            else "date"
            if i in self.forms_
            else "nominal"
            if nominal
            else "numeric"
            for i, nominal in enumerate(self.is_nominal_[: self.n_features_in_].tolist())
        ]

    @property
    def schema_(self) -> tuple[ColumnSchema, ...]:
        """What each column of training was taken for."""
        return self.describe_features()[: self.n_features_in_]

    def describe_features(self) -> tuple[ColumnSchema, ...]:
        """Return what each feature is: each column of training, then the parts of columns."""
        names = self.column_names or tuple(map(str, range(self.n_features_in_)))
        return describe_columns(
            (*names, *name_parts(names, self.forms_, self.parts_)),
            [*self.dtypes_, *[""] * len(self.parts_)],
            self.is_nominal_,
            self.categories_,
            self.numbers_seen_,
            self.orders_,
            self.forms_,
        )

    def leave_out_texts(self, values: Sequence[T]) -> tuple[NDArray[np.intp], list[T]]:
        """Return the numeric features that are not made of texts, and what belongs to each.

        `values` are those of all numeric features. Texts that differ may have the same numbers.
        """
        sources = [*range(self.n_features_in_), *(i for i, _ in self.parts_)]
        numeric = np.flatnonzero(~self.is_nominal_)
        is_kept = np.array([self.forms_.get(sources[i]) != TEXT for i in numeric.tolist()], bool)
        return numeric[is_kept], [values[at] for at in np.flatnonzero(is_kept).tolist()]

    @property
    def ordered_places(self) -> list[int]:
        """Places of the ordered categories among the numeric features."""
        return [int((~self.is_nominal_[:i]).sum()) for i in self.orders_]

    def held_texts(self, i: int) -> bool:
        """Whether column i was stored as text in training, or as objects."""
        return self.dtypes_[i].startswith(("String", "Object", "Unknown", "object", "<U"))

    def arities(self, cut_points: list[NDArray[np.float64]] | None = None) -> NDArray[np.int32]:
        """Return the number of codes of each feature, by default with `cut_points_`."""
        points = self.cut_points_ if cut_points is None else cut_points
        arities = np.empty(len(self.is_nominal_), dtype=np.int32)
        arities[self.is_nominal_] = [len(c.labels) for c in self.categories_]
        arities[~self.is_nominal_] = [
            len(feature_points) + 1 + int(seen)
            for feature_points, seen in zip(points, self.missing_seen_, strict=True)
        ]
        # A feature without a single counted row still needs a code to exist.
        return np.maximum(arities, 1)

    @property
    def arities_(self) -> NDArray[np.int32]:
        """Number of codes of each feature."""
        return self.arities()

    def code_labels(self, feature: int) -> list[Any]:
        """Return the labels of a feature's codes, or intervals, and "missing"."""
        check_is_fitted(self)
        place = int((self.is_nominal_[:feature] == self.is_nominal_[feature]).sum())
        if self.is_nominal_[feature]:
            return ["missing" if x is None else x for x in self.category_labels(feature)]
        order, points = self.orders_.get(feature), self.cut_points_[place]
        shows_dates = is_date(self.forms_.get(feature))
        bins = name_bins(points, is_date=shows_dates)
        bins = bins if order is None else name_ranks(order, points)
        return [*bins, "missing"] if self.missing_seen_[place] else bins

    def label_codes(self, feature: int, labels: Sequence[Hashable]) -> NDArray[np.int32]:
        """Return the codes of labels of a feature, numeric or not; None is missing.

        A label that training did not have has any code.
        """
        place = int((self.is_nominal_[:feature] == self.is_nominal_[feature]).sum())
        if self.is_nominal_[feature]:
            categories = self.categories_[place]
            missing = categories.mode_code if self.missing == "impute" else categories.missing_code
            found = [missing if label is None else categories.code(label) for label in labels]
            codes = np.maximum(np.array(found, dtype=np.int32), 0)
        else:
            instead = self.means_[place] if self.missing == "impute" else np.nan
            labels = self._rank_labels(feature, labels)
            codes = code_numbers(labels, self.cut_points_[place], instead)
        if self.ignores_missing:
            codes[[label is None for label in labels]] = -1
        return codes

    @property
    def ignores_missing(self) -> bool:
        """Whether missing values have the code -1, in training too."""
        return self.missing == "ignore"

    def category_labels(self, feature: int) -> list[Any]:
        """Return the label of each code of a nominal feature; None stands for missing."""
        check_is_fitted(self)
        return list(self.categories_[int(self.is_nominal_[:feature].sum())].labels)

    def joins_unseen(self, feature: int) -> bool:
        """Whether labels of a nominal feature that training did not have are one with rare ones."""
        place = int(self.is_nominal_[:feature].sum())
        return self.categories_[place].unknown_code >= 0

    def value_labels(self, feature: int) -> list[Any]:
        """Return the labels of a nominal feature's codes or of an ordered feature's ranks."""
        order = self.orders_.get(feature)
        return self.category_labels(feature) if order is None else list(order.labels)

    def name_threshold(self, feature: int, threshold: float, digits: int = 6) -> str:
        """Return a threshold of a numeric feature for messages: that of ranks is the label below.

        A threshold below all ranks, or that is infinite, is written as a number.
        """
        order = self.orders_.get(feature)
        if order is not None and 0.0 <= threshold < len(order.labels):
            return str(order.labels[int(threshold)])
        return show_number(threshold, self.forms_.get(feature), digits)

    def rank_labels(self, feature: int, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return values of a numeric feature as they are shown: ranks as labels, None for NaN."""
        cells = np.empty(len(values), dtype=object)
        order, known = self.orders_.get(feature), ~np.isnan(values)
        if feature in self.forms_:
            for at in np.flatnonzero(known).tolist():
                cells[at] = as_shown(values[at], self.forms_[feature])
        elif order is None:
            cells[known] = values[known]
        else:
            ranks = np.clip(np.rint(values[known]), 0, len(order.labels) - 1).astype(int)
            for at, rank in zip(np.flatnonzero(known).tolist(), ranks.tolist(), strict=True):
                cells[at] = order.labels[rank]
        return cells

    def _rank_labels(self, feature: int, labels: Sequence[Hashable]) -> Sequence[Hashable]:
        order = self.orders_.get(feature)
        if order is None:
            return labels
        ranks = [-1 if label is None else order.code(label) for label in labels]
        return [None if rank < 0 else rank for rank in ranks]


MIN_ROWS_TO_WARN = 10
"""Fewest rows asked before a warning that most values of a column were never seen."""


@dataclass(frozen=True)
class ColumnSchema:
    """What one column of training was taken for."""

    name: str
    kind: str  # "numeric", "nominal", "ordered", "date" or "text"
    dtype: str  # type in training; of rows read in batches only "String", if numbers were texts
    labels: tuple[Hashable, ...] | None  # of a nominal or ordered column, without missing ones
    least: float | None  # of numbers, dates in seconds since 1970, words; None if there are none
    largest: float | None
    missing_share: float


@with_registered_methods
class TableSchema(tuple[ColumnSchema, ...]):
    """What the columns of training were taken for; printed, a line for each."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = [
            f"{schema.name:30.30} {schema.kind:8} {describe_values(schema):.50}"
            + (f", {show_percent(schema.missing_share)} missing" if schema.missing_share else "")
            for schema in self[:MANY]
        ]
        if len(self) > MANY:
            lines.append(f"and {count(len(self) - MANY, 'more column')}")
        return "\n".join(lines)


def describe_values(column: ColumnSchema) -> str:
    """Return the labels or the range of a column as text."""
    if column.labels is not None:
        labels = ", ".join(str(label) for label in column.labels[:MANY])
        return f"{count(len(column.labels), 'label')}: {labels}"
    if column.least is None or column.largest is None:
        return "no numbers"
    words = " words" if column.kind == TEXT else ""
    return f"{show_value(column.least, 7)} to {show_value(column.largest, 7)}{words}"


@dataclass(eq=False)
class UnseenWatch:
    """Counts values that training did not have, and warns once per column if most are such.

    The counts are no part of a model: a copy and a saved model begin again.
    """

    n_columns: int
    n_rows: int = 0
    n_unseen: NDArray[np.int64] = field(init=False)
    with_texts: set[int] = field(default_factory=set)
    """Columns of numbers whose texts have been warned of."""

    def __post_init__(self) -> None:
        self.n_unseen = np.zeros(self.n_columns, dtype=np.int64)

    def __reduce__(self) -> tuple[type[UnseenWatch], tuple[int]]:
        return type(self), (self.n_columns,)

    def begin(self, n_rows: int) -> None:
        """Begin to read rows; few rows are counted together with those before."""
        if self.n_rows >= MIN_ROWS_TO_WARN:
            self.n_rows = 0
            self.n_unseen[self.n_unseen > 0] = 0
        self.n_rows += n_rows

    def note(
        self, at: int, n_unseen: int, name: str, labels: list[Hashable], model_name: str
    ) -> None:
        """Add the rows of one column; `labels` are examples of those never seen."""
        before = self.n_unseen[at]
        # Below zero it has been warned of.
        if before < 0:
            return
        self.n_unseen[at] = before + n_unseen
        share = self.n_unseen[at] / max(self.n_rows, 1)
        if self.n_rows >= MIN_ROWS_TO_WARN and share > 0.5:
            self.n_unseen[at] = -1
            examples = ", ".join(f"{label!r:.40}" for label in labels[:FEW])
            warn_user(
                f"{model_name}: {show_percent(share, 0)} of {self.n_rows} values of column {name} "
                f"were never seen in training, such as {examples}; the method check(X) says how X "
                "differs"
            )


def describe_columns(
    names: Sequence[str],
    dtypes: Sequence[str],
    is_nominal: NDArray[np.bool_],
    categories: Sequence[Categories],
    numbers: Sequence[tuple[float, float, float]],
    orders: Mapping[int, Categories],
    forms: Mapping[int, str],
) -> tuple[ColumnSchema, ...]:
    """Describe columns by their labels and by what `describe_numbers` returns.

    `orders` are the labels of the columns that are ordered categories, `forms` those of dates and
    texts.
    """
    labels, limits = iter(categories), iter(numbers)
    columns = []
    for i, (name, dtype, nominal) in enumerate(
        zip(names, dtypes, is_nominal.tolist(), strict=True)
    ):
        if nominal:
            learnt = next(labels)
            seen = tuple(label for label in learnt.labels if label is not None)
            share = learnt.missing_share
            columns.append(ColumnSchema(name, "nominal", dtype, seen, None, None, share))
        else:
            least, largest, share = next(limits)
            if i in orders:
                ordered = tuple(orders[i].labels)
                columns.append(ColumnSchema(name, "ordered", dtype, ordered, None, None, share))
                continue
            low, high = (None, None) if np.isnan(least) else (least, largest)
            form = forms.get(i, "numeric")
            kind = "date" if is_date(form) else form
            columns.append(ColumnSchema(name, kind, dtype, None, low, high, share))
    return tuple(columns)


def unseen_error(name: str, label: Any) -> ValueError:
    """The error of ``unseen="error"`` for a label, None if it is missing."""
    value = "a missing value" if label is None else repr(label)
    return ValueError(
        f"column {name} holds {value}, which training did not; unseen='backoff' accepts it"
    )


def find_unseen(column: NominalColumn, unseen: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the places of the labels of the rows that are unseen, commonest first."""
    places = column.codes[unseen & (column.codes >= 0)]
    counts = np.bincount(places, minlength=len(column.labels))
    return np.argsort(-counts, kind="stable")[: int((counts > 0).sum())]
