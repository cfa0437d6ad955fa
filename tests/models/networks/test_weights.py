"""Weighted networks: kernels against slow twins, and what the weights promise."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from priorwise import _core
from priorwise.counts import CodedRows, CountTree
from priorwise.models.networks.network_model import (
    CrossFit,
    ScoreWeights,
    choose_min_rows,
    cross_fit,
    deal_into_blocks,
    fit_weights,
    log_class_prior,
    pack_network,
    smooth_network,
)
from priorwise.smoothing import LevelShrinkage
from priorwise.steps.networks.contributions import class_proba, log_joint
from priorwise.structure import Network
from priorwise.structure.networks import CountedWhenAsked, NetworkCounts

NETWORK = Network(((), (0,), (1, 0)), (0, 1, 2))


@pytest.fixture
def rows(rng: np.random.Generator) -> CodedRows:
    y = rng.integers(0, 3, 80)
    first = (y + rng.integers(0, 3, 80)) % 4
    second = (first + rng.integers(0, 2, 80)) % 3
    third = (second + y + rng.integers(0, 2, 80)) % 5
    columns = [column.astype(np.int32) for column in (first, second, third)]
    return CodedRows(columns, np.array([4, 3, 5], np.int32), y.astype(np.int32), 3)


def estimate(rows: CodedRows, counted: np.ndarray, feature: int, level: int, row: int, y: int):
    """log theta of a row's value given the class and its first parents, counting some rows."""
    tree = whole_tree(rows, feature)
    weights = _core.level_weights(tree)
    path = [rows.y, *(rows.columns[parent] for parent in NETWORK.parents[feature][:level])]
    context = [y, *(rows.columns[parent][row] for parent in NETWORK.parents[feature][:level])]
    x = rows.columns[feature]
    p = 1.0 / rows.arities[feature]
    for depth in range(len(path) + 1):
        inside = counted.copy()
        for column, value in zip(path[:depth], context[:depth], strict=True):
            inside &= column == value
        n, total = np.sum(inside & (x == x[row])), np.sum(inside)
        if total > 0:
            p = (n + weights[depth] * p) / (total + weights[depth])
    return np.log(p)


def whole_tree(rows: CodedRows, feature: int) -> CountTree:
    path = [rows.y, *(rows.columns[parent] for parent in NETWORK.parents[feature])]
    return CountTree.from_rows(path, rows.columns[feature], int(rows.arities[feature]))


def weighted_model(rows: CodedRows, weights: ScoreWeights) -> _core.FactorProduct:
    counts = NetworkCounts.count(NETWORK, rows)
    log_prior = log_class_prior(counts.class_tree, LevelShrinkage().smooth(counts.class_tree))
    shrinkage = np.concatenate([_core.level_weights(tree) for tree in counts.feature_trees])
    estimates = CrossFit(np.zeros(0, np.float32), np.zeros(0, np.float32), shrinkage)
    return pack_network(counts, log_prior, estimates, weights, 0.0)


def test_trees_that_are_counted_when_asked_are_those_of_all_rows(rows: CodedRows) -> None:
    """Kept or counted again, with weights, to the same bits."""
    rows = replace(rows, weight=np.linspace(0.5, 2.0, rows.n_rows))
    block = (np.arange(rows.n_rows) % 4).astype(np.int32)
    weights = ScoreWeights(np.zeros(3), np.ones(3), np.zeros(3), 0)
    answers = []
    for trees in (NetworkCounts.count(NETWORK, rows), CountedWhenAsked(NETWORK, rows)):
        estimates = cross_fit(trees, rows, block)
        for min_rows in (0.0, 6.0):
            packed = pack_network(trees, np.log([0.2, 0.3, 0.5]), estimates, weights, min_rows)
            answers.append([pickle.dumps(packed), estimates.scores.tobytes()])
    assert answers[:2] == answers[2:]
    assert answers[0] != answers[1]


def test_too_many_contexts_of_asked_trees_are_refused(rows: CodedRows) -> None:
    counts = NetworkCounts.count(NETWORK, rows)
    block = np.zeros(rows.n_rows, np.int32)
    cross_fit(CountedWhenAsked(NETWORK, rows, counts.n_contexts), rows, block)
    trees = CountedWhenAsked(NETWORK, rows, counts.n_contexts - 1)
    expected = f"max_contexts must .*got {counts.n_contexts - 1} for {counts.n_contexts}: allow"
    with pytest.raises(ValueError, match=expected):
        cross_fit(trees, rows, block)


