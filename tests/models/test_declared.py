"""Categories and classes that a type declares but no row has (declared="count")."""

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from priorwise import (
    AODEClassifier,
    ConditionalTable,
    ESKDBClassifier,
    KDBClassifier,
    KDFClassifier,
    LogLinearPool,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SelectiveKDBClassifier,
    SuperParentClassifier,
    TANClassifier,
    load,
)
from priorwise.common.runtime import DataWarning
from priorwise.data import read_arff
from priorwise.smoothing import Laplace

COLOURS, SIZES, CLASSES = ["amber", "blue", "cyan"], ["l", "s"], ["no", "yes"]
MODELS = [
    NaiveBayesClassifier(),
    TANClassifier("m-estimate"),
    KDBClassifier(2),
    SelectiveKDBClassifier(2),
    SuperParentClassifier("auc"),
    AODEClassifier(),
    KDFClassifier(2),
    ESKDBClassifier(3, random_state=0),
    ProbabilityTreeClassifier(random_state=0),
    ProbabilityForestClassifier(3, random_state=0),
    ProbabilityForestClassifier(3, splitter="random", random_state=0),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def make_codes(n_rows: int = 90) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of colours, sizes and classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    return (y + rng.integers(0, 2, n_rows)) % 3, rng.integers(0, 2, n_rows), y


def make_table(extra: bool = True, reverse: bool = False) -> tuple[pd.DataFrame, pd.Series]:
    """Categoricals that declare labels without rows, in one order or the other, or do not."""
    columns = []
    for labels, codes in zip((COLOURS, SIZES, CLASSES), make_codes(), strict=True):
        declared = [*labels, "maybe", "zzz"] if extra else labels
        text = np.array(labels, dtype=object)[codes]
        columns.append(pd.Categorical(text, declared[::-1] if reverse else declared))
    frame = pd.DataFrame({"colour": columns[0], "size": columns[1]})
    return frame.assign(number=make_codes()[2] + np.arange(90) / 60), pd.Series(columns[2])


def counting(model: Any) -> Any:
    return clone(model).set_params(declared="count")


@pytest.mark.parametrize("backoff", [False, True])
def test_naive_bayes_is_that_of_the_textbooks(backoff: bool) -> None:
    X, y = make_table()
    X = X[["colour", "size"]]
    model = NaiveBayesClassifier(Laplace(backoff), declared="count").fit(X, y)
    assert model.classes_.tolist() == ["maybe", "no", "yes", "zzz"]
    colour, size, labels = (np.asarray(column) for column in (X["colour"], X["size"], y))
    expected = []
    for row in range(len(y)):
        joint = []
        for label in model.classes_:
            same = labels == label
            p = (same.sum() + 1) / (len(y) + 4)
            if backoff and not same.any():
                # A class without rows has the values of all rows.
                same = np.ones(len(y), dtype=bool)
            p *= ((colour[same] == colour[row]).sum() + 1) / (same.sum() + 5)
            joint.append(p * ((size[same] == size[row]).sum() + 1) / (same.sum() + 4))
        expected.append(np.array(joint) / sum(joint))
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-6)
    assert model.class_count_.tolist() == [(labels == name).sum() for name in model.classes_]


def test_a_declared_value_without_rows_is_no_unseen_one() -> None:
    X, y = make_table()
    asked = X[:1].assign(colour=pd.Categorical(["zzz"]))
    smoothing = Laplace(backoff=False)
    model = NaiveBayesClassifier(smoothing, declared="count", unseen="error").fit(X, y)
    assert model.check(asked).is_ok
    left_out = NaiveBayesClassifier(smoothing, declared="count").fit(X.drop(columns="colour"), y)
    expected = left_out.predict_proba(asked.drop(columns="colour"))[0] / (model.class_count_ + 5)
    np.testing.assert_allclose(model.predict_proba(asked)[0], expected / expected.sum(), rtol=1e-6)
    with pytest.raises(ValueError, match="'zzz'"):
        model.set_params(declared="ignore").fit(X, y).predict_proba(asked)


