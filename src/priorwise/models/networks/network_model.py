"""A network with its counts and probabilities: what single networks and ensembles are made of.

The levels and features of a member of an ensemble are weighted by conditional likelihood. The score
of class y is, with theta_il the estimate of feature i from its first l parents::

    log p(y) + b_y + sum_i w_i log theta_i,l* + sum_l tau_l sum_i (log theta_il - log theta_i,l-1)

All weights tau = 1 and w = b = 0 give the plain network. They are fitted on estimates that do
not count the row they score, under ridge penalties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import pick
from priorwise.counts import CodedRows, CountTree, Factor
from priorwise.counts.draws import MAX_JUDGED_ROWS, N_FOLDS
from priorwise.models.candidates import squared_error
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import smooth_trees
from priorwise.steps.networks.contributions import class_proba
from priorwise.structure.networks import Network, NetworkCounts, NetworkTrees
from priorwise.structure.networks.rows import Counted


@dataclass(frozen=True, eq=False)
class NetworkModel:
    """p(class, features) as a product of factors, in log space, packed for prediction.

    `counts` and `probabilities` are what the factors were made of, or None if they were not kept.
    The probabilities are those of the class tree, then of the feature trees, one number per cell.
    """

    network: Network
    product: _core.FactorProduct
    counts: NetworkCounts | None = None
    probabilities: list[NDArray[np.float64]] | None = None

    @property
    def log_prior(self) -> NDArray[np.float64]:
        """Logarithms of the probabilities of the classes, before any feature is known."""
        return self.product.log_prior

    def proba(self, columns: Sequence[NDArray[np.int32]], n_jobs: int = 1) -> NDArray[np.float64]:
        """Predict class probabilities of rows, given codes of their features."""
        return class_proba(self.product, columns, n_jobs)


def read_structure(product: _core.FactorProduct, feature_names: tuple[str, ...]) -> Network:
    """Return the structure of a network; features that are not in its order have no parents."""
    parents: list[tuple[int, ...]] = [()] * len(feature_names)
    paths = np.split(product.path, np.cumsum(product.n_parents)[:-1])
    for feature, path in zip(product.column.tolist(), paths, strict=False):
        parents[feature] = tuple(path.tolist())
    return Network(tuple(parents), tuple(product.column.tolist()), feature_names)


def smooth_network(
    counts: NetworkCounts, smoother: Smoother, *, n_jobs: int = 1
) -> _core.FactorProduct:
    """Turn the counts of a network into probabilities, and pack them."""
    return pack_factors(counts, smooth_trees(counts.trees, smoother, n_jobs=n_jobs), smoother)


def pack_factors(
    counts: NetworkCounts, probabilities: list[NDArray[np.float64]], smoother: Smoother
) -> _core.FactorProduct:
    """Pack the probabilities that a smoother gave for the counts, one factor at a time."""
    factors = []
    for factor in build_factors(counts, probabilities, smoother):
        factors.append(_core.pack_scores(factor, 0.0))
    log_prior = log_class_prior(counts.class_tree, probabilities[0], smoother.rest)
    return _core.join_products(factors, log_prior)


def build_factors(
    counts: NetworkCounts, probabilities: list[NDArray[np.float64]], smoother: Smoother
) -> Iterator[Factor]:
    """Yield the factors of the features, in the order of the network."""
    network, n_classes = counts.network, counts.class_tree.n_outcomes
    for i, tree, p in zip(network.order, counts.feature_trees, probabilities[1:], strict=True):
        yield _core.build_factor(
            Factor, i, network.parents[i], tree, p, smoother.rest == "parent", n_classes,
            smoother.backoff,
        )  # fmt: skip


def log_class_prior(
    class_tree: CountTree, probabilities: NDArray[np.float64], rest: str = "parent"
) -> NDArray[np.float64]:
    """Return the logarithms of the class probabilities before any feature is known."""
    with np.errstate(divide="ignore"):
        return np.log(class_tree.rows(probabilities, rest=rest)[0])


def choose_candidate(
    candidates: Sequence[Smoother], counted: Counted, *, n_jobs: int = 1
) -> Smoother:
    """Choose the smoother with the least squared error on the rows held back, the first of equals.

    If no rows are held back, the last is chosen: it smooths most.
    """
    if counted.training is None or counted.rows is None:
        return candidates[-1]
    held = counted.rows
    losses = []
    for candidate in candidates:
        product = smooth_network(counted.training, candidate, n_jobs=n_jobs)
        proba = class_proba(product, held.columns, n_jobs)
        losses.append(float(held.weights @ squared_error(proba, held.y)))
    return candidates[pick(losses)]


N_BLOCKS = N_FOLDS
"""Blocks of scored rows that are left out of the counts in turn."""

MIN_ROWS = tuple(160 // 2**i for i in range(8))
"""Candidate thresholds: contexts with fewer rows than the chosen one are dropped."""
CONTEXT_TOLERANCE = 5e-3
"""Share of the log-loss of a network that dropped contexts may cost. The flagship loses nothing:
its log-loss is 0.9999 (standard error 0.0001) of that with 0.001 on 13 sets of 550 to 1,500
rows, and the file of 5,000 rows of 28 numbers has 7 MB instead of 17 (2026-11)."""

MIN_SCORED_ROWS, MAX_SCORED_ROWS = 150, 2_500
"""Smallest and largest number of rows that the weights of a network are fitted on, if the table
has them; the weights are few."""

MAX_SCORES = 2_000_000
"""Largest number of estimates that these weights are fitted on: rows x classes x levels x features.
"""

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

    @property
    def of_levels(self) -> NDArray[np.float64]:
        """The weight of what each level adds to the score of each feature (features, levels).

        With C_m = tau_m + w [m <= l*], the score of a path is S_u = S_parent + C_m (log theta_u -
        log theta_parent), and C_0 log theta at the class.
        """
        is_used = np.arange(len(self.level)) <= self.best_level
        return self.level + self.feature[:, None] * is_used


def count_scored(n_scores: int) -> int:
    """Return on how many rows weights are fitted, if a row has `n_scores` estimates."""
    return min(MAX_SCORED_ROWS, max(MIN_SCORED_ROWS, MAX_SCORES // n_scores))


def draw_scored_rows(
    network: Network, n_rows: int, n_classes: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Draw the rows that weights are fitted on, in ascending order.

    At most `MAX_SCORED_ROWS`, and few enough for at most `MAX_SCORES` estimates; none for a
    network without features.
    """
    if not network.order:
        return np.zeros(0, dtype=np.intp)
    n_levels = 1 + max(len(network.parents[i]) for i in network.order)
    n_scored = count_scored(n_classes * n_levels * len(network.order))
    if n_scored >= n_rows:
        return np.arange(n_rows)
    return np.sort(generator.choice(n_rows, n_scored, replace=False))


