"""Surveys of batches merge into that of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priorwise.data.tables import TableEncoder, ValueSummary
from priorwise.streaming.survey import LabelCounts, Survey, survey_batch
from priorwise.streaming.surveyed_encoder import encoder_of_survey

LABELS = st.sampled_from(["a", "b", "c", None])
NUMBERS = st.sampled_from([0.0, -0.0, 1.5, 2.0, float("nan"), 1e300])
ROWS = st.lists(st.tuples(LABELS, NUMBERS, st.sampled_from(["no", "yes", "why"])), min_size=2)


def survey(rows: list[Any], known: Any = None) -> Survey:
    frame = pd.DataFrame(
        {
            "label": pd.Series([row[0] for row in rows], dtype=object),
            "number": np.array([row[1] for row in rows]),
        }
    )
    y = np.array([row[2] for row in rows], dtype=object)
    return survey_batch(frame, y, TableEncoder(), known).survey


def tell(found: Survey) -> Any:
    """All that a survey says, in one order."""
    labels, numbers = found.features
    assert isinstance(labels, LabelCounts)
    assert isinstance(numbers, ValueSummary)
    return (
        found.classes.tolist(),
        found.class_counts.tolist(),
        sorted(
            (str(label), counts.tolist())
            for label, counts in zip(labels.labels, labels.counts, strict=True)
            if counts.any()
        ),
        numbers.values().tolist(),
        numbers.counts().tolist(),
        numbers.missing.tolist(),
    )


@settings(max_examples=settings().max_examples * 3 // 5)
@given(ROWS, st.data())
def test_parts_merge_to_the_whole_in_any_grouping(rows: list[Any], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(rows) - 1))
    second = data.draw(st.integers(first, len(rows)))
    parts = [part for part in (rows[:first], rows[first:second], rows[second:]) if part]
    whole = tell(survey(rows))
    a, *others = [survey(part) for part in parts]
    left = a
    for other in others:
        left = left.merge(other)
    right = others[-1]
    for other in reversed([a, *others[:-1]]):
        right = other.merge(right)
    assert tell(left) == tell(right) == whole


@settings(max_examples=settings().max_examples * 2 // 5)
@given(ROWS, st.permutations(["a", "b", "c", None, "d"]), st.sampled_from(["value", "impute"]))
def test_the_encoder_does_not_depend_on_the_order_labels_came_in(
    rows: list[Any], known: list[Any], missing: str
) -> None:
    encoder = TableEncoder(missing=missing, discretizer="equal-width")
    direct, _ = encoder_of_survey(survey(rows), encoder)
    hinted, codes = encoder_of_survey(survey(rows, [known]), encoder)
    assert direct.categories_[0].labels == hinted.categories_[0].labels
    assert direct.categories_[0].counts == hinted.categories_[0].counts
    for label, code in zip(known, codes[0].tolist(), strict=False):
        if label in direct.categories_[0].labels:
            assert direct.categories_[0].labels[code] == label


def test_a_column_of_nothing_takes_the_kind_it_has_elsewhere() -> None:
    nothing = pd.DataFrame({"x": [None, None]}, dtype=object)
    numbers = pd.DataFrame({"x": [1.0, 2.0]})
    words = pd.DataFrame({"x": ["a", "b"]})
    y = np.array(["no", "yes"], dtype=object)
    empty = survey_batch(nothing, y, TableEncoder()).survey
    for frame, nominal in ((numbers, False), (words, True)):
        full = survey_batch(frame, y, TableEncoder()).survey
        for merged in (empty.merge(full), full.merge(empty)):
            assert merged.is_nominal.tolist() == [nominal]
    full = survey_batch(numbers, y, TableEncoder()).survey
    with pytest.raises(ValueError, match=r"column 'x' must hold numbers in every batch or in none"):
        full.merge(survey_batch(words, y, TableEncoder()).survey)


def test_a_limit_makes_neighbours_one_and_keeps_all_rows(rng: np.random.Generator) -> None:
    values = rng.normal(size=20_000)
    y = rng.integers(0, 3, 20_000).astype(np.int32)
    limit = 500 * 8 * 4
    parts = [
        ValueSummary.of(v, c, 3, limit)
        for v, c in zip(np.split(values, 20), np.split(y, 20), strict=True)
    ]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    assert not merged.is_exact
    assert merged.n_bytes <= limit
    np.testing.assert_array_equal(merged.counts().sum(axis=0), np.bincount(y))
    ranks = np.searchsorted(np.sort(values), merged.values(), side="right")
    np.testing.assert_allclose(
        merged.counts().sum(axis=1).cumsum() / 20_000, ranks / 20_000, atol=0.02
    )
