"""Mistakes of data are found before a fit, and clean tables are left alone."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import priorwise as pw
from priorwise.data import read_arff

SHARED = os.environ.get("PRIORWISE_SHARED", "")
N = 240
CLEAN_SETS = (
    *(
        "abalone",
        "balance-scale",
        "breast-cancer-wisconsin",
        "car-evaluation",
        "cleveland",
        "german",
    ),
    *(
        "iris",
        "kr-vs-kp",
        "pima-indians-diabetes",
        "sonar",
        "vehicle",
        "wdbc",
        "wine-quality-white",
    ),
)

Table = tuple[pd.DataFrame, pd.Series]


def make_table() -> Table:
    """Rows that nothing is wrong with."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 12, N).round(1),
            "income": rng.gamma(3, 900, N).round(2),
            "rooms": rng.integers(1, 7, N),
            "job": rng.choice(["nurse", "clerk", "cook"], N),
            "size": rng.choice(["small", "middle", "large"], N),
        }
    )
    is_ill = 0.1 * (X["age"] - 40) + (X["job"] == "nurse") + rng.normal(size=N) > 0.4
    return X, pd.Series(np.where(is_ill, "yes", "no"), name="ill")


def change(column: str, at: Any, value: Any) -> Callable[[Table], Table]:
    """Change some values of one column."""

    def apply(table: Table) -> Table:
        X, y = table
        X[column] = X[column].astype(object)
        X.loc[at, column] = value
        return X, y

    return apply


def add(make: Callable[[pd.DataFrame, pd.Series], Any]) -> Callable[[Table], Table]:
    """Add a column "new"."""
    return lambda table: (table[0].assign(new=make(*table)), table[1])


def relabel(at: Any, value: Any) -> Callable[[Table], Table]:
    """Change the classes of some rows."""

    def apply(table: Table) -> Table:
        y = table[1].astype(object)
        y.loc[at] = value
        return table[0], y

    return apply


def repeat_header(X: pd.DataFrame, y: pd.Series) -> Table:
    names = pd.DataFrame([{name: name for name in X}])
    joined = pd.concat([X.astype(object), names], ignore_index=True)
    return joined, pd.concat([y, pd.Series(["ill"])], ignore_index=True)


