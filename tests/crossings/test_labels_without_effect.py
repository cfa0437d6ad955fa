"""A thousand labels that tell nothing of the class are one label, which nothing names."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import priorwise as pw
from priorwise.data.survey.labels import MANY_LABELS, tell_nothing
from priorwise.export import export_c, export_json, export_sql

N = 2500
MODELS: dict[str, Callable[..., Any]] = {
    "naive Bayes": pw.NaiveBayesClassifier,
    "forest": lambda **given: pw.ProbabilityForestClassifier(4, **given),
    "spline": pw.SplineLogisticClassifier,
    "flagship": lambda **given: pw.PriorwiseClassifier("fast", **given),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
Table = tuple[pd.DataFrame, np.ndarray]


def draw(effect: float = 0.0, seed: int = 0) -> Table:
    """Names, whose log-odds have some deviation, beside a colour and a number."""
    rng = np.random.default_rng(seed)
    name = np.concatenate([np.arange(1200), rng.integers(1200, size=N - 1200)])
    size = rng.normal(size=N)
    log_odds = size + effect * rng.normal(size=1200)[name]
    X = pd.DataFrame(
        {
            "name": np.array([f"Zzyzx{i:04d}" for i in name], dtype=object),
            "colour": rng.choice(["red", "blue"], N).astype(object),
            "size": size,
        }
    )
    X.loc[::50, "name"] = None
    return X, np.where(rng.random(N) < 1.0 / (1.0 + np.exp(-log_odds)), "yes", "no")


def fit(model: Any, table: Table) -> tuple[Any, list[str]]:
    """Fit a model; return it with what it warned of."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(*table)
    return model, [str(each.message) for each in record if each.category is pw.DataWarning]


@every_model
def test_labels_without_effect_are_one(make: Callable[..., Any], tmp_path: Path) -> None:
    X, y = draw()
    model, said = fit(make(random_state=0), (X, y))
    assert len(said) == 1
    assert said[0].startswith("column 'name' has more than 1,000 labels, which tell nothing")
    joined = X.assign(name=X["name"].where(X["name"].isna(), "other"))
    expected = make(random_state=0).fit(joined, y).predict_proba(joined)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    assert model.feature_schema_[0].labels == ("other",)
    model.save(tmp_path / "model")
    loaded = pw.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    model.explorer(tmp_path / "page.html")
    written = [(tmp_path / name).read_bytes() for name in ("model", "page.html")]
    written += [str(write(model)).encode() for write in (export_c, export_json, export_sql)]
    assert not any(b"Zzyzx" in content for content in written)


@every_model
def test_a_stream_joins_the_labels_that_memory_joins(make: Callable[..., Any]) -> None:
    X, y = draw()
    streamed = make(random_state=0)
    streamed.fit_dataset(X.assign(label=y), "label", batch_rows=700)
    assert streamed.feature_schema_[0].labels == ("other",)
    if make is pw.NaiveBayesClassifier:
        proba = fit(make(random_state=0), (X, y))[0].predict_proba(X)
        np.testing.assert_allclose(streamed.predict_proba(X), proba, rtol=1e-9)


@pytest.mark.parametrize(
    ("effect", "given"),
    [
        (1.5, {}),
        (0.0, {"categorical_features": ["name"]}),
        (0.0, {"unseen": "error"}),
        (0.0, {"declared": "count"}),
    ],
)
def test_labels_are_kept_that_tell_something_or_are_asked_for(
    effect: float, given: dict[str, Any]
) -> None:
    model, said = fit(pw.NaiveBayesClassifier(**given), draw(effect))
    assert len(model.feature_schema_[0].labels) > MANY_LABELS
    assert not said


def test_batches_may_bring_what_the_first_ones_do_not_tell() -> None:
    X, y = draw()
    model = pw.NaiveBayesClassifier().partial_fit(X, y)
    assert len(model.feature_schema_[0].labels or ()) > MANY_LABELS


def test_later_rows_bring_no_labels_back() -> None:
    X, y = draw()
    model, _ = fit(pw.NaiveBayesClassifier(), (X, y))
    model.partial_fit(X.assign(name="new"), y)
    assert model.feature_schema_[0].labels == ("other",)


def test_a_quiet_model_does_not_speak_of_labels() -> None:
    assert fit(pw.ESKDBClassifier(2, verbose=-1), draw())[1] == []


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.95, 0.05), (0.6, 0.3, 0.1)])
@pytest.mark.parametrize("rows", [1.3, 6.0])
def test_noise_is_taken_for_an_effect_rarely_and_an_effect_found(
    shares: tuple[float, ...], rows: float
) -> None:
    rng = np.random.default_rng(0)
    n_kept, n_found = 0, 0
    for _ in range(200):
        sizes = rng.poisson(rows, 1500) * rng.choice([1, 10], 1500, p=[0.99, 0.01])
        n_kept += not tell_nothing(rng.multinomial(sizes, shares))
        of_labels = rng.dirichlet(3.0 * np.array(shares), 1500)
        n_found += not tell_nothing(rng.multinomial(sizes, of_labels))
    # Two standard errors are exceeded in 2.3 % of the tables.
    assert n_kept <= 14
    assert n_found == 200


def test_labels_of_one_row_and_one_class_tell_nothing_known() -> None:
    assert tell_nothing(np.eye(2, dtype=int)[np.arange(50) % 2])
    assert not tell_nothing(np.array([[3], [4]]))
