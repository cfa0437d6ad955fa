"""A network whose levels and features are weighted by conditional likelihood.

The score of class y is, with theta_il the estimate of feature i from its first l parents::

    log p(y) + b_y + sum_i w_i log theta_i,l* + sum_l tau_l sum_i (log theta_il - log theta_i,l-1)

All weights tau = 1 and w = b = 0 give the plain network. They are fitted on estimates that do
not count the row they score, under ridge penalties.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from priorwise import _core
from priorwise.counts import CodedRows, Factor
from priorwise.models.networks.network_model import NetworkModel
from priorwise.smoothing import LevelShrinkage
from priorwise.smoothing.base import Shrinkage
from priorwise.structure.networks import Network, NetworkCounts

N_BLOCKS = 5
"""Blocks of scored rows that are left out of the counts in turn."""

MAX_SCORED_ROWS = 10_000
"""Largest number of rows that weights are fitted on; the weights are few."""

MAX_SCORES = 30_000_000
"""Largest number of estimates that weights are fitted on: rows x classes x levels x features."""

FEATURE_PENALTY, LEVEL_PENALTY, INTERCEPT_PENALTY = 10.0, 0.1, 1.0
"""Ridge penalties of the weights."""


@dataclass(frozen=True, eq=False)
class ScoreWeights:
    """What multiplies the log estimates of a network: w, tau and b, and l* as `best_level`.

    `feature` is in the order of the network; `level` is for the class level and each number of
    parents; l* is the number of parents at which the unweighted network is best.
    """

    feature: NDArray[np.float64]
    level: NDArray[np.float64]
    intercept: NDArray[np.float64]
    best_level: int


def fit_weighted_network(
    counts: NetworkCounts,
    scored: CodedRows,
    unseen: NDArray[np.bool_],
    generator: np.random.Generator,
    *,
    n_jobs: int = 1,
) -> tuple[NetworkModel, ScoreWeights]:
    """Smooth a network's counts of all rows level by level, and fit its weights.

    Weights are fitted on the `scored` rows, drawn by `draw_scored_rows`; of these, `unseen` rows
    had no part in learning the structure and choose l*. Returns the network with the weights in its
    factors, and the weights.
    """
    smoother = LevelShrinkage()
    shrinkage = list(map(smoother.shrinkage, counts.trees))
    probabilities = list(map(Shrinkage.apply, shrinkage, counts.trees))
    model = NetworkModel.build(counts, probabilities, smoother)
    if not model.factors:
        return model, ScoreWeights(np.zeros(0), np.ones(1), np.zeros(scored.n_classes), 0)
    scores = _cross_fit(model, shrinkage[1:], scored, generator, n_jobs)
    weights = _fit_weights(model, scores, scored, unseen)
    return apply_weights(model, weights), weights


def draw_scored_rows(
    network: Network, n_rows: int, n_classes: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Draw the rows that weights are fitted on, in ascending order.

    At most `MAX_SCORED_ROWS`, and so many that there are at most `MAX_SCORES` estimates; none for
    a network without features.
    """
    if not network.order:
        return np.zeros(0, dtype=np.intp)
    n_levels = 1 + max(len(network.parents[i]) for i in network.order)
    per_row = n_classes * n_levels * len(network.order)
    n_scored = min(MAX_SCORED_ROWS, max(100, MAX_SCORES // per_row))
    if n_scored >= n_rows:
        return np.arange(n_rows)
    return np.sort(generator.choice(n_rows, n_scored, replace=False))


def apply_weights(model: NetworkModel, weights: ScoreWeights) -> NetworkModel:
    """Return the network whose plain sum of factors is the weighted score.

    With C_m = tau_m + w [m <= l*] the weight of what level m adds, the score of a path is
    S_u = S_parent + C_m (log theta_u - log theta_parent), and C_0 log theta at the class.
    """
    factors = []
    for factor, w in zip(model.factors, weights.feature, strict=True):
        tree, log_rest = factor.tree, factor.log_rest
        n_levels = max(tree.depth, 1)  # of which the first is the class
        by_level = weights.level[:n_levels] + w * (np.arange(n_levels) <= weights.best_level)
        if len(log_rest):
            log_rest = log_rest * by_level[np.maximum(tree.level - 1, 0)]
        log_p = _core.weigh_levels(tree, factor.log_p, by_level)
        factors.append(_core.rescore_factor(Factor, factor, log_p, log_rest))
    return replace(model, factors=factors, log_prior=model.log_prior + weights.intercept)


def _cross_fit(
    model: NetworkModel,
    shrinkage: list[Shrinkage],
    scored: CodedRows,
    generator: np.random.Generator,
    n_jobs: int,
) -> NDArray[np.float32]:
    """Return log theta of scored rows without their block.

    The shape is (n_features, n_rows, n_classes, n_levels).
    """
    n_levels = 1 + max(len(factor.path) for factor in model.factors)
    # Blocks are of scored rows only; the others stay counted, as most of the rows always do.
    block = generator.permutation(scored.n_rows).astype(np.int32) % N_BLOCKS
    return _core.cross_fit_levels(
        model.factors, [s.weight for s in shrinkage], scored.columns, scored.y, scored.weight,
        block, min(N_BLOCKS, scored.n_rows), n_levels, n_jobs,
    )  # fmt: skip


def _fit_weights(
    model: NetworkModel,
    scores: NDArray[np.float32],
    scored: CodedRows,
    unseen: NDArray[np.bool_],
) -> ScoreWeights:
    y, weight = scored.y, scored.weight
    n_features, _, n_classes, n_levels = scores.shape
    by_level = scores.sum(axis=0, dtype=np.float64)
    best_level = _choose_level(model.log_prior + by_level.transpose(2, 0, 1), scored, unseen)
    steps = np.diff(by_level, axis=2, prepend=0.0)
    features = np.concatenate(
        [scores[:, :, :, best_level].transpose(1, 2, 0), steps.astype(np.float32)], axis=2
    )
    centre = np.zeros(n_features + n_levels + n_classes)
    centre[n_features : n_features + n_levels] = [1.0] + [0.5] * (n_levels - 1)
    penalty = np.repeat(
        [FEATURE_PENALTY, LEVEL_PENALTY, INTERCEPT_PENALTY], [n_features, n_levels, n_classes]
    )
    fitted = _core.fit_conditional(
        np.ascontiguousarray(features), model.log_prior, y, weight, centre, penalty
    )
    w, tau, intercept = np.split(fitted, [n_features, n_features + n_levels])
    return ScoreWeights(w, tau, intercept, best_level)


def _choose_level(joint: NDArray[np.float64], scored: CodedRows, unseen: NDArray[np.bool_]) -> int:
    """Return the level whose plain network has the least log-loss.

    `joint` has the shape (n_levels, n_rows, n_classes).
    """
    chosen = np.flatnonzero(unseen) if unseen.any() else np.arange(scored.n_rows)
    log_p = log_softmax(joint[:, chosen], axis=2)
    losses = -log_p[:, np.arange(len(chosen)), scored.y[chosen]] @ scored.weights[chosen]
    return int(np.argmin(losses))
