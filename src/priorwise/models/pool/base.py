"""What the log-linear pool and the flagship share."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import hook
from priorwise.common.numeric import draw_seed
from priorwise.common.runtime import Deadline, Progress
from priorwise.common.validation import check_number
from priorwise.counts.draws import deal_into_folds
from priorwise.data.encoding import TableEncoder
from priorwise.models.base import TableClassifier
from priorwise.models.datasets.fitting import SampledRows, SampleSizes, count_affordable
from priorwise.models.memory import TableSize
from priorwise.models.pool.members import (
    JoinedMembers,
    check_classes,
    fit_on_rows,
    learns_from_tables,
    limit_time,
    prepare_member,
    set_alike,
    take_out_of_fold,
    take_step,
)
from priorwise.models.pool.plan import PoolPlan
from priorwise.models.pool.unseen_rows import UnseenRows, plan_sizes
from priorwise.models.pool.weights import ImportanceRows, ScoreReport
from priorwise.models.training_table import TrainingTable, read_directions
from priorwise.steps.pool import BOOSTING, Boosted, Foreign, Pool, Reread

IMPORTANCE_ROWS = "_importance_rows"
"""Attribute of the rows that importances are measured on, which is not stored."""


class BasePool(TableClassifier, _BaseComposition):
    """Classifiers joined by weights on their log probabilities, and boosting on top.

    The table is read once. Members of this library learn from it as it is (`fit_table`); other
    classifiers are fitted to the same rows of X. What a member knows of rows it has not seen is its
    attribute `oof_proba_`; members without it are fitted once more without each fold.

    Parameters
    ----------
    estimators : list of (str, classifier)
        Names and classifiers to pool. They are cloned; parameters `random_state` that are None are
        set, so that `random_state` of the pool fixes them too. Classifiers of this library learn
        from the table that the pool reads, with its parameters of reading (`missing` and the like)
        where theirs are the default ones. Others are given rows of X, with their weights if `fit`
        is given any.
    n_folds : int
        Folds for members that do not know their own out-of-fold probabilities.
    verbose : int
        Above 0, members learnt are reported on the error stream.

    Attributes
    ----------
    estimators_ : dict of str to classifier
        The fitted members by name.
    pool_weights_ : dict of str to float
        What the members' log probabilities are multiplied by.
    intercept_ : array of shape (n_classes,)
        What is added to the log probabilities of the classes.
    oof_proba_ : array of shape (n_rows, n_classes)
        Probabilities of each training row from members, and boosters, that have not seen it; NaN
        for rows that some member has no such probabilities of, and for rows of weight zero. After
        `fit_dataset` of the rows held in memory. Members keep none; `score_report` has scores.
    boosting_ : Boosted or None
        Boosted trees that correct the pooled probabilities; None if there are none.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the absolute values of the contributions (`explain`), the mean over
        200 training rows, measured when it is first asked for. Members that cannot explain
        themselves do not count.
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **TableClassifier.learnt,
        "estimators_": dict,
        "report_": ScoreReport,
        "feature_importances_": np.ndarray,
        IMPORTANCE_ROWS: ImportanceRows,
    }
    _plan: PoolPlan | None = None
    """What is learnt from a table, once it has been planned."""
    estimators: Any
    monotonic_cst: Any
    n_folds: int
    verbose: int
    estimators_: dict[str, Any]
    oof_proba_: NDArray[np.float64]
    report_: ScoreReport

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of the pool and of its members.

        Parameters
        ----------
        deep : bool
            Whether parameters of members are included, as ``name__parameter``.

        Returns
        -------
        dict of str to object
            Parameters by name.
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the pool or of its members.

        Parameters
        ----------
        **params
            Parameters by name; those of members as ``name__parameter``, members by their names.

        Returns
        -------
        Self
            The pool.
        """
        self._set_params("estimators", **params)
        return self

    def reads_like(self, encoder: TableEncoder) -> bool:
        """Whether all members learn from a table that an encoder has read."""
        given = set_alike(self.estimators or [], self)
        return super().reads_like(encoder) and all(
            learns_from_tables(estimator, encoder) for _, estimator in given
        )

    @property
    def pool_weights_(self) -> dict[str, float]:
        """What the members' log probabilities are multiplied by."""
        base = self._find_base()
        return dict(zip(base.names, base.weight.tolist(), strict=True))

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """What is added to the log probabilities of the classes."""
        return self._find_base().intercept

    @property
    def boosting_(self) -> Boosted | None:
        """Boosted trees that correct the pooled probabilities; None if there are none."""
        step = self._find_step()
        return step if isinstance(step, Boosted) else None

    def score_report(self) -> ScoreReport:
        """Report scores of the members, the pool and boosting on training rows, out of fold.

        Returns
        -------
        ScoreReport
            A line for each; the last is what `predict_proba` gives. Printed, it is a table.
        """
        check_is_fitted(self)
        return self.report_

    @hook
    def make_plan(self, size: TableSize) -> PoolPlan:
        """Plan what to learn from a table of a size."""
        raise NotImplementedError

    def _start_clock(self) -> Deadline:
        """Return the moment after which no further member is started."""
        return Deadline.after(None)

    def check_parameters(self) -> None:
        check_number("n_folds", self.n_folds, least=2)
        if self.estimators is None:
            return
        members = set_alike(self.estimators, self)
        if not members:
            raise ValueError("estimators must not be empty")
        names = [name for name, _ in members]
        if len(set(names)) < len(names) or BOOSTING in names:
            raise ValueError(
                f"estimators must have different names, none of them {BOOSTING!r}, got {names}"
            )
        self._validate_names(names)

    def estimate_bytes(self, size: TableSize) -> float:
        with self._share_threads():
            return self.make_plan(size).estimate(size, math.inf).before

    def plan_sample(self, size: TableSize, limit: float) -> SampleSizes:
        n_rows = count_affordable(self, size, limit)
        plan = self.make_plan(size)
        if n_rows == size.n_rows or plan.plan_boosting(n_rows, size.n_classes) is None:
            return SampleSizes(n_rows)
        return plan_sizes(self, size, limit, len(plan.members))

    def learn_sample(self, table: TrainingTable, limit: float, rows: SampledRows) -> dict[str, Any]:
        if len(rows.first) == rows.sample.n_rows:
            return super().learn_sample(table, limit, rows)
        unseen = UnseenRows(rows)
        fitted = self.keep_limit(limit, table)._learn(table, unseen)
        self._restore_rows(fitted, rows.sample)
        return {**fitted, "n_sampled_": rows.sample.n_rows + unseen.n_boosted}

    def keep_limit(self, limit: float, table: TrainingTable) -> Self:
        size, planned = TableSize.of(table), copy(self)
        with self._share_threads():
            planned._plan = self.make_plan(size).keep_limit(self, size, limit)
        return planned

    def _learn(self, table: TrainingTable, unseen: UnseenRows | None = None) -> dict[str, Any]:
        plan = self._plan or self.make_plan(TableSize.of(table))
        deadline, seed = self._start_clock(), draw_seed(self.random_state)
        folds = deal_into_folds(table.y, self.n_folds, np.random.default_rng(seed), table.group)
        monotone = read_directions(self.monotonic_cst, table.encoder, table.n_classes)
        members: dict[str, Any] = {}
        held_out: dict[str, NDArray[np.float64]] = {}
        seconds: dict[str, float] = {}
        progress = Progress(len(plan.members), self.verbose > 0, unit="members")
        with self._share_threads():
            for name, estimator in plan.members:
                if members and deadline.over:
                    break
                start = time.perf_counter()
                member = prepare_member(estimator, seed)
                if np.isfinite(deadline.seconds):
                    limit_time(name, member, table, deadline)
                if learns_from_tables(member, table.encoder):
                    member.fit_table(table)
                else:
                    fit_on_rows(name, member, table)
                check_classes(name, member, table.classes)
                members[name] = member
                held_out[name] = take_out_of_fold(name, member, table, folds)
                seconds[name] = time.perf_counter() - start
                progress.step(name)
            progress.close()
            if unseen is not None:
                held_out, table = unseen.predict(members, held_out, table)
        joined = JoinedMembers.choose(
            held_out, table, plan if unseen is None else replace(plan, optional=""),
            monotone=monotone, seed=seed, n_threads=self.n_threads,
            deadline=deadline, boost=None if unseen is None else partial(unseen.boost, members),
        )  # fmt: skip
        members = {name: members[name] for name in joined.names}
        held_out = {name: held_out[name] for name in joined.names}
        seconds["pool"] = sum(seconds.values())
        scored = {**held_out, "pool": joined.pooled}
        if joined.boosting is not None:
            scored[BOOSTING], seconds[BOOSTING] = joined.boosted, joined.seconds
        weights = joined.weights
        pool_weights = dict(zip(members, weights.weight.tolist(), strict=True))
        report = ScoreReport.compute(scored, table.y, table.weight, pool_weights, seconds)
        steps = {name: take_step(m, table.encoder) for name, m in members.items()}
        pool = Pool(
            tuple(steps), tuple(steps.values()), weights.weight, weights.intercept, weights.floor,
        )  # fmt: skip
        step = pool if joined.boosting is None else joined.boosting.as_step(pool)
        needs_given = any(isinstance(one, Reread | Foreign) for one in steps.values())
        return {
            "step_": step,
            "estimators_": members,
            "oof_proba_": joined.oof_proba,
            "report_": report,
            IMPORTANCE_ROWS: ImportanceRows.draw(table, keep_given=needs_given),
        }

    @cached_property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the contributions, measured once it is asked for or saved."""
        check_is_fitted(self)
        rows: ImportanceRows = vars(self)[IMPORTANCE_ROWS]
        return rows.average(self.explain_columns(rows.columns).contributions)

    def __copy__(self) -> Self:
        """Return a pool with the same attributes, without measuring importances for it."""
        other = object.__new__(type(self))
        other.__dict__.update(vars(self))
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Return what is stored: the importances, and not the rows they are measured on."""
        if IMPORTANCE_ROWS not in vars(self):
            return dict(super().__getstate__())
        state = {**super().__getstate__(), "feature_importances_": self.feature_importances_}
        del state[IMPORTANCE_ROWS]
        return state

    def _find_base(self) -> Pool:
        """Return the pool of the members, without boosting."""
        step = self._find_step()
        return step.base if isinstance(step, Boosted) else step

    def _share_threads(self) -> AbstractContextManager[Any]:
        """Give the threads of the pool to members whose `n_jobs` is None."""
        return nullcontext() if self.n_jobs is None else parallel_config(n_jobs=self.n_jobs)