def fit_weighted(
    counts: NetworkCounts, scored: CodedRows, unseen: np.ndarray, rng: np.random.Generator
) -> tuple[_core.FactorProduct, ScoreWeights]:
    prior = LevelShrinkage().smooth(counts.class_tree)
    log_prior = log_class_prior(counts.class_tree, prior)
    estimates = cross_fit(counts, scored, deal_into_blocks(None, scored.n_rows, rng))
    weights = fit_weights(log_prior, estimates.scores, scored, unseen)
    min_rows = choose_min_rows(log_prior, estimates, scored, weights)
    return pack_network(counts, log_prior, estimates, weights, min_rows), weights


def test_cross_fitted_levels_equal_counting_without_the_block(rows: CodedRows) -> None:
    block = (np.arange(rows.n_rows) % 4).astype(np.int32)
    counts = NetworkCounts.count(NETWORK, rows)
    shrinkage, of_features, _ = _core.cross_fit_network(
        counts.factor_trees, rows.columns, rows.y, None, block, 4, 3, 0, None
    )
    slow = np.concatenate([_core.level_weights(tree) for tree in counts.feature_trees])
    np.testing.assert_array_equal(shrinkage, slow)
    for feature, scores in enumerate(of_features):
        for row in range(0, rows.n_rows, 7):
            for y in range(3):
                for level in range(3):
                    expected = estimate(rows, block != block[row], feature, level, row, y)
                    assert scores[row, y, level] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_log_losses_are_summed_table_by_table(rng: np.random.Generator, n_classes: int) -> None:
    joint = 30.0 * rng.normal(size=(3, 300, n_classes))
    joint[0, 0, 0] = -1e6  # its probability is zero
    y = rng.integers(0, n_classes, 300).astype(np.int32)
    y[0] = 1
    for weight in (np.ones(300), rng.integers(0, 3, 300).astype(np.float64)):
        own = log_softmax(joint, axis=2)[:, np.arange(300), y]
        np.testing.assert_allclose(_core.sum_log_losses(joint, y, weight), -own @ weight)


