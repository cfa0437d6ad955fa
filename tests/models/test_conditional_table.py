"""ConditionalTable: from any kind of table to probabilities."""

import pickle
from collections.abc import Callable, Hashable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from priorwise import ConditionalTable
from priorwise.common.runtime import DataWarning
from priorwise.smoothing import HDP, HGS, MEstimate
from reference.smoothing import additive
from reference.trees import count_rows

# The stroke table of Petitjean et al.'s slides: (weight, height) -> yes, no.
STROKE = {
    ("heavy", "tall"): (1, 3),
    ("heavy", "short"): (1, 0),
    ("heavy", "med"): (1, 3),
    ("light", "short"): (0, 3),
    ("light", "med"): (0, 3),
}
NAMES = ["stroke", "weight", "height"]


def stroke_rows() -> list[list[str]]:
    rows = []
    for (weight, height), (n_yes, n_no) in STROKE.items():
        rows += [["yes", weight, height]] * n_yes + [["no", weight, height]] * n_no
    return rows


def as_pandas() -> pd.DataFrame:
    return pd.DataFrame(stroke_rows(), columns=NAMES)


READERS: dict[str, Callable[[], Any]] = {
    "pandas": as_pandas,
    "pandas category": lambda: as_pandas().astype("category"),
    "polars": lambda: pl.DataFrame(stroke_rows(), schema=NAMES, orient="row"),
    "polars categorical": lambda: pl.DataFrame(
        stroke_rows(), schema=dict.fromkeys(NAMES, pl.Categorical), orient="row"
    ),
    "arrow": lambda: pa.Table.from_pandas(as_pandas()),
    "numpy": lambda: np.array(stroke_rows()),
    "numpy objects": lambda: np.array(stroke_rows(), dtype=object),
    "lists": stroke_rows,
    "tuples": lambda: [tuple(row) for row in stroke_rows()],
}


def fit(frame: Any, smoothing: Any = "hdp", **options: Any) -> ConditionalTable:
    table = ConditionalTable(smoothing, random_state=1)
    if isinstance(frame, list | np.ndarray):
        return table.fit(frame, target=0, given=[1, 2], **options)
    return table.fit(frame, target="stroke", given=["weight", "height"], **options)


@pytest.fixture
def table() -> ConditionalTable:
    return fit(as_pandas())


def test_stroke_table_reproduces_the_slides() -> None:
    smoothing = HDP("gibbs", prior="thesis", n_iter=20_000)
    table = fit(as_pandas(), smoothing)
    assert table.query(weight="heavy", height="short")["yes"] == pytest.approx(0.61, abs=0.015)
    assert table.query(weight="heavy", height="tall")["yes"] == pytest.approx(0.31, abs=0.015)
    # A context no row has; the slides answer with its parent.
    assert table.query(weight="light", height="tall")["yes"] == pytest.approx(0.09, abs=0.02)


@pytest.mark.parametrize("kind", READERS)
def test_every_kind_of_table_gives_the_same_answers(kind: str) -> None:
    frame = READERS[kind]()
    table, expected = fit(frame), fit(as_pandas())
    # A polars Categorical lists its values in the order of appearance.
    order = [table.classes_.tolist().index(value) for value in expected.classes_]
    proba = expected.predict_proba(as_pandas())
    np.testing.assert_allclose(table.predict_proba(frame)[:, order], proba, rtol=1e-12)
    assert table.predict(frame).tolist() == expected.predict(as_pandas()).tolist()
    given = (1, 2) if isinstance(frame, list | np.ndarray) else ("weight", "height")
    answer = table.query(dict(zip(given, ("heavy", "short"), strict=True)))
    assert answer == pytest.approx(expected.query(weight="heavy", height="short"))