@each_model
def test_a_declared_class_has_a_smoothed_column(model: Any) -> None:
    X, y = make_table()
    fitted = counting(model).fit(X, y)
    proba = fitted.predict_proba(X)
    assert fitted.classes_.tolist() == ["maybe", "no", "yes", "zzz"]
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba > 0.0).all()
    assert (proba[:, [0, 3]].mean(axis=0) < 0.1).all()
    np.testing.assert_allclose(proba[:, 0], proba[:, 3], rtol=1e-4)
    assert np.isfinite(fitted.explain(X[:3]).contributions).all()


@each_model
def test_the_order_of_the_declared_labels_does_not_matter(model: Any) -> None:
    X, y = make_table()
    other_X, other_y = make_table(reverse=True)
    expected = counting(model).fit(X, y).predict_proba(X)
    fitted = counting(model).fit(other_X, other_y)
    np.testing.assert_array_equal(fitted.predict_proba(other_X), expected)


@each_model
def test_nothing_changes_if_all_declared_labels_have_rows(model: Any) -> None:
    X, y = make_table(extra=False)
    expected = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(counting(model).fit(X, y).predict_proba(X), expected)


@each_model
def test_without_the_parameter_declared_labels_are_left_out(model: Any) -> None:
    (X, y), (extra_X, extra_y) = make_table(extra=False), make_table()
    expected = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(clone(model).fit(extra_X, extra_y).predict_proba(X), expected)


def test_every_type_that_declares_counts() -> None:
    import polars as pl
    import pyarrow as pa

    X, y = make_table()
    expected = NaiveBayesClassifier(declared="count").fit(X, y).predict_proba(X)
    polars_X = pl.from_pandas(X.astype({"colour": str, "size": str})).with_columns(
        pl.col("colour").cast(pl.Enum([*COLOURS, "more", "still"])),
        pl.col("size").cast(pl.Enum([*SIZES, "more", "still"])),
    )
    polars_y = pl.Series(y.astype(str).tolist(), dtype=pl.Enum(y.cat.categories.tolist()))
    arrow_X = pa.Table.from_pandas(X)
    arrow_y = pa.Array.from_pandas(y)
    cases: list[tuple[Any, Any]] = [
        (polars_X, polars_y), (arrow_X, arrow_y), (arrow_X, pa.chunked_array([arrow_y])),
        (X, pd.Categorical(y)), (X, pd.CategoricalIndex(y)),
    ]  # fmt: skip
    for table, target in cases:
        model = NaiveBayesClassifier(declared="count").fit(table, target)
        assert model.classes_.tolist() == ["maybe", "no", "yes", "zzz"]
        np.testing.assert_allclose(model.predict_proba(table), expected, rtol=1e-12)
    codes = pd.Series(pd.Categorical(y.cat.codes, [7, 5, 2, 1, 0]))
    model = NaiveBayesClassifier(declared="count").fit(X, codes)
    assert model.classes_.dtype.kind == "i"
    assert model.classes_.tolist() == [0, 1, 2, 5, 7]


def test_values_declared_in_an_arff_file_count() -> None:
    text = (
        "@relation r\n@attribute sky {sun,rain,snow}\n@attribute play {yes,no,perhaps}\n@data\n"
        "sun,yes\nrain,no\nsun,yes\nrain,yes\n"
    )
    X = read_arff(io.StringIO(text)).to_frame()
    y = X.pop("play")
    model = NaiveBayesClassifier(Laplace(backoff=False), declared="count").fit(X, y)
    joint = {"yes": 4 / 7 * 3 / 6, "no": 2 / 7 * 1 / 4, "perhaps": 1 / 7 * 1 / 3}
    expected = [joint[label] / sum(joint.values()) for label in model.classes_]
    np.testing.assert_allclose(model.predict_proba(X)[0], expected, rtol=1e-6)


