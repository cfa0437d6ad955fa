"""What the log-linear pool and the flagship share."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from priorwise.common.deadline import Deadline
from priorwise.common.numeric import draw_seed
from priorwise.common.progress import Progress
from priorwise.common.validation import check_number
from priorwise.data.tables import Columns, TableEncoder
from priorwise.models.base import TableClassifier, split_rows
from priorwise.steps.explanation import Explanation
from priorwise.models.folds import deal_into_folds
from priorwise.models.intervals import combine_parts
from priorwise.models.memory.limit import refuse, warn_of_reductions
from priorwise.models.memory.plan import TableSize
from priorwise.models.monotone import read_directions
from priorwise.models.pool.importance_rows import ImportanceRows
from priorwise.models.pool.joined import JoinedMembers
from priorwise.models.pool.member_fit import (
    check_classes,
    fit_on_rows,
    learns_from_tables,
    limit_time,
    prepare_member,
    reduce_members,
    set_alike,
    take_out_of_fold,
)
from priorwise.models.pool.score_report import ScoreReport
from priorwise.models.pool.spread import FACTORS, TAILS, pool_parts
from priorwise.models.pool.unseen_rows import SampledPool, UnseenRows
from priorwise.models.pool.weights import FLOOR, PoolWeights
from priorwise.models.training_table import TrainingTable
from priorwise.models.trees.offset_boosting import OffsetBoosting

IMPORTANCE_ROWS = "_importance_rows"
"""Attribute of the rows that importances are measured on, which is not stored."""

SMALLEST = TableSize(1, 1, (), 2)
"""Size of the table whose members are checked before there is one."""

BOOSTING = "boosting"
"""Name of boosting among the members of an explanation and the lines of a report."""


class BasePool(SampledPool, _BaseComposition):
    """Classifiers joined by weights on their log probabilities, and boosting on top.

    The table is read once and split into parts of weight one. Members that follow the protocol of
    `priorwise.models.member` learn from it as it is; other classifiers are fitted to the same rows
    of X. What a member knows of rows it has not seen is its attribute `oof_proba_`; members without
    it are fitted once more without each fold.

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
    boosting_ : OffsetBoosting or None
        Boosted trees that correct the pooled probabilities; None if there are none.
    feature_importances_ : array of shape (n_features_in_,)
        Share of each feature in the absolute values of the contributions (`explain`), the mean over
        200 training rows, measured when it is first asked for. Members that cannot explain
        themselves do not count.
    """

    tails = TAILS
    optional_member = ""
    estimators: Any
    monotonic_cst: Any
    n_folds: int
    verbose: int
    estimators_: dict[str, Any]
    pool_weights_: dict[str, float]
    intercept_: NDArray[np.float64]
    oof_proba_: NDArray[np.float64]
    boosting_: OffsetBoosting | None
    _row_members: frozenset[str]
    _report: ScoreReport

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
        """Whether all members learn from a table that an encoder has read.

        Parameters
        ----------
        encoder : TableEncoder
            The encoder of a pool around this one.

        Returns
        -------
        bool
            False if a member needs rows of X.
        """
        return super().reads_like(encoder) and all(
            learns_from_tables(estimator, encoder) for _, estimator in self._list_members(SMALLEST)
        )

    def predict_proba(self, X: Any, *, class_prior: Any = None) -> NDArray[np.float64]:
        if (blocks := split_rows(X)) is not None:
            return self._predict_blocks(X, blocks, class_prior)
        return self._correct_prior(self.predict_columns(self._read(X), X), class_prior)

    def predict_columns(self, columns: Columns, X: Any = None) -> NDArray[np.float64]:
        """Predict class probabilities of rows that have been read.

        Parameters
        ----------
        columns : Columns
            Rows as `encoder_` reads them.
        X : frame or array of shape (n_rows, n_features), optional
            The same rows, for members that take rows of X.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Probabilities; rows sum to one, columns are in the order of `classes_`.
        """
        probabilities = []
        with self._share_threads():
            for name, member in self.estimators_.items():
                if name in self._row_members:
                    probabilities.append(member.predict_proba(X))
                else:
                    probabilities.append(member.predict_columns(columns))
        weights = PoolWeights(np.array(list(self.pool_weights_.values())), self.intercept_)
        pooled = weights.pool(probabilities)
        if self.boosting_ is None:
            return pooled
        features = columns.in_feature_order()
        return self.boosting_.predict_proba(features, pooled, self._n_threads)

    def spread_columns(self, columns: Columns) -> NDArray[np.float64]:
        return self._spread(columns, None)

    def spread_parts(self, columns: Columns) -> dict[str, NDArray[np.float64]]:
        return self._spread_parts(columns, None)

    def _spread(self, columns: Columns, X: Any) -> NDArray[np.float64]:
        proba, parts = self.predict_columns(columns, X), self._spread_parts(columns, X)
        return combine_parts(proba, parts, float(self.class_count_.sum()), FACTORS)

    def explain_columns(self, columns: Columns) -> Explanation:
        """Explain the predictions for rows that have been read.

        Parameters
        ----------
        columns : Columns
            Rows as `encoder_` reads them.

        Returns
        -------
        Explanation
            As `explain` returns it.
        """
        return self._explain(columns, None)

    def score_report(self) -> ScoreReport:
        """Report scores of the members, the pool and boosting on training rows, out of fold.

        Returns
        -------
        ScoreReport
            A line for each; the last is what `predict_proba` gives. Printed, it is a table.
        """
        check_is_fitted(self)
        return self._report

    def _list_members(self, size: TableSize) -> Sequence[tuple[str, Any]]:
        """Return names and classifiers to fit to a table of this size."""
        return set_alike(self.estimators, self)

    def _start_clock(self) -> Deadline:
        """Return the moment after which no further member is started."""
        return Deadline.after(None)

    def _penalties(self) -> tuple[float, float]:
        """Return the penalties on the weights and on the intercepts."""
        return 5.0, 5.0

    def _check_parameters(self) -> None:
        check_number("n_folds", self.n_folds, least=2)
        members = self._list_members(SMALLEST)
        if not members:
            raise ValueError("estimators must not be empty")
        names = [name for name, _ in members]
        if len(set(names)) < len(names) or BOOSTING in names:
            raise ValueError(
                f"estimators must have different names, none of them {BOOSTING!r}, got {names}"
            )
        self._validate_names(names)

    def _estimate_memory(self, size: TableSize, encoder: TableEncoder) -> float:
        with self._share_threads():
            return reduce_members(self._list_members(size), size, encoder, math.inf).before

    def _keep_limit(self, limit: float, table: TrainingTable) -> Self:
        size = TableSize.of(table)
        listed = self._list_members(size)
        with self._share_threads():
            reduction = reduce_members(listed, size, table.encoder, limit)
        others = [(name, member) for name, member in listed if name not in reduction.left_out]
        if not others:
            raise refuse(self, limit, reduction.least, size)
        if not reduction.texts:
            return self
        warn_of_reductions(limit, reduction.before, reduction.texts)
        pool = copy(self)
        pool.estimators = [(name, reduction.members.get(name, m)) for name, m in others]
        return pool

    def _learn(self, table: TrainingTable, unseen: UnseenRows | None = None) -> dict[str, Any]:
        deadline, seed = self._start_clock(), draw_seed(self.random_state)
        folds = deal_into_folds(table.y, self.n_folds, np.random.default_rng(seed), table.group)
        listed = self._list_members(TableSize.of(table))
        monotone = read_directions(self.monotonic_cst, table.encoder, table.n_classes)
        members: dict[str, Any] = {}
        held_out: dict[str, NDArray[np.float64]] = {}
        seconds: dict[str, float] = {}
        progress = Progress(len(listed), self.verbose > 0, unit="members")
        with self._share_threads():
            for name, estimator in listed:
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
            held_out, self.optional_member if unseen is None else "", table, self._penalties(),
            self._plan_boosting, monotone=monotone, seed=seed, n_threads=self._n_threads,
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
        row_members = frozenset(
            name for name, m in members.items() if not learns_from_tables(m, table.encoder)
        )
        return {
            "estimators_": members,
            "pool_weights_": pool_weights,
            "intercept_": weights.intercept,
            "oof_proba_": joined.oof_proba,
            "boosting_": joined.boosting,
            "_row_members": row_members,
            "_report": report,
            IMPORTANCE_ROWS: ImportanceRows.draw(table, keep_given=bool(row_members)),
        }

    @cached_property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the contributions, measured once it is asked for or saved."""
        check_is_fitted(self)
        rows: ImportanceRows = vars(self)[IMPORTANCE_ROWS]
        return rows.average(self._explain(rows.columns, rows.X).contributions)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is stored: the importances, and not the rows they are measured on."""
        if IMPORTANCE_ROWS not in vars(self):
            return dict(super().__getstate__())
        state = {**super().__getstate__(), "feature_importances_": self.feature_importances_}
        del state[IMPORTANCE_ROWS]
        return state

    def _predict_with_spread(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        check_is_fitted(self)
        columns = self._read(X)
        return self.predict_columns(columns, X), self._spread(columns, X)

    def _spread_parts(self, columns: Columns, X: Any) -> dict[str, NDArray[np.float64]]:
        probabilities, variances = [], list[NDArray[np.float64] | None]()
        with self._share_threads():
            for name, member in self.estimators_.items():
                in_rows = name in self._row_members
                knows = isinstance(member, TableClassifier)
                probabilities.append(
                    member.predict_proba(X) if in_rows else member.predict_columns(columns)
                )
                own = member.encoder_.read(X) if in_rows and knows else columns
                # The last part says how much the parts of a member differ, unscaled.
                if isinstance(member, BasePool):
                    variances.append(list(member._spread_parts(own, X).values())[-1])
                else:
                    variances.append(list(member.spread_parts(own).values())[-1] if knows else None)
        return pool_parts(probabilities, variances, np.array(list(self.pool_weights_.values())))

    def _share_threads(self) -> AbstractContextManager[Any]:
        """Give the threads of the pool to members whose `n_jobs` is None."""
        return nullcontext() if self.n_jobs is None else parallel_config(n_jobs=self.n_jobs)

    def _explain(self, columns: Columns, X: Any) -> Explanation:
        with self._share_threads():
            members = {
                name: self._explain_member(name, one, columns, X)
                for name, one in self.estimators_.items()
            }
        weights: Mapping[str, float] = self.pool_weights_
        if self.boosting_ is not None:
            members[BOOSTING] = self.boosting_.explain(
                columns.in_feature_order(), columns.n_rows, self._n_threads,
                self.classes_, self.feature_labels_,
            )  # fmt: skip
            weights = {**weights, BOOSTING: 1.0}
        return Explanation.pool(members, weights, self.intercept_)

    def _explain_member(self, name: str, member: Any, columns: Columns, X: Any) -> Explanation:
        """Explain the probabilities of a member, raised to the floor of the pool."""
        in_rows = name in self._row_members
        if not in_rows and hasattr(member, "explain_columns"):
            explanation = member.explain_columns(columns)
        elif isinstance(member, TableClassifier) and hasattr(member, "explain"):
            explanation = member.explain(X)
        else:
            proba = member.predict_proba(X) if in_rows else member.predict_columns(columns)
            explanation = Explanation.from_probabilities(self.classes_, self.feature_labels_, proba)
        return explanation.raise_to(FLOOR)
