"""A second fit forgets the first, and what is set after a fit is obeyed."""

from copy import deepcopy

import numpy as np
import pytest

from contract.rows.tables import mixed, numbers
from contract.settings import BY_NAME, Setting, each_setting
from kernel_calls import kernel_calls


@each_setting(smoothers=False)
def test_a_refit_forgets(setting: Setting) -> None:
    X, y = mixed()
    model = setting.fit(X, y, sample_weight=np.arange(len(y)) % 3)
    model.predict_proba(X)
    other, labels = numbers()
    model.fit(other, labels)
    fresh = setting.fit(other, labels)
    np.testing.assert_array_equal(model.predict_proba(other), fresh.predict_proba(other))
    assert vars(model).keys() == vars(fresh).keys()
    assert not hasattr(model, "feature_names_in_")
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["ProbabilityForest", "ProbabilityForest random"])
def test_a_refit_with_other_parameters_forgets_too(name: str) -> None:
    X, y = mixed()
    model = BY_NAME[name].fit(X, y)
    assert hasattr(model, "oof_proba_")
    model.set_params(bootstrap=False).fit(X, y)
    assert not hasattr(model, "oof_proba_")


@each_setting("ConditionalTable", smoothers=False)
def test_threads_set_after_the_fit_reach_every_kernel(setting: Setting) -> None:
    X, _ = mixed()
    model, before = deepcopy(setting.fitted), setting.proba
    model.set_params(n_jobs=5)
    with kernel_calls() as calls:
        after = model.predict_proba(X)
    np.testing.assert_array_equal(after, before)
    # Few values are cut into bins on one thread, whatever is asked for.
    counted = [call for call in calls if call.n_threads is not None and call.name != "cut_values"]
    threads = {call.n_threads for call in counted}
    assert threads <= {5}, f"kernels were given {threads} threads"
