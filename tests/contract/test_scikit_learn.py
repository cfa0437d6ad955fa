"""scikit-learn's own checks of estimators, without exceptions."""

from typing import Any

from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from contract.settings import BY_NAME, TargetLast
from priorwise import LogLinearPool, NaiveBayesClassifier

MODELS = [
    setting.model
    for setting in BY_NAME.values()
    if not setting.tests_smoothing_only
    and not isinstance(setting.model, TargetLast)
    # The members' pipeline would be checked, not the pool.
    and "Pipeline" not in str(setting.model)
] + [LogLinearPool([("bayes", NaiveBayesClassifier()), ("tree", DecisionTreeClassifier())])]


@parametrize_with_checks(MODELS)
def test_scikit_learn_agrees(estimator: Any, check: Any) -> None:
    check(estimator)
