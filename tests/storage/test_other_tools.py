"""Other tools that store models."""

import io
import pickle

import numpy as np
import pytest

import priorwise
from contract.rows.tables import mixed
from contract.settings import BY_NAME
from priorwise import data, smoothing

KINDS = [
    "NaiveBayes", "TAN", "SelectiveKDB", "SuperParent", "AODE", "KDF", "ESKDB", "ProbabilityTree",
    "ProbabilityForest", "ProbabilityForest random", "Boosting", "GaussianNetwork",
    "SplineLogistic", "KernelLogistic", "LogLinearPool", "Priorwise", "KDB Gibbs",
]  # fmt: skip
"""Settings that have all classes of classifiers between them."""


def types_within(estimator) -> set[str]:
    """Names of the types of this library that an estimator is made of, as a pickle lists them."""
    names: set[str] = set()

    class Lister(pickle.Pickler):
        def reducer_override(self, obj):
            if type(obj).__module__.startswith("priorwise."):
                names.add(f"{type(obj).__module__}.{type(obj).__qualname__}")
            return NotImplemented

    Lister(io.BytesIO()).dump(estimator)
    return names


def through_skops(estimator):
    """The estimator that skops reads again, trusting the types that the library lists alone."""
    skops_io = pytest.importorskip("skops.io")
    return skops_io.loads(skops_io.dumps(estimator), trusted=priorwise.list_trusted_types())


def test_the_settings_have_all_classifiers() -> None:
    public = {getattr(priorwise, name) for name in priorwise.__all__}
    classifiers = {one for one in public if hasattr(one, "predict_proba")}
    others = {priorwise.ConditionalTable, priorwise.BayesianNetwork}
    assert classifiers - {type(BY_NAME[name].model) for name in KINDS} == others


@pytest.mark.parametrize("name", KINDS)
def test_all_types_within_a_classifier_are_trusted(name: str) -> None:
    types = types_within(BY_NAME[name].fitted)
    assert types <= set(priorwise.list_trusted_types())
    assert len(types) > 1


@pytest.mark.parametrize("name", KINDS)
def test_skops_stores_every_classifier(name: str) -> None:
    setting, X = BY_NAME[name], mixed()[0]
    other = through_skops(setting.fitted)
    np.testing.assert_array_equal(other.predict_proba(X), setting.proba)
    if hasattr(other, "explain"):
        first, second = setting.fitted.explain(X), other.explain(X)
        np.testing.assert_array_equal(first.contributions, second.contributions)


def test_skops_stores_what_is_no_classifier() -> None:
    X, y = mixed()
    table = priorwise.ConditionalTable().fit(X, target="shape", given=["colour", "age"])
    other = through_skops(table)
    np.testing.assert_array_equal(other.predict_proba(X), table.predict_proba(X))
    few = X.drop(columns="size")
    network = priorwise.BayesianNetwork([("colour", "shape"), ("age", "shape")]).fit(few)
    np.testing.assert_array_equal(through_skops(network).log_prob(few), network.log_prob(few))
    numbers = X[["age"]].to_numpy(dtype=float)
    for name in data.__all__:
        if name.endswith("Discretizer"):
            cuts = getattr(data, name)().fit(numbers, y)
            np.testing.assert_array_equal(
                through_skops(cuts).transform(numbers), cuts.transform(numbers)
            )
    encoder = data.FrameEncoder().fit(X)
    assert repr(through_skops(encoder).transform(X)) == repr(encoder.transform(X))
    for name in smoothing.__all__:
        if name != "Smoother":
            smoother = getattr(smoothing, name)()
            assert repr(through_skops(smoother)) == repr(smoother)
