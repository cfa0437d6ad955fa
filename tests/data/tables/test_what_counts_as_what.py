"""The table of docs/columns.md: every row is a column, and every cell is checked here."""

from __future__ import annotations

import datetime as dt
import re
import warnings
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from priorwise import NaiveBayesClassifier

N = 24
Y = np.arange(N) % 2
TEXTS = ["red", "green", "blue"] * (N // 3)
FLOATS = [i + 0.5 for i in range(N)]
DOCUMENT = Path(__file__).parents[3] / "docs" / "columns.md"


@dataclass(frozen=True)
class Column:
    """A column, what it is read as, and what is warned of or raised."""

    values: Any  # of a frame, or an array
    kind: str
    message: str = ""


def pandas(values: Any, dtype: Any = None) -> Any:
    return pd.DataFrame({"a": pd.Series(values, dtype=dtype)})


def polars(values: Any, dtype: Any = None) -> Any:
    return pl.DataFrame({"a": pl.Series(values, dtype=dtype)})


def arrow(values: Any, dtype: Any = None) -> Any:
    return pa.table({"a": pa.array(values, dtype)})


def array(values: Any, dtype: Any = None) -> Any:
    return np.array(values, dtype=dtype)[:, None]


WHOLE = "whole numbers written as text"
STRAY = "texts among numbers"
DATES = "is read as dates"
COLUMNS = {
    "floats": Column(pandas(FLOATS), "numeric"),
    "whole numbers": Column(pandas(range(N)), "numeric"),
    "nullable whole numbers with NA": Column(pandas([None, *range(N - 1)], "Int64"), "numeric"),
    "booleans": Column(pandas([True, False] * (N // 2)), "nominal"),
    "nullable booleans with NA": Column(pandas([None, True] * (N // 2), "boolean"), "nominal"),
    "strings": Column(pandas(TEXTS), "nominal"),
    "categories": Column(pandas(TEXTS, "category"), "nominal"),
    "ordered categories": Column(
        pandas(TEXTS, pd.CategoricalDtype(["red", "green", "blue"], ordered=True)), "ordered"
    ),
    "categories that are numbers": Column(pandas([1, 2, 3] * 8, "category"), "nominal"),
    "objects that are numbers": Column(pandas(FLOATS, object), "numeric"),
    "objects that are decimals": Column(pandas([Decimal(i) for i in range(N)], object), "numeric"),
    "objects that are numbers and None": Column(pandas([None, *FLOATS[1:]], object), "numeric"),
    "objects that are booleans and None": Column(pandas([None, True] * 12, object), "nominal"),
    "strings that are fractions": Column(pandas([str(x) for x in FLOATS]), "numeric"),
    "strings that are whole numbers": Column(pandas([str(i) for i in range(N)]), "numeric", WHOLE),
    'strings that are numbers and "?"': Column(pandas(["?", *map(str, FLOATS[1:])]), "numeric"),
    "numbers with one text": Column(pandas(["abc", *FLOATS[1:]], object), "ValueError", STRAY),
    "few numbers with a rare text": Column(
        pandas(["0", "1", "2"] * 7 + ["3+", "0", "1"]), "nominal", STRAY
    ),
    "texts with some numbers": Column(pandas(["A1", "17", "B6"] * 8), "nominal"),
    "identifiers with leading zeros": Column(pandas(["007", "012", "001"] * 8), "nominal"),
    "nothing but missing values": Column(pandas([None] * N, object), "nominal"),
    "datetimes": Column(pandas(pd.date_range("2013", periods=N)), "date"),
    "objects that are dates": Column(
        pandas([dt.date(2013, 1, 1 + i) for i in range(N)], object), "date"
    ),
    "strings that are dates": Column(
        pandas([f"2013-01-{1 + i:02} 07:30" for i in range(N)]), "date", DATES
    ),
    "strings that are days and months": Column(
        pandas([f"{1 + i % 12}/5/2013" for i in range(N)]), "nominal", "cannot be told apart"
    ),
    "durations": Column(pandas(pd.to_timedelta(range(N), "h")), "numeric"),
    "objects that are times of day": Column(
        pandas([dt.time(i) for i in range(N)], object), "numeric"
    ),
    "polars floats with null": Column(polars([None, *FLOATS[1:]]), "numeric"),
    "polars strings that are fractions": Column(polars([str(x) for x in FLOATS]), "numeric"),
    "polars enum": Column(polars(TEXTS, pl.Enum(["red", "green", "blue"])), "nominal"),
    "polars dates": Column(polars([dt.date(2013, 1, 1 + i) for i in range(N)]), "date"),
    "arrow strings with null": Column(arrow([None, *TEXTS[1:]]), "nominal"),
    "arrow dictionary": Column(pa.table({"a": pa.array(TEXTS).dictionary_encode()}), "nominal"),
    "arrow times": Column(arrow([dt.time(i) for i in range(N)]), "numeric"),
    "array of floats": Column(array(FLOATS), "numeric"),
    "array of strings": Column(array(TEXTS), "nominal"),
    "array of objects that are numbers": Column(array(FLOATS, object), "numeric"),
    "list of rows": Column([[text] for text in TEXTS], "nominal"),
    "lists in cells": Column(polars([[1, 2]] * N), "TypeError", "has type List"),
}  # fmt: skip


def learn(table: Any, *, streamed: bool) -> NaiveBayesClassifier:
    if not streamed:
        return NaiveBayesClassifier().fit(table, Y)
    if isinstance(table, pa.Table):
        rows: Any = table.append_column("label", pa.array(Y))
    elif isinstance(table, pl.DataFrame):
        rows = table.with_columns(label=Y)
    else:
        rows = table.assign(label=Y)
    return NaiveBayesClassifier().fit_dataset(rows, "label", batch_rows=5)


STREAMED = [n for n, one in COLUMNS.items() if not isinstance(one.values, list | np.ndarray)]
"""Columns that `fit_dataset` takes: it takes frames and files, but no arrays."""


@pytest.mark.parametrize(
    ("name", "streamed"),
    [
        *(pytest.param(name, False, id=f"{name}-fit") for name in COLUMNS),
        *(pytest.param(name, True, id=f"{name}-fit_dataset") for name in STREAMED),
    ],
)
def test_a_column_is_read_and_warned_of_as_the_table_says(name: str, streamed: bool) -> None:
    column = COLUMNS[name]
    if column.kind.endswith("Error"):
        with pytest.raises((TypeError, ValueError), match=column.message):
            learn(column.values, streamed=streamed)
        return
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model = learn(column.values, streamed=streamed)
    messages = [str(warning.message) for warning in record]
    assert len(messages) == (column.message != "")
    assert all(column.message in message for message in messages)
    assert [schema.kind for schema in model.feature_schema_] == [column.kind]


@pytest.mark.parametrize("name", [name for name in COLUMNS if "Error" not in COLUMNS[name].kind])
def test_every_row_is_predicted_as_it_was_read(name: str) -> None:
    table = COLUMNS[name].values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = learn(table, streamed=False)
    proba = model.predict_proba(table)
    assert model.check(table).is_ok
    if isinstance(table, pd.DataFrame):
        alone = [model.predict_proba(table[i : i + 1])[0] for i in range(N)]
        np.testing.assert_array_equal(alone, proba)


def test_the_document_has_these_rows() -> None:
    section = DOCUMENT.read_text().split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.*?) \|$", section, flags=re.M)
    written = {column: (kind, message) for column, kind, message in rows[1:]}
    assert set(written) == set(COLUMNS)
    for name, column in COLUMNS.items():
        kind, message = written[name]
        words = {"numeric": "numbers", "nominal": "labels", "ordered": "ranks", "date": "dates"}
        assert kind == words.get(column.kind, column.kind)
        assert message == (f"“{column.message}”" if column.message else "")
