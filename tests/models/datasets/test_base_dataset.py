import os

import numpy as np
import pandas as pd
import pytest

from priorwise import ESKDBClassifier, NaiveBayesClassifier, ProbabilityTreeClassifier
from priorwise.data import SourceError

MODELS = [
    NaiveBayesClassifier(),
    ESKDBClassifier(n_estimators=2, random_state=0),
    ProbabilityTreeClassifier(smoothing="laplace", random_state=0),
]


@pytest.fixture
def rows(rng):
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(["u", "v", "w"], 300)})
    y = np.where(X["a"] + (X["b"] == "u") + rng.normal(size=300) > 0.3, "yes", "no")
    return X, y


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_answers_in_batches_are_those_in_memory(model, ending, rows, tmp_path):
    X, y = rows
    model.fit(X, y)
    # Another order, and a column that the model does not know.
    data = X.assign(more=1.0, key=[f"{i:03}" for i in range(300)])[["key", "more", "b", "a"]]
    data.to_parquet(tmp_path / "rows.parquet")
    out, keep = tmp_path / f"answers{ending}", ["key", "b"]
    assert model.predict_dataset(tmp_path / "rows.parquet", out, keep=keep, batch_rows=70) == 300
    read = pd.read_parquet if ending == ".parquet" else pd.read_csv
    found = read(out, dtype={"key": str}) if ending == ".csv" else read(out)
    assert list(found.columns) == ["key", "b", "prediction", "p(no)", "p(yes)"]
    np.testing.assert_allclose(found.iloc[:, 3:].to_numpy(), model.predict_proba(X), rtol=1e-12)
    assert found["prediction"].tolist() == model.predict(X).tolist()
    assert found[["key", "b"]].equals(data[["key", "b"]])


def test_a_model_without_names_takes_columns_in_order(rows, tmp_path):
    X, y = rows
    model = NaiveBayesClassifier().fit(X.to_numpy(dtype=object), y)
    data, out = X.assign(label=None), tmp_path / "answers.parquet"
    model.predict_dataset(data, out, target="label", batch_rows=100)
    expected = model.predict_proba(X.to_numpy(dtype=object))
    np.testing.assert_array_equal(pd.read_parquet(out).iloc[:, 1:].to_numpy(), expected)


def test_an_error_in_a_late_batch_names_its_place_and_writes_nothing(rows, tmp_path):
    X, y = rows
    model = NaiveBayesClassifier(unseen="error").fit(X, y)
    X.loc[250, "b"] = "new"
    X.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(SourceError, match=r"rows\.csv, rows 200\.\.299: .*'new'"):
        model.predict_dataset(tmp_path / "rows.csv", tmp_path / "answers.csv", batch_rows=100)
    assert os.listdir(tmp_path) == ["rows.csv"]


def test_labels_of_digits_in_a_csv_file_are_the_labels_of_training(rows, tmp_path):
    X, y = rows
    X["b"] = X["b"].map({"u": "001", "v": "002", "w": "x"})
    model = NaiveBayesClassifier().fit(X, y)
    some = X[X["b"] != "x"].assign(key="0007")
    some.to_csv(tmp_path / "rows.csv", index=False)
    model.predict_dataset(tmp_path / "rows.csv", tmp_path / "answers.csv", keep=["key", "b"])
    found = pd.read_csv(tmp_path / "answers.csv", dtype={"key": str, "b": str})
    np.testing.assert_allclose(found.iloc[:, 3:].to_numpy(), model.predict_proba(some[["a", "b"]]))
    assert set(found["key"]) == {"0007"}
    assert set(found["b"]) == {"001", "002"}


def test_columns_to_keep_that_are_not_there_are_named(rows, tmp_path):
    X, y = rows
    model = NaiveBayesClassifier().fit(X, y)
    with pytest.raises(SourceError, match="column 'key' is missing"):
        model.predict_dataset(X, tmp_path / "answers.csv", keep=["key"])
    with pytest.raises(TypeError, match="keep must be a list of columns, got 'a'"):
        model.predict_dataset(X, tmp_path / "answers.csv", keep="a")
    assert os.listdir(tmp_path) == []


def test_progress_is_reported_if_asked(rows, tmp_path, capsys):
    X, y = rows
    model = NaiveBayesClassifier().fit(X, y)
    model.predict_dataset(X, tmp_path / "answers.csv", batch_rows=150, verbose=1)
    assert capsys.readouterr().err.startswith("150/300 rows, ")