@dataclass(frozen=True, eq=False)
class CrossFit:
    """What is known of the factors once the weights can be fitted, in the order of the network.

    `scores` are log theta of the scored rows without their block, of shape (n_features, n_rows,
    n_classes, n_levels); `context_rows` the rows of the contexts that the first `MAX_JUDGED_ROWS`
    of them meet, of shape (n_features, n_rows, n_levels); `shrinkage` the weight of the
    parent's row at each level of each tree, one tree after the other.
    """

    scores: NDArray[np.float32]
    context_rows: NDArray[np.float32]
    shrinkage: NDArray[np.float64]


def deal_into_blocks(
    group: NDArray[np.intp] | None, n_rows: int, generator: np.random.Generator
) -> NDArray[np.int32]:
    """Return the block of each scored row; rows of a `group` share it, None for single rows.

    Blocks are of scored rows only; the others stay counted, as most of the rows always do.
    """
    if group is None:
        return generator.permutation(n_rows).astype(np.int32) % N_BLOCKS
    _, place = np.unique(group, return_inverse=True)
    return (generator.permutation(int(place.max(initial=0)) + 1).astype(np.int32) % N_BLOCKS)[place]


def cross_fit(
    trees: NetworkTrees,
    scored: CodedRows,
    block: NDArray[np.int32],
    class_row_weight: NDArray[np.float64] | None = None,
) -> CrossFit:
    """Score rows level by level, with the counts of all rows but those of their block.

    `class_row_weight` is what a row of each class weighs, one if None. Only one count tree is held
    at a time.
    """
    network = trees.network
    n_levels = 1 + max((len(network.parents[i]) for i in network.order), default=0)
    shrinkage, scores, context_rows = _core.cross_fit_network(
        trees.factor_trees, [scored.columns[i] for i in network.order], scored.y, scored.weight,
        block, min(N_BLOCKS, scored.n_rows), n_levels, min(scored.n_rows, MAX_JUDGED_ROWS),
        class_row_weight,
    )  # fmt: skip
    return CrossFit(scores, context_rows, shrinkage)


