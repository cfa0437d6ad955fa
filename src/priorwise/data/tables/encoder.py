"""Tables as integer codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from priorwise.common.validation import check_choice
from priorwise.data.columns import Columns
from priorwise.data.cuts.names import as_discretizer, learn_cut_points
from priorwise.data.tables.categories import Categories, NumericFeature
from priorwise.data.tables.code_names import CodeNames
from priorwise.data.tables.column_kinds import READING_PARAMETERS, choose_columns, find_kinds
from priorwise.data.tables.description.schema import (
    ColumnSchema,
    UnseenWatch,
    describe_columns,
    describe_numbers,
    find_unseen,
    unseen_error,
)
from priorwise.data.tables.description.value_summary import mean_of
from priorwise.data.tables.factorise import NominalColumn
from priorwise.data.tables.label_keys import as_float, list_numbers, mark_keys
from priorwise.data.tables.ordered import read_order, refuse_unlisted, to_ranks
from priorwise.data.tables.raw_table import RawTable
from priorwise.data.tables.single_row import read_single_row


class TableEncoder(CodeNames, BaseEstimator):
    """Turn arrays and frames into codes, each feature contiguous.

    Categories and booleans are nominal: each label has a code. Numbers are numeric: a discretiser
    cuts them into bins, on the training rows only. Strings and objects are what their values are
    (`is_numeric`), without those in `missing_values`. `categorical_features` and `numeric_features`
    (a mask, indices or names) choose otherwise; of the latter, text is missing. Ordered categories
    (`ordinal_features`) are numeric: a label is its rank, from 0 on, and one that the order does
    not have is missing; `orders_` has the labels of these features. The discretiser is
    one of the names in `DISCRETIZERS`, or a transformer that learns ``cut_points_`` (bins closed on
    the right) or ``bin_edges_`` (closed on the left, as scikit-learn's ``KBinsDiscretizer``).

    ``missing="value"`` gives missing a code of its own, ``"impute"`` takes the training's most
    frequent label or mean instead, ``"ignore"`` gives it the code -1. A code of -1 means unknown: a
    label training did not have, or a missing value where training had none; ``unseen="error"``
    raises a ValueError there instead, unless missing values are ignored. With ``declared="count"``
    labels that the type of a column declares have a code, whether rows have them or not.
    `categories_` has one entry for each nominal feature, `cut_points_` one for each numeric
    feature, ascending.

    >>> encoder = TableEncoder(discretizer="equal-width")
    >>> encoder.fit_transform([["red", 1.0], ["blue", 5.0], ["red", None]])
    array([[ 1,  0,  1],
           [ 0,  9, 10]], dtype=int32)
    """

    def __init__(
        self,
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        discretizer: Any = "mdlp",
        n_jobs: int | None = None,
        numeric_features: Any = None,
        missing_values: Any = "usual",
        declared: str = "ignore",
        ordinal_features: Any = "from_dtype",
    ) -> None:
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.ordinal_features = ordinal_features
        self.missing_values = missing_values
        self.missing = missing
        self.unseen = unseen
        self.declared = declared
        self.discretizer = discretizer
        self.n_jobs = n_jobs

    @classmethod
    def for_model(cls, model: Any, discretizer: Any) -> Self:
        """Make an encoder, not fitted, that reads by the parameters of a model."""
        reading = {name: getattr(model, name) for name in READING_PARAMETERS}
        return cls(**reading, discretizer=discretizer, n_jobs=model.n_jobs)

    @classmethod
    def from_features(
        cls,
        parameters: Mapping[str, Any],
        features: Sequence[Categories | NumericFeature],
        *,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Make a fitted encoder of what is known about each feature, without the rows.

        `features` are the labels of each nominal feature and the cut points of each numeric one.
        """
        encoder = cls(**parameters)
        encoder.check_parameters()
        encoder.n_features_in_ = len(features)
        if feature_names is not None:
            encoder.feature_names_in_ = np.array(list(feature_names), dtype=object)
        numeric = [feature for feature in features if isinstance(feature, NumericFeature)]
        encoder.is_nominal_ = np.array([isinstance(f, Categories) for f in features], dtype=bool)
        encoder.orders_ = {
            i: feature.order
            for i, feature in enumerate(features)
            if isinstance(feature, NumericFeature) and feature.order is not None
        }
        encoder.prepare()
        encoder.categories_ = [feature for feature in features if isinstance(feature, Categories)]
        encoder.cut_points_ = [feature.cut_points for feature in numeric]
        encoder.missing_seen_ = np.array([f.missing_seen for f in numeric], dtype=bool)
        encoder.numbers_seen_ = [(f.least, f.largest, f.missing_share) for f in numeric]
        encoder.dtypes_ = [""] * len(features)
        encoder.means_ = [f.mean for f in numeric] if encoder.missing == "impute" else []
        return encoder

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn labels and cut points: a stream of one batch."""
        self.fit_read(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the labels of one more batch.

        The first batch fixes which features are nominal, the cut points, and the means that
        replace missing numbers; later ones add labels, and missing as a value, behind the known
        codes. A missing label is replaced by the most frequent one so far.
        """
        self.fit_read(X, y, sample_weight, first=not hasattr(self, "categories_"))
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit, and return the codes of the rows of positive weight, shape (n_features, n_rows)."""
        return self.encode(self.fit_read(X, y, sample_weight))

    def transform(self, X: Any) -> NDArray[np.int32]:
        """Return the codes of X, shape (n_features, n_rows)."""
        return self.encode(self.read(X))

    def read(self, X: Any, model: Any = None) -> Columns:
        """Return X with labels as codes and numbers as they are; messages name the model."""
        check_is_fitted(self)
        model = self if model is None else model
        if self._reads_single_rows and self.missing != "impute" and self.unseen == "backoff":
            row = read_single_row(self, X, self._watch, model)
            if row is not None:
                return row
        table = RawTable(X, marks=self.marks)
        names = getattr(self, "feature_names_in_", None)
        if table.names != (list(range(self.n_features_in_)) if names is None else names.tolist()):
            validate_data(model, X, reset=False, skip_check_array=True)
        self._watch.begin(table.n_rows)
        columns = self._read_columns(table, learn=False, weight=None, model=model)
        return replace(columns, X=X)

    def encode(
        self, columns: Columns, cut_points: list[NDArray[np.float64]] | None = None
    ) -> NDArray[np.int32]:
        """Cut the numeric features, by default at `cut_points_`, and join them to the others."""
        points = self.cut_points_ if cut_points is None else cut_points
        return columns.cut(points, self.missing_seen, effective_n_jobs(self.n_jobs))

    @property
    def missing_seen(self) -> NDArray[np.int32]:
        """Whether training missed some numbers of each numeric feature, one or zero."""
        return self.missing_seen_.astype(np.int32)

    def with_cuts(self, discretizer: Any, cut_points: list[NDArray[np.float64]]) -> TableEncoder:
        """Return an encoder that reads alike and cuts numbers at what a discretiser has learnt."""
        other = copy(self).set_params(discretizer=discretizer)
        other.check_parameters()
        other.cut_points_ = cut_points
        return other

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features; empty if they have none."""
        return tuple(str(name) for name in getattr(self, "feature_names_in_", ()))

    @property
    def schema_(self) -> tuple[ColumnSchema, ...]:
        """What each column of training was taken for."""
        names = self.feature_names or tuple(map(str, range(self.n_features_in_)))
        return describe_columns(
            names,
            self.dtypes_,
            self.is_nominal_,
            self.categories_,
            self.numbers_seen_,
            self.orders_,
        )

    def read_numbers(self, table: RawTable, i: int, feature: int) -> NDArray[np.float64]:
        """Return column i of a table as the numbers of a feature; NaN where missing."""
        values = table.numeric(i, texts_are_missing=feature in self._texts_are_missing)
        return np.where(np.isin(values, self._number_marks), np.nan, values)

    def fit_read(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, first: bool = True
    ) -> Columns:
        """Fit, or learn one more batch, and return the rows of positive weight as `read` does."""
        self.check_parameters()
        table = RawTable(X, marks=mark_keys(self.missing_values))
        validate_data(self, X, reset=first, skip_check_array=True)
        if y is not None:
            check_consistent_length(X, y)
        weight, rows = sample_weight, np.empty((table.n_rows, 1))
        if weight is not None:
            weight = _check_sample_weight(weight, rows, dtype=float, ensure_non_negative=True)
        if first:
            self.is_nominal_, ordered = find_kinds(table, self, self.feature_names, weight)
            marks, names = mark_keys(self.missing_values), self.feature_names
            self.orders_ = {i: read_order(table, i, self, names, marks) for i in ordered}
            self.prepare()
            self.categories_ = [Categories(self.marks) for _ in range(self.is_nominal_.sum())]
            self.missing_seen_ = np.zeros(int((~self.is_nominal_).sum()), dtype=bool)
            self.means_: list[float] = []
            self.numbers_seen_: list[tuple[float, float, float]] = []
            self.dtypes_ = [table.dtype(i) for i in range(table.n_columns)]
        columns = self._read_columns(table, learn=True, weight=weight)
        if weight is not None and not weight.all():
            counted = np.flatnonzero(weight)
            columns, weight = columns.take(counted), weight[counted]
            y = None if y is None else np.asarray(y)[counted]
        if first:
            self.cut_points_ = learn_cut_points(
                self.discretizer, columns.values, y, weight,
                n_jobs=self.n_jobs, ordered=self.ordered_places,
            )  # fmt: skip
        return columns

    def check_parameters(self) -> None:
        """Raise ValueError, which names the parameter, if one has a value that it must not have."""
        check_choice("missing", self.missing, ("value", "impute", "ignore"))
        check_choice("unseen", self.unseen, ("backoff", "error"))
        check_choice("declared", self.declared, ("ignore", "count"))
        mark_keys(self.missing_values)
        if isinstance(self.discretizer, str):
            as_discretizer(self.discretizer)

    def prepare(self) -> None:
        """Note what reading needs of the parameters."""
        self.marks = mark_keys(self.missing_values)
        self._number_marks = np.array([as_float(mark) for mark in list_numbers(self.marks)])
        names, n = getattr(self, "feature_names_in_", ()), len(self.is_nominal_)
        chosen = choose_columns("numeric_features", self.numeric_features, n, names)
        self._texts_are_missing: list[int] = np.flatnonzero(chosen).tolist()
        self._watch = UnseenWatch(int(self.is_nominal_.sum()) + len(self.orders_))
        # Numbers that mean missing need a closer look than `read_single_row` takes.
        self._reads_single_rows = len(names) > 0 and not len(self._number_marks)

    def _read_columns(
        self,
        table: RawTable,
        *,
        learn: bool,
        weight: NDArray[np.float64] | None,
        model: Any = None,
    ) -> Columns:
        nominal = np.flatnonzero(self.is_nominal_).tolist()
        numeric = np.flatnonzero(~self.is_nominal_).tolist()
        codes = np.empty((len(nominal), table.n_rows), dtype=np.int32)
        for at, i in enumerate(nominal):
            if learn:
                codes[at] = self._learn_nominal(table, i, self.categories_[at], weight)
            else:
                codes[at] = self._code_nominal(table, i, at, model)
        plain = [i for i in numeric if i not in self.orders_]
        values = table.numeric_values(plain, plain if learn else self._texts_are_missing)
        if len(self._number_marks):
            values[np.isin(values, self._number_marks)] = np.nan
        if self.orders_:
            plain_values, values = values, np.empty((len(numeric), table.n_rows))
            values[[i not in self.orders_ for i in numeric]] = plain_values
            for at, i in enumerate(self.orders_):
                watched = len(nominal) + at
                values[numeric.index(i)] = self._rank(table, i, learn, watched, model)
        if learn or (self.missing, self.unseen) != ("value", "backoff"):
            for at, i in enumerate(numeric):
                if learn and at == len(self.numbers_seen_):
                    self.numbers_seen_.append(describe_numbers(values[at], weight))
                self._treat_missing(values[at], at, table.name(i), learn, weight)
        return Columns(codes, values, self.is_nominal_)

    def _learn_nominal(
        self, table: RawTable, i: int, labels: Categories, weight: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        column, impute = table.nominal(i), self.missing == "impute"
        declared = table.declared_labels(i) if self.declared == "count" else None
        # Missing values that are left out or become the mode add no label.
        leave_out = self.ignores_missing or (impute and bool((column.codes >= 0).any()))
        labels.learn(column, weight, declared=declared or (), code_missing=not leave_out)
        return labels.encode(column, impute=impute)

    def _code_nominal(self, table: RawTable, i: int, at: int, model: Any) -> NDArray[np.int32]:
        column = table.nominal(i, keep_marks=True)
        codes = self.categories_[at].encode(column, impute=self.missing == "impute")
        unseen = codes < 0
        if self.ignores_missing and unseen.any():
            is_mark = np.array([*(key in self.marks for key in column.keys), True])
            unseen &= ~is_mark[column.codes]
        self._note_unseen(table.name(i), column, unseen, at, model)
        return codes

    def _rank(
        self, table: RawTable, i: int, learn: bool, at: int, model: Any
    ) -> NDArray[np.float64]:
        order, column = self.orders_[i], table.nominal(i, keep_marks=not learn)
        if learn:
            refuse_unlisted(order, column, table.name(i))
        ranks = to_ranks(order, column)
        if not learn:
            is_label = np.array([*(key not in self.marks for key in column.keys), False])
            unseen = np.isnan(ranks) & is_label[column.codes]
            self._note_unseen(table.name(i), column, unseen, at, model)
        return ranks

    def _note_unseen(
        self, name: str, column: NominalColumn, unseen: NDArray[np.bool_], at: int, model: Any
    ) -> None:
        """Count labels that training did not have, or raise the error of ``unseen="error"``."""
        if not unseen.any():
            return
        if self.unseen == "error":
            place = column.codes[np.argmax(unseen)]
            raise unseen_error(name, column.labels[place] if place >= 0 else None)
        places = find_unseen(column, unseen)
        labels = [column.labels[place] for place in places[:3]]
        n_unseen = int((unseen & (column.codes >= 0)).sum())
        self._watch.note(at, n_unseen, name, labels, type(model).__name__)

    def _treat_missing(
        self,
        values: NDArray[np.float64],
        at: int,
        name: str,
        learn: bool,
        weight: NDArray[np.float64] | None,
    ) -> None:
        if self.ignores_missing:
            return
        absent = np.isnan(values)
        if self.missing == "impute":
            if learn and at == len(self.means_):
                self.means_.append(
                    mean_of(values[~absent], None if weight is None else weight[~absent])
                )
            values[absent] = self.means_[at]
        elif learn:
            self.missing_seen_[at] |= bool(
                (absent if weight is None else absent & (weight > 0)).any()
            )
        elif self.unseen == "error" and absent.any() and not self.missing_seen_[at]:
            raise unseen_error(name, None)
