"""A log-linear pool: classifiers joined by weights on their log probabilities."""

from __future__ import annotations

from typing import Any

from priorwise.common.validation import check_number
from priorwise.models.memory import TableSize
from priorwise.models.pool.base import BasePool
from priorwise.models.pool.members import set_alike
from priorwise.models.pool.numbers import NUMBERS
from priorwise.models.pool.plan import PoolPlan


class LogLinearPool(BasePool):
    """Classifiers joined by weights on their log probabilities, learnt out of fold.

    The probabilities of the pool are::

        p(y | x) proportional to exp(b_y + sum_m w_m log max(P_m(y | x), 0.001))

    with the weights w and the intercepts b of the largest penalised likelihood of rows that the
    members have not seen. Pools may be members of pools.

    To pool classifiers that are fitted already, wrap them in `sklearn.frozen.FrozenEstimator` and
    fit the pool to rows that they have not seen.

    Parameters
    ----------
    penalty : float
        What draws the weights towards 1 / 2 (towards 1 if there is one member, 1.75 / n if there
        are n, more than three).
    intercept_penalty : float
        What draws the intercepts towards zero.
    monotonic_cst : array-like of shape (n_features,) or dict of str to int, optional
        Directions of features, as in scikit-learn: with 1 the probability of the second class never
        falls when the feature rises, with -1 it never rises, with 0 it is free; by feature name in
        a dict, others are free. For numbers and ordered categories, and two classes. Members are
        given it and weights are not negative; a member without this parameter is refused.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from priorwise import NaiveBayesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("bayes", NaiveBayesClassifier()), ("forest", RandomForestClassifier())]
    >>> pool = LogLinearPool(members, random_state=0).fit(X, y)
    >>> pool.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    """

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        *,
        n_folds: int = 5,
        penalty: float = NUMBERS.penalty,
        intercept_penalty: float = NUMBERS.intercept_penalty,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        numeric_features: Any = None,
        ordinal_features: Any = "from_dtype",
        date_features: Any = "from_dtype",
        text_features: Any = "from_dtype",
        missing_values: Any = "usual",
        min_rows_per_label: int = 1,
        class_weight: Any = None,
        missing: str = "value",
        unseen: str = "backoff",
        memory_limit: int | float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.n_folds = n_folds
        self.penalty = penalty
        self.intercept_penalty = intercept_penalty
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.ordinal_features = ordinal_features
        self.date_features = date_features
        self.text_features = text_features
        self.missing_values = missing_values
        self.min_rows_per_label = min_rows_per_label
        self.class_weight = class_weight
        self.missing = missing
        self.unseen = unseen
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("penalty", self.penalty, above=0.0)
        check_number("intercept_penalty", self.intercept_penalty, above=0.0)

    def make_plan(self, size: TableSize) -> PoolPlan:
        members = tuple(set_alike(self.estimators, self))
        return PoolPlan(members, self.penalty, self.intercept_penalty)