def fit_weights(
    log_prior: NDArray[np.float64],
    scores: NDArray[np.float32],
    scored: CodedRows,
    unseen: NDArray[np.bool_],
) -> ScoreWeights:
    """Fit the weights on the scored rows.

    The `unseen` ones had no part in learning the structure, and choose l*.
    """
    if not len(scores):
        return ScoreWeights(np.zeros(0), np.ones(1), np.zeros(scored.n_classes), 0)
    y, weight = scored.y, scored.weight
    n_features, _, n_classes, n_levels = scores.shape
    by_level = scores.sum(axis=0, dtype=np.float64)
    best_level = _choose_level(log_prior + by_level.transpose(2, 0, 1), scored, unseen)
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
        np.ascontiguousarray(features), log_prior, y, weight, centre, penalty
    )
    w, tau, intercept = np.split(fitted, [n_features, n_features + n_levels])
    return ScoreWeights(w, tau, intercept, best_level)


def choose_min_rows(
    log_prior: NDArray[np.float64], estimates: CrossFit, scored: CodedRows, weights: ScoreWeights
) -> float:
    """Return how many rows a context must have to be worth its memory.

    The largest of `MIN_ROWS` with which the log-loss of scored rows is at most
    `CONTEXT_TOLERANCE` above the least, as a share of it.
    """
    joint = _core.score_kept_contexts(
        estimates.scores, weights.of_levels, estimates.context_rows, np.array(MIN_ROWS, float),
        log_prior + weights.intercept,
    )  # fmt: skip
    judged = slice(joint.shape[1])
    losses = _core.sum_log_losses(joint, scored.y[judged], scored.weights[judged])
    return float(MIN_ROWS[pick(losses, CONTEXT_TOLERANCE)])


def pack_network(
    trees: NetworkTrees,
    log_prior: NDArray[np.float64],
    estimates: CrossFit,
    weights: ScoreWeights,
    min_rows: float,
) -> _core.FactorProduct:
    """Return the network with the weights in its factors.

    Contexts with fewer than `min_rows` rows are left out. One count tree is held at a time.
    """
    return _core.pack_weighted_network(
        trees.factor_trees, estimates.shrinkage, weights.of_levels, min_rows,
        log_prior + weights.intercept,
    )  # fmt: skip


def list_levels(
    network: Network, shrinkage: NDArray[np.float64], weights: ScoreWeights
) -> NDArray[np.float64]:
    """Return the shrinkage and the weight of the levels of all factors, one after the other.

    The first two levels of a factor, without and with the class, share their weight.
    """
    with_root = weights.of_levels[:, [0, *range(len(weights.level))]]
    n_levels = np.array([2 + len(network.parents[i]) for i in network.order], dtype=np.intp)
    return np.array([shrinkage, with_root[np.arange(with_root.shape[1]) < n_levels[:, None]]])


def _choose_level(joint: NDArray[np.float64], scored: CodedRows, unseen: NDArray[np.bool_]) -> int:
    """Return the level whose plain network has the least log-loss.

    `joint` has the shape (n_levels, n_rows, n_classes).
    """
    weight = scored.weights * unseen if unseen.any() else scored.weights
    return pick(_core.sum_log_losses(np.ascontiguousarray(joint), scored.y, weight))