@pytest.mark.parametrize(
    ("kind", "native"),
    [
        ("pandas", pd.DataFrame),
        ("polars", pl.DataFrame),
        ("arrow", pa.Table),
        ("lists", pd.DataFrame),
    ],
)
def test_to_frame_lists_every_context_in_the_callers_library(kind: str, native: Any) -> None:
    table = fit(READERS[kind]())
    frame: Any = table.to_frame()
    assert isinstance(frame, native)
    columns = nw.from_native(frame).to_dict(as_series=False)
    rows = [
        {name: None if pd.isna(value) else value for name, value in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]
    given = ("1", "2") if kind == "lists" else ("weight", "height")
    assert len(rows) == 1 + 2 + 5
    root, *_, last = rows
    assert (root[given[0]], root[given[1]], root["rows"]) == (None, None, 15)
    assert (last[given[0]], last[given[1]], last["rows"]) == ("light", "short", 3)
    for row in rows:
        context: dict[Hashable, Any] = {
            (int(name) if kind == "lists" else name): row[name]
            for name in given
            if row[name] is not None
        }
        answer = table.query(context)
        assert row["p(yes)"] == pytest.approx(answer["yes"])
        assert row["p(yes)"] + row["p(no)"] == pytest.approx(1.0)


def test_to_frame_converts_to_another_library(table: ConditionalTable) -> None:
    assert isinstance(table.to_frame("polars"), pl.DataFrame)


def test_an_unseen_value_has_what_is_expected_of_a_new_one(table: ConditionalTable) -> None:
    rows = table.count_tree_.rows(table.probabilities_, rest="parent")
    root, _, light = rows[:3].tolist()
    assert list(table.query(weight="light", height="tall").values()) == light
    assert list(table.query(weight="light", height="a giant's").values()) == light
    assert list(table.query(weight="unheard of", height="tall").values()) == root
    frame = pd.DataFrame({"weight": ["light", "?"], "height": ["tall", "med"]})
    np.testing.assert_array_equal(table.predict_proba(frame), [light, root])


def test_classes_list_categories_that_no_row_has() -> None:
    frame = as_pandas()
    frame["stroke"] = pd.Categorical(frame["stroke"], categories=["yes", "maybe", "no"])
    table = fit(frame)
    assert table.classes_.tolist() == ["yes", "maybe", "no"]
    proba = table.predict_proba(frame)
    assert proba.shape == (15, 3)
    assert np.all(proba > 0)
    enum = pl.DataFrame(
        {"y": ["b", "a"], "x": ["u", "v"]}, schema={"y": pl.Enum(["c", "b", "a"]), "x": pl.String}
    )
    fitted = ConditionalTable("laplace").fit(enum, target="y", given=["x"])
    assert fitted.classes_.tolist() == ["c", "b", "a"]
    assert fitted.query(x="u") == {"c": 0.25, "b": 0.5, "a": 0.25}


def test_relabelling_permutes_the_answers() -> None:
    frame = as_pandas()
    names = {"heavy": "zzz", "light": "aaa", "tall": "b", "short": "c", "med": "a"}
    other = frame.replace({"weight": names, "height": names, "stroke": {"yes": "0", "no": "1"}})
    one, two = fit(frame), fit(other)
    for weight, height in STROKE:
        before = one.query(weight=weight, height=height)
        after = two.query(weight=names[weight], height=names[height])
        assert after["0"] == pytest.approx(before["yes"], rel=1e-9)


def test_numbers_booleans_and_missing_values_are_labels() -> None:
    frame = pd.DataFrame(
        {"y": [True, False, True, True], "a": [1.5, np.nan, 1.5, 2.0], "b": [3, 3, 4, 4]}
    )
    table = ConditionalTable("mle").fit(frame, target="y", given=["a", "b"])
    assert table.classes_.tolist() == [False, True]
    assert table.query(a=1.5) == {False: 0.0, True: 1.0}
    assert table.query(a=None) == {False: 1.0, True: 0.0}
    assert table.query(a=float("nan"), b=3) == {False: 1.0, True: 0.0}
    assert table.to_frame()["rows"].sum() == 12


def test_target_values_of_mixed_types_stay_what_they_are() -> None:
    rows = [["a", 0], [1, 0], [2.5, 0], ["a", 1]]
    table = ConditionalTable("laplace").fit(rows, target=0, given=[1])
    assert set(table.query({1: 1})) == {"a", 1, 2.5}
    assert table.predict(rows).tolist()[3] == "a"
    frame = pd.DataFrame({"y": [(1, 2), (3, 4)], "x": [0, 0]})
    pairs = ConditionalTable("laplace").fit(frame, target="y", given=["x"])
    assert pairs.query(x=0) == {(1, 2): 0.5, (3, 4): 0.5}


def test_no_columns_given_is_the_distribution_of_the_target() -> None:
    table = ConditionalTable("mle").fit(as_pandas(), target="stroke", given=[])
    assert table.query() == {"no": 0.8, "yes": 0.2}
    np.testing.assert_allclose(table.predict_proba(as_pandas()), [[0.8, 0.2]] * 15)


def test_weight_two_is_a_row_twice() -> None:
    frame = as_pandas()
    doubled = pd.concat([frame, frame.iloc[:4]], ignore_index=True)
    weight = np.ones(15)
    weight[:4] = 2
    for smoothing in ("hdp", HGS("optimised"), "m-branch", "laplace"):
        one = fit(frame, smoothing, sample_weight=weight)
        np.testing.assert_array_equal(one.probabilities_, fit(doubled, smoothing).probabilities_)


def test_weight_zero_leaves_a_row_out() -> None:
    frame = as_pandas()
    weight = np.append(np.ones(12), [0, 0, 0])  # all of (light, med)
    table = fit(frame, sample_weight=weight)
    unseen = table.query(weight="light", height="unheard of")
    assert table.query(weight="light", height="med") == unseen
    np.testing.assert_array_equal(table.probabilities_, fit(frame[:12]).probabilities_)


def test_probabilities_are_those_of_the_smoothed_counts() -> None:
    rows = np.array([[r[0] == "yes", r[1] == "light", ["tall", "short", "med"].index(r[2])]
                     for r in stroke_rows()]).astype(int)  # fmt: skip
    table = ConditionalTable("m-branch").fit(rows, target=0, given=[1, 2])
    twin = additive.m_branch(count_rows(rows.T[1:], rows[:, 0], 2), 4.0)
    for context in [(0, 0), (0, 1), (1, 2)]:
        answer = list(table.query({1: context[0], 2: context[1]}).values())
        np.testing.assert_allclose(answer, twin[context])


def test_a_pickled_table_answers_with_the_same_bits(table: ConditionalTable) -> None:
    copied = pickle.loads(pickle.dumps(table))
    np.testing.assert_array_equal(
        copied.predict_proba(as_pandas()), table.predict_proba(as_pandas())
    )
    assert copied.query(weight="heavy") == table.query(weight="heavy")
    np.testing.assert_array_equal(
        copied.predict_interval(as_pandas()), table.predict_interval(as_pandas())
    )


def test_same_random_state_gives_the_same_bits() -> None:
    gibbs = HDP("gibbs", n_iter=50)
    one, two = fit(as_pandas(), gibbs), fit(as_pandas(), gibbs)
    np.testing.assert_array_equal(one.probabilities_, two.probabilities_)
    other = ConditionalTable(gibbs, random_state=2).fit(
        as_pandas(), target="stroke", given=["weight", "height"]
    )
    assert not np.array_equal(one.probabilities_, other.probabilities_)


def test_fitting_changes_neither_parameters_nor_smoother() -> None:
    smoother = MEstimate("cv")
    table = ConditionalTable(smoother, random_state=3)
    table.fit(as_pandas(), target="stroke", given=["weight"])
    expected = {"smoothing": smoother, "declared": "count", "random_state": 3}
    assert table.get_params(deep=False) == expected
    assert smoother.m == "cv"
    assert clone(table).get_params()["smoothing__m"] == "cv"
    table.set_params(smoothing__m=2.0)
    assert table.fit(as_pandas(), target="stroke", given=["weight"]).smoothing_.m == 2.0


def test_intervals_hold_the_estimate_and_shrink_with_rows(table: ConditionalTable) -> None:
    frame = as_pandas()
    lower, upper = table.predict_interval(frame)
    assert lower.shape == upper.shape == (15, 2)
    proba = table.predict_proba(frame)
    assert np.all((lower >= 0) & (lower < proba) & (proba < upper) & (upper <= 1))
    np.testing.assert_allclose(lower[:, 0], 1 - upper[:, 1], atol=1e-12)
    narrow_lower, narrow_upper = table.predict_interval(frame, level=0.5)
    assert np.all((lower <= narrow_lower) & (narrow_upper <= upper))
    many = fit(pd.concat([frame] * 50, ignore_index=True)).predict_interval(frame)
    assert np.all(many[1] - many[0] < upper - lower)


def test_an_interval_of_one_context_has_the_ends_of_its_row(table: ConditionalTable) -> None:
    lower, upper = table.predict_interval(pd.DataFrame({"weight": ["heavy"], "height": ["tall"]}))
    ends = table.predict_interval({"weight": "heavy", "height": "tall"})
    assert ends == {"no": (lower[0, 0], upper[0, 0]), "yes": (lower[0, 1], upper[0, 1])}
    # A prefix, as query takes it.
    low, high = table.predict_interval({"weight": "heavy"})["yes"]
    assert low < table.query(weight="heavy")["yes"] < high
    with pytest.raises(ValueError, match="a prefix of given: 'height' needs 'weight' too"):
        table.predict_interval({"height": "tall"})


@pytest.mark.parametrize("smoothing", ["hdp", "laplace", "m-estimate"])
def test_draws_of_a_context_have_its_distribution_as_their_mean(smoothing: str) -> None:
    frame = pd.concat([as_pandas()] * 4, ignore_index=True)
    # Counts that are no whole numbers have no posterior draws either.
    weight = np.full(60, 1.0 if smoothing == "hdp" else 1.25)
    table = ConditionalTable(smoothing, random_state=0)
    table.fit(frame, target="stroke", given=["weight", "height"], sample_weight=weight)
    unseen = pd.DataFrame({"weight": ["heavy", "heavy"], "height": ["unheard", "tall"]})
    draws = table.sample_proba(unseen, 2_000, random_state=0)
    assert draws.shape == (2_000, 2, 2)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)
    np.testing.assert_allclose(draws.mean(axis=0), table.predict_proba(unseen), atol=0.03)
    np.testing.assert_array_equal(draws, table.sample_proba(unseen, 2_000, random_state=0))
    lower, upper = table.predict_interval(unseen, level=0.8)
    share = ((lower <= draws) & (draws <= upper)).mean(axis=0)
    np.testing.assert_allclose(share, 0.8, atol=0.09)


