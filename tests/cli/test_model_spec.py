import sys
import types

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris

import priorwise
from priorwise.cli.model_spec import parse_model


class ToyClassifier(ClassifierMixin, BaseEstimator):
    def __init__(self, depth=1, smoothing="m-estimate"):
        self.depth, self.smoothing = depth, smoothing


class ToySmoother(BaseEstimator):
    def __init__(self, strength=1.0):
        self.strength = strength


@pytest.fixture(autouse=True)
def _toy_models(monkeypatch):
    monkeypatch.setattr(priorwise, "ToyClassifier", ToyClassifier, raising=False)
    smoothing = sys.modules.get("priorwise.smoothing") or types.ModuleType("priorwise.smoothing")
    monkeypatch.setattr(smoothing, "ToySmoother", ToySmoother, raising=False)


def test_the_librarys_classes_are_found_by_name_with_options():
    name, model = parse_model("ToyClassifier")
    assert name == "ToyClassifier"
    assert isinstance(model, ToyClassifier)
    name, model = parse_model("deep=ToyClassifier(depth=3, smoothing='hdp')")
    assert (name, model.depth, model.smoothing) == ("deep", 3, "hdp")
    assert parse_model("ToyClassifier(depth=3)")[0] == "ToyClassifier(depth=3)"


def test_first_options_need_no_names():
    assert parse_model('PriorwiseClassifier("fast")')[1].effort == "fast"
    assert parse_model("ToyClassifier(3, smoothing=ToySmoother(2.5))")[1].depth == 3


def test_smoothers_may_be_nested():
    _, model = parse_model("ToyClassifier(smoothing=ToySmoother(strength=2.5))")
    assert model.smoothing.strength == 2.5


def test_scikit_learn_models_stand_behind_an_encoder():
    _, forest = parse_model("sklearn:RandomForestClassifier(n_estimators=7)")
    assert forest.steps[0][1].nominal == "ordinal"
    assert forest.steps[-1][1].n_estimators == 7
    _, one_hot = parse_model("sklearn:RandomForestClassifier(encoding='one-hot')")
    assert one_hot.steps[0][1].nominal == "one-hot"
    _, linear = parse_model("lr=sklearn:LogisticRegression(C=2.0)")
    assert [name for name, _ in linear.steps][:2] == ["frameencoder", "standardscaler"]
    X, y = load_iris(return_X_y=True)
    mixed = np.column_stack([X.astype(object), np.where(X[:, 0] > 5, "big", "small")])
    assert linear.fit(mixed, y).score(mixed, y) > 0.9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NoSuchClassifier", "priorwise has no class 'NoSuchClassifier'"),
        ("sklearn:NoSuch()", "scikit-learn has no class 'NoSuch'"),
        ("ToyClassifier(width=1)", "ToyClassifier has no option 'width'"),
        ("ToyClassifier(3, 'hdp', 5)", "ToyClassifier takes 2 options without names"),
        ("ToyClassifier(3, depth=4)", "ToyClassifier is given 'depth' twice"),
        ("ToyClassifier(open)", "literal"),
        ("ToyClassifier(depth=len('abc'))", "a model is written|priorwise has no class|literal"),
        ("ToyClassifier(depth=__import__(name='os'))", "priorwise has no class '__import__'"),
        ("ToyClassifier(depth=open)", "literal"),
        ("ToyClassifier(**{'depth': 2})", "option=value"),
        ("priorwise.ToyClassifier()", "a model is written"),
        ("ToyClassifier(", "a model is written"),
        ("=ToyClassifier", "name=Class"),
        ("", "a model is written"),
    ],
)
def test_anything_else_is_refused_and_nothing_is_executed(text, message):
    with pytest.raises(ValueError, match=message):
        parse_model(text)
