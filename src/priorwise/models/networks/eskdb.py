"""Ensembles of selective k-dependence networks (ESKDB)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.common.deadline import Deadline
from priorwise.common.progress import Progress
from priorwise.common.threads import map_in_threads
from priorwise.common.validation import check_choice, check_number
from priorwise.counts import CodedRows
from priorwise.data.cuts import RankedValues, draw_mdlp_cut_points, draw_quantile_cut_points
from priorwise.data.tables import Columns, TableEncoder
from priorwise.models.folds import deal_into_folds
from priorwise.models.networks.base import MAX_CONTEXTS, BaseNetworkClassifier
from priorwise.models.networks.contributions import sum_terms
from priorwise.models.networks.eskdb_stream import EnsembleStream
from priorwise.models.networks.network_model import NetworkModel
from priorwise.models.networks.weights import fit_weighted_network
from priorwise.models.training_table import TrainingTable
from priorwise.smoothing import Smoother
from priorwise.streaming.row_stream import RowStream
from priorwise.structure.networks import (
    NetworkCounts,
    TrainingRows,
    draw_order,
    draw_order_by_gumbel,
    learn_kdb,
    select_submodel,
)

N_GROUPS = 5
MAX_BINS = (8, 16, 32, 64, 255)
MIN_ROWS_PER_BIN = 40
MIN_CELLS_TO_SHARE = 10_000


@dataclass(frozen=True)
class Member:
    """A network with cut points of its own."""

    cut_points: list[NDArray[np.float64]]
    model: NetworkModel


class ESKDBClassifier(BaseNetworkClassifier):
    """The mean probability of k-dependence networks learnt with randomness.

    Parameters
    ----------
    n_estimators : int
        Networks in all.
    max_parents : int
        Largest number of parents of a feature besides the class.
    recipe : "weighted" or "thesis"
        "thesis" draws MDLP cut points and an order of features in proportion to mutual
        information for each member, selects a sub-model by leaving rows out and smooths it
        (Algorithms 9-15). "weighted", the default, is more accurate: rows are split into
        five groups and members of a group never see its fold; structure comes from a bootstrap
        and label-free random cuts, tables from all rows of the group, and weights of features
        and levels from penalised conditional likelihood on cross-fitted estimates.
    max_bins : int or "auto"
        Weighted recipe: most bins of a numeric feature; "auto" chooses from 8, 16, 32, 64 and
        255 by log-loss on rows kept back.
    smoothing : str or Smoother
        Thesis recipe only; the weighted one shrinks level by level.
    max_seconds : float or None
        No member is begun after so many seconds, but the first.
    verbose : int
        Above 0, members learnt are reported on the error stream.

    Attributes
    ----------
    members_ : list of Member
    oof_probabilities_ : array (rows, classes)
        Weighted recipe: each training row's probabilities from members that have not seen it,
        NaN where every member has.
    max_bins_ : int
    """

    def __init__(
        self,
        n_estimators: int = 10,
        *,
        max_parents: int = 5,
        recipe: str = "weighted",
        max_bins: int | str = "auto",
        smoothing: str | Smoother = "hdp",
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        max_contexts: int = MAX_CONTEXTS,
        n_jobs: int | None = None,
        random_state: Any = None,
        max_seconds: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.smoothing = smoothing
        self.categorical_features = categorical_features
        self.missing = missing
        self.unseen = unseen
        self.max_contexts = max_contexts
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.n_estimators = n_estimators
        self.max_parents = max_parents
        self.recipe = recipe
        self.max_bins = max_bins
        self.max_seconds = max_seconds
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X with class labels y."""
        self._check_parameters()
        return self._fit_table(TrainingTable.read(self._new_encoder(), X, y, sample_weight))

    def _fit_table(self, table: TrainingTable) -> Self:
        """`fit` to a table that has been read."""
        deadline = Deadline.after(self.max_seconds)
        columns, y, weight = table.columns, table.y, table.weight
        self.classes_ = table.classes
        self._adopt(table.encoder)
        # Rows of weight zero are as good as absent.
        counted = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        data = TrainingData(
            columns.take(counted),
            y[counted],
            len(self.classes_),
            None if weight is None else weight[counted],
        )
        seed = int(check_random_state(self.random_state).randint(2**31))
        if self.recipe == "thesis":
            self.members_ = self._in_parallel(self._learn_thesis_member, data, seed, deadline)
        else:
            held_out = self._fit_groups(data, seed, deadline)
            self.oof_probabilities_ = held_out
            if len(counted) < len(y):
                self.oof_probabilities_ = self._average(self.members_, columns, self._n_threads)
                self.oof_probabilities_[counted] = held_out
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities; columns as in `classes_`."""
        check_is_fitted(self)
        return self._predict_columns(self.encoder_.read(X))

    def _predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        """`predict_proba` of rows that the encoder has read."""
        return self._average(self.members_, columns, self._n_threads)

    def decision_contributions(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each feature adds to the log-odds of the classes, the mean of the members.

        The probabilities of one member are the softmax of its sum, those of the ensemble the mean
        of its members' and so not quite the softmax of the mean sum.

        Returns
        -------
        bias : array of shape (n_classes,)
        contributions : array of shape (n_rows, n_features, n_classes)
        """
        check_is_fitted(self)
        columns = self.encoder_.read(X)
        bias = np.mean([member.model.log_prior for member in self.members_], axis=0)
        terms = np.zeros((columns.n_rows, self.n_features_in_, len(self.classes_)))
        for member in self.members_:
            codes = self.encoder_.encode(columns, member.cut_points)
            terms += sum_terms(member.model, list(codes), self.n_features_in_, self._n_threads)
        return bias, terms / len(self.members_)

    def _fit_rows(self, rows: TrainingRows, seed: int) -> None:
        """Learn from rows that are read in passes; members share them.

        The members are those of `fit`; `oof_probabilities_` are not kept.
        """
        self._check_parameters()
        if self.max_seconds is not None:
            raise ValueError(
                f"max_seconds must be None to learn in passes, which members share, "
                f"got {self.max_seconds!r}"
            )
        assert isinstance(rows, RowStream)
        stream = EnsembleStream(self, rows, seed, N_GROUPS)
        if self.recipe == "thesis":
            learnt = stream.learn_thesis()
        else:
            learnt, self.max_bins_ = stream.learn_weighted(_bins_to_try, MIN_ROWS_PER_BIN)
        self.members_ = [Member(member.cut_points, member.model) for member in learnt]
        self.__dict__.pop("oof_probabilities_", None)

    def _check_parameters(self) -> None:
        check_choice("recipe", self.recipe, ("weighted", "thesis"))
        check_number("n_estimators", self.n_estimators, least=1)
        check_number("max_parents", self.max_parents, least=0)
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, above=0.0)
        if isinstance(self.max_bins, str):
            check_choice("max_bins", self.max_bins, ("auto",))
        else:
            check_number("max_bins", self.max_bins, least=2)

    def _new_encoder(self) -> TableEncoder:
        # Members cut numeric features in their own ways; the encoder's own cuts are not used.
        return TableEncoder(
            categorical_features=self.categorical_features,
            missing=self.missing,
            unseen=self.unseen,
            discretizer="equal-width",
            n_jobs=self.n_jobs,
        )

    def _in_parallel(
        self, learn: Callable[..., Any], data: TrainingData, seed: int, deadline: Deadline
    ) -> list[Any]:
        """One member per generator; threads work on members, each with a stream of its own."""
        generators = [
            np.random.default_rng(s)
            for s in np.random.SeedSequence(seed).spawn(int(self.n_estimators))
        ]
        progress = Progress(len(generators), self.verbose > 0, unit="members")

        def learn_one(pair: tuple[int, np.random.Generator]) -> Any:
            member = None if pair[0] > 0 and deadline.over else learn(data, *pair)
            progress.step()
            return member

        # Small members are mostly Python, which threads only hold up.
        n_cells = len(data.y) * self.n_features_in_ * data.n_classes
        n_threads = 1 if n_cells < MIN_CELLS_TO_SHARE else self._n_threads
        members = map_in_threads(learn_one, enumerate(generators), n_threads)
        progress.close()
        # Members are begun in their order, so those that are missing are the last.
        return [member for member in members if member is not None]

    def _learn_thesis_member(
        self, data: TrainingData, index: int, generator: np.random.Generator
    ) -> Member:
        ranked = data.ranked
        cut_points = draw_mdlp_cut_points(ranked, data.y, data.n_classes, generator, data.weight)
        rows = data.cut(self.encoder_, cut_points)
        found = rows.measure()
        network = learn_kdb(
            found.mutual,
            found.conditional,
            self.max_parents,
            order=draw_order(found.mutual, generator),
            feature_names=self._feature_names(),
        )
        counts = NetworkCounts.count(network, rows, max_contexts=self.max_contexts)
        seed = int(generator.integers(2**31))
        smoother = self._choose_smoother(network, rows, seed)
        selection = select_submodel(
            network, counts.feature_trees, counts.class_tree, rows.columns, rows.y, smoother,
            weight=rows.weight,
        )  # fmt: skip
        counts = counts.restrict(selection.n_features, selection.max_parents)
        return Member(cut_points, NetworkModel.smooth(counts, smoother, seed=seed))

    def _fit_groups(self, data: TrainingData, seed: int, deadline: Deadline) -> NDArray[np.float64]:
        """Learn the members of all groups; returns out-of-fold probabilities."""
        folds = deal_into_folds(data.y, N_GROUPS, np.random.default_rng(seed))
        groups = [data.take(np.flatnonzero(folds != fold)) for fold in range(N_GROUPS)]
        held = [np.flatnonzero(folds == fold) for fold in range(N_GROUPS)]
        self.max_bins_ = self._choose_max_bins(data, groups[0], held[0], seed, deadline)

        def learn(data: TrainingData, index: int, generator: np.random.Generator) -> Member:
            group = groups[index % N_GROUPS]
            return self._learn_weighted_member(group, self.max_bins_, generator)

        self.members_ = self._in_parallel(learn, data, seed, deadline)
        held_out = np.full((len(data.y), data.n_classes), np.nan)
        for fold in range(min(N_GROUPS, len(self.members_))):
            if len(held[fold]):
                held_out[held[fold]] = self._average(
                    self.members_[fold::N_GROUPS], data.columns.take(held[fold]), self._n_threads
                )
        return held_out

    def _learn_weighted_member(
        self, data: TrainingData, max_bins: int, generator: np.random.Generator
    ) -> Member:
        n_rows = len(data.y)
        share = None if data.weight is None else data.weight / data.weight.sum()
        drawn = generator.choice(n_rows, n_rows, p=share)
        bootstrap = np.bincount(drawn, minlength=n_rows).astype(np.float64)
        cut_points = draw_quantile_cut_points(data.ranked, generator, max_bins=max_bins)
        rows = data.cut(self.encoder_, cut_points)
        found = rows.measure(bootstrap)
        network = learn_kdb(
            found.mutual,
            found.conditional,
            self.max_parents,
            order=draw_order_by_gumbel(found.mutual, generator),
            bias=found.bias(),
            feature_names=self._feature_names(),
        )
        counts = NetworkCounts.count(network, rows, max_contexts=self.max_contexts)
        model, _ = fit_weighted_network(counts, rows, bootstrap == 0, generator)
        return Member(cut_points, model)

    def _choose_max_bins(
        self,
        data: TrainingData,
        group: TrainingData,
        held: NDArray[np.intp],
        seed: int,
        deadline: Deadline,
    ) -> int:
        """The number of bins with the least log-loss on one fold; finer cuts need more rows."""
        if not isinstance(self.max_bins, str):
            return int(self.max_bins)
        finest = max((len(values) for values in data.ranked.distinct), default=0)
        candidates = _bins_to_try(min(finest, len(data.y) // MIN_ROWS_PER_BIN))
        if len(candidates) == 1 or len(held) == 0:
            return candidates[0]
        losses = []
        for max_bins in candidates:
            members = [
                self._learn_weighted_member(group, max_bins, np.random.default_rng([seed, i]))
                for i in range(2)
            ]
            proba = self._average(members, data.columns.take(held), 1)
            p = proba[np.arange(len(held)), data.y[held]]
            losses.append(float(-np.log(np.maximum(p, 1e-12)).mean()))
            worsens = len(losses) > 2 and losses[-1] > losses[-2] > losses[-3]
            if worsens or deadline.half_over:
                break
        return candidates[int(np.argmin(losses))]

    def _average(
        self, members: list[Member], columns: Columns, n_threads: int
    ) -> NDArray[np.float64]:
        total = np.zeros((columns.n_rows, len(self.classes_)))
        for member in members:
            codes = self.encoder_.encode(columns, member.cut_points)
            total += member.model.proba(list(codes), n_threads)
        return total / len(members)


def _bins_to_try(most: int) -> list[int]:
    """Numbers of bins up to the most that values and rows allow, the least of them always."""
    return [MAX_BINS[0], *(b for b in MAX_BINS[1:] if b <= most)]


@dataclass(frozen=True)
class TrainingData:
    """Rows read but not yet cut, their classes and weights."""

    columns: Columns
    y: NDArray[np.int32]
    n_classes: int
    weight: NDArray[np.float64] | None

    @cached_property
    def ranked(self) -> RankedValues:
        return RankedValues.of(self.columns.values)

    def take(self, rows: NDArray[np.intp]) -> TrainingData:
        return TrainingData(
            self.columns.take(rows),
            self.y[rows],
            self.n_classes,
            None if self.weight is None else self.weight[rows],
        )

    def cut(self, encoder: TableEncoder, cut_points: list[NDArray[np.float64]]) -> CodedRows:
        codes = encoder.encode(self.columns, cut_points)
        return CodedRows(
            list(codes), encoder.arities(cut_points), self.y, self.n_classes, self.weight
        )
