"""Dates, times of day and durations of every library."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from priorwise import NaiveBayesClassifier, ProbabilityForestClassifier
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


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_dates_times_and_durations_are_read_as_seconds(make: Any, kind: str) -> None:
    values, seconds = VALUES[kind]
    table = make([*values, None])
    encoder = TableEncoder().fit(table, [0, 1, 0])
    assert not encoder.is_nominal_.any()
    np.testing.assert_array_equal(encoder.read(table).values[0], [*seconds, np.nan])
    if hasattr(table, "columns"):
        label = pd.DataFrame({"label": [0, 1, 0]})
        frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
        rows = frame.assign(label=label["label"])
        model = NaiveBayesClassifier().fit_dataset(rows, "label", batch_rows=2)
        schema = model.feature_schema_[0]
        name = "date" if kind.startswith("date") else "numeric"
        assert (schema.kind, schema.least, schema.largest) == (name, *sorted(seconds))


WHEN = pd.Series(pd.date_range("2012-02-27 05:30", periods=400, freq="31h"))
FORMS = {
    "iso": "%Y-%m-%d %H:%M",
    "day-first": "%d.%m.%Y %H:%M",
    "month-first": "%m/%d/%Y %I:%M %p",
}


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_parts_of_dates_are_those_of_the_calendar(kind: str) -> None:
    when = WHEN.copy()
    when[7] = pd.NaT
    frame: Any = pd.DataFrame({"when": when.astype("datetime64[us]"), "x": np.arange(400.0)})
    given = {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame)}
    encoder = TableEncoder(discretizer="equal-width").fit(given[kind])
    assert encoder.feature_names == ("when", "x", "when month", "when weekday", "when hour")
    _, _, month, weekday, hour = (
        encoder.rank_labels(i, values) for i, values in enumerate(encoder.read(given[kind]).values)
    )
    known = when.notna()
    assert month[known].tolist() == when[known].dt.strftime("%b").tolist()
    assert weekday[known].tolist() == when[known].dt.strftime("%a").tolist()
    np.testing.assert_allclose(
        hour[known].astype(float), when[known].dt.hour + when[known].dt.minute / 60
    )
    assert (month[7], weekday[7], hour[7]) == (None, None, None)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_dates_in_text_are_learnt_as_typed_dates_are(form: str, streamed: bool) -> None:
    y = (WHEN.dt.hour >= 16).to_numpy()
    known = WHEN.where(WHEN.index != 7)
    typed = pd.DataFrame({"when": known})
    texts = pd.DataFrame({"when": known.dt.strftime(FORMS[form])})
    model, other = (ProbabilityForestClassifier(5, random_state=0) for _ in range(2))
    model.fit(typed, y)
    rows = texts.assign(y=y)
    with pytest.warns(UserWarning, match=rf"column 'when' is read as dates \({form}\)"):
        _ = other.fit_dataset(rows, "y", batch_rows=150) if streamed else other.fit(texts, y)
    assert other.feature_schema_[0].kind == "date"
    np.testing.assert_array_equal(other.predict_proba(texts), model.predict_proba(typed))
    np.testing.assert_array_equal(other.predict_proba(typed), model.predict_proba(typed))


def test_days_that_may_be_months_stay_labels_until_the_form_is_said() -> None:
    texts = pd.DataFrame({"when": ["03.04.2013", "05.06.2013"] * 10})
    y = [0, 1] * 10
    with pytest.warns(UserWarning, match="column 'when' .* cannot be told apart.*date_features"):
        assert TableEncoder().fit(texts, y).is_nominal_.all()
    for form, month in (("day-first", "Apr"), ("month-first", "Mar")):
        encoder = TableEncoder(date_features={"when": form}).fit(texts, y)
        assert encoder.rank_labels(1, encoder.read(texts).values[1])[0] == month
    assert TableEncoder(date_features=None).fit(texts, y).is_nominal_.all()
    assert TableEncoder(categorical_features=["when"]).fit(texts, y).is_nominal_.all()


@pytest.mark.parametrize(
    "texts", [["2013-01-05", "soon"], ["1.2.3", "1.4.10"], ["2013-13-01"], ["31.02.2013"]]
)
def test_a_column_with_another_text_holds_labels(texts: list[str]) -> None:
    assert TableEncoder().fit(pd.DataFrame({"a": texts * 10})).is_nominal_.tolist() == [True]


def test_what_is_no_date_is_an_error_that_names_the_column_and_the_form() -> None:
    encoder = TableEncoder(date_features={"when": "day-first"}, discretizer="equal-width")
    encoder.fit(pd.DataFrame({"when": ["13.01.2013", "14.01.2013"]}))
    with pytest.raises(ValueError, match=r"'when' must hold dates, .*'soon'.*'day-first'"):
        encoder.read(pd.DataFrame({"when": ["soon"]}))
    for wrong in ({"when": "yyyy"}, ["when"]):
        with pytest.raises(ValueError, match="date_features"):
            TableEncoder(date_features=wrong).fit(pd.DataFrame({"when": ["13.01.2013"]}))


def test_columns_of_numbers_that_are_chosen_are_seconds_alone() -> None:
    frame = pd.DataFrame({"when": WHEN})
    for chosen in ({"numeric_features": ["when"]}, {"date_features": None}):
        encoder = TableEncoder(discretizer="equal-width", **chosen)
        assert encoder.fit(frame).feature_names == ("when",)


def test_dates_are_shown_as_dates() -> None:
    frame, y = pd.DataFrame({"when": WHEN}), (WHEN.dt.year == 2013).astype(int)
    model = ProbabilityForestClassifier(5, random_state=0).fit(frame, y)
    text = str(model.explain(frame[:1]).to_frame()["value"].tolist())
    for shown in ("2012-02-27 05:30", "'Feb'", "'Mon'"):
        assert shown in text
    later = pd.DataFrame({"when": [pd.Timestamp("2033-01-01")] * 3})
    assert "dates lie outside of training's 2012-02-27 05:30 to " in str(model.check(later))
