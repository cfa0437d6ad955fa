"""What a column of strings or objects is taken for, by its values."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict

from priorwise import KDBClassifier, NaiveBayesClassifier
from priorwise.data.encoding import TableEncoder
from priorwise.evaluation import cross_entropy

NUMBERS = [f"{i}.5" for i in range(40)]
MAKERS: dict[str, Any] = {
    "pandas": lambda values: pd.DataFrame({"a": pd.Series(values, dtype=object)}),
    "pandas strings": lambda values: pd.DataFrame({"a": pd.Series(values, dtype="str")}),
    "polars": lambda values: pl.DataFrame({"a": pl.Series(values, dtype=pl.String)}),
    "arrow": lambda values: pa.table({"a": pa.array(values, pa.string())}),
    "array": lambda values: np.array(values, dtype=object)[:, None],
    "list": lambda values: [[value] for value in values],
}
each_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def classes(n_rows: int) -> list[int]:
    return [int(i >= n_rows // 2) for i in range(n_rows)]


def fit_stream(make: Any, values: list[Any], **options: Any) -> NaiveBayesClassifier:
    """Learn from a column in batches of seven rows."""
    frame = make(values)
    if not hasattr(frame, "columns"):
        frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    label = np.array(classes(len(values)))
    if isinstance(frame, pd.DataFrame):
        frame = frame.assign(label=label)
    elif isinstance(frame, pl.DataFrame):
        frame = frame.with_columns(label=label)
    else:
        frame = frame.append_column("label", pa.array(label))
    model = NaiveBayesClassifier(**options)
    return model.fit_dataset(frame, "label", batch_rows=7)


@each_maker
@pytest.mark.parametrize("marks", [[], ["?", "NA", "", "nan", "null", None]], ids=["", "marks"])
def test_texts_that_are_all_numbers_are_numbers(make: Any, marks: list[Any]) -> None:
    values = [*NUMBERS, *marks]
    encoder = TableEncoder().fit(make(values), classes(len(values)))
    assert encoder.is_nominal_.tolist() == [False]
    numbers = encoder.read(make(values)).values[0]
    assert numbers[:40].tolist() == [float(text) for text in NUMBERS]
    assert np.isnan(numbers[40:]).all()
    fitted = NaiveBayesClassifier().fit(make(values), classes(len(values)))
    streamed = fit_stream(make, values)
    assert streamed.encoder_.is_nominal_.tolist() == [False]
    np.testing.assert_array_equal(streamed.encoder_.cut_points_[0], fitted.encoder_.cut_points_[0])


@each_maker
def test_a_few_texts_among_many_numbers_are_named(make: Any) -> None:
    values = [*NUMBERS * 10, "abc", "abc", "n.a.", "-", "-", "-", "x"]
    rule = r"column .* holds texts among numbers: '-' \(3 rows\), 'abc' \(2 rows\), 'n.a.'"
    with pytest.raises(ValueError, match=rule):
        NaiveBayesClassifier().fit(make(values), classes(len(values)))
    with pytest.raises(ValueError, match=rule):
        fit_stream(make, values)


@each_maker
def test_the_choices_of_a_user_settle_what_a_column_is(make: Any) -> None:
    values = [*NUMBERS, "abc"]
    y = classes(len(values))
    numbers = TableEncoder(numeric_features=[0]).fit(make(values), y)
    assert np.isnan(numbers.read(make(values)).values[0, 40])
    assert np.isnan(numbers.read(make(["?", "what"])).values[0]).all()
    marked = TableEncoder(missing_values=["abc"]).fit(make(values), y)
    assert marked.is_nominal_.tolist() == [False]
    assert TableEncoder(categorical_features=[0]).fit(make(values), y).is_nominal_.tolist() == [
        True
    ]
    for options in ({"numeric_features": ["a"]}, {"missing_values": ["abc"]}):
        assert not fit_stream(make, values, **options).encoder_.is_nominal_.any()
    assert fit_stream(make, values, categorical_features=["a"]).encoder_.is_nominal_.all()


@pytest.mark.parametrize("ending", ["csv", "parquet", "frame", "stream"])
def test_one_text_after_many_numbers_is_never_silent(ending: str, tmp_path: Path) -> None:
    values = [*np.arange(100_000) / 8, "abc"]
    y = np.arange(len(values)) % 2
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object), "label": y})
    if ending == "stream":
        source: Any = lambda: iter([frame[:60_000], frame[60_000:]])  # noqa: E731
    elif ending == "frame":
        source = frame
    else:
        source = tmp_path / f"rows.{ending}"
        text = frame.assign(a=frame["a"].astype(str))
        text.to_csv(source, index=False) if ending == "csv" else text.to_parquet(source)
    with pytest.raises(ValueError, match=r"(?s)'?a'?.*abc"):
        NaiveBayesClassifier().fit_dataset(source, "label")


def test_few_numbers_with_a_text_are_labels_with_a_warning() -> None:
    frame = pd.DataFrame({"children": ["0", "1", "2"] * 30 + ["3 or more"] * 5})
    with pytest.warns(UserWarning, match=r"column 'children' .* '3 or more' \(5 rows\)"):
        encoder = TableEncoder().fit(frame, classes(95))
    assert encoder.categories_[0].labels == ["0", "1", "2", "3 or more"]
    TableEncoder(categorical_features=["children"]).fit(frame, classes(95))


def test_labels_with_some_digits_are_labels() -> None:
    frame = pd.DataFrame({"flight": ["AA1", "17", "B6", "DL9"] * 10})
    assert TableEncoder().fit(frame, classes(40)).is_nominal_.all()


def test_whole_numbers_in_text_are_numbers_with_one_warning() -> None:
    frame = pd.DataFrame({name: [str(i) for i in range(40)] for name in "ab"})
    with pytest.warns(UserWarning, match="read as numbers in column 'a', 'b': name") as record:
        encoder = TableEncoder().fit(frame, classes(40))
    assert len(record) == 1
    assert not encoder.is_nominal_.any()
    TableEncoder(numeric_features=["a", "b"]).fit(frame, classes(40))


@pytest.mark.parametrize("text", ["007", "1,5", "12345678901234567890", "1_000", "inf", "0x1f"])
def test_texts_that_look_like_numbers_are_not_taken_for_them(text: str) -> None:
    frame = pd.DataFrame({"a": [*NUMBERS * 3, text]})
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        TableEncoder().fit(frame, classes(121))


def test_categories_and_booleans_stay_what_they_are() -> None:
    frame = pd.DataFrame(
        {
            "a": pd.Categorical(["1", "2", "NA", "2"]),
            "b": [True, False, True, True],
            "c": pd.Series([True, None, False, True], dtype=object),
        }
    )
    encoder = TableEncoder().fit(frame, [0, 1, 0, 1])
    assert encoder.is_nominal_.all()
    assert encoder.categories_[0].labels == ["1", "2", "NA"]


def test_rows_of_weight_zero_do_not_decide() -> None:
    values = [*NUMBERS, "abc"]
    weight = np.append(np.ones(40), 0.0)
    model = NaiveBayesClassifier().fit(MAKERS["pandas"](values), classes(41), weight)
    alone = NaiveBayesClassifier().fit(MAKERS["pandas"](NUMBERS), classes(41)[:40])
    asked = MAKERS["pandas"](NUMBERS)
    np.testing.assert_array_equal(model.predict_proba(asked), alone.predict_proba(asked))


def test_numbers_can_mean_missing() -> None:
    frame = pd.DataFrame({"a": [1.5, -999.0, 2.5], "b": ["x", "-999", "y"]})
    encoder = TableEncoder(missing_values=[-999]).fit(frame, [0, 1, 0])
    columns = encoder.read(frame)
    assert np.isnan(columns.values[0]).tolist() == [False, True, False]
    assert columns.nominal_codes[0].tolist() == [0, 2, 1]
    one = encoder.read(frame[1:2])
    assert np.isnan(one.values[0, 0])


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"missing_values": "?"}, r"missing_values must be 'usual' or a list .* got '\?'"),
        ({"missing_values": [("a",)]}, "missing_values must be"),
        ({"numeric_features": ["c"]}, "numeric_features must name columns of X, got 'c'"),
        ({"numeric_features": [5]}, "numeric_features as indices must lie in 0"),
        (
            {"numeric_features": ["a"], "categorical_features": [0]},
            "numeric_features must not have columns of categorical_features, got column 'a'",
        ),
    ],
)
def test_wrong_choices_are_named(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        NaiveBayesClassifier(**options).fit(MAKERS["pandas"](NUMBERS), classes(40))


def test_a_text_in_a_column_of_numbers_is_named_at_prediction() -> None:
    model = NaiveBayesClassifier().fit(pd.DataFrame({"a": np.arange(40.0)}), classes(40))
    asked = pd.DataFrame({"a": ["1.5", "?", "many", "many"]})
    with pytest.raises(ValueError, match=r"column 'a' must hold numbers.* 'many' \(2 rows\)"):
        model.predict_proba(asked)
    expected = model.predict_proba(pd.DataFrame({"a": [1.5, np.nan]}))
    np.testing.assert_array_equal(model.predict_proba(asked[:2]), expected)


def test_the_type_of_a_column_of_numbers_changes_no_score() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6]
    marked = X.astype(object)
    marked.iloc[::500, 0] = "?"
    scores = [
        cross_entropy(y, cross_val_predict(KDBClassifier(), table, y, cv=3, method="predict_proba"))
        for table in (X, X.astype(object), X.astype(str), marked)
    ]
    assert scores[1] == scores[2] == scores[0]
    assert abs(scores[3] - scores[0]) < 0.02
