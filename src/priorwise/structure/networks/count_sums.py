"""Adding, taking away and fading the counts of fitted networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.encoding import TableEncoder
from priorwise.data.encoding.joined_encoder import join_encoders, keep_codes, map_codes
from priorwise.structure.networks.network_counts import NetworkCounts

CountedModel = tuple[TableEncoder, NDArray[Any], list[NetworkCounts]]
"""An encoder, the classes, and the counts of each network."""


def add_counts(models: Sequence[CountedModel]) -> CountedModel:
    """Return the sum of models: that of all their rows."""
    encoder, classes, counts = _recode_together(models)
    first, *others = counts
    for other in others:
        first = [mine.merge(theirs) for mine, theirs in zip(first, other, strict=True)]
    return encoder, classes, first


def subtract_counts(models: Sequence[CountedModel]) -> CountedModel:
    """Return the first model without the rows of the others, and without what only they have."""
    encoder, classes, counts = _recode_together(models, subtract=True)
    first, *others = counts
    for other in others:
        first = [mine.subtract(theirs) for mine, theirs in zip(first, other, strict=True)]
    if first[0].class_tree.totals[0] <= 0.0:
        raise ValueError("at least one row must be left, got 0")
    return _forget_unused(encoder, classes, first)


def _recode_together(
    models: Sequence[CountedModel], *, subtract: bool = False
) -> tuple[TableEncoder, NDArray[Any], list[list[NetworkCounts]]]:
    """Return the encoder and the classes of all, and the counts of each in their codes."""
    networks = [counts.network for counts in models[0][2]]
    for _, _, counts in models[1:]:
        if [one.network for one in counts] != networks:
            raise ValueError(
                "other must have the same structure: copy a fitted model, and count each part "
                "with partial_fit, or fit with structure="
            )
    totals = [float(counts[0].class_tree.totals[0]) for _, _, counts in models]
    encoder = join_encoders([model[0] for model in models], totals, subtract=subtract)
    classes = np.unique(np.concatenate([model[1] for model in models]))
    recoded = []
    for old, labels, counts in models:
        maps = map_codes(old, encoder)
        places = np.searchsorted(classes, labels).astype(np.int32)
        recoded.append([one.recode(maps, places, encoder.arities_, len(classes)) for one in counts])
    return encoder, classes, recoded


def _forget_unused(
    encoder: TableEncoder, classes: NDArray[Any], counts: list[NetworkCounts]
) -> CountedModel:
    """Drop labels and missing numbers that no row has; classes stay."""
    if encoder.declared == "count":
        return encoder, classes, counts
    used: list[NDArray[np.bool_] | None] = [None] * len(encoder.is_nominal_)
    for one in counts:
        for i, tree in zip(one.network.order, one.feature_trees, strict=True):
            seen = tree.count_rows([0])[0] > 0
            before = used[i]
            used[i] = seen if before is None else before | seen
    kept = keep_codes(encoder, used)
    maps, places = map_codes(encoder, kept), np.arange(len(classes), dtype=np.int32)
    recoded = [one.recode(maps, places, kept.arities_, len(classes)) for one in counts]
    return kept, classes, recoded
