"""How the members of an ESKDB ensemble are learnt, from rows in memory or read in passes.

A member is learnt by a generator. It yields what it needs to know of the rows (`Measure`, `Count`,
`CountTrees`, `Score`) and is sent the answers; it returns the member. Rows in memory answer at
once, a stream answers the requests of all members in one pass over the rows. So each recipe is
written once.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts import draw_held_back
from priorwise.data.cuts import ValueCounts, draw_mdlp_cut_points, draw_quantile_cut_points
from priorwise.models.networks.network_model import (
    NetworkModel,
    choose_candidate,
    log_class_prior,
    pack_factors,
    read_structure,
)
from priorwise.models.networks.weights import (
    choose_min_rows,
    cross_fit,
    deal_into_blocks,
    draw_scored_rows,
    fit_weights,
    list_levels,
    pack_network,
)
from priorwise.smoothing import LevelShrinkage, Smoother
from priorwise.smoothing.base import smooth_trees
from priorwise.structure.networks import (
    Network,
    SubmodelScorer,
    draw_order,
    draw_order_by_gumbel,
    learn_kdb,
)

CutPoints = list[NDArray[np.float64]]

MAX_FEATURES = 200
"""Features of a member of recipe "weighted" at most: the first ones of its order."""


@dataclass(frozen=True, eq=False)
class NetworkMember:
    """A network with cut points of its own; it has not seen the rows of `fold` (None: all seen).

    The structure is kept in the packed scores alone: thousands of features would make its tuples
    larger than the scores. `levels` of a weighted member are the concentration and the weight of
    each level of each factor, with which exports turn scores into counts.
    """

    feature_names: tuple[str, ...]
    cut_network: _core.CutNetwork
    fold: int | None
    levels: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        cut_points: CutPoints,
        product: _core.FactorProduct,
        feature_names: tuple[str, ...],
        fold: int | None,
        levels: NDArray[np.float64] | None = None,
    ) -> NetworkMember:
        """Return the member of a network and the cut points of each numeric feature."""
        points = np.concatenate([np.empty(0), *cut_points])
        n_points = np.array([len(cuts) for cuts in cut_points], dtype=np.int32)
        network = _core.CutNetwork(product, points, n_points)
        return cls(feature_names, network, fold, levels)

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
class RowGroup:
    """Rows that members learn from: all rows, or all but those of one fold.

    `values` are the distinct values of numeric features; `class_row_weight` is what a row of each
    class weighs (`mean_row_weights`), None if all weights are one; rows of the same `group` are
    drawn together, None if each row is a draw.
    """

    fold: int | None
    n_rows: int
    values: ValueCounts
    class_row_weight: NDArray[np.float64] | None = None
    group: NDArray[np.intp] | None = None


@dataclass(frozen=True, eq=False)
class Measure:
    """Ask for the information between features and class; the answer is an `Information`.

    Rows of `fold` are left out; the weight of each other row counts as often as `draws` says, or
    once.
    With `max_features`, that of pairs is wanted for so many features only, which are chosen later.
    """

    cut_points: CutPoints
    fold: int | None = None
    draws: NDArray[np.int64] | None = None
    max_features: int | None = None


@dataclass(frozen=True, eq=False)
class Count:
    """Ask for the counts of a network; the answer is a `Counted`.

    `sample` lists places, ascending, among the rows that are not left out, of rows whose codes are
    wanted; with `hold_back` counts without these rows are wanted too.
    """

    cut_points: CutPoints
    network: Network
    fold: int | None = None
    sample: NDArray[np.intp] | None = None
    hold_back: bool = False


@dataclass(frozen=True, eq=False)
class CountTrees:
    """Ask for the count trees of a network, one at a time, and for the codes of a sample.

    The answer is a pair of `NetworkTrees` and `CodedRows`. `sample` is as in `Count`.
    """

    cut_points: CutPoints
    network: Network
    sample: NDArray[np.intp]
    fold: int | None = None


@dataclass(frozen=True, eq=False)
class Score:
    """Ask for the choice of a sub-model by all rows; the answer is a `Selection`."""

    cut_points: CutPoints
    scorer: SubmodelScorer
    fold: None = None


Request = Measure | Count | CountTrees | Score
Learning = Generator[Request, Any, NetworkMember]
"""A member that is being learnt."""


def learn_weighted_member(
    group: RowGroup,
    n_classes: int,
    max_parents: int,
    *,
    max_bins: int,
    generator: np.random.Generator,
    feature_names: tuple[str, ...] = (),
) -> Learning:
    """Learn a network by the recipe "weighted".

    Cuts are drawn without looking at labels, the structure is learnt from a bootstrap of the
    rows, tables are counted on all rows of the group, and features and levels are weighted by
    penalised conditional likelihood of estimates that have not counted the row they score.
    """
    draws = draw_bootstrap(group.n_rows, group.group, generator)
    cut_points = draw_quantile_cut_points(group.values, generator, max_bins=max_bins)
    information = yield Measure(cut_points, group.fold, draws, MAX_FEATURES)
    network = learn_kdb(
        information,
        max_parents,
        order=draw_order_by_gumbel(information.mutual, generator)[:MAX_FEATURES],
        subtract_bias=True,
        feature_names=feature_names,
    )
    scored = draw_scored_rows(network, group.n_rows, n_classes, generator)
    trees, rows = yield CountTrees(cut_points, network, scored, group.fold)
    log_prior = log_class_prior(trees.class_tree, LevelShrinkage().smooth(trees.class_tree))
    blocks = deal_into_blocks(
        None if group.group is None else group.group[scored], len(scored), generator
    )
    estimates = cross_fit(trees, rows, blocks, group.class_row_weight)
    weights = fit_weights(log_prior, estimates.scores, rows, draws[scored] == 0)
    min_rows = choose_min_rows(log_prior, estimates, rows, weights)
    product = pack_network(trees, log_prior, estimates, weights, min_rows)
    levels = list_levels(estimates.shrinkage, weights)
    return NetworkMember.of(cut_points, product, network.feature_names, group.fold, levels)


def learn_thesis_member(
    values: ValueCounts,
    n_rows: int | None,
    max_parents: int,
    *,
    smoother: Smoother,
    generator: np.random.Generator,
    feature_names: tuple[str, ...] = (),
) -> Learning:
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
    counted = yield Count(cut_points, network, sample=held, hold_back=held is not None)
    chosen = choose_candidate(smoother.candidates(), counted)
    scorer = SubmodelScorer.prepare(counted.counts[0], chosen)
    selection = yield Score(cut_points, scorer)
    counts = counted.counts[0].restrict(selection.n_features, selection.max_parents)
    probabilities = smooth_trees(counts.trees, chosen, seed=seed)
    product = pack_factors(counts, probabilities, chosen)
    return NetworkMember.of(cut_points, product, network.feature_names, None)


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
