"""Networks that leave missing values out (missing="ignore")."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from priorwise import (
    KDBClassifier,
    NaiveBayesClassifier,
    ProbabilityTreeClassifier,
    SelectiveKDBClassifier,
)
from priorwise.smoothing import MEstimate
from reference.network_cases import ALL, ARITIES, FIXED, N_CLASSES, as_frame, each, make_codes
from reference.networks import DictNetwork, leave_one_out_losses, normalise


def ignoring(model):
    return clone(model).set_params(missing="ignore")


def make_holes(seed=0, n_rows=150, share=0.25):
    """Codes of which some are -1, the frame of them, and classes."""
    codes, y = make_codes(seed, n_rows)
    holes = np.where(np.random.default_rng(seed).random(codes.shape) < share, -1, codes)
    frame = as_frame(codes)
    for i, name in enumerate(frame):
        frame[name] = frame[name].where(holes[:, i] >= 0, None)
    return holes, frame, y


def make_mixed_holes():
    _, frame, y = make_holes()
    rng = np.random.default_rng(1)
    numbers = np.where(rng.random(len(y)) < 0.2, np.nan, y + rng.normal(size=len(y)))
    return frame.assign(number=numbers), y


def test_naive_bayes_is_that_of_the_textbooks():
    codes, X, y = make_holes()
    model = NaiveBayesClassifier("laplace", missing="ignore").fit(X, y)
    expected = []
    for row in codes:
        joint = []
        for label in range(N_CLASSES):
            p = ((y == label).sum() + 1) / (len(y) + N_CLASSES)
            for i, value in enumerate(row):
                known = codes[(y == label) & (codes[:, i] >= 0), i]
                if value >= 0:
                    p *= ((known == value).sum() + 1) / (len(known) + ARITIES[i])
            joint.append(p)
        expected.append(np.array(joint) / sum(joint))
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-6)


@pytest.mark.parametrize("smoothing", ["mle", "laplace", ("m-estimate", 2.0), ("m-branch", 1.0)])
def test_a_network_is_its_slow_twin(smoothing):
    codes, X, y = make_holes()
    name = smoothing if isinstance(smoothing, str) else smoothing[0]
    smoother = MEstimate(2.0) if name == "m-estimate" else name
    model = KDBClassifier(2, smoothing=smoother, missing="ignore").fit(X, y)
    network = model.structure_
    assert any(len(parents) == 2 for parents in network.parents)
    if name == "m-branch":
        smoothing = ("m-branch", model.smoothing_.m)
    twin = DictNetwork(
        codes.tolist(), y.tolist(), ARITIES, N_CLASSES, network.parents, network.order, smoothing
    )
    prior = twin.log_joint([-1] * len(ARITIES))
    expected = [normalise(twin.log_joint(row), prior) for row in codes.tolist()]
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "log"])
def test_a_row_is_left_out_of_the_counts_that_it_is_in(loss):
    codes, X, y = make_holes(n_rows=40)
    model = SelectiveKDBClassifier(
        2, smoothing="laplace", selection_loss=loss, missing="ignore"
    ).fit(X, y)
    whole = KDBClassifier(2, smoothing="laplace", missing="ignore").fit(X, y).structure_
    losses = leave_one_out_losses(
        codes.tolist(), y.tolist(), ARITIES, N_CLASSES, whole, "laplace", 2, loss
    )
    np.testing.assert_allclose(model.selection_.losses, losses, rtol=1e-6)


@each(FIXED)
def test_a_column_that_all_rows_miss_is_no_column(model):
    X, y = make_mixed_holes()
    without = ignoring(model).fit(X, y)
    nothing = pd.Series([None] * len(y), dtype=object)
    wide = pd.concat([nothing.rename("first"), X.assign(last=np.nan)], axis=1)
    np.testing.assert_array_equal(
        ignoring(model).fit(wide, y).predict_proba(wide), without.predict_proba(X)
    )


@each(ALL)
def test_rows_without_missing_values_are_as_by_default(model):
    X, y = make_mixed_holes()
    X = as_frame(make_codes()[0]).assign(number=X["number"].fillna(0.0))
    plain = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(ignoring(model).fit(X, y).predict_proba(X), plain)


@each(ALL)
def test_a_stream_gives_the_model_of_fit(model, tmp_path):
    X, y = make_mixed_holes()
    proba = ignoring(model).fit(X, y).predict_proba(X)
    for cache in ("on", "off"):
        streamed = ignoring(model).fit_dataset(
            X.assign(target=y), "target", batch_rows=40, cache=cache, scratch=tmp_path
        )
        np.testing.assert_allclose(streamed.predict_proba(X), proba, rtol=1e-9)
    nominal = X.drop(columns="number")
    streamed = ignoring(model).fit_dataset(nominal.assign(target=y), "target", batch_rows=40)
    expected = ignoring(model).fit(nominal, y).predict_proba(nominal)
    np.testing.assert_allclose(streamed.predict_proba(nominal), expected, rtol=1e-9)


@each(ALL)
def test_a_row_that_misses_everything_has_the_class_prior(model):
    X, y = make_mixed_holes()
    fitted = ignoring(model).fit(X, y)
    nothing = X.iloc[:1].assign(**dict.fromkeys(X.columns[:-1]), number=np.nan)
    prior = np.bincount(y) / len(y)
    np.testing.assert_allclose(fitted.predict_proba(nothing)[0], prior, atol=0.1)


def test_batches_are_the_model_of_all_rows():
    _, X, y = make_holes()
    batches = NaiveBayesClassifier("laplace", missing="ignore")
    for part in np.array_split(np.arange(len(y)), 4):
        batches.partial_fit(X.iloc[part], y[part], classes=[0, 1, 2])
    whole = NaiveBayesClassifier("laplace", missing="ignore").fit(X, y)
    np.testing.assert_allclose(batches.predict_proba(X), whole.predict_proba(X), rtol=1e-12)


def test_missing_values_are_no_unseen_ones():
    _, X, y = make_holes()
    model = KDBClassifier(missing="ignore", unseen="error").fit(
        X.dropna(), y[X.notna().all(axis=1)]
    )
    nothing = X.assign(f0=None, f1="?")
    assert np.isfinite(model.predict_proba(nothing)).all()
    with pytest.raises(ValueError, match="column 'f0' holds 'w', which training did not"):
        model.predict_proba(X.assign(f0="w"))


def test_single_rows_are_read_as_many_are():
    X, y = make_mixed_holes()
    model = ignoring(KDBClassifier()).fit(X, y)
    alone = np.vstack([model.predict_proba(X.iloc[[i]]) for i in range(30)])
    np.testing.assert_allclose(alone, model.predict_proba(X.iloc[:30]), rtol=1e-12)


def test_other_classifiers_refuse_it_by_name():
    X, y = make_mixed_holes()
    with pytest.raises(ValueError, match=r"missing must be one of .*, got 'ignore'"):
        ProbabilityTreeClassifier(missing="ignore").fit(X, y)
