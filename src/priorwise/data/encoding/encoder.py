"""Tables as integer codes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from priorwise.common.validation import check_choice, check_number, check_relative_weight
from priorwise.data.columns import Columns, encode_labels
from priorwise.data.cuts.names import as_discretizer, learn_cut_points
from priorwise.data.encoding.given_rows import arrange_rows, learn_columns, open_rows
from priorwise.data.encoding.new_rows import read_rows
from priorwise.data.encoding.schema import CodeNames, UnseenWatch
from priorwise.data.encoding.single_row import read_single_row
from priorwise.data.survey.batch import RawColumns
from priorwise.data.survey.numbers import NumberCounts
from priorwise.data.survey.survey import Survey
from priorwise.data.tables.column_kinds import (
    READING_PARAMETERS,
    choose_columns,
    kinds_of_columns,
)
from priorwise.data.tables.dates import check_forms
from priorwise.data.tables.label_keys import as_float, list_numbers, mark_keys


class TableEncoder(CodeNames, BaseEstimator):
    """Turn arrays and frames into codes, each feature contiguous.

    Categories and booleans are nominal: each label has a code. Numbers are numeric: a discretiser
    cuts them into bins, on the training rows only. Strings and objects are what their values are
    (`is_numeric`), without those in `missing_values`. `categorical_features` and `numeric_features`
    (a mask, indices or names) choose otherwise; of the latter, text is missing. Ordered categories
    (`ordinal_features`) are numeric: a label is its rank, from 0 on, and one that the order does
    not have is missing; `orders_` has the labels of these features. Dates (`date_features`) are
    numeric, in seconds, and so are texts (`text_features`), by their numbers of words; `forms_`
    has the columns of both, and `parts_` of them are features behind those of the columns. The
    discretiser is one of the names in `DISCRETIZERS`, or a transformer that learns ``cut_points_``
    (bins closed on the right) or ``bin_edges_`` (closed on the left, as scikit-learn's
    ``KBinsDiscretizer``).

    ``missing="value"`` gives missing a code of its own, ``"impute"`` takes the training's most
    frequent label or mean instead, ``"ignore"`` gives it the code -1. A code of -1 means unknown: a
    label training did not have, or a missing value where training had none; ``unseen="error"``
    raises a ValueError there instead, unless missing values are ignored. With ``declared="count"``
    labels that the type of a column declares have a code, whether rows have them or not. Labels of
    fewer than `min_rows_per_label` rows of the first table are one label, "other", as are all
    labels that training did not have, if there are such; further tables bring no other labels.
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
        date_features: Any = "from_dtype",
        text_features: Any = "from_dtype",
        min_rows_per_label: int = 1,
    ) -> None:
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.ordinal_features = ordinal_features
        self.date_features = date_features
        self.text_features = text_features
        self.missing_values = missing_values
        self.min_rows_per_label = min_rows_per_label
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
    def of_survey(
        cls, survey: Survey, parameters: Mapping[str, Any], feature_names: Sequence[str]
    ) -> tuple[Self, list[NDArray[np.int32]]]:
        """Make the encoder that `fit` would learn on the rows that were surveyed by class.

        Also returns, for each nominal feature, the code of each label of the survey.
        """
        encoder = cls(**parameters)
        encoder.check_parameters()
        encoder.n_features_in_ = survey.n_columns
        names = [sys.intern(name) for name in feature_names]
        encoder.feature_names_in_ = np.array(names, dtype=object)
        label_codes = encoder._adopt(survey, by_class=survey.count_many())
        encoder.cut_points_ = survey.learn_cut_points(
            encoder.discretizer, impute=encoder.missing == "impute", n_jobs=encoder.n_jobs
        )
        return encoder, label_codes

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn labels and cut points: a stream of one batch."""
        self.fit_read(X, y, sample_weight)
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
        X = arrange_rows(self, X, model)
        if self._reads_single_rows and self.missing != "impute" and self.unseen == "backoff":
            row = read_single_row(self, X, self.watch, model)
            if row is not None:
                return row
        table, X = open_rows(self, X, model)
        self.watch.begin(table.n_rows)
        return replace(read_rows(self, table, model), X=X)

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

    def fit_read(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        classes: Any = None,
        *,
        joins_labels: bool = False,
    ) -> Columns:
        """Survey one batch of rows, and return those of positive weight as `read` does.

        Messages name `classes`, by default those of y; they are what codes y stand for. With
        `joins_labels`, labels that tell nothing of the class are joined.
        """
        self.check_parameters()
        table = learn_columns(self, X)
        if y is not None:
            check_consistent_length(range(table.n_rows), y)
        weight = (
            None if sample_weight is None else check_relative_weight(sample_weight, table.n_rows)
        )
        kinds = kinds_of_columns(table, self, self.column_names)
        raw = RawColumns.read(table, self, kinds, self.column_names)
        survey = raw.survey(weight, summarise=self.missing == "impute")
        coded = None if classes is None else (np.asarray(y, np.int32), np.asarray(classes))
        codes, labels = coded or encode_labels(np.zeros(table.n_rows) if y is None else y)
        rows = raw.count_by_class(codes, len(labels), weight)
        survey = survey.settle(self, rows=rows, classes=labels.tolist())
        label_codes = self._adopt(survey, raw.count_rows(weight), rows if joins_labels else {})
        self.dtypes_ = [table.dtype(i) for i in range(table.n_columns)]
        columns, weight, counted = self._keep_counted(raw, label_codes, weight)
        y = None if y is None else np.asarray(y)[counted]
        self.cut_points_ = learn_cut_points(
            self.discretizer, columns.values, y, weight,
            n_jobs=self.n_jobs, ordered=self.ordered_places,
        )  # fmt: skip
        return columns

    def read_more(self, X: Any, sample_weight: Any = None) -> tuple[TableEncoder, Survey, Columns]:
        """Survey one more batch; this encoder stays as it is.

        Returns the encoder of all rows, the survey of the batch, and its rows of positive weight,
        read by the new encoder. Kinds of columns, cut points, and the means and labels that replace
        missing values stay; new labels, and missing as a value, come behind the known codes.
        """
        check_is_fitted(self)
        table, _ = open_rows(self, arrange_rows(self, X, self), self)
        weight = (
            None if sample_weight is None else check_relative_weight(sample_weight, table.n_rows)
        )
        raw = RawColumns.read(
            table, self, self.kinds, self.column_names,
            forms=self.forms_, parts=self.parts_, scores=self.scores_,
        )  # fmt: skip
        survey = raw.survey(weight)
        other, label_codes = self.extend(survey)
        columns, _, _ = other._keep_counted(raw, label_codes, weight)
        return other, survey, columns

    def extend(self, survey: Survey) -> tuple[TableEncoder, list[NDArray[np.int32]]]:
        """Return an encoder of these rows too, and the code of each label of their survey."""
        other = copy(self)
        numbers = [f for f in survey.features if isinstance(f, NumberCounts)]
        other.categories_, label_codes = survey.code_labels(self, known=self.categories_)
        other.missing_seen_ = self.missing_seen_ | self._find_missing(numbers)
        other.prepare()
        return other, label_codes

    def _adopt(
        self,
        survey: Survey,
        n_rows: Mapping[int, NDArray[Any]] | None = None,
        by_class: Mapping[int, NDArray[Any]] | None = None,
    ) -> list[NDArray[np.int32]]:
        """Take over what a survey knows but for cut points; return the codes of its labels.

        `n_rows` are the rows of the labels of each column, if the survey has their weights, and
        `by_class` those of each label and class of columns of many labels.
        """
        marks = mark_keys(self.missing_values)
        numbers = [f for f in survey.features if isinstance(f, NumberCounts)]
        self.is_nominal_ = survey.is_nominal
        self.orders_ = survey.list_orders(marks)
        self.forms_, self.parts_, self.scores_ = survey.forms, survey.parts, survey.scores
        self.prepare()
        self.categories_, label_codes = survey.code_labels(
            self, n_rows=n_rows, joined=survey.find_joined(self, by_class or {})
        )
        if self.missing == "impute":
            for categories in self.categories_:
                categories.decide_replacement()
        self.missing_seen_ = self._find_missing(numbers)
        self.numbers_seen_ = [(f.least, f.largest, f.missing_share) for f in numbers]
        self.means_ = [f.mean for f in numbers] if self.missing == "impute" else []
        was_text = [isinstance(f, NumberCounts) and f.is_text for f in survey.features]
        self.dtypes_ = ["String" if of_text else "" for of_text in was_text[: survey.n_columns]]
        return label_codes

    def _find_missing(self, numbers: Sequence[NumberCounts]) -> NDArray[np.bool_]:
        """Return which numeric features need a code for missing values."""
        return np.array([self.missing == "value" and f.n_missing > 0 for f in numbers], dtype=bool)

    def _keep_counted(
        self,
        raw: RawColumns,
        label_codes: Sequence[NDArray[np.int32]],
        weight: NDArray[np.float64] | None,
    ) -> tuple[Columns, NDArray[np.float64] | None, Any]:
        """Return the rows of positive weight, their weights and their places."""
        columns = raw.to_columns(
            self.is_nominal_, label_codes, self.forms_, self.parts_, self.scores_
        )
        for values, mean in zip(columns.values, self.means_, strict=False):
            values[np.isnan(values)] = mean
        if weight is None or weight.all():
            return columns, weight, slice(None)
        counted = np.flatnonzero(weight)
        return columns.take(counted), weight[counted], counted

    def check_parameters(self) -> None:
        """Raise ValueError, which names the parameter, if one has a value that it must not have."""
        check_choice("missing", self.missing, ("value", "impute", "ignore"))
        check_choice("unseen", self.unseen, ("backoff", "error"))
        check_choice("declared", self.declared, ("ignore", "count"))
        check_number("min_rows_per_label", self.min_rows_per_label, least=1, whole=True)
        if self.min_rows_per_label > 1 and self.unseen == "error":
            raise ValueError(
                "unseen must be 'backoff' with min_rows_per_label above 1, which makes one label "
                "of rare and of unseen ones, got 'error'"
            )
        mark_keys(self.missing_values)
        check_forms(self.date_features)
        if isinstance(self.discretizer, str):
            as_discretizer(self.discretizer)

    def prepare(self) -> None:
        """Note what reading needs of the parameters."""
        self.marks = mark_keys(self.missing_values)
        self.number_marks = np.array([as_float(mark) for mark in list_numbers(self.marks)])
        names, n = getattr(self, "feature_names_in_", ()), len(self.is_nominal_) - len(self.parts_)
        chosen = choose_columns("numeric_features", self.numeric_features, n, names)
        self.texts_are_missing: list[int] = np.flatnonzero(chosen).tolist()
        self.watch = UnseenWatch(int(self.is_nominal_.sum()) + len(self.orders_))
        # Numbers that mean missing need a closer look than `read_single_row` takes.
        self._reads_single_rows = len(names) > 0 and not len(self.number_marks) and not self.forms_
