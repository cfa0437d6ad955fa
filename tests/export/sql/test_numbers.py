"""Columns of dates, numbers and texts that queries read as numbers."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest

from export.sql.databases import DIALECTS, run_duckdb, run_sql, run_sqlite
from priorwise import (
    GaussianNetworkClassifier,
    KernelLogisticClassifier,
    ProbabilityForestClassifier,
    SplineLogisticClassifier,
)
from priorwise.export import export_sql

START = np.datetime64("1969-12-31T23:59:59.500000", "us")


def fit_forest(X, **settings):
    """A forest that tells the numbers of a column apart one by one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest = ProbabilityForestClassifier(3, splitter="random", random_state=0, **settings)
        return forest.fit(X, np.arange(len(X)) // 3 % 2)


def make_dates(unit):
    """Dates a third of a second apart around 1970, then years apart, some missing."""
    near = START + np.arange(90) * np.timedelta64(333_333, "us")
    far = START + np.arange(90) * np.timedelta64(17_280_000_123, "ms")
    dates = pd.Series(np.concatenate([near, far]).astype(f"datetime64[{unit}]"), name="when")
    dates[5::20] = pd.NaT
    return dates.to_frame()


def check_proba(found, model, X):
    expected = model.predict_proba(X)
    assert np.ptp(expected[:, 0]) > 0.01
    np.testing.assert_allclose(np.array(found, float), expected, rtol=0, atol=1e-9)


DATES = {
    "dates": (lambda when: when.dt.date.astype(object), "date"),
    "seconds": (lambda when: when.dt.floor("s"), "timestamp"),
    "microseconds": (lambda when: when, "timestamp"),
    "nanoseconds": (lambda when: when.astype("datetime64[ns]") + pd.Timedelta(1, "ns"), ""),
    "time zones": (
        lambda when: when.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        "timestamptz",
    ),
}
"""Columns of dates, and their type in PostgreSQL."""


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", DATES)
def test_dates_are_read_as_in_python(dialect, kind, request):
    convert, postgres_type = DATES[kind]
    X = make_dates("us")
    model = fit_forest(X)
    X = pd.DataFrame({"when": convert(X["when"])})
    rows = X
    if dialect == "sqlite" or kind == "dates":
        # SQLite has no dates; they are texts of ISO 8601.
        texts = [None if pd.isna(one) else str(one) for one in X["when"].tolist()]
        rows = pd.DataFrame({"when": texts}, dtype=object)
    if dialect == "duckdb" and kind == "dates":
        pytest.importorskip("duckdb", reason="needs duckdb")
        query = export_sql(model).replace('t."when"', 'CAST(t."when" AS DATE)')
    else:
        query = export_sql(model, dialect=dialect)
    if dialect == "postgres" and not postgres_type:
        pytest.skip("PostgreSQL has no nanoseconds")
    check_proba(run_sql(dialect, query, rows, request, {"when": postgres_type}), model, X)


def test_sqlite_reads_dates_with_a_letter_and_with_zones():
    model = fit_forest(make_dates("us"))
    texts = [
        "1970-01-01T00:00:05.25",
        "1970-01-01T02:00:05.250000+02:00",
        "1970-01-01T00:00:05.25Z",
    ]
    rows = pd.DataFrame({"when": texts}, dtype=object)
    found = run_sqlite(export_sql(model, dialect="sqlite"), rows)
    expected = model.predict_proba(pd.DataFrame({"when": [pd.Timestamp(texts[0])] * 3}))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
@pytest.mark.parametrize("kind", ["interval", "time"])
def test_durations_and_times_of_day_are_read_as_in_python(dialect, kind, request):
    seconds = np.arange(120) * 611.25
    durations = pd.DataFrame({"taken": pd.to_timedelta(seconds, unit="s")})
    times = [(datetime.datetime(1970, 1, 1) + one).time() for one in durations["taken"]]
    X = durations if kind == "interval" else pd.DataFrame({"taken": times}, dtype=object)
    model = fit_forest(pd.DataFrame({"taken": seconds}))
    rows = X
    if dialect == "postgres" and kind == "interval":
        rows = pd.DataFrame({"taken": [f"{one} seconds" for one in seconds]})
    query = export_sql(model, dialect=dialect)
    check_proba(run_sql(dialect, query, rows, request, {"taken": kind}), model, X)


@pytest.mark.parametrize("kind", ["real", "numeric", "smallint", "bigint", "boolean", "text"])
def test_postgres_takes_numbers_of_every_type(kind, request):
    is_whole = kind in ("smallint", "bigint", "boolean")
    numbers = np.arange(-60, 60) * (1 if is_whole else 0.1)
    rows = pd.DataFrame({"size": numbers.astype(int if is_whole else float)})
    if kind == "boolean":
        rows = rows > 0
    model = fit_forest(pd.DataFrame({"size": numbers}))
    expected = rows.astype(np.float32) if kind == "real" else rows
    query = export_sql(model, dialect="postgres")
    found = run_sql("postgres", query, rows.astype(str), request, {"size": kind})
    check_proba(found, model, expected.astype(float))


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.int64, np.bool_, str])
def test_duckdb_takes_numbers_of_every_type(kind):
    is_whole = kind not in (np.float32, str)
    numbers = np.arange(-60, 60) * (1 if is_whole else 0.1)
    model = fit_forest(pd.DataFrame({"size": numbers}))
    rows = pd.DataFrame({"size": numbers > 0 if kind is np.bool_ else numbers.astype(kind)})
    check_proba(run_duckdb(export_sql(model), rows), model, rows.astype(float))