def test_a_declared_class_of_weight_zero_keeps_its_column() -> None:
    X, y = make_table(extra=False)
    weight = (y == "yes").to_numpy().astype(float)
    model = NaiveBayesClassifier(declared="count").fit(X, y, sample_weight=weight)
    rows = np.flatnonzero(weight)
    other = NaiveBayesClassifier(declared="count").fit(X.iloc[rows], y.iloc[rows])
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    assert model.class_count_.tolist() == [0.0, weight.sum()]
    prior = model.predict_proba(X, class_prior=[0.5, 0.5])
    np.testing.assert_allclose(prior.sum(axis=1), 1.0)


def test_batches_count_what_they_declare() -> None:
    X, y = make_table()
    X = X[["colour", "size"]]
    whole = NaiveBayesClassifier("laplace", declared="count").fit(X, y)
    batches = NaiveBayesClassifier("laplace", declared="count")
    for rows in (slice(0, 10), slice(10, 90)):
        batches.partial_fit(X[rows], y[rows])
    np.testing.assert_array_equal(batches.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("missing", ["value", "impute"])
def test_a_declared_column_without_values_is_read(missing: str) -> None:
    X, y = make_table()
    X["colour"] = pd.Categorical([None] * len(X), COLOURS)
    model = NaiveBayesClassifier("laplace", declared="count", missing=missing).fit(X, y)
    assert model.encoder_.categories_[0].counts == [0.0, 0.0, 0.0, 90.0]
    assert model.feature_schema_[0].missing_share == 1.0
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_saved_model_knows_declared_labels(tmp_path: Any) -> None:
    X, y = make_table()
    model = NaiveBayesClassifier(declared="count", missing="ignore").fit(X, y)
    model.save(tmp_path / "model")
    other = load(tmp_path / "model")
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    assert other.encoder_.arities_.tolist() == model.encoder_.arities_.tolist()
    assert other.encoder_.arities_[:2].tolist() == [5, 4]


def test_a_member_of_a_pool_counts_declared_categories_but_not_classes() -> None:
    X, y = make_table()
    bayes = NaiveBayesClassifier("laplace", declared="count")
    pool = LogLinearPool([("bayes", bayes), ("tan", TANClassifier())], random_state=0).fit(X, y)
    assert pool.classes_.tolist() == CLASSES
    assert pool.estimators_["bayes"].encoder_.arities_[:2].tolist() == [5, 4]
    for other in (LogLinearPool, PriorwiseClassifier):
        assert "declared" not in other._get_param_names()


def test_a_wrong_value_and_batches_of_files_are_refused_by_name() -> None:
    X, y = make_table()
    with pytest.raises(ValueError, match=r"declared must be .* got 'all'"):
        NaiveBayesClassifier(declared="all").fit(X, y)
    with pytest.raises(ValueError, match="declared must be 'ignore' for fit_dataset"):
        NaiveBayesClassifier(declared="count").fit_dataset(X.assign(y=y), "y")
    with pytest.raises(ValueError, match=r"declared must be .* got 'all'"):
        ConditionalTable(declared="all").fit(X, target="colour", given=[])


def test_a_conditional_table_leaves_out_declared_values_if_told_to() -> None:
    X, _ = make_table()
    table = ConditionalTable("laplace", declared="ignore").fit(X, target="colour", given=["size"])
    assert table.classes_.tolist() == COLOURS
    counted = ConditionalTable("laplace").fit(X, target="colour", given=["size"])
    assert counted.classes_.tolist() == [*COLOURS, "maybe", "zzz"]


def test_a_target_of_numbers_that_are_classes_is_taken() -> None:
    rows = pd.DataFrame({"x": list("ab") * 50, "y": np.arange(100)})
    with pytest.warns(DataWarning, match="target 'y' has 100 different numbers in 100 rows"):
        ConditionalTable("laplace").fit(rows, target="y", given=["x"])
    for y in (rows.y % 50, (rows.y / 4).astype(str), pd.Categorical(rows.y / 4)):
        ConditionalTable("laplace").fit(rows.assign(y=y), target="y", given=["x"])