def test_a_fit_that_raises_leaves_the_table_as_it_was(table: ConditionalTable) -> None:
    before = table.query(weight="heavy")
    with pytest.raises(ValueError, match="'gibbs' needs whole counts"):
        table.set_params(smoothing=HDP("gibbs")).fit(
            as_pandas(), target="weight", given=["height"], sample_weight=np.full(15, 0.5)
        )
    assert table.query(weight="heavy") == before


def test_many_target_values_are_kept_sparse(rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"word": rng.integers(0, 500, 800), "topic": rng.integers(0, 40, 800)})
    with pytest.warns(DataWarning, match="target 'word' has .* different numbers in 800 rows"):
        ConditionalTable("mle").fit(frame, target="word", given=["topic"])
    frame = frame.astype({"word": str})
    for smoothing in ("hdp", "laplace", "hgs"):
        table = ConditionalTable(smoothing).fit(frame, target="word", given=["topic"])
        assert not table.count_tree_.is_dense
        proba = table.predict_proba(frame)
        assert proba.shape == (800, len(table.classes_))
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert proba.min() > 0
        lower, upper = table.predict_interval(frame[:5])
        assert np.all((lower <= proba[:5]) & (proba[:5] <= upper))


UNFIT: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "unknown target": ({"target": "age"}, ValueError, r"target must name columns .*got 'age'"),
    "unknown parent": ({"given": ["age"]}, ValueError, r"given must name columns .*got 'age'"),
    "target among parents": (
        {"given": ["weight", "stroke"]}, ValueError, "given must not hold the target, got 'stroke'",
    ),
    "parent twice": ({"given": ["weight"] * 2}, ValueError, "given must name each column once"),
    "given a word": ({"given": "weight"}, TypeError, "given must be a list of columns"),
    "empty frame": ({"frame": as_pandas()[:0]}, ValueError, "at least one row, got 0"),
    "empty list": ({"frame": []}, ValueError, "at least one row, got 0"),
    "no table": ({"frame": 7}, TypeError, "frame must be a .*, got int"),
    "a word": ({"frame": "rows"}, TypeError, "frame must be a .*, got str"),
    "a vector": ({"frame": np.arange(3)}, ValueError, "2 dimensions, got 1"),
    "lazy frame": ({"frame": pl.DataFrame({"a": [1]}).lazy()}, TypeError, "LazyFrame"),
    "unhashable values": (
        {"frame": pd.DataFrame({"stroke": [1, 2], "weight": [[1], [2]], "height": [1, 2]})},
        TypeError, "every value of column 'weight' must be",
    ),
    "missing target": (
        {"frame": as_pandas().replace({"stroke": {"yes": None}})}, ValueError,
        "target 'stroke' must have no missing values",
    ),
    "measurements": (
        {"frame": as_pandas().assign(stroke=np.arange(15) / 4)}, ValueError,
        r"target 'stroke' must hold labels or whole numbers, got 15 different numbers such as "
        r"0\.25: cut it into classes first, or pass it as text if each number is a class",
    ),
    "negative weight": (
        {"sample_weight": [1.0] * 14 + [-1.0]}, ValueError,
        r"sample_weight must be finite and not negative, got -1\.0 in row 14",
    ),
    "infinite weight": (
        {"sample_weight": [np.inf] * 15}, ValueError, "got inf in row 0",
    ),
    "short weight": ({"sample_weight": [1.0]}, ValueError, r"must have shape \(15,\), got \(1,\)"),
    "large weight": (
        {"sample_weight": [1e16] * 15}, ValueError, "sample_weight must have a sum of at most 2",
    ),
    "no weight": ({"sample_weight": [0.0] * 15}, ValueError, "must not be zero for every row"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNFIT)