BAD = ["tall", "007", "2020-02-31", "", "12:30", "inf", "1,5", "12345678901234567", "now"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_text_that_is_no_number_stops_the_query(dialect, request):
    model = fit_forest(pd.DataFrame({"it's size": np.arange(60) * 0.1}))
    query = export_sql(model, dialect=dialect)
    # PostgreSQL has an error of its own for numbers that are too large.
    for text in [*BAD, "tall" if dialect == "postgres" else "1e999"]:
        rows = pd.DataFrame({"it's size": ["1.5", text]}, dtype=object)
        with pytest.raises(Exception, match=r"column it'+s size must hold finite numbers"):
            run_sql(dialect, query, rows, request)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_infinite_number_stops_the_query(dialect, request):
    model = fit_forest(pd.DataFrame({"size": np.arange(60) * 0.1}))
    rows = pd.DataFrame({"size": [1.0, -np.inf]})
    with pytest.raises(Exception, match="column size must hold finite numbers or dates"):
        run_sql(dialect, export_sql(model, dialect=dialect), rows, request)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_texts_that_mean_numbers_are_read_as_in_python(dialect, request):
    X = pd.DataFrame({"size": np.arange(60) * 0.1})
    model = fit_forest(X)
    texts = [" 1.5\t", "0", "2e0", "-1", "\u30003.25\u2028"]
    texts += [] if dialect == "sqlite" else ["+1.5", ".5", "3."]
    rows = pd.DataFrame({"size": texts}, dtype=object)
    check_proba(run_sql(dialect, export_sql(model, dialect=dialect), rows, request), model, rows)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_texts_and_marks_are_missing_where_the_model_says_so(dialect, request):
    X = pd.DataFrame({"size": np.where(np.arange(60) % 7, np.arange(60) * 0.1, np.nan)})
    model = fit_forest(X, numeric_features=["size"], missing_values=["?", -9])
    rows = pd.DataFrame({"size": ["1.5", "tall", "?", "-9", None]}, dtype=object)
    check_proba(run_sql(dialect, export_sql(model, dialect=dialect), rows, request), model, rows)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_means_replace_missing_numbers(dialect, request):
    numbers = np.arange(60) * 0.1
    X = pd.DataFrame({"size": numbers, "age": numbers[::-1] ** 2})
    model = fit_forest(X, missing="impute")
    X.iloc[::3, 0], X.iloc[::5, 1] = np.nan, np.nan
    check_proba(run_sql(dialect, export_sql(model, dialect=dialect), X, request), model, X)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "model",
    [
        SplineLogisticClassifier(random_state=0),
        KernelLogisticClassifier(20, random_state=0),
        GaussianNetworkClassifier(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_numbers_that_overflow_or_underflow_are_read_as_in_python(dialect, model, request):
    sign = np.arange(90) % 3 - 1.0
    X = pd.DataFrame({"wide": 1e300 * sign, "narrow": 1e-9 * sign + 1e-10 * (np.arange(90) % 7)})
    y = np.arange(90) % 3 // 2
    fresh = pd.DataFrame({"wide": [1e-300, 5e-324, 1e300, 0.0], "narrow": [0.0, 1e305, -1e305, 1]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        expected = model.predict_proba(fresh)
    found = run_sql(dialect, export_sql(model, dialect=dialect), fresh, request)
    np.testing.assert_allclose(np.array(found, float), expected, rtol=0, atol=1e-9)
