"""What is known of the columns of some rows: the one thing that learns how a table is read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.columns import encode_labels
from priorwise.data.cuts.discretise import Discretizer
from priorwise.data.cuts.names import WholeRange, as_discretizer, learn_cut_points
from priorwise.data.survey.labels import MANY_LABELS, LabelCounts, tell_nothing
from priorwise.data.survey.numbers import NumberCounts, ValueSummary
from priorwise.data.survey.words import learn_words
from priorwise.data.tables.categories import Categories
from priorwise.data.tables.column_kinds import choose_columns, warn_of_whole_numbers
from priorwise.data.tables.dates import PARTS, choose_form
from priorwise.data.tables.label_keys import mark_keys
from priorwise.data.tables.parts import Part, is_date, name_parts, part_labels, read_parts
from priorwise.data.tables.raw_table import infinity_error
from priorwise.data.tables.texts import TEXT, WordScores, holds_texts, warn_of_texts


def join_classes(
    mine: NDArray[Any], theirs: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """The classes of both, ascending, and the places of `mine` and of `theirs`."""
    if mine.dtype == theirs.dtype and np.array_equal(mine, theirs):
        places = np.arange(len(mine))
        return mine, places, places
    codes, classes = encode_labels(np.concatenate([mine, theirs]))
    return classes, codes[: len(mine)].astype(np.intp), codes[len(mine) :].astype(np.intp)


Feature = LabelCounts | NumberCounts


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of the columns of some rows: kinds, labels, numbers, missing values.

    Surveys of batches merge into that of all rows; rows that were surveyed can be taken away again
    (`subtract`) or made to count less (`scale`). An encoder is made of a survey, and of nothing
    else. A survey that nothing is learnt of classes from has one class for all rows.
    """

    names: list[str]  # how messages call the columns
    classes: NDArray[Any]  # class labels, ascending
    class_counts: NDArray[Any]  # rows of each class, or their weights
    features: list[Feature]  # one for each column: nominal or numeric
    orders: dict[int, list[Hashable]] = field(default_factory=dict)
    """Labels of the features that are ordered categories, whose numbers are ranks."""
    forms: dict[int, str] = field(default_factory=dict)
    """Forms of the columns of dates, whose numbers are seconds since 1970, and of texts, whose
    numbers are those of words."""
    parts: list[Part] = field(default_factory=list)
    """Of dates and texts, which are features behind those of the columns."""
    scores: dict[int, WordScores] = field(default_factory=dict)
    """Of the words of columns of texts, whose sums are the last parts of a column."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.class_counts.sum())

    @property
    def is_nominal(self) -> NDArray[np.bool_]:
        """Which features have labels."""
        return np.array([isinstance(feature, LabelCounts) for feature in self.features])

    @property
    def is_exact(self) -> bool:
        """Whether the values of every numeric feature are all kept."""
        numbers = [f for f in self.features if isinstance(f, NumberCounts)]
        return all(f.summary is None or f.summary.is_exact for f in numbers)

    def labels(self) -> list[list[Hashable]]:
        """Labels of the features that have labels."""
        return [feature.labels for feature in self.label_counts()]

    @property
    def has_missing_labels(self) -> bool:
        """Whether a row has no value of a feature with labels."""
        of_features = [zip(f.labels, f.totals, strict=True) for f in self.label_counts()]
        return any(label is None and total > 0 for pairs in of_features for label, total in pairs)

    def label_counts(self) -> list[LabelCounts]:
        """The features that have labels."""
        return [f for f in self.features if isinstance(f, LabelCounts)]

    def summaries(self, *, impute: bool) -> list[ValueSummary]:
        """Distinct values of the numeric features; with `impute`, means replace missing values."""
        found = [f.summary for f in self.features if isinstance(f, NumberCounts)]
        return [s.impute()[1] if impute else s for s in found if s is not None]

    def merge(self, other: Survey) -> Survey:
        """The survey of the rows of both."""
        if self.parts != other.parts:
            forms = self.forms | other.forms
            parts = sorted({*self.parts, *other.parts}, key=_place_of_part(forms))
            return self._with_parts(parts, forms).merge(other._with_parts(parts, forms))
        classes, mine, theirs = join_classes(self.classes, other.classes)
        a = _spread(self.features, mine, len(classes))
        b = _spread(other.features, theirs, len(classes))
        features = [_merge_features(*each) for each in zip(self.names, a, b, strict=True)]
        kind = np.result_type(self.class_counts, other.class_counts)
        class_counts = np.zeros(len(classes), dtype=kind)
        class_counts[mine] += self.class_counts
        class_counts[theirs] += other.class_counts
        for i, labels in self.orders.items():
            if other.orders.get(i) != labels:
                raise ValueError(
                    f"column {self.names[i]} must have one order in all batches, got "
                    f"{labels} and {other.orders.get(i)}"
                )
        forms = self.forms | other.forms
        return Survey(self.names, classes, class_counts, features, self.orders, forms, self.parts)

    def subtract(self, other: Survey) -> Survey:
        """The survey without the rows of `other`, which are rows of this one."""
        pairs = zip(self.features, other.features, strict=True)
        features: list[Feature] = [mine.subtract(theirs) for mine, theirs in pairs]  # type: ignore[arg-type]
        left = np.maximum(self.class_counts - other.class_counts, 0)
        return replace(self, features=features, class_counts=left)

    def scale(self, factor: float) -> Survey:
        """The survey where every row counts `factor` times."""
        features: list[Feature] = [feature.scale(factor) for feature in self.features]
        return replace(self, features=features, class_counts=factor * self.class_counts)

    def list_orders(self, marks: frozenset[Hashable]) -> dict[int, Categories]:
        """Return the orders of the columns that are ordered categories."""
        orders = {i: Categories(marks) for i in self.orders}
        for i, order in orders.items():
            order.declare(self.orders[i])
        return orders

    def count_many(self) -> dict[int, NDArray[Any]]:
        """Return the rows of each label and class of the columns of many labels."""
        return {
            i: feature.counts
            for i, feature in enumerate(self.features)
            if isinstance(feature, LabelCounts) and len(feature.labels) > MANY_LABELS
        }

    def find_joined(self, encoder: Any, by_class: Mapping[int, NDArray[Any]]) -> list[int]:
        """Return the columns whose labels are one label, since they tell nothing of the class.

        `by_class` are the rows of each label and class of columns of many labels. Those that
        `categorical_features` names keep their labels, and so do all where labels must be known.
        """
        if not by_class or encoder.unseen == "error" or encoder.declared == "count":
            return []
        chosen = choose_columns(
            "categorical_features",
            encoder.categorical_features,
            self.n_columns,
            encoder.column_names,
        )
        joined = list[int]()
        for i, counts in by_class.items():
            feature = self.features[i]
            if isinstance(feature, LabelCounts) and not chosen[i]:
                known = [label is not None for label in feature.labels]
                if sum(known) > MANY_LABELS and tell_nothing(counts[known]):
                    joined.append(i)
        return joined

    def code_labels(
        self,
        encoder: Any,
        known: Sequence[Categories] = (),
        n_rows: Mapping[int, NDArray[Any]] | None = None,
        joined: Collection[int] = (),
    ) -> tuple[list[Categories], list[NDArray[np.int32]]]:
        """Give codes to the labels of each feature that has some, by the parameters of an encoder.

        The `known` labels of these features come first. `n_rows` are the rows of the labels, by
        feature, where the survey has their weights. All labels of the features `joined` are one.
        """
        places, rows = np.flatnonzero(self.is_nominal).tolist(), n_rows or {}
        coded = [
            feature.to_categories(
                mark_keys(encoder.missing_values),
                encoder.missing,
                known[at] if known else None,
                min_rows=encoder.min_rows_per_label,
                n_rows=rows.get(places[at]),
                joins_all=places[at] in joined,
            )
            for at, feature in enumerate(self.label_counts())
        ]
        return [categories for categories, _ in coded], [codes for _, codes in coded]

    def learn_cut_points(
        self, discretizer: Any, *, impute: bool, n_jobs: int | None
    ) -> list[NDArray[np.float64]]:
        """Return the cut points that a discretiser learns of the distinct values.

        Rows of equal value and class are one weighted row. A transformer that is not of this
        library may not treat a weight of n as n rows, so it is given the rows one by one.
        """
        learner = as_discretizer(discretizer, n_jobs=n_jobs)
        takes_weights = isinstance(learner, Discretizer | WholeRange)
        numeric = np.flatnonzero(~self.is_nominal).tolist()
        points: list[NDArray[np.float64]] = []
        for i, summary in zip(numeric, self.summaries(impute=impute), strict=True):
            values, y, weight = summary.cells()
            if weight is not None and not takes_weights:
                each = np.repeat(np.arange(len(values)), weight.astype(np.int64))
                values, y, weight = values[each], y[each], None
            ordered = [0] if i in self.orders else []
            points += learn_cut_points(learner, values[None, :], y, weight, ordered=ordered)
        return points

    def settle(
        self,
        reading: Any,
        max_value_bytes: int | None = None,
        rows: Mapping[int, NDArray[Any]] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> Survey:
        """Return the survey of all rows, in which each feature is nominal or numeric.

        Text that is dates, or words, is found by the parameters of an encoder. Parts of dates that
        no row has are left out: the hours of days. Words are learnt of the rows of each label and
        class; `rows` has those of columns of text, and `classes`, if the survey does not.
        """
        n, whole_numbers, forms, scores = self.n_columns, list[str](), dict(self.forms), {}
        classes = self.classes.tolist() if classes is None else classes
        features = self.features[:n]
        of_parts = dict(zip(self.parts, self.features[n:], strict=True))
        for i, feature in enumerate(features):
            if not (isinstance(feature, LabelCounts) and (feature.is_text or i in forms)):
                continue
            counts = feature.counts if rows is None else rows[i]
            if i not in forms and feature.is_numeric(self.names[i], whole_numbers):
                numbers = replace(feature.to_numbers(max_value_bytes), is_text=True)
                features[i] = numbers
                if np.isinf([numbers.least, numbers.largest]).any():
                    raise infinity_error(self.names[i])
                continue
            form = forms.get(i) or _find_form(self.names[i], feature, counts, reading)
            if form is None:
                features[i] = replace(feature, is_text=False)
                continue
            forms[i], own, sums = form, [*PARTS], None
            if form == TEXT:
                least = reading.min_rows_per_label
                own, sums = learn_words(feature.labels, counts, classes, min_rows=least)
            if sums is not None:
                scores[i], own = sums, [*own, *sums.names]
            values = read_parts(feature.labels, form, own, sums)
            features[i] = feature.to_numbers(max_value_bytes, values[0])
            for part, of_part in zip(own, values[1:], strict=True):
                of_parts[i, part] = feature.to_numbers(max_value_bytes, of_part)
        warn_of_whole_numbers(whole_numbers)
        labels = {part: part_labels(forms[part[0]], part[1]) for part in of_parts}
        parts = [
            part
            for part in sorted(of_parts, key=_place_of_part(forms))
            if forms[part[0]] == TEXT or _has_part(of_parts[part], is_rank=bool(labels[part]))
        ]
        ranks: dict[int, list[Hashable]] = {
            n + at: [*labels[part]] for at, part in enumerate(parts) if labels[part]
        }
        return replace(
            self,
            names=[*self.names[:n], *name_parts(self.names, forms, parts)],
            features=[*features, *(of_parts[part] for part in parts)],
            orders=self.orders | ranks,
            forms=dict(sorted(forms.items())),
            parts=parts,
            scores=scores,
        )

    @property
    def n_columns(self) -> int:
        """Number of columns, without their parts."""
        return len(self.features) - len(self.parts)

    def _with_parts(self, parts: list[Part], forms: dict[int, str]) -> Survey:
        """The same survey with more parts of columns of these forms, which no row has."""
        n = self.n_columns
        known = dict(zip(self.parts, self.features[n:], strict=True))
        summary = ValueSummary(len(self.class_counts), None, np.asarray(self.class_counts))
        missing = NumberCounts(np.nan, np.nan, 0.0, float(self.class_counts.sum()), summary)
        names = [*self.names[:n], *name_parts(self.names, forms, parts)]
        features = [*self.features[:n], *(known.get(part, missing) for part in parts)]
        return replace(self, names=names, features=features, parts=parts)


def _place_of_part(forms: Mapping[int, str]) -> Callable[[Part], tuple[int, int]]:
    """Return the key by which parts are sorted: words stay in the order in which they are given."""
    return lambda part: (part[0], [*PARTS].index(part[1]) if is_date(forms[part[0]]) else 0)


def _has_part(feature: Feature, *, is_rank: bool) -> bool:
    """Whether rows have a part: hours are zero where dates have no time, ranks begin with zero."""
    least = 0.0 if is_rank else np.nextafter(0.0, 1.0)
    return isinstance(feature, NumberCounts) and feature.largest >= least


def _find_form(name: str, feature: LabelCounts, rows: NDArray[Any], reading: Any) -> str | None:
    """Return the form of a column of text, dates or `TEXT`; None if it holds labels."""
    if reading.date_features is not None and (form := choose_form(name, feature.known())):
        return form
    if reading.text_features is not None and holds_texts(feature.labels, rows.sum(axis=1)):
        warn_of_texts(name)
        return TEXT
    return None


def _spread(features: list[Feature], place: NDArray[np.intp], n_classes: int) -> list[Feature]:
    if len(place) == n_classes and np.array_equal(place, np.arange(n_classes)):
        return features
    return [feature.with_classes(place, n_classes) for feature in features]


def _merge_features(name: str, a: Feature, b: Feature) -> Feature:
    if isinstance(a, LabelCounts) and isinstance(b, LabelCounts):
        return a.merge(b)
    if isinstance(a, NumberCounts) and isinstance(b, NumberCounts):
        return a.merge(b)
    nominal, numeric = (a, b) if isinstance(a, LabelCounts) else (b, a)
    assert isinstance(nominal, LabelCounts)
    assert isinstance(numeric, NumberCounts)
    assert numeric.summary is not None
    # A column without a known value has no kind of its own.
    if np.isnan(numeric.least):
        missing = numeric.summary.missing[None, :]
        return nominal.merge(LabelCounts([None], missing, nominal.is_text))
    example = nominal.example
    if example is None:
        return numeric.merge(nominal.to_numbers(numeric.summary.max_bytes))
    raise ValueError(
        f"column {name} must hold numbers in every batch or in none, got {example!r} in one and "
        f"{numeric.least} in another: name it in categorical_features to take every value as "
        "a label, in numeric_features to take text as missing"
    )