def draw(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


MISTAKES: dict[str, tuple[Callable[[Table], Table], str, str]] = {
    "a number known only after the class": (
        add(lambda X, y: np.where(y == "yes", draw().normal(50, 5, N), 0.0)), "leak", "new"),
    "a label known only after the class": (
        add(lambda X, y: np.where(y == "yes", draw().choice(["ward", "home"], N), "none")),
        "leak", "new"),
    "a value that only one class has": (
        add(lambda X, y: np.where(y == "yes", draw().normal(size=N), np.nan)), "leak", "new"),
    "the target as a code": (
        add(lambda X, y: (y == "yes").astype(int)), "copy of the target", "new"),
    "the target but for two rows": (
        add(lambda X, y: np.where(np.arange(N) < 2, "no", y)), "copy of the target", "new"),
    "ids as text": (add(lambda X, y: [f"K{7 * i:05}" for i in range(N)]), "id", "new"),
    "ids as numbers": (add(lambda X, y: draw().permutation(900)[:N]), "id", "new"),
    "the number of the row": (add(lambda X, y: np.arange(1, N + 1)), "row number", "new"),
    "classes in two cases": (relabel([3, 50], "Yes"), "class variants", ""),
    "classes with spaces": (relabel([3, 50], "yes "), "class variants", ""),
    "a class of two rows": (relabel([3, 50], "maybe"), "rare class", ""),
    "rows without a class": (relabel([3, 50], None), "missing target", ""),
    "one class": (relabel(slice(None), "yes"), "one class", ""),
    "a number as target": (
        lambda table: (table[0], pd.Series(draw().normal(size=N))), "many classes", ""),
    "labels in two cases": (change("job", [3, 50], "Nurse"), "label variants", "job"),
    "labels with two spaces": (
        add(lambda X, y: draw().choice(["New York", "New  York", "Ulm"], N)),
        "label variants", "new"),
    "a unit among numbers": (change("income", [3], "12 EUR"), "text among numbers", "income"),
    "a word among numbers": (change("income", [3, 9], "n.b."), "text among numbers", "income"),
    "decimal commas": (
        add(lambda X, y: X["income"].astype(str).str.replace(".", ",")), "numbers as text", "new"),
    "numbers with a unit": (
        add(lambda X, y: X["age"].astype(str) + " kg"), "numbers as text", "new"),
    "negative numbers in brackets": (
        add(lambda X, y: "(" + X["income"].astype(str) + ")"), "numbers as text", "new"),
    "an infinite number": (change("income", [3], np.inf), "infinite number", "income"),
    "a code for missing": (change("rooms", [3, 9, 50], -999), "missing code", "rooms"),
    "dates as numbers": (
        add(lambda X, y: pd.date_range("2013", periods=N).strftime("%Y%m%d").astype(int)[
            draw().permutation(N)]), "dates as numbers", "new"),
    "a column of one value": (add(lambda X, y: "DE"), "constant", "new"),
    "a column of nothing": (add(lambda X, y: np.nan), "mostly missing", "new"),
    "a column of nearly nothing": (
        add(lambda X, y: [1.5, 2.5, *[None] * (N - 2)]), "mostly missing", "new"),
    "a column twice": (add(lambda X, y: X["age"]), "copied column", "new"),
    "a column on another scale": (add(lambda X, y: 32 + 1.8 * X["age"]), "copied column", "new"),
    "a column in other words": (
        add(lambda X, y: X["job"].map({"nurse": 3, "clerk": 1, "cook": 2}).map(str) + "x"),
        "copied column", "new"),
    "rows twice": (
        lambda table: tuple(pd.concat([each, each[:9]], ignore_index=True) for each in table),
        "copied rows", ""),
    "texts and numbers": (change("job", [3], 7), "mixed types", "job"),
    "an undeclared value": (change("size", [3], "huge"), "undeclared values", "size"),
    "a row of names": (lambda table: repeat_header(*table), "header row", ""),
    "a wrong encoding": (change("job", [3, 9], "BÃ¤cker"), "broken characters", "job"),
    "an empty row": (
        lambda table: (table[0].astype(object).drop(5).reindex(range(N)), table[1]),
        "empty rows", ""),
}  # fmt: skip
ORDERS = {"size": ["small", "middle", "large"]}


def check(table: Table) -> pw.data.checks.Findings:
    return pw.check(*table, ordinal_features=ORDERS)


def test_a_clean_table_has_no_findings() -> None:
    assert check(make_table()).is_ok


def test_there_are_twenty_mistakes() -> None:
    assert len(MISTAKES) >= 20
    assert len({kind for _, kind, _ in MISTAKES.values()}) >= 20


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_and_nothing_is_changed(name: str) -> None:
    spoil, kind, column = MISTAKES[name]
    table = spoil(make_table())
    before = table[0].copy(), table[1].copy()
    findings = check(table)
    assert (kind, column) in {(each.kind, each.column) for each in findings}, str(findings)
    pd.testing.assert_frame_equal(table[0], before[0])
    pd.testing.assert_series_equal(table[1], before[1])


@pytest.mark.skipif(not SHARED, reason="PRIORWISE_SHARED is not set")
@pytest.mark.parametrize("name", CLEAN_SETS)
def test_clean_sets_have_no_findings(name: str) -> None:
    frame = read_arff(Path(SHARED) / "datasets" / "uci" / f"{name}.arff.gz").to_frame("pandas")
    findings = pw.check(frame.iloc[:, :-1], frame.iloc[:, -1])
    assert findings.is_ok, str(findings)


def test_arrays_and_other_frames_are_checked_alike() -> None:
    X, y = make_table()
    X["new"] = (y == "yes").astype(int)
    polars = pytest.importorskip("polars")
    kinds = [pw.check(each, y).kinds for each in (X, polars.from_pandas(X), X.to_numpy())]
    assert kinds == [("copy of the target",)] * 3


def test_findings_are_read_as_text_and_as_html() -> None:
    X, y = make_table()
    findings = pw.check(X.assign(**{"<b>": "one"}), y)
    assert str(findings).splitlines() == [
        "1 finding in 240 rows of 6 columns",
        "",
        "finding   column  what, and what to do",
        "constant  <b>     is 'one' in every row. Leave it out.",
    ]
    assert "&lt;b&gt;" in findings._repr_html_()
    assert findings.to_html("a <title>").startswith("<!doctype html>")
    assert "a &lt;title&gt;" in findings.to_html("a <title>")
    assert str(pw.check(X, y)) == "nothing found in 240 rows of 5 columns"


def warn(table: Table, model: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(*table)
    return [str(each.message) for each in record if each.category is pw.DataWarning]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a number known only after the class", "column 'new' gives the class away"),
        ("a label known only after the class", "column 'new' gives the class away"),
        ("the target as a code", "column 'new' is the target in other words"),
        ("ids as text", "column 'new' has 240 different labels in 240 rows"),
        ("decimal commas", "column 'new' holds numbers written as text"),
        ("numbers with a unit", "column 'new' holds numbers written as text"),
        ("classes with spaces", "classes that differ only by case or spaces, 'yes', 'yes '"),
    ],
)
def test_a_fit_warns_of_what_is_grave(name: str, words: str) -> None:
    messages = warn(MISTAKES[name][0](make_table()), pw.NaiveBayesClassifier())
    assert len(messages) == 1
    assert words in messages[0]


