"""From a survey to the encoder that `fit` would have learnt on the same rows."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from priorwise.data.cuts.discretise import Discretizer
from priorwise.data.cuts.names import as_discretizer, cut_points_of, separate_ranks
from priorwise.data.cuts.whole_range import WholeRange
from priorwise.data.tables import Categories, NumericFeature, TableEncoder, ValueSummary
from priorwise.data.tables.categories import sorted_labels
from priorwise.data.tables.label_keys import mark_keys
from priorwise.streaming.survey import LabelCounts, Survey


def encoder_of_survey(
    survey: Survey, encoder: TableEncoder, *, feature_names: Sequence[str] | None = None
) -> tuple[TableEncoder, list[NDArray[np.intp]]]:
    """Make the fitted encoder of the rows that were surveyed, with the parameters of `encoder`.

    Also returns, for each nominal feature, the code of each label of the survey. Labels are sorted,
    whatever batch they came with. With ``missing="impute"`` a missing label has the code of the
    most frequent label, with ``missing="ignore"`` the code -1.
    """
    marks = mark_keys(encoder.missing_values)
    discretizer = as_discretizer(encoder.discretizer, n_jobs=encoder.n_jobs)
    features: list[Categories | NumericFeature] = []
    codes = []
    for i, feature in enumerate(survey.features):
        order = survey.find_order(i, marks)
        if isinstance(feature, LabelCounts):
            categories, label_codes = _learn_categories(feature, marks, encoder.missing)
            features.append(categories)
            codes.append(label_codes)
        elif encoder.missing == "impute":
            mean, filled = feature.impute()
            points = learn_cut_points(discretizer, filled, is_ordered=order is not None)
            features.append(NumericFeature(points, False, mean, *_describe(feature), order))
        else:
            missing_seen = bool(feature.missing.any()) and not encoder.ignores_missing
            points = learn_cut_points(discretizer, feature, is_ordered=order is not None)
            features.append(NumericFeature(points, missing_seen, 0.0, *_describe(feature), order))
    names = None if feature_names is None else [sys.intern(name) for name in feature_names]
    parameters = encoder.get_params(deep=False)
    return TableEncoder.from_features(parameters, features, feature_names=names), codes


def _describe(summary: ValueSummary) -> tuple[float, float, float]:
    """Return the least and the largest number and the share of missing values."""
    values, n_missing = summary.values(), int(summary.missing.sum())
    missing_share = n_missing / max(n_missing + int(summary.counts().sum()), 1)
    if len(values) == 0:
        return np.nan, np.nan, missing_share
    return float(values[0]), float(values[-1]), missing_share


def learn_cut_points(
    discretizer: Any, summary: ValueSummary, *, is_ordered: bool = False
) -> NDArray[np.float64]:
    """Fit a discretiser to the distinct values of one feature.

    Rows of equal value and class are one weighted row. A transformer that is not of this library
    may not treat a weight of n as n rows, so it is given the rows one by one.
    """
    values, counts = summary.values(), summary.counts()
    if len(values) == 0:
        values, counts = np.array([np.nan]), np.ones((1, 1), dtype=np.int64)
    at, y = np.nonzero(counts)
    fitted = clone(discretizer)
    if isinstance(fitted, Discretizer | WholeRange):
        fitted.fit(values[at, None], y, sample_weight=counts[at, y].astype(np.float64))
    else:
        each = np.repeat(np.arange(len(at)), counts[at, y])
        fitted.fit(values[at[each], None], y[each])
    (cut_points,) = cut_points_of(fitted)
    return separate_ranks(summary.values(), cut_points) if is_ordered else cut_points


def _learn_categories(
    feature: LabelCounts, marks: frozenset[Hashable], missing: str
) -> tuple[Categories, NDArray[np.intp]]:
    totals = feature.counts.sum(axis=1).tolist()
    seen = [label for label, total in zip(feature.labels, totals, strict=True) if total > 0]
    known = sorted_labels([_shared(label) for label in seen if label is not None])
    categories = Categories(marks)
    categories.declare(known)
    if None in seen and (missing == "value" or (missing == "impute" and not known)):
        categories.declare([None])
    labels = categories.labels
    for label, total in zip(feature.labels, totals, strict=True):
        if total > 0 and categories.code(label) >= 0:
            categories.counts[categories.code(label)] += float(total)
        elif label is None:
            categories.left_out = float(total)
    instead = categories.mode_code if missing == "impute" and labels else 0
    codes = [
        -1 if missing == "ignore" and label is None else categories.code(label)
        for label in feature.labels
    ]
    if missing != "ignore":
        codes = [instead if code < 0 else code for code in codes]
    return categories, np.array(codes, dtype=np.intp)


def _shared(label: Hashable) -> Hashable:
    # One object for one text: a model learnt in one go and one that was resumed are then saved
    # as the same bytes.
    return sys.intern(label) if type(label) is str else label
