"""Boosted trees that know what they predict for rows they have not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import hook
from priorwise.common.numeric import LEAST_PROBABILITY, count_shares, draw_seed, log_loss, pick
from priorwise.common.runtime import Deadline
from priorwise.common.validation import check_choice, check_number
from priorwise.models.base import TableClassifier
from priorwise.models.correction import BoostingPlan, OffsetBoosting
from priorwise.models.memory import TableSize
from priorwise.models.training_table import TrainingTable, read_directions
from priorwise.steps.pool import Boosted, Pool

WHOLE_SHARE, MAX_WHOLE_ROWS = 0.5, 10_000
"""Share of the booster of all rows: it is better where classes are nearly certain,
and the mean of the other boosters is better elsewhere. Larger tables have no such booster, since
the rows of one fold matter less there."""

SYMMETRIC_STEP = 1.5
"""A symmetric tree fits its rows less closely than others: its step is this many times theirs."""

TRIAL_ROWS, TRIAL_FOLDS = 4_000, 4
"""Rows with which both kinds of trees are tried, and folds of which one is held out."""

CLEARLY_WORSE = 0.01
"""Symmetric trees are grown unless their log-loss in the trial exceeds that of ordinary trees by
more than this share; smaller differences are noise in a trial of `TRIAL_ROWS` rows."""

RATE, RATE_DIVISOR, MIN_SLOW_ROWS = 0.2, 4, 40_000
"""Share of each tree's step that is taken, if `learning_rate` is "auto". Steps divided by
`RATE_DIVISOR` lower the log-loss a little and need about `RATE_DIVISOR` times as many trees: they
are taken in tables of at least `MIN_SLOW_ROWS` rows where the limit of trees has room for them."""

LEAF_ROWS, MIN_LEAVES, MAX_LEAVES = 300, 8, 63
"""A tree has one leaf for every `LEAF_ROWS` rows of the table, at least `MIN_LEAVES` and at most
`MAX_LEAVES`."""

MAX_DEPTH, SYMMETRIC_DEPTH = 12, 7
"""Most levels of a tree, and of a symmetric one, if `max_depth` is "auto"."""

MIN_SYMMETRIC_ROWS = 5_000
"""From this number of rows on symmetric trees are tried too: with fewer rows they are no better,
and a trial says less."""


def count_leaves(max_leaf_nodes: int | str | None, n_rows: int) -> int:
    """Return the most leaves of a tree, 0 for any number."""
    if max_leaf_nodes == "auto":
        return min(MAX_LEAVES, max(MIN_LEAVES, n_rows // LEAF_ROWS))
    return int(max_leaf_nodes or 0)


def count_levels(max_depth: int | str, *, symmetric: bool) -> int:
    """Return the most levels of a tree below its root."""
    if max_depth == "auto":
        return SYMMETRIC_DEPTH if symmetric else MAX_DEPTH
    return int(max_depth)


def may_be_symmetric(symmetric: bool | str, max_leaf_nodes: int | str | None, n_rows: int) -> bool:
    """Return whether trees are symmetric, or perhaps are if `symmetric` is "auto"."""
    if symmetric != "auto":
        return bool(symmetric)
    return n_rows >= MIN_SYMMETRIC_ROWS and (max_leaf_nodes is None or max_leaf_nodes == "auto")


def halve_leaves(value: int | str | None) -> int | None:
    """Return half of the leaves, to save memory; None if there are no more than two."""
    n_leaves = MAX_LEAVES if value is None or isinstance(value, str) else value
    return max(2, n_leaves // 2) if n_leaves > 2 else None


def take_level(value: int | str) -> int | None:
    """Return one level less, to save memory; None if there is only one."""
    depth = SYMMETRIC_DEPTH if isinstance(value, str) else value
    return depth - 1 if depth > 1 else None


class BoostingClassifier(TableClassifier):
    """Gradient boosting with honest out-of-fold probabilities, which say when to stop.

    Scores start from the shares of the classes, and each tree adds a Newton step on the log-loss
    (Friedman 2001)::

        p(y | x) proportional to exp(log share_y + F_y(x) / 2 + mean over folds b of F_by(x) / 2)

    F is the sum of the trees of a booster of all rows, F_b that of a booster of all rows but those
    of fold b; with more than 10,000 rows, there is no booster of all rows, and the mean of the
    others is not halved. All boosters have the number of trees with the least log-loss of the rows
    that they have not seen. Trees are shared by all classes; numbers are put in at most 64 bins
    (255 up to 10,000 rows), missing ones in a bin of their own; nominal features are split into one
    label and the rest.

    Parameters
    ----------
    max_rounds : int
        Most trees of a booster.
    learning_rate : "auto" or float
        Share of a Newton step that a tree takes; a symmetric tree, which fits its rows less
        closely, takes 1.5 times this share. "auto" is 0.2; with 40,000 rows or more it is 0.05, if
        a first booster with 0.2 needs less than a quarter of `max_rounds`.
    max_depth : "auto" or int
        Most levels of a tree below its root; "auto" is 7 for symmetric trees and 12 for others.
    max_leaf_nodes : "auto", int or None
        Most leaves of a tree, which grows at the leaf where the gain is largest. "auto" is one leaf
        for every 300 rows of the table, but at least 8 and at most 63. With None, and always if
        `symmetric`, a tree grows level by level and has as many leaves as `max_depth` allows.
    symmetric : "auto" or bool
        Whether all nodes of a level have the same split, that of the largest sum of gains
        (Prokhorenkova et al. 2018). A node that it does not part is left to the next level. "auto"
        tries both with 4,000 of the rows if there are 5,000 or more and `max_leaf_nodes` is not a
        number, and grows symmetric trees unless they are clearly worse; else trees are not
        symmetric.
    n_folds : int
        Number of boosters that each leave one fold out; at least 2.
    max_samples, max_features : float above 0 and at most 1
        Shares of the rows and of the features that a tree is grown from, drawn for each tree.

    Attributes
    ----------
    boosting_ : Boosted or None
        The trees of the boosters; None if no tree lowers the loss of rows not seen.
    n_rounds_ : int
        Number of trees of each booster.
    prior_ : array of shape (n_classes,)
        Shares of the classes that scores start from.
    oof_proba_ : array of shape (n_rows, n_classes)
        Probabilities of each training row by the booster that has not seen it; NaN for rows of
        weight zero.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BoostingClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    """

    reductions: ClassVar[Mapping[str, Any]] = {
        "max_leaf_nodes": halve_leaves,
        "max_depth": take_level,
    }
    learnt: ClassVar[Mapping[str, Any]] = {**TableClassifier.learnt, "prior_": np.ndarray}
    prior_: NDArray[np.float64]
    oof_proba_: NDArray[np.float64]

    def __init__(
        self,
        max_rounds: int = 300,
        *,
        learning_rate: float | str = 0.1,
        max_depth: int | str = "auto",
        max_leaf_nodes: int | str | None = "auto",
        symmetric: bool | str = "auto",
        n_folds: int = 5,
        max_samples: float = 1.0,
        max_features: float = 1.0,
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
    ) -> None:
        self.max_rounds = max_rounds
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.symmetric = symmetric
        self.n_folds = n_folds
        self.max_samples = max_samples
        self.max_features = max_features
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

    @property
    def boosting_(self) -> Boosted | None:
        """The trees; None if they do not lower the loss of rows that they have not seen."""
        step = self._find_step()
        return step if isinstance(step, Boosted) else None

    @property
    def n_rounds_(self) -> int:
        """Number of trees of each booster."""
        return 0 if self.boosting_ is None else self.boosting_.n_rounds

    @hook
    def estimate_bytes(self, size: TableSize) -> float:
        # Bins, and scores and slopes of each booster.
        width = 1 if size.n_classes == 2 else size.n_classes
        n_boosters = self.n_folds + 1
        per_row = 10.0 * size.n_features + width * (16.0 + 16.0 * n_boosters)
        depth, most = self.max_depth, self.max_leaf_nodes
        n_leaves = 2.0 ** count_levels(depth, symmetric=False)
        if most is not None:
            n_leaves = min(n_leaves, MAX_LEAVES if most == "auto" else int(most))
        if may_be_symmetric(self.symmetric, most, size.n_rows):
            n_leaves = max(n_leaves, 2.0 ** count_levels(depth, symmetric=True))
        trees = n_boosters * self.max_rounds * 2.0 * n_leaves * (24.0 + 12.0 * size.n_classes)
        return size.table_bytes + size.n_rows * per_row + trees

    def check_parameters(self) -> None:
        check_number("max_rounds", self.max_rounds, least=1, most=100_000, whole=True)
        if isinstance(self.learning_rate, str):
            check_choice("learning_rate", self.learning_rate, ("auto",))
        else:
            check_number("learning_rate", self.learning_rate, above=0.0, most=1.0)
        if isinstance(self.max_depth, str):
            check_choice("max_depth", self.max_depth, ("auto",))
        else:
            check_number("max_depth", self.max_depth, least=1, most=30, whole=True)
        if not isinstance(self.symmetric, bool | np.bool_):
            check_choice("symmetric", self.symmetric, ("auto",))
        if isinstance(self.max_leaf_nodes, str):
            check_choice("max_leaf_nodes", self.max_leaf_nodes, ("auto",))
        elif self.max_leaf_nodes is not None:
            check_number("max_leaf_nodes", self.max_leaf_nodes, least=2, most=2**30, whole=True)
            if self.symmetric != "auto" and self.symmetric:
                raise ValueError(
                    'max_leaf_nodes must be "auto" or None for symmetric trees, '
                    f"got {self.max_leaf_nodes!r}"
                )
        check_number("n_folds", self.n_folds, least=2, most=100, whole=True)
        check_number("max_samples", self.max_samples, above=0.0, most=1.0)
        check_number("max_features", self.max_features, above=0.0, most=1.0)

    def _learn(self, table: TrainingTable) -> dict[str, Any]:
        seed = draw_seed(self.random_state)
        plan = self._plan(table.n_rows, symmetric=self._choose_growth(table, seed))
        plan = self._choose_rate(table, plan, seed)
        boosting, boosted = self._boost(table, plan, seed)
        prior = count_shares(table.class_count)
        base = Pool((), (), np.empty(0), np.log(prior), LEAST_PROBABILITY)
        return {
            "step_": base if boosting is None else boosting.as_step(base),
            "prior_": prior,
            "oof_proba_": boosted,
        }

    def _choose_growth(self, table: TrainingTable, seed: int) -> bool:
        """Return whether trees are symmetric: by default if unseen rows do not speak against it."""
        may_be = may_be_symmetric(self.symmetric, self.max_leaf_nodes, table.n_rows)
        if not may_be or self.symmetric != "auto":
            return may_be
        tried, losses = table.draw(TRIAL_ROWS, np.random.default_rng(seed)), []
        for symmetric in (True, False):
            plan = self._plan(tried.n_rows, symmetric=symmetric)
            plan = replace(plan, n_boosters=1, n_folds=TRIAL_FOLDS, whole_share=0.0)
            _, proba = self._boost(tried, plan, seed)
            losses.append(log_loss(proba, tried.y, tried.weight))
        return pick(losses, CLEARLY_WORSE) == 0

    def _choose_rate(self, table: TrainingTable, plan: BoostingPlan, seed: int) -> BoostingPlan:
        """Return the plan; with smaller steps if the rate is "auto" and few trees are needed.

        One of the boosters of the plan says how many trees are needed.
        """
        if self.learning_rate != "auto" or table.n_rows < MIN_SLOW_ROWS:
            return plan
        trial = replace(plan, n_boosters=1, max_rounds=max(1, plan.max_rounds // RATE_DIVISOR))
        boosting, _ = self._boost(table, trial, seed)
        if boosting is None or boosting.n_rounds == trial.max_rounds:
            return plan
        return replace(plan, rate=plan.rate / RATE_DIVISOR)

    def _plan(self, n_rows: int, *, symmetric: bool) -> BoostingPlan:
        n_folds = min(int(self.n_folds), n_rows)
        rate = RATE if self.learning_rate == "auto" else float(self.learning_rate)
        return BoostingPlan(
            count_levels(self.max_depth, symmetric=symmetric),
            min(1.0, SYMMETRIC_STEP * rate) if symmetric else rate,
            int(self.max_rounds), n_folds, n_folds, scales=(1.0,),
            row_share=float(self.max_samples), column_share=float(self.max_features),
            whole_share=WHOLE_SHARE if n_rows <= MAX_WHOLE_ROWS else 0.0,
            max_leaves=0 if symmetric else count_leaves(self.max_leaf_nodes, n_rows),
            symmetric=symmetric,
        )  # fmt: skip

    def _boost(
        self, table: TrainingTable, plan: BoostingPlan, seed: int
    ) -> tuple[OffsetBoosting | None, NDArray[np.float64]]:
        """Return the boosting of the shares of the classes, and what it predicts of unseen rows."""
        start = np.tile(count_shares(table.class_count), (table.n_rows, 1))
        boosting, boosted = OffsetBoosting.fit(
            table.feature_columns, table.y, table.weight, start, plan,
            group=table.group, seed=seed, n_threads=self.n_threads,
            deadline=Deadline.after(None),
            monotone=read_directions(self.monotonic_cst, table.encoder, table.n_classes),
        )  # fmt: skip
        return boosting, start if boosting is None else boosted
