"""How the members of an ESKDB ensemble are learnt, by recipes that ask rows for answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import safe_log
from priorwise.counts import draw_held_back
from priorwise.data.cuts import ValueCounts, draw_mdlp_cut_points, draw_quantile_cut_points
from priorwise.data.encoding import TableEncoder
from priorwise.data.tables import Columns
from priorwise.models.networks.network_model import (
    NetworkModel,
    choose_candidate,
    choose_min_rows,
    cross_fit,
    deal_into_blocks,
    draw_scored_rows,
    fit_weights,
    list_levels,
    log_class_prior,
    pack_factors,
    pack_network,
    read_structure,
)
from priorwise.smoothing import LevelShrinkage, Smoother
from priorwise.smoothing.base import smooth_trees
from priorwise.steps.networks.networks import Cuts, Networks
from priorwise.structure.networks import (
    Network,
    NetworkTrees,
    SubmodelScorer,
    draw_order,
    draw_order_by_gumbel,
    learn_kdb,
)
from priorwise.structure.networks.rows import (
    Count,
    CountTrees,
    CutPoints,
    Measure,
    Recipe,
    RowGroup,
    Score,
)

MAX_FEATURES = 200
"""Features of a member of recipe "weighted" at most: the first ones of its order."""

MAX_RECOUNTED_ROWS = 50_000
"""Most rows of a table whose members count the rows of their fold in the end: with more, a fifth of
them tells the tables nothing new."""

LOSS_UNIT = 2.0**-20
"""Losses of trials are rounded to multiples of this, so that their sums are exact."""


@dataclass(frozen=True, eq=False)
class NetworkMember:
    """A network with cut points of its own.

    Its structure and weights have been learnt without the rows of `fold` (None: from all rows).
    `without_fold`, if not None, is the network whose tables have not counted these rows either;
    only members that have just been learnt have it. The structure is kept in the packed scores
    alone: thousands of features would make its tuples larger than the scores. `levels` of a
    weighted member are the concentration and the weight of each level of each factor, with which
    exports turn scores into counts.
    """

    feature_names: tuple[str, ...]
    cut_network: _core.CutNetwork
    fold: int | None
    levels: NDArray[np.float64] | None = None
    without_fold: _core.CutNetwork | None = None

    @property
    def for_fold(self) -> _core.CutNetwork:
        """The network that predicts the rows of the fold, which it has not seen."""
        return self.cut_network if self.without_fold is None else self.without_fold

    @property
    def network(self) -> Network:
        """The structure; features that are not in its order have no parents."""
        return read_structure(self.cut_network.network, self.feature_names)

    @property
    def cut_points(self) -> CutPoints:
        """Cut points of each numeric feature."""
        ends = np.cumsum(self.cut_network.n_points)
        return np.split(self.cut_network.points, ends[:-1]) if len(ends) else []

    @property
    def model(self) -> NetworkModel:
        """The network, of codes."""
        return NetworkModel(self.network, self.cut_network.network)


@dataclass(frozen=True, eq=False)
class TrialLosses:
    """The log-loss of the mean of the members of each trial, of rows that the encoder has read.

    Losses are multiples of `LOSS_UNIT`, in these units, so that their sums are exact.
    """

    trials: Sequence[Sequence[NetworkMember]]
    encoder: TableEncoder

    def __call__(
        self, columns: Columns, y: NDArray[np.int32], n_threads: int
    ) -> list[NDArray[np.float64]]:
        losses = []
        for members in self.trials:
            proba = average_for_fold(members, self.encoder, columns, n_threads)
            losses.append(np.round(-safe_log(proba[np.arange(len(y)), y]) / LOSS_UNIT))
        return losses


def average_for_fold(
    members: Sequence[NetworkMember],
    encoder: TableEncoder,
    columns: Columns,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Return the mean of the members' probabilities of rows of their fold, which were read."""
    networks = [member.for_fold for member in members]
    places, codes = columns.lay_out()
    return _core.average_networks(
        networks, columns.values, encoder.missing_seen, places, codes, n_threads
    )


