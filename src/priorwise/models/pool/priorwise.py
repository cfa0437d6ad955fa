"""Networks, trees, a linear and a kernel model in one log-linear pool, and boosting on it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.common.deadline import Deadline
from priorwise.common.progress import Progress
from priorwise.common.validation import check_choice, check_number
from priorwise.models.base import TableClassifier
from priorwise.models.linear.kernel import KernelLogisticClassifier
from priorwise.models.linear.spline import SplineLogisticClassifier
from priorwise.models.networks.eskdb import ESKDBClassifier
from priorwise.models.pool.boosting import BoostingPlan, OffsetBoosting
from priorwise.models.pool.explanation import MemberTerms, PooledExplanation, explain_pool
from priorwise.models.pool.log_linear import PoolWeights
from priorwise.models.pool.score_report import ScoreReport
from priorwise.models.training_table import TrainingTable
from priorwise.models.trees.forest import ProbabilityForestClassifier

TREE_ROWS, MIN_TREES = 1_250_000, 50
NETWORK_ROWS, MIN_NETWORKS = 125_000, 5
"""Rows times trees and rows times networks at most: the more rows, the less averaging they need."""

MAX_KERNEL_ROWS = 5_000
"""Tables on which the kernel member was found to help have no more."""

N_PILOT_TREES = 5
GROWN_SHARE, MAX_GROWN_ROWS = 0.7, 140_000
"""Rows that grow a tree: a share of all, and so many, since a tree has nodes for all of them."""


@dataclass(frozen=True)
class Effort:
    """How much to learn."""

    n_networks: int
    k: int
    n_trees: int
    n_landmarks: int
    bandwidths: tuple[float, ...]
    boosting: BoostingPlan


EFFORTS = {
    "fast": Effort(
        n_networks=10, k=2, n_trees=100, n_landmarks=100, bandwidths=(1.0,),
        boosting=BoostingPlan((6,), rate=0.3, max_rounds=100, n_boosters=2),
    ),
    "balanced": Effort(
        n_networks=20, k=4, n_trees=300, n_landmarks=400, bandwidths=(0.5, 1.0, 2.0),
        boosting=BoostingPlan((6,), rate=0.2, max_rounds=150, n_boosters=5),
    ),
    "best": Effort(
        n_networks=30, k=5, n_trees=500, n_landmarks=800,
        bandwidths=(0.35, 0.5, 0.7, 1.0, 1.4, 2.0),
        boosting=BoostingPlan((4, 6, 8), rate=0.1, max_rounds=300, n_boosters=5),
    ),
}  # fmt: skip


class PriorwiseClassifier(TableClassifier):
    """The most accurate class probabilities this library knows: the classifier to try first.

    Families that err in different ways learn from the same rows: an ensemble of Bayesian
    networks (`ESKDBClassifier`), extremely randomised trees with smoothed probabilities
    (`ProbabilityForestClassifier`), a logistic regression with splines
    (`SplineLogisticClassifier`) and, up to 5,000 rows, one on a Gaussian kernel
    (`KernelLogisticClassifier`). Each tells what it thinks of rows it has not seen, and from that
    a log-linear pool learns how much to trust it::

        p(y | x) proportional to exp(b_y + sum_m w_m log P_m(y | x))

    From 500 rows on, boosted trees then mend what the pool still gets wrong, if rows held out say
    that they do (`OffsetBoosting`).

    Parameters
    ----------
    effort : "fast", "balanced" or "best"
        "fast" is 10 networks of at most 2 parents, 100 trees and 100 landmarks of the kernel;
        "balanced" 20 networks of at most 4 parents, 300 trees and 400 landmarks; "best" 30
        networks of at most 5 parents, 500 trees, 800 landmarks and boosters of three depths to
        choose from. Beyond some 5,000 rows fewer trees and networks do.
    max_seconds : float or None
        No member is begun after so many seconds; what has been learnt is pooled. Which members
        that is depends on the machine: such a fit is not reproducible.
    categorical_features : "from_dtype", mask, indices or names
        Numeric columns to take as nominal.
    missing : "value" or "impute"
        Missing values are a value of their own, or become the mode or mean.
    unseen : "backoff" or "error"
        What to do with values that training did not have.
    n_jobs : int or None
        Threads; -1 for all processors. The result does not depend on it.
    random_state : int, RandomState or None
    verbose : int
        Above 0, members learnt are reported on the error stream.

    Attributes
    ----------
    members_ : dict of name to classifier
        "networks", "forest", "linear" and "kernel".
    pool_weights_ : dict of name to float
    intercept_ : array (classes,)
    oof_probabilities_ : array (rows, classes)
        Each training row's pooled probabilities from members that have not seen it, NaN where
        some member has no such opinion. Boosting is not in it.
    boosting_ : OffsetBoosting or None
        None where no tree was worth adding to the pool.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PriorwiseClassifier("fast", random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    >>> sorted(model.pool_weights_)
    ['forest', 'kernel', 'linear', 'networks']
    """

    def __init__(
        self,
        effort: str = "balanced",
        max_seconds: float | None = None,
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.effort = effort
        self.max_seconds = max_seconds
        self.categorical_features = categorical_features
        self.missing = missing
        self.unseen = unseen
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X with class labels y."""
        check_choice("effort", self.effort, tuple(EFFORTS))
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=0.0)
        deadline = Deadline.after(self.max_seconds)
        table = TrainingTable.read_uncut(self, X, y, sample_weight)
        self.classes_ = table.classes
        self._adopt_features(table.encoder)
        seed = int(check_random_state(self.random_state).randint(2**31))
        self._learn_members(table, seed, deadline)
        self._learn_pool(table.y, table.weight)
        self.boosting_ = None
        if not deadline.over:
            self.boosting_ = OffsetBoosting.fit(
                table.feature_columns,
                table.y,
                table.weight,
                self.oof_probabilities_,
                EFFORTS[self.effort].boosting,
                seed,
                self._n_threads,
                deadline,
            )
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities; columns as in `classes_`."""
        check_is_fitted(self)
        # The members share their encoder: what it reads serves them all.
        forest = self.members_["forest"]
        columns = forest.encoder_.read(X)
        pooled = self._pool.pool(
            [
                getattr(m, "_predict_columns", m.predict_columns)(columns)
                for m in self.members_.values()
            ]
        )
        if self.boosting_ is None:
            return pooled
        return self.boosting_.predict_proba(
            forest.encoder_.in_feature_order(columns), pooled, self._n_threads
        )

    def explain(self, X: Any) -> PooledExplanation:
        """What each feature adds to the log-odds of the classes, member by member and pooled.

        Boosting on top of the pool, where there is any, counts as a member of weight one.
        """
        check_is_fitted(self)
        members = {name: self._explain_member(name, X) for name in self.members_}
        weights = dict(self.pool_weights_)
        if self.boosting_ is not None:
            encoder = self.members_["forest"].encoder_
            columns = encoder.in_feature_order(encoder.read(X))
            members["boosting"] = self.boosting_.explain(columns, len(columns[0]), self._n_threads)
            weights["boosting"] = 1.0
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{i}" for i in range(self.n_features_in_)]
        return explain_pool(
            self.classes_, tuple(map(str, names)), self.intercept_, weights, members
        )

    def _explain_member(self, name: str, X: Any) -> MemberTerms:
        member = self.members_[name]
        explanation = member.explain(X)
        return MemberTerms.of_scores(
            explanation.bias, explanation.contributions, member.predict_proba(X)
        )

    def score_report(self) -> ScoreReport:
        """Scores of the members and of the pool on the training rows, out of fold."""
        check_is_fitted(self)
        return self._report

    def _learn_members(self, table: TrainingTable, seed: int, deadline: Deadline) -> None:
        """Quick members first: with little time there is at least a forest."""
        effort, n_rows = EFFORTS[self.effort], len(table.y)
        shared = {
            "categorical_features": self.categorical_features,
            "missing": self.missing,
            "unseen": self.unseen,
            "n_jobs": self.n_jobs,
            "random_state": seed,
        }
        n_networks = min(effort.n_networks, max(MIN_NETWORKS, NETWORK_ROWS // n_rows))
        self.members_: dict[str, Any] = {}
        self._seconds: dict[str, float] = {}
        progress = Progress(
            3 + (n_rows <= MAX_KERNEL_ROWS), self.verbose > 0, unit="families of members"
        )

        def learn(name: str, member: Any) -> None:
            start = time.perf_counter()
            rows = table.split_into_parts() if name == "forest" else table
            self.members_[name] = getattr(member, "_fit_table", member.fit_table)(rows)
            if rows.parts is not None:
                member.oof_proba_ = rows.parts.mean_by_row(member.oof_proba_)
            self._seconds[name] = time.perf_counter() - start
            progress.step(name)

        forest = ProbabilityForestClassifier(
            min(effort.n_trees, max(MIN_TREES, TREE_ROWS // n_rows)),
            splitter="random",
            max_samples=min(GROWN_SHARE, MAX_GROWN_ROWS / n_rows),
            **shared,
        )
        if self.max_seconds is not None:
            forest.n_estimators = self._count_trees_in_time(forest, table)
        learn("forest", forest)
        if not deadline.over:
            learn("linear", SplineLogisticClassifier(**shared))
        if not deadline.over and n_rows <= MAX_KERNEL_ROWS:
            landmarks = effort.n_landmarks
            learn(
                "kernel",
                KernelLogisticClassifier(landmarks, bandwidths=effort.bandwidths, **shared),
            )
        if not deadline.over:
            left = None if self.max_seconds is None else deadline.left
            networks = ESKDBClassifier(
                n_networks, max_parents=effort.k, max_seconds=left, verbose=self.verbose, **shared
            )
            learn("networks", networks)
        progress.close()

    def _count_trees_in_time(
        self, forest: ProbabilityForestClassifier, table: TrainingTable
    ) -> int:
        """As many trees as a few tell will grow in a third of the time, but these few."""
        start = time.perf_counter()
        clone(forest).set_params(n_estimators=N_PILOT_TREES).fit_table(table)
        per_tree = (time.perf_counter() - start) / N_PILOT_TREES
        in_time = int(float(self.max_seconds or 0.0) / 3.0 / per_tree)
        return min(forest.n_estimators, max(N_PILOT_TREES, in_time))

    def _learn_pool(self, y: NDArray[np.int32], weight: NDArray[np.float64] | None) -> None:
        held_out = {name: _out_of_fold(member) for name, member in self.members_.items()}
        self._pool = PoolWeights.fit(list(held_out.values()), y, weight)
        self.pool_weights_ = dict(zip(self.members_, self._pool.weight.tolist(), strict=True))
        self.intercept_ = self._pool.intercept
        self.oof_probabilities_ = self._pool.pool(list(held_out.values()))
        self._report = ScoreReport.of(
            {**held_out, "pool": self.oof_probabilities_},
            y,
            weight,
            self.pool_weights_,
            self._seconds,
        )


def _out_of_fold(member: Any) -> NDArray[np.float64]:
    if isinstance(member, ProbabilityForestClassifier):
        return member.oof_proba_
    return np.asarray(getattr(member, "oof_probabilities_", getattr(member, "oof_proba_", None)))
