"""Surveys of batches merge into that of all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from priorwise.data.encoding import TableEncoder
from priorwise.data.survey import LabelCounts, NumberCounts, Survey, ValueSummary
from priorwise.data.survey.batch import RawColumns
from priorwise.data.tables import RawTable, encode_labels
from priorwise.data.tables.column_kinds import kinds_of_columns

LABELS = st.sampled_from(["a", "b", "c", None])
NUMBERS = st.sampled_from([0.0, -0.0, 1.5, 2.0, float("nan"), 1e300])
ROWS = st.lists(st.tuples(LABELS, NUMBERS, st.sampled_from(["no", "yes", "why"])), min_size=2)


def survey_frame(frame: pd.DataFrame, y: Any, known: Any = None) -> Survey:
    """Survey one batch by class, as a pass does."""
    encoder, table = TableEncoder(), RawTable(frame)
    kinds = kinds_of_columns(table, encoder, list(frame))
    raw = RawColumns.read(table, encoder, kinds, list(frame), known)
    return raw.survey_by_class(*encode_labels(y))


def to_frame(rows: list[Any]) -> pd.DataFrame:
    labels = pd.Series([row[0] for row in rows], dtype=object)
    return pd.DataFrame({"label": labels, "number": np.array([row[1] for row in rows])})


def survey(rows: list[Any], known: Any = None) -> Survey:
    y = np.array([row[2] for row in rows], dtype=object)
    return survey_frame(to_frame(rows), y, known)


def survey_without_classes(rows: list[Any], weight: Any = None) -> Survey:
    """Survey one batch as `fit` does."""
    table = RawTable(to_frame(rows))
    raw = RawColumns.read(table, TableEncoder(), ["nominal", "numeric"])
    return raw.survey(weight)


def tell(found: Survey) -> Any:
    """All that a survey says, in one order."""
    labels, numbers = found.features
    assert isinstance(labels, LabelCounts)
    assert isinstance(numbers, NumberCounts)
    assert numbers.summary is not None
    return (
        found.classes.tolist(),
        found.class_counts.tolist(),
        sorted(
            (str(label), counts.tolist())
            for label, counts in zip(labels.labels, labels.counts, strict=True)
            if counts.any()
        ),
        numbers.summary.values().tolist(),
        numbers.summary.counts().tolist(),
        numbers.summary.missing.tolist(),
        (repr(numbers.least), repr(numbers.largest), numbers.n_known, numbers.n_missing),
    )


def tell_weights(found: Survey) -> Any:
    """The weights that a survey without classes says, in one order."""
    labels, numbers = found.features
    assert isinstance(labels, LabelCounts)
    assert isinstance(numbers, NumberCounts)
    weights = dict(zip(map(str, labels.labels), labels.totals.tolist(), strict=True))
    known = {label: weight for label, weight in weights.items() if weight}
    return known, found.class_counts.tolist(), numbers.n_known, numbers.n_missing


@given(ROWS, ROWS)
def test_rows_that_are_taken_away_leave_the_survey_of_the_others(
    rows: list[Any], others: list[Any]
) -> None:
    both = survey_without_classes(rows).merge(survey_without_classes(others))
    assert tell_weights(both) == tell_weights(survey_without_classes([*rows, *others]))
    left = both.subtract(survey_without_classes(others))
    assert tell_weights(left) == tell_weights(survey_without_classes(rows))


@given(ROWS)
def test_rows_that_count_half_are_rows_of_half_the_weight(rows: list[Any]) -> None:
    scaled = survey_without_classes(rows).scale(0.5)
    assert tell_weights(scaled) == tell_weights(
        survey_without_classes(rows, np.full(len(rows), 0.5))
    )


@given(ROWS)
def test_a_survey_by_class_and_one_without_classes_agree(rows: list[Any]) -> None:
    by_class, plain = survey(rows), survey_without_classes(rows)
    mine, theirs = by_class.features[1], plain.features[1]
    assert isinstance(mine, NumberCounts)
    assert isinstance(theirs, NumberCounts)
    np.testing.assert_array_equal(mine.least, theirs.least)
    np.testing.assert_array_equal(mine.largest, theirs.largest)
    assert tell_weights(by_class)[2:] == tell_weights(plain)[2:]
    assert tell_weights(by_class)[0] == tell_weights(plain)[0]


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
    parameters = {"missing": missing, "discretizer": "equal-width"}
    names = ["label", "number"]
    direct, _ = TableEncoder.of_survey(survey(rows).settle(TableEncoder()), parameters, names)
    hinted, codes = TableEncoder.of_survey(
        survey(rows, [known]).settle(TableEncoder()), parameters, names
    )
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
    empty = survey_frame(nothing, y)
    for frame, nominal in ((numbers, False), (words, True)):
        full = survey_frame(frame, y)
        for merged in (empty.merge(full), full.merge(empty)):
            assert merged.is_nominal.tolist() == [nominal]
    full = survey_frame(numbers, y)
    with pytest.raises(ValueError, match=r"column 'x' must hold numbers in every batch or in none"):
        full.merge(survey_frame(words, y))


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
