"""A model that is saved and loaded gives the same bits."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import priorwise
from contract.rows.odd_tables import make_odd_table
from contract.rows.tables import mixed, nominal
from contract.settings import BY_NAME, Setting, TargetLast, each_setting
from priorwise.steps.explanation import Explanation

pytestmark = [
    pytest.mark.filterwarnings("ignore:sample_weight has a sum:UserWarning"),
    pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*were never seen in training:UserWarning"),
]

N_TABLES = 4
"""Number of odd tables that are learnt from, others for each setting; as many as it takes are
made."""
N_SMOOTHER_TABLES = 2
"""The same, for settings that differ from another by the smoother only."""
FOREIGN = "LogLinearPool foreign members"


def save_and_load(model, path: Path, **options):
    """The estimator that a file holds; of a table in the form of a classifier, its table."""
    if isinstance(model, TargetLast):
        other = clone(model)
        other.table_ = save_and_load(model.table_, path, **options)
        other.classes_ = other.table_.classes_
        return other
    model.save(path, **options)
    return priorwise.load(path)


def assert_same(model, other, X) -> None:
    """Two models agree in all that they know and answer."""
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    if hasattr(model, "predict_interval"):
        np.testing.assert_array_equal(other.predict_interval(X), model.predict_interval(X))
    assert other.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(other.classes_, model.classes_)
    if hasattr(model, "oof_proba_"):
        np.testing.assert_array_equal(other.oof_proba_, model.oof_proba_)
    if hasattr(model, "encoder_"):
        assert repr(other.feature_schema_) == repr(model.feature_schema_)
        assert repr(other.check(X)) == repr(model.check(X))
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    if hasattr(model, "explain"):
        assert_same_explanation(model.explain(X), other.explain(X))


def assert_same_explanation(first: Explanation, second: Explanation) -> None:
    np.testing.assert_array_equal(second.contributions, first.contributions)
    np.testing.assert_array_equal(second.bias, first.bias)


@each_setting(FOREIGN)
def test_a_loaded_model_is_the_one_that_was_saved(setting: Setting, tmp_path: Path) -> None:
    n_learnt, n_tables = 0, N_SMOOTHER_TABLES if setting.tests_smoothing_only else N_TABLES
    first = 10 * next(i for i, one in enumerate(BY_NAME.values()) if one is setting)
    for seed in range(first, first + 10 * N_TABLES):
        if n_learnt == n_tables:
            break
        table = make_odd_table(seed)
        if table.refusal:
            continue
        n_learnt += 1
        options = {} if table.weight is None else {"sample_weight": table.weight}
        model = setting.fit(table.X, table.y, **options)
        other = save_and_load(model, tmp_path / "odd.model", compress=seed % 5 == 0)
        assert_same(model, other, table.X)
    assert n_learnt == n_tables


@each_setting(FOREIGN)
def test_a_model_that_is_not_fitted_can_be_saved(setting: Setting, tmp_path: Path) -> None:
    if isinstance(setting.model, TargetLast):
        return
    setting.model.save(tmp_path / "empty.model")
    other = priorwise.load(tmp_path / "empty.model")
    assert repr(other) == repr(setting.model)
    assert vars(other).keys() == vars(setting.model).keys()
    X, y = mixed()
    np.testing.assert_array_equal(other.fit(X, y).predict_proba(X), setting.proba)


@each_setting(FOREIGN, smoothers=False)
def test_a_loaded_model_can_be_fitted_again(setting: Setting, tmp_path: Path) -> None:
    X, y = nominal(60)
    other = save_and_load(setting.fitted, tmp_path / "old.model").fit(X, y)
    new = setting.fit(X, y)
    np.testing.assert_array_equal(other.predict_proba(X), new.predict_proba(X))
    assert vars(other).keys() == vars(new).keys()


@each_setting(FOREIGN, smoothers=False)
def test_a_loaded_model_learns_more_rows_alike(setting: Setting, tmp_path: Path) -> None:
    if not hasattr(setting.model, "partial_fit"):
        return
    X, y = nominal(60)
    more, labels = nominal(50, seed=1)
    model = setting.fit(X, y)
    other = save_and_load(model, tmp_path / "half.model")
    for one in (model, other):
        one.partial_fit(more, labels)
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


@each_setting(FOREIGN)
def test_the_same_model_gives_the_same_file(setting: Setting, tmp_path: Path) -> None:
    if isinstance(setting.model, TargetLast):
        return
    setting.fitted.save(tmp_path / "first.model")
    priorwise.load(tmp_path / "first.model").save(tmp_path / "second.model")
    assert (tmp_path / "first.model").read_bytes() == (tmp_path / "second.model").read_bytes()


@pytest.mark.parametrize("where", ["estimators", "estimators_"])
def test_a_member_of_another_library_is_refused_by_name(where: str, tmp_path: Path) -> None:
    setting = BY_NAME[FOREIGN]
    model = setting.model if where == "estimators" else setting.fitted
    with pytest.raises(TypeError, match=r"estimators\['foreign'\]: .*Pipeline.*joblib or skops"):
        model.save(tmp_path / "foreign.model")
    assert list(tmp_path.iterdir()) == []
