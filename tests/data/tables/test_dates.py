"""Dates, times of day and durations of every library."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline

from priorwise import NaiveBayesClassifier
from priorwise.data import DateParts
from priorwise.data.encoding import TableEncoder

DAY = 86_400.0
VALUES: dict[str, tuple[list[Any], list[float]]] = {
    "datetime": ([dt.datetime(1970, 1, 2, 6), dt.datetime(1970, 1, 1)], [1.25 * DAY, 0.0]),
    "date": ([dt.date(1970, 1, 3), dt.date(1969, 12, 31)], [2 * DAY, -DAY]),
    "time": ([dt.time(12), dt.time(0, 1, 2, 500_000)], [DAY / 2, 62.5]),
    "timedelta": ([dt.timedelta(days=2), dt.timedelta(seconds=0.5)], [2 * DAY, 0.5]),
}
MAKERS: dict[str, Any] = {
    "pandas": lambda values: pd.DataFrame({"a": values}),
    "pandas objects": lambda values: pd.DataFrame({"a": pd.Series(values, dtype=object)}),
    "pandas with NaN": lambda values: pd.DataFrame(
        {"a": pd.Series([np.nan if v is None else v for v in values], dtype=object)}
    ),
    "pandas on arrow": lambda values: pa.table({"a": values}).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda values: pl.DataFrame({"a": values}),
    "arrow": lambda values: pa.table({"a": values}),
    "array": lambda values: np.array([[value] for value in values], dtype=object),
    "list": lambda values: [[value] for value in values],
}


@pytest.mark.filterwarnings("ignore:the dates of column:UserWarning")
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_dates_times_and_durations_are_read_as_seconds(make: Any, kind: str) -> None:
    values, seconds = VALUES[kind]
    table = make([*values, None])
    encoder = TableEncoder().fit(table, [0, 1, 0])
    assert encoder.is_nominal_.tolist() == [False]
    np.testing.assert_array_equal(encoder.read(table).values[0], [*seconds, np.nan])
    if hasattr(table, "columns"):
        label = pd.DataFrame({"label": [0, 1, 0]})
        frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
        rows = frame.assign(label=label["label"])
        model = NaiveBayesClassifier().fit_dataset(rows, "label", batch_rows=2)
        schema = model.feature_schema_[0]
        assert (schema.kind, schema.least, schema.largest) == ("numeric", *sorted(seconds))


def test_dates_without_their_parts_are_warned_of() -> None:
    frame = pd.DataFrame({"when": pd.date_range("2013", periods=20), "label": [0, 1] * 10})
    rule = "the dates of column 'when' are read as seconds since 1970 alone: .*DateParts"
    with pytest.warns(UserWarning, match=rule):
        NaiveBayesClassifier().fit(frame[["when"]], frame["label"])
    with pytest.warns(UserWarning, match=rule):
        NaiveBayesClassifier().fit_dataset(frame, "label")
    NaiveBayesClassifier(numeric_features=["when"]).fit(frame[["when"]], frame["label"])


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_parts_of_dates_are_those_of_the_calendar(kind: str) -> None:
    when = pd.Series(pd.date_range("2012-02-27 05:30", periods=400, freq="31h")).astype(
        "datetime64[us]"
    )
    frame: Any = pd.DataFrame({"when": when, "x": np.arange(400.0)})
    frame.loc[7, "when"] = pd.NaT
    given = {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame)}
    parts = DateParts().fit(given[kind]).transform(given[kind])
    read = parts if kind == "pandas" else parts.to_pandas()
    known = frame["when"].notna()
    assert list(read.columns) == ["when", "x", "when month", "when weekday", "when hour"]
    assert read["when month"][known].tolist() == frame["when"][known].dt.strftime("%b").tolist()
    assert read["when weekday"][known].tolist() == frame["when"][known].dt.strftime("%a").tolist()
    hours = frame["when"].dt.hour + frame["when"].dt.minute / 60
    np.testing.assert_allclose(read["when hour"], hours)
    assert read.loc[7, ["when", "when month", "when weekday", "when hour"]].isna().all()


def test_days_have_no_hour_and_zones_have_their_own_time() -> None:
    days = pd.DataFrame({"day": pd.date_range("2013", periods=3)})
    assert list(DateParts().fit_transform(days)) == ["day", "day month", "day weekday"]
    when = pd.to_datetime(["2013-07-01 23:30"] * 2).tz_localize("UTC").tz_convert("Europe/Berlin")
    parts = DateParts().fit_transform(pd.DataFrame({"when": when}))
    assert parts["when hour"].tolist() == [1.5, 1.5]
    assert parts["when weekday"].tolist() == ["Tue", "Tue"]


def test_parts_of_dates_help_where_the_hour_matters() -> None:
    when = pd.Series(pd.date_range("2013-01-01", periods=2000, freq="53min"))
    y = (when.dt.hour >= 16).astype(int)
    frame = pd.DataFrame({"when": when})
    model = make_pipeline(DateParts(), NaiveBayesClassifier()).fit(frame[::2], y[::2])
    assert model.score(frame[1::2], y[1::2]) > 0.95
