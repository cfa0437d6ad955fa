"""The flagship: networks, trees, logistic regressions and Gaussians in one pool, and boosting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from priorwise.common.runtime import Deadline
from priorwise.common.validation import check_choice, check_number
from priorwise.models.linear.design import MAX_SPLINED
from priorwise.models.linear.gaussian import GaussianNetworkClassifier
from priorwise.models.linear.kernel import KernelLogisticClassifier
from priorwise.models.linear.spline import SplineLogisticClassifier
from priorwise.models.memory import TableSize
from priorwise.models.networks.eskdb import ESKDBClassifier
from priorwise.models.pool.base import BasePool
from priorwise.models.pool.members import set_alike
from priorwise.models.trees.boosting import BoostingClassifier
from priorwise.models.trees.forest import ProbabilityForestClassifier
from priorwise.models.trees.offset_boosting import BoostingPlan

TREE_ROWS, TREE_CLASSES = 1_000_000, 10_000
NETWORK_ROWS, NETWORK_CLASSES, MIN_NETWORKS = 125_000, 500, 5
"""Rows and classes times trees or networks at most: with many rows, fewer have to be averaged, and
with many classes trees say less and both take more time and memory."""

TREES_PER_CLASS, MAX_FEWEST_TREES = 20, 100
MIN_LARGE_ROWS, MAX_FEWEST_LARGE_TREES = 50_000, 80
"""There are at least 20 trees for each class, up to 100 trees in all, or 80 from `MIN_LARGE_ROWS`
rows on, where trees are large: with more classes a forest takes little more time, while boosting
takes much more."""

NETWORK_FEATURES = 12_000
"""Features times networks at most, in tables with more features than rows: a network is large
there, and says little more than the next one."""

MAX_KERNEL_ROWS, MAX_KERNEL_SCORES = 5_000, 20_000
"""The kernel member is left out of tables with more rows than this, unless rows times classes are
few: it helps less there, or takes too much time."""

MAX_LINEAR_CLASSES = 50
"""With more classes, and more numeric features than have splines, the kernel stands in for the
linear member: weights of both take long to find, and say much the same."""

MIN_GAUSSIAN_FEATURES = 2
"""With fewer numeric features, a Gaussian says nothing that splines do not."""

MIN_BOOSTER_ROWS, MAX_BOOSTER_CLASSES, MAX_BOOSTER_SCORES = 500, 10, 500_000
"""Boosted trees are a member of tables of so many rows at least, so many classes at most, and so
many rows times classes at most: beyond, they take too much time and memory."""

MAX_SYMMETRIC_SCORES = 100_000
"""Symmetric trees of that member are tried up to so many rows times classes: beyond, the many of
them that are needed take too long."""

MAX_FOLD_ROWS = 400_000
"""Rows times folds of that member at most: with many rows, fewer folds have to be averaged."""

MIN_BOOSTED_ROWS, MIN_ROWS_PER_CLASS = 500, 20
"""With fewer rows, out-of-fold probabilities say too little of what is left to learn."""

MAX_BOOSTED_ROWS = 80_000
"""Rows times boosters at most: with many rows, fewer boosters have to be averaged."""

COLUMN_SHARE = 0.7
"""Share of the features that a boosted tree is grown from."""

GROWN_SHARE, MAX_GROWN_ROWS = 0.7, 140_000
"""Rows that grow a tree: this share of all rows, and at most this many."""


@dataclass(frozen=True)
class Effort:
    """How much to learn: sizes of the default members, and settings of boosting."""

    n_networks: int
    max_parents: int
    n_trees: int
    min_trees: int
    """Fewest trees, with many rows or classes; `TREES_PER_CLASS` may ask for more."""
    n_landmarks: int
    bandwidths: tuple[float, ...]
    n_folds: int | str
    tol: float
    """Folds of the logistic regressions, and how closely their weights are found."""
    has_booster: bool
    """Whether boosted trees are a member too."""
    boosting: BoostingPlan


EFFORTS = {
    "fast": Effort(
        n_networks=5, max_parents=2, n_trees=40, min_trees=36, n_landmarks=64,
        bandwidths=(1.0,), n_folds=5, tol=1e-3, has_booster=False,
        boosting=BoostingPlan((6,), 0.3, 100, n_boosters=2, column_share=COLUMN_SHARE),
    ),
    "balanced": Effort(
        n_networks=20, max_parents=4, n_trees=300, min_trees=40, n_landmarks=1_000,
        bandwidths=(0.5, 1.0, 2.0, 4.0), n_folds="auto", tol=3e-4, has_booster=True,
        boosting=BoostingPlan(
            (12,), 0.2, 150, n_boosters=5, column_share=COLUMN_SHARE, max_leaves=63
        ),
    ),
    "best": Effort(
        n_networks=30, max_parents=5, n_trees=500, min_trees=50, n_landmarks=1_000,
        bandwidths=(0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0), n_folds="auto", tol=3e-4,
        has_booster=True,
        boosting=BoostingPlan((4, 6, 8), 0.1, 300, n_boosters=5, column_share=COLUMN_SHARE),
    ),
}  # fmt: skip


class PriorwiseClassifier(BasePool):
    """The most accurate class probabilities of this library: the classifier to try first.

    Classifiers that err in different ways learn from the same rows: an ensemble of Bayesian
    networks (`ESKDBClassifier`), extremely randomised trees with smoothed probabilities
    (`ProbabilityForestClassifier`), a logistic regression with splines
    (`SplineLogisticClassifier`), Gaussians of the numeric features
    (`GaussianNetworkClassifier`), up to 5,000 rows (10,000 with two classes) a logistic regression
    on a kernel (`KernelLogisticClassifier`) and from 500 rows on boosted trees
    (`BoostingClassifier`); or classifiers of your own. Weights on their log probabilities are
    learnt from rows that they have not seen::

        p(y | x) proportional to exp(b_y + sum_m w_m log max(P_m(y | x), 0.001))

    From 500 rows on, boosted trees then correct these probabilities, if rows that the boosters
    have not seen say that they do (`OffsetBoosting`). If they lower the loss by more than the
    member of boosted trees does, a pool without that member is boosted too, and the better of both
    is kept.

    Parameters
    ----------
    effort : {"fast", "balanced", "best"}
        "fast" is 5 networks of at most 2 parents, 40 trees and 64 landmarks of the kernel;
        "balanced" (default) 20 networks of at most 4 parents, 300 trees and up to 1,000 landmarks;
        "best" 30 networks of at most 5 parents, 500 trees, and boosters of three depths to
        choose from. Beyond about 5,000 rows or 30 classes there are fewer trees and networks, and
        beyond 600 features, if they are more than the rows, fewer networks. With `estimators`
        given, it sets boosting alone.
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
    ['forest', 'gaussian', 'kernel', 'linear', 'networks']

    Members of your own beside the default ones:

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> mine = [("neighbours", KNeighborsClassifier(10))]
    >>> members = PriorwiseClassifier.default_estimators("fast", n_rows=len(X)) + mine
    >>> model = PriorwiseClassifier("fast", estimators=members, random_state=0).fit(X, y)
    >>> len(model.estimators_)
    6
    """

    optional_member = "booster"

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
        missing_values: Any = "usual",
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
        self.missing_values = missing_values
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
        effort : {"fast", "balanced", "best"}
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
            "forest", "linear" (not beside the kernel with more than 50 classes and 40 numeric
            features), "gaussian" (with two or more numeric features), "kernel" (up to 5,000 rows,
            or 10,000 with two classes), "booster" (from 500 rows on, up to 10 classes, not if
            "fast") and "networks".
        """
        check_choice("effort", effort, tuple(EFFORTS))
        sizes = EFFORTS[effort]
        most_trees = TREE_CLASSES // n_classes
        most_fewest = MAX_FEWEST_TREES if n_rows < MIN_LARGE_ROWS else MAX_FEWEST_LARGE_TREES
        fewest = max(sizes.min_trees, min(most_fewest, TREES_PER_CLASS * n_classes, most_trees))
        n_trees = min(sizes.n_trees, max(fewest, min(TREE_ROWS // n_rows, most_trees)))
        n_networks = min(NETWORK_ROWS // n_rows, NETWORK_CLASSES // n_classes)
        if n_features > n_rows:
            n_networks = min(n_networks, NETWORK_FEATURES // n_features)
        n_networks = min(sizes.n_networks, max(MIN_NETWORKS, n_networks))
        max_samples = min(GROWN_SHARE, MAX_GROWN_ROWS / n_rows)
        forest = ProbabilityForestClassifier(n_trees, splitter="random", max_samples=max_samples)
        linear = SplineLogisticClassifier(n_folds=sizes.n_folds, tol=sizes.tol)
        kernel = KernelLogisticClassifier(
            sizes.n_landmarks, bandwidths=sizes.bandwidths, n_folds=sizes.n_folds, tol=sizes.tol
        )
        networks = ESKDBClassifier(n_networks, max_parents=sizes.max_parents)
        gaussian = GaussianNetworkClassifier(nominal="ignore")
        n_numeric = n_features if n_numeric is None else n_numeric
        is_small = n_rows <= MAX_KERNEL_ROWS or n_rows * n_classes <= MAX_KERNEL_SCORES
        has_kernel = is_small and not is_monotone
        members: list[tuple[str, Any]] = [("forest", forest)]
        if n_numeric <= MAX_SPLINED or n_classes <= MAX_LINEAR_CLASSES or not has_kernel:
            members.append(("linear", linear))
        if n_numeric >= MIN_GAUSSIAN_FEATURES and not is_monotone:
            members.append(("gaussian", gaussian))
        if has_kernel:
            members.append(("kernel", kernel))
        is_large = n_classes > MAX_BOOSTER_CLASSES or n_rows * n_classes > MAX_BOOSTER_SCORES
        if sizes.has_booster and n_rows >= MIN_BOOSTER_ROWS and not is_large:
            n_folds = min(4, max(2, MAX_FOLD_ROWS // n_rows))
            symmetric = "auto" if n_rows * n_classes <= MAX_SYMMETRIC_SCORES else False
            booster = BoostingClassifier(
                400, learning_rate="auto", symmetric=symmetric, n_folds=n_folds,
                max_features=COLUMN_SHARE,
            )  # fmt: skip
            members.append(("booster", booster))
        return members if is_monotone else [*members, ("networks", networks)]

    def check_parameters(self) -> None:
        check_choice("effort", self.effort, tuple(EFFORTS))
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=0.0)
        super().check_parameters()

    def _list_members(self, size: TableSize) -> Sequence[tuple[str, Any]]:
        if self.estimators is not None:
            return super()._list_members(size)
        members = self.default_estimators(
            self.effort, n_rows=size.n_rows, n_classes=size.n_classes,
            n_features=size.n_features, n_numeric=size.n_numeric,
            is_monotone=self.monotonic_cst is not None,
        )  # fmt: skip
        return set_alike(members, self)

    def _plan_boosting(self, n_rows: int, n_classes: int) -> BoostingPlan | None:
        if n_rows < max(MIN_BOOSTED_ROWS, MIN_ROWS_PER_CLASS * n_classes):
            return None
        plan = EFFORTS[self.effort].boosting
        n_boosters = min(plan.n_boosters, MAX_BOOSTED_ROWS // n_rows)
        return replace(plan, n_boosters=max(1, n_boosters))

    def _start_clock(self) -> Deadline:
        return Deadline.after(self.max_seconds)
