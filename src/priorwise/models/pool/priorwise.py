"""The flagship: networks, trees, logistic regressions and Gaussians in one pool, and boosting."""

from __future__ import annotations

from typing import Any

from priorwise.common.runtime import Deadline
from priorwise.common.validation import check_choice, check_number
from priorwise.models.memory import TableSize
from priorwise.models.pool.base import BasePool
from priorwise.models.pool.members import set_alike
from priorwise.models.pool.numbers import EFFORTS
from priorwise.models.pool.plan import PoolPlan, plan_members


class PriorwiseClassifier(BasePool):
    """The most accurate class probabilities of this library: the classifier to try first.

    Classifiers that err in different ways learn from the same rows: an ensemble of Bayesian
    networks (`ESKDBClassifier`), extremely randomised trees with smoothed probabilities
    (`ProbabilityForestClassifier`), a logistic regression with splines
    (`SplineLogisticClassifier`), Gaussians of the numeric features
    (`GaussianNetworkClassifier`), up to 5,000 rows (10,000 with two classes) a logistic regression
    on a kernel (`KernelLogisticClassifier`) and from 750 rows on boosted trees
    (`BoostingClassifier`); or classifiers of your own. Weights on their log probabilities are
    learnt from rows that they have not seen::

        p(y | x) proportional to exp(b_y + sum_m w_m log max(P_m(y | x), 0.001))

    After fewer than 40 rows the floor is not 0.001 but (4 / n)^3, and the weights are smaller: with
    a dozen rows little more is known than the shares of the classes.

    From 500 rows on, boosted trees then correct these probabilities, if rows that the boosters
    have not seen say that they do (`OffsetBoosting`). If they lower the loss by more than the
    member of boosted trees does, a pool without that member is boosted too, and the better of both
    is kept.

    Parameters
    ----------
    effort : {"fast", "balanced"}
        "fast" is 5 networks, 32 trees and 64 landmarks of the kernel; "balanced" (default) 10 to
        20 networks, 80 trees, up to 1,000 landmarks, and a linear member beside the kernel and
        boosted trees as a member, which "fast" does without. Beyond about
        5,000 rows or 30 classes there are fewer trees and networks, and beyond 600 features, if
        they are more than the rows, fewer networks. With `estimators` given, it sets boosting
        alone.
    estimators : list of (str, classifier), optional
        Names and classifiers to pool instead of the default ones, which `default_estimators`
        returns. They are cloned; parameters `random_state` that are None are set. Classifiers of
        this library learn from the table that is read once for all: parameters of reading
        (`categorical_features`, `missing` and the like) that they leave at their default are those
        given here. One that has other values of them, and any other scikit-learn classifier or
        Pipeline, is given rows of X; one without `oof_proba_` is fitted once more without each of
        `n_folds` folds. Rows of a whole weight up to 16 are repeated for it; other weights are
        handed on, so that it must take `sample_weight`.
    monotonic_cst : array-like of shape (n_features,) or dict of str to int, optional
        Directions of features, as in scikit-learn: with 1 the probability of the second class never
        falls when the feature rises, with -1 it never rises, with 0 it is free; by feature name in
        a dict, others are free. For numbers and ordered categories, and two classes. Members that
        cannot be monotone, networks, Gaussians and kernel, are left out; among `estimators` they
        are refused.
    max_seconds : float, optional
        After this many seconds no further member is started, and what has been learnt is pooled;
        at least one member is always learnt. An ensemble without a time limit of its own gets as
        many estimators as fit in a third of the time. Which members are learnt depends on the
        machine: such a fit is not reproducible.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    >>> sorted(model.pool_weights_)
    ['forest', 'gaussian', 'kernel', 'networks']

    Members of your own beside the default ones:

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> mine = [("neighbours", KNeighborsClassifier(10))]
    >>> members = PriorwiseClassifier.default_estimators("fast", n_rows=len(X)) + mine
    >>> model = PriorwiseClassifier("fast", estimators=members, random_state=0).fit(X, y)
    >>> len(model.estimators_)
    5
    """

    def __init__(
        self,
        effort: str = "balanced",
        *,
        estimators: list[tuple[str, Any]] | None = None,
        n_folds: int = 5,
        max_seconds: float | None = None,
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
        self.effort = effort
        self.estimators = estimators
        self.n_folds = n_folds
        self.max_seconds = max_seconds
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

    @staticmethod
    def default_estimators(
        effort: str = "balanced",
        *,
        n_rows: int,
        n_classes: int = 2,
        n_features: int = 2,
        n_numeric: int | None = None,
        is_monotone: bool = False,
    ) -> list[tuple[str, Any]]:
        """Return the members that are pooled by default.

        Parameters
        ----------
        effort : {"fast", "balanced"}
            As the parameter of that name.
        n_rows : int
            Number of rows to learn from.
        n_classes : int
            Number of classes.
        n_features : int
            Number of features.
        n_numeric : int, optional
            Number of numeric features; by default all are.
        is_monotone : bool
            Whether members that cannot be monotone, networks, Gaussians and kernel, are left out.

        Returns
        -------
        list of (str, classifier)
            "forest", "linear" (not beside the kernel if "fast", or with more than 50 classes and 40
            numeric features), "gaussian" (with two or more numeric features), "kernel" (up to 5,000
            rows, or 10,000 with two classes), "booster" (from 750 rows on, up to 10 classes, not if
            "fast") and "networks".
        """
        n_numeric = n_features if n_numeric is None else n_numeric
        n_labels = (1,) * (n_features - n_numeric)
        size = TableSize(n_rows, n_numeric, n_labels, n_classes)
        return list(plan_members(effort, size, is_monotone=is_monotone))

    def check_parameters(self) -> None:
        check_choice("effort", self.effort, tuple(EFFORTS))
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=0.0)
        super().check_parameters()

    def make_plan(self, size: TableSize) -> PoolPlan:
        given = self.estimators
        if given is None:
            given = plan_members(self.effort, size, is_monotone=self.monotonic_cst is not None)
        return PoolPlan.with_effort(self.effort, set_alike(given, self), size.n_rows)

    def _start_clock(self) -> Deadline:
        return Deadline.after(self.max_seconds)