def test_what_cannot_be_fitted_is_an_error_that_says_why(case: str) -> None:
    changes, kind, message = UNFIT[case]
    arguments = {"frame": as_pandas(), "target": "stroke", "given": ["weight", "height"]} | changes
    with pytest.raises(kind, match=message):
        ConditionalTable().fit(**arguments)


def test_an_unknown_smoother_is_an_error() -> None:
    with pytest.raises(ValueError, match="smoothing must be one of 'mle'"):
        fit(as_pandas(), "unheard of")


def test_queries_that_make_no_sense_are_errors(table: ConditionalTable) -> None:
    with pytest.raises(ValueError, match=r"context must name columns of given .*, got 'age'"):
        table.query(age=3)
    with pytest.raises(ValueError, match="a prefix of given: 'height' needs 'weight' too"):
        table.query(height="tall")
    with pytest.raises(ValueError, match="given must name columns of the table"):
        table.predict_proba(as_pandas()[["weight"]])
    for level in (0.0, 1.0, -3):
        with pytest.raises(ValueError, match=r"level must be a number above 0\.0 and below 1"):
            table.predict_interval(as_pandas(), level=level)


@pytest.mark.parametrize("method", ["query", "to_frame"])
def test_an_unfitted_table_says_so(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(ConditionalTable(), method)()
    with pytest.raises(NotFittedError):
        ConditionalTable().predict_proba(as_pandas())