def learn_weighted_member(
    group: RowGroup,
    n_classes: int,
    max_bins: int,
    generator: np.random.Generator,
    *,
    max_parents: int,
    max_contexts: int,
    recount: bool = True,
    feature_names: tuple[str, ...] = (),
) -> Recipe[NetworkMember]:
    """Learn a network by the recipe "weighted".

    Cuts are drawn without looking at labels, the structure is learnt from a bootstrap of the
    rows, tables are counted on all rows of the group, and features and levels are weighted by
    penalised conditional likelihood of estimates that have not counted the row they score. With
    `recount`, tables for new rows then count the rows of the fold too.
    """
    draws = draw_bootstrap(group.n_rows, group.group, generator)
    cut_points = draw_quantile_cut_points(group.values, generator, max_bins=max_bins)
    information = yield Measure(cut_points, group.fold, draws=draws, max_features=MAX_FEATURES)
    network = learn_kdb(
        information,
        max_parents,
        order=draw_order_by_gumbel(information.mutual, generator)[:MAX_FEATURES],
        subtract_bias=True,
        feature_names=feature_names,
    )
    scored = draw_scored_rows(network, group.n_rows, n_classes, generator)
    trees, rows = yield CountTrees(
        cut_points, group.fold, network=network, sample=scored, max_contexts=max_contexts
    )
    log_prior = smooth_prior(trees)
    blocks = deal_into_blocks(
        None if group.group is None else group.group[scored], len(scored), generator
    )
    estimates = cross_fit(trees, rows, blocks, group.class_row_weight)
    weights = fit_weights(log_prior, estimates.scores, rows, draws[scored] == 0)
    min_rows = choose_min_rows(log_prior, estimates, rows, weights)
    product = pack_network(trees, log_prior, estimates, weights, min_rows)
    cut_network, without_fold = add_cuts(product, cut_points), None
    if recount and group.n_rows <= MAX_RECOUNTED_ROWS:
        trees, _ = yield CountTrees(
            cut_points, network=network, sample=scored[:0], max_contexts=max_contexts
        )
        product = pack_network(trees, smooth_prior(trees), estimates, weights, min_rows)
        cut_network, without_fold = add_cuts(product, cut_points), cut_network
    levels = list_levels(network, estimates.shrinkage, weights)
    return NetworkMember(network.feature_names, cut_network, group.fold, levels, without_fold)


def smooth_prior(trees: NetworkTrees) -> NDArray[np.float64]:
    """Return the logarithms of the smoothed shares of the classes."""
    return log_class_prior(trees.class_tree, LevelShrinkage().smooth(trees.class_tree))


def add_cuts(product: _core.FactorProduct, cut_points: CutPoints) -> _core.CutNetwork:
    """Return a network and the cut points of each numeric feature."""
    points = np.concatenate([np.empty(0), *cut_points])
    n_points = np.array([len(cuts) for cuts in cut_points], dtype=np.int32)
    return _core.CutNetwork(product, points, n_points)


def learn_thesis_member(
    values: ValueCounts,
    n_rows: int | None,
    smoother: Smoother,
    generator: np.random.Generator,
    *,
    max_parents: int,
    max_contexts: int,
    feature_names: tuple[str, ...] = (),
) -> Recipe[NetworkMember]:
    """Learn a network by the recipe "thesis" (Algorithms 9-15).

    Cuts are drawn as MDLP would choose them and features in proportion to their information; a
    sub-model is selected by leaving rows out, and smoothed. Some of `n_rows` rows are held back to
    choose the smoother; None if it has a single candidate.
    """
    cut_points = draw_mdlp_cut_points(values, generator)
    information = yield Measure(cut_points)
    network = learn_kdb(
        information,
        max_parents,
        order=draw_order(information.mutual, generator),
        feature_names=feature_names,
    )
    seed = int(generator.integers(2**31))
    held = None if n_rows is None or n_rows < 2 else draw_held_back(n_rows, seed)
    counted = yield Count(cut_points, networks=[network], held_back=held, max_contexts=max_contexts)
    chosen = choose_candidate(smoother.candidates(), counted)
    scorer = SubmodelScorer.prepare(counted.counts[0], chosen)
    selection = yield Score(cut_points, scorer=scorer)
    counts = counted.counts[0].restrict(selection.n_features, selection.max_parents)
    probabilities = smooth_trees(counts.trees, chosen, seed=seed)
    product = pack_factors(counts, probabilities, chosen)
    return NetworkMember(network.feature_names, add_cuts(product, cut_points), None)


def draw_bootstrap(
    n_rows: int, group: NDArray[np.intp] | None, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return how often each row, or each group of rows, is drawn with replacement.

    As many are drawn as there are; a row is one draw, whatever its weight.

    >>> draw_bootstrap(3, None, np.random.default_rng(0)).tolist()
    [0, 2, 1]
    >>> draw_bootstrap(4, np.array([0, 1, 1, 2]), np.random.default_rng(0)).tolist()
    [0, 2, 2, 1]
    """
    n_drawn = n_rows if group is None else int(group.max()) + 1
    times = np.bincount(generator.choice(n_drawn, n_drawn), minlength=n_drawn)
    return times if group is None else times[group]


def join_members(members: list[NetworkMember], encoder: TableEncoder) -> Networks:
    """Return the step of an ensemble."""
    levels = tuple(member.levels for member in members if member.levels is not None)
    return Networks(
        tuple(member.cut_network.network for member in members),
        tuple(Cuts(one.cut_network.points, one.cut_network.n_points) for one in members),
        encoder.missing_seen,
        levels=levels if len(levels) == len(members) else (),
    )
