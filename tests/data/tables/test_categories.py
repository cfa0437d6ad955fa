"""Labels of one nominal feature and their codes, learnt batch by batch."""

import pickle

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from priorwise.data.survey import LabelCounts
from priorwise.data.tables import Categories, RawTable
from priorwise.data.tables.label_keys import NominalColumn, factorise_array, factorise_series


def column(*labels: object) -> NominalColumn:
    values = np.empty(len(labels), dtype=object)
    values[:] = labels
    return factorise_array(values)


def learn(
    *labels: object, weight: list[float] | None = None, known: Categories | None = None
) -> Categories:
    counts = LabelCounts.of(column(*labels), None if weight is None else np.array(weight))
    return counts.to_categories(frozenset(), "value", known)[0]


def test_labels_are_sorted_and_missing_comes_last() -> None:
    categories = learn("b", None, "a", "b")
    assert categories.labels == ["a", "b", None]
    assert categories.counts == [1.0, 2.0, 1.0]
    assert categories.encode(column("b", None, "a", "c")).tolist() == [1, 2, 0, -1]


def test_order_of_rows_changes_nothing() -> None:
    assert learn(3, 1, 2).labels == learn(2, 3, 1).labels == [1, 2, 3]
    mixed = learn("b", 1, (2, 3), "a", 0)
    assert mixed.labels == learn(0, "a", "b", (2, 3), 1).labels


def test_labels_of_later_batches_follow() -> None:
    categories = learn("m", "z")
    categories = learn("a", "m", None, known=categories)
    assert categories.labels == ["m", "z", "a", None]
    categories = learn("b", known=categories)
    assert categories.labels == ["m", "z", "a", None, "b"]
    assert categories.counts == [2.0, 1.0, 1.0, 1.0, 1.0]
    assert categories.missing_code == 3


def test_rows_of_weight_zero_bring_no_label() -> None:
    categories = learn("a", "b", None, weight=[2.5, 0.0, 0.0])
    assert categories.labels == ["a"]
    assert categories.counts == [2.5]
    assert categories.encode(column("b", None)).tolist() == [-1, -1]


def test_declared_labels_keep_their_order_and_count_when_seen() -> None:
    categories = Categories()
    categories.declare(["lo", "mid", "hi"])
    categories = learn("hi", "other", known=categories)
    assert categories.labels == ["lo", "mid", "hi", "other"]
    assert categories.counts == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")])
def test_every_kind_of_missing_is_one_label(missing: object) -> None:
    categories = learn("x", missing)
    assert categories.labels == ["x", None]
    assert categories.code(missing) == 1
    assert learn("x").code(missing) == -1


def test_one_label_has_the_code_its_column_has() -> None:
    categories = learn(2.0, 5.0)
    assert [categories.code(v) for v in (2, 2.0, np.int64(5), 7, "2")] == [0, 0, 1, -1, 0]


def test_mode_is_the_heaviest_label_and_missing_only_if_all_are() -> None:
    assert learn("a", "b", "b", None, None, None).mode_code == 1
    assert learn("b", "a").mode_code == 0
    assert learn(None, None).mode_code == 0


def test_categories_survive_pickling() -> None:
    categories = pickle.loads(pickle.dumps(learn("b", None, "a")))
    assert categories.encode(column("a", "b", None, "c")).tolist() == [0, 1, 2, -1]


def test_columns_of_a_frame_may_have_any_name() -> None:
    table = RawTable(pd.DataFrame({1: [7, 8], ("x", 1): [2, 3], 0: [4, 5]}))
    assert table.names == [1, ("x", 1), 0]
    assert [table.nominal(i).labels for i in range(3)] == [[7, 8], [2, 3], [4, 5]]


def test_categories_that_no_row_has_are_no_labels() -> None:
    series = pd.Series(pd.Categorical(["b", None, "d"], categories=["a", "b", "c", "d"]))
    column = factorise_series(nw.from_native(series, series_only=True))
    assert column.labels == ["b", "d"]
    assert column.codes.tolist() == [0, -1, 1]
