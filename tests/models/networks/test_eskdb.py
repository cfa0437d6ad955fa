"""The ensemble: both recipes obey the laws, and out-of-fold rows are out of fold."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from priorwise import ESKDBClassifier, _core
from priorwise.common.numeric import log_loss
from priorwise.common.runtime import Deadline
from priorwise.counts.draws import deal_into_folds
from priorwise.datasets import make_led
from priorwise.models.networks import eskdb_members

SMALL = [
    ESKDBClassifier(n_estimators=5, max_parents=2, random_state=0),
    ESKDBClassifier(n_estimators=2, max_parents=2, recipe="thesis", random_state=0),
]


@pytest.fixture(params=SMALL, ids=lambda model: model.recipe)
def model(request: pytest.FixtureRequest) -> ESKDBClassifier:
    return ESKDBClassifier(**request.param.get_params())


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["e"] = pd.Categorical(np.where(X[:, 2] > 3, "long", "short"))
    frame.loc[::9, "b"] = np.nan
    return frame, np.array(["s", "c", "v"])[y]


def test_same_seed_gives_the_same_bits_for_any_number_of_threads(model, mixed) -> None:
    X, y = mixed
    one = model.set_params(n_jobs=1).fit(X, y).predict_proba(X)
    two = model.set_params(n_jobs=2).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(one, two)


def test_a_pickled_ensemble_predicts_the_same_bits(model, mixed) -> None:
    X, y = mixed
    fitted = model.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_unseen_and_missing_values_are_answered(model, mixed) -> None:
    X, y = mixed
    strange = X[:3].assign(e=pd.Categorical(["huge", None, "short"]), a=[np.nan, 1e9, -1e9])
    proba = model.fit(X, y).predict_proba(strange)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_a_class_with_one_row_and_constant_features_are_no_obstacle(model) -> None:
    X, y = make_led(60, random_state=0)
    X = np.column_stack([X, np.ones(60)])
    y = np.where(np.arange(60) == 7, "rare", y.astype(str))
    proba = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert proba.min() > 0


def test_out_of_fold_probabilities_come_from_members_that_have_not_seen_the_row() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, (200, 3)).astype(float)
    y = rng.integers(0, 2, 200)  # noise: nothing can be learnt of rows not seen
    model = ESKDBClassifier(n_estimators=5, random_state=0).fit(X, y)
    own = np.arange(200), y
    assert np.log(model.predict_proba(X)[own]).mean() > np.log(model.oof_proba_[own]).mean()
    assert -np.log(model.oof_proba_[own]).mean() > 0.66


def test_members_take_turns_with_the_dealings_of_rows_into_folds() -> None:
    X, y = make_led(100, random_state=0)
    options: dict[str, Any] = {"max_parents": 1, "max_bins": 8, "random_state": 0}
    model = ESKDBClassifier(15, n_dealings=2, **options).fit(X, y)
    assert model.folds_ == [*range(10), *range(5)]
    known = np.isfinite(model.oof_proba_).all(axis=1)
    assert known.all()
    np.testing.assert_allclose(model.oof_proba_.sum(axis=1), 1.0, rtol=1e-6)
    # The second dealing has other folds: five members alone give other out-of-fold probabilities.
    first = ESKDBClassifier(5, n_dealings=2, **options).fit(X, y)
    assert first.folds_ == [0, 1, 2, 3, 4]
    assert np.abs(first.oof_proba_ - model.oof_proba_).max() > 0.01


def test_rows_of_all_dealings_are_judged_by_members_that_have_not_seen_them(
    rng: np.random.Generator,
) -> None:
    X = rng.integers(0, 30, (60, 4)).astype(float)
    y = rng.permutation(np.repeat([0, 1], 30))
    model = ESKDBClassifier(20, n_dealings=4, max_parents=2, random_state=0).fit(X, y)
    # Labels are noise: what has seen a row predicts it, what has not is no better than chance.
    assert log_loss(model.predict_proba(X), y) < 0.6
    assert log_loss(model.oof_proba_, y) > 0.65


def test_rows_of_weight_zero_are_as_good_as_absent() -> None:
    X, y = load_iris(return_X_y=True)
    weight = np.ones(150)
    weight[::3] = 0
    kept = weight > 0
    model = ESKDBClassifier(n_estimators=5, max_parents=2, random_state=0)
    with_zero = model.fit(X, y, sample_weight=weight)
    assert with_zero.oof_proba_.shape == (150, 3)
    expected = with_zero.predict_proba(X)
    without = model.fit(X[kept], y[kept], sample_weight=weight[kept]).predict_proba(X)
    np.testing.assert_allclose(without, expected)


def test_finer_cuts_are_chosen_where_they_pay() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((4000, 1))
    stripes = (np.floor(x[:, 0] * 24) % 2).astype(int)
    model = ESKDBClassifier(n_estimators=5, random_state=0).fit(x, stripes)
    assert model.max_bins_ >= 32
    assert model.score(x, stripes) > 0.8


def test_progress_is_shown_only_when_asked_for(model, mixed, capsys) -> None:
    model.fit(*mixed)
    assert capsys.readouterr().err == ""
    model.set_params(verbose=1).fit(*mixed)
    assert f"{model.n_estimators}/{model.n_estimators} members" in capsys.readouterr().err


def test_folds_hold_each_class_evenly() -> None:
    y = np.repeat([0, 1, 2], [50, 11, 1]).astype(np.int32)
    folds = deal_into_folds(y, 5, np.random.default_rng(0))
    for label in range(3):
        sizes = np.bincount(folds[y == label], minlength=5)
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"recipe": "best"}, "recipe must be one of 'weighted', 'thesis', got 'best'"),
        ({"n_estimators": 0}, "n_estimators must be a whole number at least 1, got 0"),
        ({"max_parents": -1}, "max_parents must be a number at least 0, got -1"),
        ({"max_bins": 1}, "max_bins must be a number at least 2, got 1"),
        ({"max_bins": "many"}, "max_bins must be one of 'auto', got 'many'"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ESKDBClassifier(**parameters).fit([[1.0], [2.0]], [0, 1])


def test_tables_count_all_rows_to_predict_new_ones_only(monkeypatch) -> None:
    X, y = load_iris(return_X_y=True)
    model = ESKDBClassifier(5, random_state=0).fit(X, y)
    monkeypatch.setattr(eskdb_members, "MAX_RECOUNTED_ROWS", 0)
    without_fold = ESKDBClassifier(5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.oof_proba_, without_fold.oof_proba_)
    for one, other in zip(model.estimators_, without_fold.estimators_, strict=True):
        assert one.network == other.network
    assert log_loss(model.predict_proba(X), y) < log_loss(without_fold.predict_proba(X), y)


def test_members_know_their_fold_when_some_are_not_learnt_in_time(monkeypatch) -> None:
    X, y = load_iris(return_X_y=True)
    # Equal rows may be in several folds.
    X, first = np.unique(X, axis=0, return_index=True)
    y = y[first]
    late = iter([True, False, True, False])
    monkeypatch.setattr(Deadline, "over", property(lambda self: next(late)))
    monkeypatch.setattr(eskdb_members, "MAX_RECOUNTED_ROWS", 0)
    model = ESKDBClassifier(5, max_bins=8, max_seconds=1e9, random_state=0).fit(X, y)
    assert [member.fold for member in model.estimators_] == [0, 2, 4]
    # Rows of the folds that every member has seen have no probabilities; the others have those
    # of the one member that has not seen them.
    known = np.isfinite(model.oof_proba_).all(axis=1)
    assert 80 < known.sum() < 100
    alone = []
    for member in model.estimators_:
        codes = model.encoder_.encode(model.encoder_.read(X), member.cut_points)
        alone.append(member.model.proba(list(codes)))
    matches = [np.isclose(model.oof_proba_, proba).all(axis=1) for proba in alone]
    assert (np.any(matches, axis=0) == known).all()
    monkeypatch.undo()
    everyone = ESKDBClassifier(5, max_bins=8, random_state=0).fit(X, y)
    np.testing.assert_array_equal(everyone.oof_proba_[known], model.oof_proba_[known])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_probabilities_are_the_mean_of_members_with_their_own_cuts(mixed, n_jobs: int) -> None:
    X, y = mixed
    model = ESKDBClassifier(4, max_bins=8, random_state=0).fit(X, y)
    columns, total = model.encoder_.read(X), np.zeros((len(X), 3))
    for member in model.estimators_:
        total += member.model.proba(list(model.encoder_.encode(columns, member.cut_points)))
    proba = model.set_params(n_jobs=n_jobs).predict_proba(X)
    np.testing.assert_array_equal(proba, total / len(model.estimators_))


def test_the_kernel_of_an_ensemble_refuses_arrays_that_do_not_fit(mixed) -> None:
    X, y = mixed
    model = ESKDBClassifier(2, random_state=0).fit(X, y)
    networks = [member.cut_network for member in model.estimators_]
    columns = model.encoder_.read(X)
    values, missing_seen = columns.values, model.encoder_.missing_seen
    places, codes = columns.lay_out()
    average = _core.average_networks
    with pytest.raises(ValueError, match="networks is empty"):
        average([], values, missing_seen, places, codes, 1)
    with pytest.raises(ValueError, match="positions must lie in"):
        average(networks, values, missing_seen, places + 2, codes, 1)
    with pytest.raises(ValueError, match="missing_seen"):
        average(networks, values, missing_seen[:1], places, codes, 1)
    with pytest.raises(ValueError, match="values"):
        average(networks, np.ascontiguousarray(values[:, 1:]), missing_seen, places, codes, 1)
    with pytest.raises(ValueError, match=r"codes\[.\] must lie in"):
        average(networks, values, missing_seen, places, np.full_like(codes, 99), 1)
    few = [
        _core.CutNetwork(one.network, one.points[: one.n_points[0]], one.n_points[:1])
        for one in networks
    ]
    with pytest.raises(ValueError, match="n_points"):
        average(few, values, missing_seen, places, codes, 1)


def test_more_networks_are_learnt_where_classes_are_clear(rng: np.random.Generator) -> None:
    X = rng.integers(0, 2, size=(300, 3))
    clear, noise = X[:, 0], rng.integers(0, 2, 300)
    model = ESKDBClassifier(5, max_estimators=8, max_bins=8, random_state=0)
    assert len(clone(model).fit(X, noise).estimators_) == 5
    more = clone(model).fit(X, clear)
    assert len(more.estimators_) == 8
    # The first networks are those of a smaller ensemble.
    alone = clone(model).set_params(max_estimators=None).fit(X, clear)
    for one, other in zip(more.estimators_, alone.estimators_, strict=False):
        np.testing.assert_array_equal(
            one.cut_network.network.score, other.cut_network.network.score
        )


def test_there_are_no_fewer_networks_at_most() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="max_estimators must be a whole number at least 5, got 3"):
        ESKDBClassifier(5, max_estimators=3).fit(X, y)
