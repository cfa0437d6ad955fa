"""From a survey to the encoder that `fit` would have learnt on the same rows."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from priorwise.data.cuts.discretise import Discretizer
from priorwise.data.tables.categories import Categories, sorted_labels
from priorwise.data.tables.encoder import DISCRETIZERS, TableEncoder, cut_points_of
from priorwise.data.tables.value_summary import ValueSummary
from priorwise.streaming.survey import LabelCounts, Survey


def encoder_of_survey(
    survey: Survey, encoder: TableEncoder, feature_names: Sequence[str] | None = None
) -> tuple[TableEncoder, list[NDArray[np.intp]]]:
    """The encoder of the rows surveyed, and the code of each label of each nominal feature.

    Labels are sorted whatever batch they came with; with ``missing="impute"`` missing has the
    code of the most frequent label.
    """
    encoder = clone(encoder)
    encoder._check_parameters()
    encoder.n_features_in_ = len(survey.features)
    if feature_names is not None:
        encoder.feature_names_in_ = np.array([sys.intern(n) for n in feature_names], dtype=object)
    encoder.is_nominal_ = survey.is_nominal
    encoder.categories_, codes = [], []
    encoder._means, missing_seen, summaries = [], [], []
    for feature in survey.features:
        if isinstance(feature, LabelCounts):
            categories, of_labels = _learn_categories(feature, impute=encoder.missing == "impute")
            encoder.categories_.append(categories)
            codes.append(of_labels)
        elif encoder.missing == "impute":
            mean, filled = feature.impute()
            encoder._means.append(mean)
            missing_seen.append(False)
            summaries.append(filled)
        else:
            missing_seen.append(bool(feature.missing.any()))
            summaries.append(feature)
    encoder._missing_seen = np.array(missing_seen, dtype=bool)
    encoder.cut_points_ = []
    if summaries:
        encoder.discretizer_, encoder.cut_points_ = learn_cut_points(
            encoder.discretizer, summaries, encoder.n_jobs
        )
    return encoder, codes


def learn_cut_points(
    discretizer: Any, summaries: Sequence[ValueSummary], n_jobs: int | None = None
) -> tuple[Any, list[NDArray[np.float64]]]:
    """Fit a discretiser to each feature's values: rows of equal value and class are one, weighted.

    A transformer that is not of this library may take weights otherwise than rows, and gets the
    rows one by one.
    """
    if isinstance(discretizer, str):
        discretizer = DISCRETIZERS[discretizer]()
        if hasattr(discretizer, "n_jobs"):
            discretizer.set_params(n_jobs=n_jobs)
    cut_points: list[NDArray[np.float64]] = []
    for summary in summaries:
        values, counts = summary.values(), summary.counts()
        if len(values) == 0:
            values, counts = np.array([np.nan]), np.ones((1, 1), dtype=np.int64)
        at, y = np.nonzero(counts)
        fitted = clone(discretizer)
        if isinstance(fitted, Discretizer):
            fitted.fit(values[at, None], y, sample_weight=counts[at, y].astype(np.float64))
        else:
            each = np.repeat(np.arange(len(at)), counts[at, y])
            fitted.fit(values[at[each], None], y[each])
        cut_points.extend(cut_points_of(fitted))
    if isinstance(fitted, Discretizer):
        fitted.n_features_in_, fitted.cut_points_ = len(summaries), cut_points
    return fitted, cut_points


def _learn_categories(feature: LabelCounts, *, impute: bool) -> tuple[Categories, NDArray[np.intp]]:
    totals = dict(zip(feature.labels, feature.counts.sum(axis=1).tolist(), strict=True))
    seen = [label for label, total in totals.items() if total > 0 and label is not None]
    labels: list[Hashable] = sorted_labels([_shared(label) for label in seen])
    if totals.get(None, 0) > 0 and (not impute or not labels):
        labels.append(None)
    categories = Categories()
    categories.declare(labels)
    categories.counts = [float(totals[label]) for label in labels]
    instead = categories.mode_code if impute and labels else -1
    codes = [categories.code(label) for label in feature.labels]
    return categories, np.array([max(instead, 0) if c < 0 else c for c in codes], dtype=np.intp)


def _shared(label: Hashable) -> Hashable:
    # One object for one text: a model learnt in one go and one that was resumed are then saved
    # as the same bytes.
    return sys.intern(label) if type(label) is str else label