def test_a_fit_warns_of_a_numeric_column_without_numbers() -> None:
    messages = warn(make_table(), pw.NaiveBayesClassifier(numeric_features=["job", "age"]))
    assert len(messages) == 1
    assert "column 'job' holds no number, although numeric_features names it" in messages[0]


def test_a_fit_is_silent_on_a_clean_table_and_where_it_is_told_to_be() -> None:
    assert warn(make_table(), pw.NaiveBayesClassifier()) == []
    table = MISTAKES["the target as a code"][0](make_table())
    assert warn(table, pw.ESKDBClassifier(n_estimators=2, verbose=-1)) == []
    assert len(warn(table, pw.ESKDBClassifier(n_estimators=2))) == 1


def test_noise_and_rare_classes_are_no_leak() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({f"x{i}": rng.normal(size=400) for i in range(20)})
    X["many"] = rng.integers(0, 150, 400).astype(str)
    y = (np.arange(400) < 8).astype(int)
    assert pw.check(X, y).is_ok


def test_postcodes_are_no_texts_among_numbers() -> None:
    X, y = make_table()
    codes = draw().choice([f"{code:05}" for code in range(900, 30_000, 731)], N)
    X["new"] = pd.Series(codes, dtype=object)
    assert any(code[0] == "0" for code in codes)
    assert check((X, y)).is_ok


@pytest.mark.parametrize("n_copies", [1, 2, 3, 40])
def test_few_copies_are_a_line_of_check_and_no_warning(n_copies: int) -> None:
    X, y = (pd.concat([each, each[:n_copies]]) for each in make_table())
    assert "copied rows" in check((X, y)).kinds
    said = warn((X, y), pw.ProbabilityTreeClassifier(random_state=0))
    forest = warn((X, y), pw.ProbabilityForestClassifier(n_estimators=2, random_state=0))
    assert any("exact copies" in text for text in (*said, *forest)) == (n_copies > 2)


def test_nobody_is_told_to_leave_out_a_column_of_names() -> None:
    X, y = make_table()
    X["new"] = [f"{name} {kind}" for name in map("Firm{}".format, range(N)) for kind in ["Ltd"]]
    (finding,) = check((X, y))
    (said,) = warn((X, y), pw.NaiveBayesClassifier())
    for text in (finding.sentence, said):
        assert "has 240 different labels in 240 rows" in text
        assert "leave it out" not in text.lower()
        assert "text_features reads the words" in text