# Few parameters are found by Newton steps, many by limited-memory BFGS.
@pytest.mark.parametrize("n_features", [3, 150])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_conditional_fit_finds_the_minimum_of_the_penalised_loss(
    rng: np.random.Generator, n_classes: int, weighted: bool, n_features: int
) -> None:
    features = rng.normal(size=(150, n_classes, n_features)).astype(np.float32)
    y = rng.integers(0, n_classes, 150).astype(np.int32)
    offset, weight = rng.normal(size=n_classes), rng.random(150) * 2 if weighted else None
    centre = rng.normal(size=n_features + n_classes) / np.sqrt(n_features)
    penalty = rng.choice([0.5, 2.0, 5.0], size=n_features + n_classes)

    truth = y[:, None] == np.arange(n_classes)
    row_weight = np.ones(150) if weight is None else weight

    def cost(value: np.ndarray) -> tuple[float, np.ndarray]:
        score = offset + value[n_features:] + features @ value[:n_features]
        log_proba = log_softmax(score, axis=1)
        away = value - centre
        excess = row_weight[:, None] * (np.exp(log_proba) - truth)
        slope = [np.einsum("rc,rcf->f", excess, features), excess.sum(axis=0)]
        loss = -np.sum(row_weight * log_proba[truth]) + 0.5 * np.sum(penalty * away**2)
        return loss, np.concatenate(slope) + penalty * away

    fitted = _core.fit_conditional(features, offset, y, weight, centre, penalty)
    slow = minimize(cost, centre, jac=True, method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(fitted, slow.x, atol=5e-3)
    assert cost(fitted)[0] <= slow.fun + 1e-5 * (1.0 + abs(slow.fun))


def test_weights_of_one_leave_the_network_as_it_is(rows: CodedRows) -> None:
    model = smooth_network(NetworkCounts.count(NETWORK, rows), LevelShrinkage())
    plain = ScoreWeights(np.zeros(3), np.ones(3), np.zeros(3), best_level=1)
    np.testing.assert_allclose(
        log_joint(weighted_model(rows, plain), rows.columns),
        log_joint(model, rows.columns),
        rtol=1e-6,
    )


def test_weighted_score_is_the_weighted_sum_of_levels(rows: CodedRows) -> None:
    model = smooth_network(NetworkCounts.count(NETWORK, rows), LevelShrinkage())
    weights = ScoreWeights(
        np.array([0.3, -0.2, 0.1]),
        np.array([0.9, 0.4, 0.7]),
        np.array([0.1, 0.0, -0.5]),
        best_level=1,
    )
    joint = log_joint(weighted_model(rows, weights), rows.columns)
    everything = np.ones(rows.n_rows, dtype=bool)
    for row in range(0, rows.n_rows, 9):
        for y in range(3):
            expected = model.log_prior[y] + weights.intercept[y]
            for feature in range(3):
                levels = [estimate(rows, everything, feature, level, row, y) for level in range(3)]
                steps = np.diff([0.0, *levels])
                expected += weights.feature[feature] * levels[1] + weights.level @ steps
            assert joint[row, y] == pytest.approx(expected, abs=2e-6)


def test_fitted_weights_lower_the_loss_of_new_rows(rng: np.random.Generator) -> None:
    # Features repeated four times: the plain network counts the same evidence four times over.
    y = rng.integers(0, 2, 2000)
    once = (y + (rng.random(2000) < 0.35)) % 2
    columns = [once.astype(np.int32)] * 4
    rows = CodedRows(columns, np.full(4, 2, np.int32), y.astype(np.int32), 2)
    train, test = np.arange(1000), np.arange(1000, 2000)
    counts = NetworkCounts.count(Network.naive(4), rows.take(train))
    unseen = rng.random(1000) < 0.4
    weighted, _ = fit_weighted(counts, rows.take(train), unseen, rng)
    plain = smooth_network(counts, LevelShrinkage())
    held = rows.take(test)

    def loss(model: _core.FactorProduct) -> float:
        return -np.log(class_proba(model, held.columns)[np.arange(1000), held.y]).mean()

    assert loss(weighted) < loss(plain) - 0.1


def test_a_network_without_features_is_the_prior(rows: CodedRows) -> None:
    empty = Network(((), (), ()), ())
    counts = NetworkCounts.count(empty, rows)
    unseen = np.zeros(rows.n_rows, dtype=bool)
    model, weights = fit_weighted(counts, rows, unseen, np.random.default_rng(0))
    assert len(weights.feature) == 0
    prior = np.bincount(rows.y) + 1 / 3
    np.testing.assert_allclose(class_proba(model, rows.columns)[0], prior / prior.sum())


def test_levels_are_shrunk_as_leaving_out_whole_rows_would_choose(rows: CodedRows) -> None:
    """The weight of each level beats its neighbours when each row is left out with its weight."""
    class_weight = np.array([4.0, 1.0, 0.5])
    weight = class_weight[rows.y]
    counts = NetworkCounts.count(NETWORK, replace(rows, weight=weight))
    block = np.zeros(rows.n_rows, np.int32)
    of_levels, *_ = _core.cross_fit_network(
        counts.factor_trees, rows.columns, rows.y, weight, block, 1, 3, 0, class_weight
    )
    depths = [tree.depth + 1 for tree in counts.feature_trees]
    for feature, chosen in enumerate(np.split(of_levels, np.cumsum(depths)[:-1])):
        for level in range(1, len(chosen)):
            if 0.2 < chosen[level] < 600.0:
                losses = [
                    left_out_loss(
                        rows, weight, feature, level, [*chosen[:level], c * chosen[level]]
                    )
                    for c in (0.5, 1.0, 2.0)
                ]
                assert losses[1] < min(losses[0], losses[2])


def left_out_loss(
    rows: CodedRows, weight: np.ndarray, feature: int, level: int, strengths: list[float]
) -> float:
    """Log-loss of a feature from the class and its first parents, each row left out in turn."""
    path = [rows.y, *(rows.columns[parent] for parent in NETWORK.parents[feature])][:level]
    x, loss = rows.columns[feature], 0.0
    for row in range(rows.n_rows):
        others = np.arange(rows.n_rows) != row
        p = 1.0 / rows.arities[feature]
        for depth, c in enumerate(strengths):
            if depth:
                others &= path[depth - 1] == path[depth - 1][row]
            n = weight[others & (x == x[row])].sum()
            p = (n + c * p) / (weight[others].sum() + c)
        # A row that is alone says nothing of the weight.
        loss -= weight[row] * np.log(p) * bool(others.any())
    return loss
