"""scikit-learn's own checks of estimators, without exceptions."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from contract.settings import BY_NAME, TargetLast

MODELS = [
    setting.model
    for setting in BY_NAME.values()
    if not setting.tests_smoothing_only
    and not isinstance(setting.model, TargetLast)
    # Foreign members would be checked, not the pool.
    and "Pipeline" not in str(setting.model)
]


@parametrize_with_checks(MODELS)
def test_scikit_learn_agrees(estimator: Any, check: Any) -> None:
    check(estimator)
