"""One encoder of the labels of several, for counts that were made apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from priorwise.data.tables.categories import Categories, NumericFeature, sorted_labels
from priorwise.data.tables.encoder import TableEncoder
from priorwise.data.tables.label_keys import label_key

Features = list[Categories | NumericFeature]


def join_encoders(
    encoders: Sequence[TableEncoder], factors: Sequence[float], totals: Sequence[float]
) -> TableEncoder:
    """Return an encoder of the labels of all, sorted as `fit` on all rows would sort them.

    The weights of the rows behind each encoder, `totals`, count `factors` times: -1 takes rows
    away. ValueError if the encoders read features in other ways or cut numbers at other points.
    """
    first = encoders[0]
    for other in encoders[1:]:
        if not _reads_alike(first, other):
            raise ValueError(
                "other must have the same features, read in the same way, and the same cut points "
                "of numbers: copy a fitted model, and count each part with partial_fit"
            )
    lists = [_list_features(encoder) for encoder in encoders]
    joined: Features = []
    for i, feature in enumerate(lists[0]):
        of_all = [features[i] for features in lists]
        if isinstance(feature, Categories):
            labels = [f for f in of_all if isinstance(f, Categories)]
            joined.append(_join_labels(labels, factors))
        else:
            numbers = [f for f in of_all if isinstance(f, NumericFeature)]
            joined.append(_join_numbers(numbers, factors, totals))
    return _with_features(first, joined)


def map_codes(old: TableEncoder, new: TableEncoder) -> list[NDArray[np.int32]]:
    """Return the code in `new` of each code of each feature in `old`; -1 if there is none.

    The last entry is for the code behind all others, of contexts that a memory limit made one.
    """
    maps = []
    for mine, theirs, arity in zip(
        _list_features(old), _list_features(new), new.arities_.tolist(), strict=True
    ):
        if isinstance(mine, Categories) and isinstance(theirs, Categories):
            place = {label_key(label): code for code, label in enumerate(theirs.labels)}
            codes = [place.get(label_key(label), -1) for label in mine.labels]
        else:
            assert isinstance(mine, NumericFeature)
            assert isinstance(theirs, NumericFeature)
            n_bins = len(mine.cut_points) + 1
            codes = list(range(n_bins))
            if mine.missing_seen:
                codes.append(n_bins if theirs.missing_seen else -1)
        maps.append(np.array([*codes, arity], dtype=np.int32))
    return maps


def keep_codes(encoder: TableEncoder, used: Sequence[NDArray[np.bool_] | None]) -> TableEncoder:
    """Return an encoder without the labels, and the code of missing numbers, that are not used."""
    features: Features = []
    for feature, mask in zip(_list_features(encoder), used, strict=True):
        if mask is None:
            features.append(feature)
        elif isinstance(feature, NumericFeature):
            features.append(replace(feature, missing_seen=feature.missing_seen and bool(mask[-1])))
        else:
            kept = np.flatnonzero(mask).tolist()
            labels = [feature.labels[code] for code in kept]
            counts = [feature.counts[code] for code in kept]
            categories = Categories.of(labels, counts, feature.marks)
            categories.left_out = feature.left_out
            features.append(categories)
    return _with_features(encoder, features)


def scale_weights(encoder: TableEncoder, factor: float) -> TableEncoder:
    """Return an encoder of rows whose weights are multiplied by a factor."""
    return join_encoders([encoder], [factor], [1.0])


def only_new_weights(after: TableEncoder, before: TableEncoder) -> TableEncoder:
    """Return an encoder with the weights that one more batch has brought.

    Its labels are those of both, in the codes of `after`.
    """
    other = copy(after)
    other.categories_ = []
    for new, old in zip(after.categories_, before.categories_, strict=True):
        known = [*old.counts, *[0.0] * (len(new.labels) - len(old.labels))]
        counts = [a - b for a, b in zip(new.counts, known, strict=True)]
        other.categories_.append(Categories.of(list(new.labels), counts, new.marks))
        other.categories_[-1].left_out = new.left_out - old.left_out
    return other


def _list_features(encoder: TableEncoder) -> Features:
    """Return what an encoder knows about each feature, as `TableEncoder.from_features` takes it."""
    labels, numbers = iter(encoder.categories_), iter(_list_numbers(encoder))
    return [next(labels) if nominal else next(numbers) for nominal in encoder.is_nominal_]


def _list_numbers(encoder: TableEncoder) -> list[NumericFeature]:
    numeric = np.flatnonzero(~encoder.is_nominal_).tolist()
    means = encoder.means_ or [0.0] * len(numeric)
    return [
        NumericFeature(points, bool(seen), mean, *numbers, encoder.orders_.get(i))
        for i, points, seen, mean, numbers in zip(
            numeric, encoder.cut_points_, encoder.missing_seen_, means, encoder.numbers_seen_,
            strict=True,
        )
    ]  # fmt: skip


def _with_features(encoder: TableEncoder, features: Features) -> TableEncoder:
    """Return an encoder that reads alike and knows other labels or missing numbers."""
    other = copy(encoder)
    numeric = [feature for feature in features if isinstance(feature, NumericFeature)]
    other.categories_ = [feature for feature in features if isinstance(feature, Categories)]
    other.missing_seen_ = np.array([f.missing_seen for f in numeric], dtype=bool)
    other.numbers_seen_ = [(f.least, f.largest, f.missing_share) for f in numeric]
    other.prepare()
    return other


def _reads_alike(a: TableEncoder, b: TableEncoder) -> bool:
    names = ("missing", "declared")
    return (
        a.feature_names == b.feature_names
        and all(getattr(a, name) == getattr(b, name) for name in names)
        and np.array_equal(a.is_nominal_, b.is_nominal_)
        and all(map(np.array_equal, a.cut_points_, b.cut_points_))
        and all(
            getattr(mine, "mean", 0.0) == getattr(yours, "mean", 0.0)
            for mine, yours in zip(_list_features(a), _list_features(b), strict=True)
        )
        and a.orders_.keys() == b.orders_.keys()
        and all(a.orders_[i].labels == b.orders_[i].labels for i in a.orders_)
    )


def _join_labels(of_all: Sequence[Categories], factors: Sequence[float]) -> Categories:
    labels: dict[Hashable, Hashable] = {}
    weights: dict[Hashable, float] = {}
    left_out = 0.0
    for categories, factor in zip(of_all, factors, strict=True):
        left_out += factor * categories.left_out
        for label, count in zip(categories.labels, categories.counts, strict=True):
            key = label_key(label)
            labels.setdefault(key, label)
            weights[key] = weights.get(key, 0.0) + factor * count
    known = sorted_labels([label for label in labels.values() if label is not None])
    ordered = [*known, *([None] if None in labels else [])]
    counts = [max(weights[label_key(label)], 0.0) for label in ordered]
    joined = Categories.of(ordered, counts, of_all[0].marks)
    joined.left_out = max(left_out, 0.0)
    return joined


def _join_numbers(
    of_all: Sequence[NumericFeature], factors: Sequence[float], totals: Sequence[float]
) -> NumericFeature:
    added = [f for f, factor in zip(of_all, factors, strict=True) if factor > 0]
    signed = [factor * total for factor, total in zip(factors, totals, strict=True)]
    missing = sum(f.missing_share * total for f, total in zip(of_all, signed, strict=True))
    return replace(
        of_all[0],
        missing_seen=any(f.missing_seen for f in of_all),
        least=float(np.nanmin([f.least for f in added])) if _is_known(added) else np.nan,
        largest=float(np.nanmax([f.largest for f in added])) if _is_known(added) else np.nan,
        missing_share=float(np.clip(missing / max(sum(signed), 1e-300), 0.0, 1.0)),
    )


def _is_known(features: Sequence[NumericFeature]) -> bool:
    return not all(np.isnan(feature.least) for feature in features)
