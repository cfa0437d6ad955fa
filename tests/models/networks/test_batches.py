"""Networks that learn batch by batch."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from priorwise import (
    AODEClassifier,
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    TANClassifier,
)
from priorwise.models.networks import base
from priorwise.smoothing import HDP, MEstimate
from priorwise.structure import Network
from priorwise.structure.networks import network_counts
from reference.network_cases import as_frame, fit, make_codes

CHAIN = Network.from_parents([[], [0], [1, 0], [2], []])


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier(),
        TANClassifier(structure=CHAIN),
        KDBClassifier(structure=CHAIN),
        AODEClassifier(),
    ],
    ids=["naive Bayes", "TAN", "kDB", "AODE"],
)
@pytest.mark.parametrize("smoothing", ["hdp", "laplace"])
def test_batches_give_the_model_of_all_rows(model, smoothing):
    codes, y = make_codes()
    X = as_frame(codes)
    model = clone(model).set_params(smoothing=smoothing)
    whole = fit(model, X, y)
    # The first batch lacks values and a class that later ones bring.
    order = np.argsort(codes[:, 2] + 10 * (y == 2), kind="stable")
    stream = clone(model)
    for rows in np.array_split(order, 4):
        stream.partial_fit(X.iloc[rows], y[rows], classes=[0, 1, 2])
    # Which of two equal sums is smoothed first differs with the codes, not on paper.
    np.testing.assert_allclose(stream.predict_proba(X), whole.predict_proba(X), rtol=1e-6)


def test_the_first_batch_fixes_what_is_learnt(rng):
    X = as_frame(rng.integers(0, 3, (300, 3)))
    y = rng.integers(0, 2, 300)
    for model in (TANClassifier(), SelectiveKDBClassifier(2)):
        stream = clone(model).partial_fit(X[:150], y[:150])
        assert stream.structure_ == clone(model).fit(X[:150], y[:150]).structure_
        assert stream.partial_fit(X[150:], y[150:]).class_count_.sum() == 300


# Batches that fail leave their labels unknown, which is warned of when they are asked for.
pytestmark = pytest.mark.filterwarnings("ignore:.* were never seen in training:UserWarning")

BATCHED = [
    NaiveBayesClassifier(),
    TANClassifier(structure=CHAIN),
    KDBClassifier(structure=CHAIN),
    AODEClassifier(),
]


def break_counting(monkeypatch):
    def fail(*arguments, **options):
        raise MemoryError("no memory for counts")

    monkeypatch.setattr(network_counts, "count_trees", fail)


def break_smoothing(monkeypatch):
    def fail(*arguments, **options):
        raise MemoryError("no memory for probabilities")

    monkeypatch.setattr(base, "smooth_trees", fail)


@pytest.mark.parametrize("model", BATCHED, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("smoothing", ["hdp", "laplace", "m-branch", "hgs", MEstimate("cv")])
@pytest.mark.parametrize("fault", [break_counting, break_smoothing])
def test_a_batch_that_fails_leaves_the_model_as_it_was(model, smoothing, fault, monkeypatch):
    codes, y = make_codes(n_rows=60)
    X, more = as_frame(codes), as_frame(codes + 5)
    model = clone(model).set_params(smoothing=smoothing)
    model.partial_fit(X, y)
    before, proba, new = dict(vars(model)), model.predict_proba(X), model.predict_proba(more)
    with monkeypatch.context() as patched:
        fault(patched)
        with pytest.raises(MemoryError, match="no memory"):
            model.partial_fit(more, y, sample_weight=np.full(len(y), 0.5))
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict_proba(X), proba)
    np.testing.assert_array_equal(model.predict_proba(more), new)


@pytest.mark.parametrize("model", BATCHED, ids=lambda model: type(model).__name__)
def test_a_batch_that_a_sampler_refuses_teaches_no_labels(model):
    codes, y = make_codes(n_rows=60)
    X, more = as_frame(codes), as_frame(codes + 5)
    model = clone(model).set_params(smoothing=HDP("gibbs", n_iter=5, n_burn_in=1), random_state=0)
    model.partial_fit(X, y)
    expected = model.predict_proba(more)
    with pytest.raises(ValueError, match="whole"):
        model.partial_fit(more, y, sample_weight=np.full(len(y), 0.5))
    np.testing.assert_array_equal(model.predict_proba(more), expected)


def test_rows_of_weight_zero_bring_no_labels():
    codes, y = make_codes(n_rows=60)
    X, more = as_frame(codes), as_frame(codes + 5)
    model = NaiveBayesClassifier(unseen="error").partial_fit(X, y)
    expected = model.predict_proba(X)
    weight = np.zeros(120)
    weight[:60] = 1.0
    both = NaiveBayesClassifier(unseen="error")
    both.partial_fit(pd.concat([X, more]), np.concatenate([y, y]), sample_weight=weight)
    np.testing.assert_array_equal(both.predict_proba(X), expected)
    with pytest.raises(ValueError, match="which training did not"):
        both.predict_proba(more)


def test_batches_within_the_limit_on_contexts_may_exceed_it_together():
    codes, y = make_codes(n_rows=60)
    model: Any = KDBClassifier(structure=CHAIN).partial_fit(as_frame(codes), y)
    n_contexts = model.model_.counts.n_contexts
    model.set_params(max_contexts=n_contexts)
    # The same contexts again are no more of them.
    model.partial_fit(as_frame(codes), y)
    assert model.model_.counts.n_contexts == n_contexts
    with pytest.raises(ValueError, match="max_contexts must be at least"):
        model.partial_fit(as_frame(codes + 5), y)
