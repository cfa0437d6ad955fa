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
    X.assign(more=1.0)[["more", "b", "a"]].to_parquet(tmp_path / "rows.parquet")
    out = tmp_path / f"answers{ending}"
    assert model.predict_dataset(tmp_path / "rows.parquet", out, batch_rows=70) == 300
    read = pd.read_parquet if ending == ".parquet" else pd.read_csv
    found = read(out)
    assert list(found.columns) == ["p(no)", "p(yes)"]
    np.testing.assert_allclose(found.to_numpy(), model.predict_proba(X), rtol=1e-12)


def test_a_model_without_names_takes_columns_in_order(rows, tmp_path):
    X, y = rows
    model = NaiveBayesClassifier().fit(X.to_numpy(dtype=object), y)
    data, out = X.assign(label=None), tmp_path / "answers.parquet"
    model.predict_dataset(data, out, target="label", batch_rows=100)
    expected = model.predict_proba(X.to_numpy(dtype=object))
    np.testing.assert_array_equal(pd.read_parquet(out).to_numpy(), expected)


def test_an_error_in_a_late_batch_names_its_place_and_writes_nothing(rows, tmp_path):
    X, y = rows
    model = NaiveBayesClassifier(unseen="error").fit(X, y)
    X.loc[250, "b"] = "new"
    X.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(SourceError, match=r"rows\.csv, rows 200\.\.299: .*'new'"):
        model.predict_dataset(tmp_path / "rows.csv", tmp_path / "answers.csv", batch_rows=100)
    assert os.listdir(tmp_path) == ["rows.csv"]
