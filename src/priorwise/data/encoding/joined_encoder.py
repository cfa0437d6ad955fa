"""One encoder of the labels of several, for counts that were made apart."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from priorwise.data.encoding.encoder import TableEncoder
from priorwise.data.survey.labels import LabelCounts
from priorwise.data.survey.numbers import NumberCounts
from priorwise.data.survey.survey import Feature, Survey
from priorwise.data.tables.categories import Categories, sorted_labels
from priorwise.data.tables.label_keys import label_key

LEAST_SHARE = 1e-9
"""Weight of missing labels, relative to that of others, that is what rounding has left of none."""


def survey_of(encoder: TableEncoder, total: float) -> Survey:
    """Return what an encoder knows of its rows, whose weight is `total`, as a survey."""
    numbers = iter(encoder.numbers_seen_)
    categories = iter(encoder.categories_)
    features: list[Feature] = []
    for nominal in encoder.is_nominal_.tolist():
        if nominal:
            known = next(categories)
            labels, counts, declared = [*known.labels], [*known.counts], [*known.declared]
            if None not in labels:
                labels, counts = [*labels, None], [*counts, known.left_out]
                declared.append(0.0)
            of_types = np.array(declared) if any(declared) else None
            features.append(LabelCounts(labels, np.array(counts)[:, None], declared=of_types))
        else:
            least, largest, share = next(numbers)
            features.append(NumberCounts(least, largest, (1.0 - share) * total, share * total))
    names = [repr(name) for name in encoder.feature_names] or list(map(str, range(len(features))))
    return Survey(names, np.zeros(1), np.array([total]), features)


def join_encoders(
    encoders: Sequence[TableEncoder], totals: Sequence[float], *, subtract: bool = False
) -> TableEncoder:
    """Return an encoder of the labels of all, sorted as `fit` on all rows would sort them.

    `totals` are the weights of the rows behind each encoder. With `subtract`, the rows of all but
    the first are taken away; labels that no row is left of stay. ValueError if the encoders read
    features in other ways or cut numbers at other points.
    """
    first = encoders[0]
    for other in encoders[1:]:
        if not _reads_alike(first, other):
            raise ValueError(
                "other must have the same features, read in the same way, and the same cut points "
                "of numbers: copy a fitted model, and count each part with partial_fit"
            )
    surveys = [survey_of(*pair) for pair in zip(encoders, totals, strict=True)]
    survey = surveys[0]
    for one in surveys[1:]:
        survey = survey.subtract(one) if subtract else survey.merge(one)
    joined = copy(first)
    joined.categories_, names = [], np.array(survey.names)[survey.is_nominal].tolist()
    for at, labels in enumerate(survey.label_counts()):
        listed = [label for encoder in encoders for label in encoder.categories_[at].labels]
        distinct = {label_key(label): label for label in reversed(listed)}
        known = sorted_labels([label for label in distinct.values() if label is not None])
        ordered = [*known, *([None] if None in distinct else [])]
        known_labels = Categories.of(ordered, [0.0] * len(ordered), first.marks)
        known_labels.has_other = any(one.categories_[at].has_other for one in encoders)
        categories, _ = labels.to_categories(first.marks, first.missing, known_labels)
        if first.missing == "impute":
            parts = [one.categories_[at] for one in encoders]
            _join_replacements(names[at], parts, categories, subtract=subtract)
        joined.categories_.append(categories)
    numbers = [f for f in survey.features if isinstance(f, NumberCounts)]
    joined.missing_seen_ = np.any([encoder.missing_seen_ for encoder in encoders], axis=0)
    joined.numbers_seen_ = [(f.least, f.largest, f.missing_share) for f in numbers]
    joined.prepare()
    return joined


def _join_replacements(
    name: str, parts: Sequence[Categories], joined: Categories, *, subtract: bool
) -> None:
    """Decide what replaces the missing labels of a column from now on.

    ValueError if rows were counted with other labels in the place of missing ones, or rows that are
    left with another label than would be in their place if they were alone.
    """
    used = [one.replacement for one in parts if one.left_out > 0.0]
    joined.decide_replacement()
    if not subtract and used:
        joined.replacement = used[0]
    elif joined.left_out > LEAST_SHARE * sum(joined.counts):
        used.append(joined.replacement)
    distinct = {tuple(map(label_key, labels)): labels for labels in used}
    if len(distinct) > 1:
        (one,), (other,) = list(distinct.values())[:2]
        raise ValueError(
            f"missing='impute' has counted missing labels of column {name} as {one!r}, the most "
            f"frequent label of the first rows, but here they would be {other!r}: fit on the rows "
            "that are meant, or use missing='value' or 'ignore'"
        )


def map_codes(old: TableEncoder, new: TableEncoder) -> list[NDArray[np.int32]]:
    """Return the code in `new` of each code of each feature in `old`; -1 if there is none.

    The last entry is for the code behind all others, of contexts that a memory limit made one.
    """
    labels = zip(old.categories_, new.categories_, strict=True)
    numbers = zip(old.cut_points_, old.missing_seen_, new.missing_seen_, strict=True)
    maps = []
    for nominal, arity in zip(old.is_nominal_.tolist(), new.arities_.tolist(), strict=True):
        if nominal:
            mine, theirs = next(labels)
            place = {label_key(label): code for code, label in enumerate(theirs.labels)}
            codes = [place.get(label_key(label), -1) for label in mine.labels]
        else:
            points, is_missing, stays_missing = next(numbers)
            codes = list(range(len(points) + 1))
            if is_missing:
                codes.append(len(codes) if stays_missing else -1)
        maps.append(np.array([*codes, arity], dtype=np.int32))
    return maps


def keep_codes(encoder: TableEncoder, used: Sequence[NDArray[np.bool_] | None]) -> TableEncoder:
    """Return an encoder without the labels, and the code of missing numbers, that are not used.

    None keeps all codes of a feature.
    """
    other = copy(encoder)
    other.categories_, other.missing_seen_ = [], encoder.missing_seen_.copy()
    categories = iter(encoder.categories_)
    for nominal, mask in zip(encoder.is_nominal_.tolist(), used, strict=True):
        if not nominal:
            continue
        known = next(categories)
        kept = range(len(known.labels)) if mask is None else np.flatnonzero(mask).tolist()
        labels, counts = [known.labels[i] for i in kept], [known.counts[i] for i in kept]
        other.categories_.append(known.relabel(labels, counts))
    for at, i in enumerate(np.flatnonzero(~encoder.is_nominal_).tolist()):
        mask = used[i]
        if mask is not None:
            other.missing_seen_[at] &= bool(mask[-1])
    other.prepare()
    return other


def scale_weights(encoder: TableEncoder, factor: float) -> TableEncoder:
    """Return an encoder of rows whose weights are multiplied by a factor."""
    other = copy(encoder)
    other.categories_ = [known.scale(factor) for known in encoder.categories_]
    return other


def _reads_alike(a: TableEncoder, b: TableEncoder) -> bool:
    names = ("missing", "declared", "min_rows_per_label", "feature_names", "means_")
    return (
        all(getattr(a, name) == getattr(b, name) for name in names)
        and np.array_equal(a.is_nominal_, b.is_nominal_)
        and all(map(np.array_equal, a.cut_points_, b.cut_points_))
        and a.orders_.keys() == b.orders_.keys()
        and all(a.orders_[i].labels == b.orders_[i].labels for i in a.orders_)
        and (a.forms_, a.parts_) == (b.forms_, b.parts_)
        and all(a.scores_[i].is_same(b.scores_.get(i)) for i in a.scores_)
    )
