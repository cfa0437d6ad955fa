"""The hierarchical Dirichlet smoother: kernels against twins, priors, draws."""

from typing import Any

import numpy as np
import pytest

import priorwise.counts.tree
from priorwise import _core
from priorwise.counts import CountTree
from priorwise.smoothing import HDP
from priorwise.smoothing.hdp import PRIORS, ROOT_CONCENTRATION, tie_nodes
from reference.smoothing import hdp_fixed_point
from reference.smoothing.hdp_exact import tied_group
from reference.trees import Context, as_dict_tree, contexts_of

TYINGS = ("level", "single", "parent", "none")


def grow_tree(rng: np.random.Generator, n_rows: int, arities: tuple, n_outcomes: int) -> CountTree:
    path = [rng.integers(0, arity, n_rows) for arity in arities]
    shift = sum(column for column in path) if path else 0
    outcome = (rng.geometric(0.4, n_rows) + shift) % n_outcomes
    return CountTree.from_rows(path, outcome, n_outcomes)


def solve(
    tree: CountTree, tying: str, prior: str, max_passes: int = 3000, tolerance: float = 1e-13
) -> tuple:
    chosen, group = PRIORS[prior], tie_nodes(tree, tying)
    start = np.full(int(group.max(initial=0)) + 1, chosen.start)
    return _core.solve_process(
        tree,
        group,
        start,
        None,
        False,
        chosen.shape,
        chosen.rate,
        ROOT_CONCENTRATION,
        max_passes,
        tolerance,
    )


TREES = [(80, (2, 3), 4), (60, (2, 2, 2, 2), 3), (400, (2, 2), 3)]
"""Rows, arities and outcomes."""


# All pairs of a tree, a tying and a prior.
@pytest.mark.parametrize(
    ("n_rows", "arities", "n_outcomes", "tying", "prior"),
    [
        (*tree, tying, ("diffuse", "thesis")[(i + k) % 2])
        for i, tree in enumerate(TREES)
        for k, tying in enumerate(TYINGS)
    ],
)
def test_fixed_point_solves_its_equations(
    n_rows: int, arities: tuple, n_outcomes: int, tying: str, prior: str, rng: np.random.Generator
) -> None:
    tree = grow_tree(rng, n_rows, arities, n_outcomes)
    chosen = PRIORS[prior]

    def group_of(context: Context) -> object:
        return tied_group(context, tying)

    phi, c = hdp_fixed_point.solve(
        as_dict_tree(tree), group_of, chosen.shape, chosen.rate, chosen.start
    )
    p, passed, concentration, _, _ = solve(tree, tying, prior)
    contexts = contexts_of(tree)
    np.testing.assert_allclose(tree.rows(p, rest="parent"), [phi[u] for u in contexts], atol=1e-7)
    group = tie_nodes(tree, tying)
    expected = [c[group_of(u)] for u in contexts[1:]]
    np.testing.assert_allclose(concentration[group[1:]], expected, rtol=1e-5)
    seen = tree.counts > 0
    assert np.all(passed <= tree.counts + 1e-9)
    assert np.all((passed > 0) == (seen & (tree.parent_cell >= 0)))


@pytest.mark.parametrize("n_outcomes", [3, 7])
def test_rows_that_end_above_the_leaves_are_rows_of_their_node(
    n_outcomes: int, rng: np.random.Generator
) -> None:
    path = [rng.integers(-1, 3, 120) for _ in range(2)]
    tree = CountTree.from_rows(path, rng.integers(0, n_outcomes, 120), n_outcomes)
    phi, _ = hdp_fixed_point.solve(as_dict_tree(tree), len, 1.0, 0.02, 20.0)
    p = solve(tree, "level", "diffuse")[0]
    rows = tree.rows(p, rest="parent")
    np.testing.assert_allclose(rows, [phi[u] for u in contexts_of(tree)], atol=1e-6)
    sampled = HDP("gibbs", n_iter=4000).smooth(tree, 0)
    np.testing.assert_allclose(tree.rows(sampled, rest="parent"), rows, atol=0.05)


def test_fixed_point_takes_fractional_weights(rng: np.random.Generator) -> None:
    tree = CountTree.from_rows([rng.integers(0, 4, 50)], rng.integers(0, 3, 50), 3,
                               weight=rng.random(50) * 3)  # fmt: skip
    phi, _ = hdp_fixed_point.solve(as_dict_tree(tree), len, 1.0, 0.02, 20.0)
    p = solve(tree, "level", "diffuse")[0]
    np.testing.assert_allclose(
        tree.rows(p, rest="parent"), [phi[u] for u in contexts_of(tree)], atol=1e-7
    )
    with pytest.raises(ValueError, match="'gibbs' needs whole counts"):
        HDP("gibbs").smooth(tree)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("tying", TYINGS)
def test_nodes_of_one_row_leave_concentrations_at_the_mean_of_the_prior(
    tying: str, prior: str
) -> None:
    tree = CountTree.from_rows([range(6)], [0, 1, 0, 1, 0, 1], 2)
    c = solve(tree, tying, prior)[2]
    np.testing.assert_allclose(c, PRIORS[prior].shape / PRIORS[prior].rate, rtol=1e-6)
    rows = HDP(tying=tying, prior=prior).rows(tree)
    exact = HDP("gibbs", tying=tying, prior=prior, n_iter=20_000).rows(tree)
    np.testing.assert_allclose(rows, exact, atol=0.06)


def test_fixed_point_stops_when_a_concentration_reaches_its_bound() -> None:
    tree = CountTree.from_rows([[0, 1, 2]], [0, 1, 1], 2)
    group = tie_nodes(tree, "level")
    *_, concentration, _, n_passes = _core.solve_process(
        tree, group, np.ones(1), None, False, 1.0, 1e9, ROOT_CONCENTRATION, 1000, 1e-3
    )
    assert concentration == 1e-6
    assert n_passes < 30


def test_default_estimate_is_near_the_fixed_point(rng: np.random.Generator) -> None:
    tree = grow_tree(rng, 2000, (3, 4), 4)
    for tying in TYINGS:
        p = solve(tree, tying, "diffuse")[0]
        np.testing.assert_allclose(HDP(tying=tying).smooth(tree), p, atol=3e-3)


def test_alike_siblings_share_and_unlike_ones_do_not(rng: np.random.Generator) -> None:
    leaf = np.repeat(np.arange(40), 20)
    alike = CountTree.from_rows([leaf], (rng.random(800) < 0.3).astype(int), 2)
    unlike = CountTree.from_rows([leaf], leaf % 2, 2)
    assert HDP().concentrations(alike)[1] > 10 * HDP().concentrations(unlike)[1]
    assert HDP().concentrations(alike)[0] == ROOT_CONCENTRATION


def test_explicit_prior_overrides_the_named_one(rng: np.random.Generator) -> None:
    tree = grow_tree(rng, 60, (3, 2), 3)
    named = HDP(prior="thesis").smooth(tree)
    np.testing.assert_allclose(HDP(prior_shape=2.0, prior_rate=1.0).smooth(tree), named, atol=1e-3)
    half = HDP(prior="thesis", prior_rate=0.01).smooth(tree)
    np.testing.assert_allclose(half, HDP(prior_shape=2.0, prior_rate=0.01).smooth(tree), rtol=1e-12)
    assert np.abs(half - named).max() > 0.01


def test_a_huge_concentration_pools_all_leaves() -> None:
    tree = CountTree.from_rows([[0, 0, 0, 1]], [0, 0, 0, 1], 2)
    for inference in ("variational", "gibbs"):
        rows = HDP(inference, prior_shape=1e9, prior_rate=1.0).rows(tree)
        np.testing.assert_allclose(rows, [[4 / 6, 2 / 6]] * 3, atol=1e-3)


def test_draws_are_distributions_with_the_mean_of_gibbs(rng: np.random.Generator) -> None:
    tree = grow_tree(rng, 100, (2, 3), 3)
    smoother = HDP("gibbs", prior="thesis", n_iter=20_000)
    draws = smoother.sample(tree, n_samples=2000, seed=3)
    assert draws.shape == (2000, tree.n_cells)
    rows = draws.reshape(2000, tree.n_nodes, 3)
    np.testing.assert_allclose(rows.sum(axis=2), 1.0, atol=1e-12)
    assert np.all(draws >= 0)
    np.testing.assert_allclose(draws.mean(axis=0), smoother.smooth(tree, 3), atol=0.03)
    np.testing.assert_array_equal(smoother.sample(tree, n_samples=2000, seed=3), draws)
    assert not np.array_equal(smoother.sample(tree, n_samples=2000, seed=4), draws)


def test_draws_of_a_sparse_tree_are_those_of_a_dense_one(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, outcome = [rng.integers(0, 2, 60)], rng.integers(0, 6, 60)
    outcome[path[0] == 1] %= 3
    monkeypatch.setattr(priorwise.counts.tree, "MAX_DENSE_OUTCOMES", 64)
    dense = CountTree.from_rows(path, outcome, 12)
    monkeypatch.setattr(priorwise.counts.tree, "MAX_DENSE_OUTCOMES", 0)
    sparse = CountTree.from_rows(path, outcome, 12)
    smoother = HDP(prior="thesis", n_iter=4000)
    quantiles = []
    for tree in (dense, sparse):
        draws = smoother.sample(tree, n_samples=4000, seed=1)
        rows = np.array([tree.rows(draw, rest="parent") for draw in draws])
        listed = sparse.count_rows() > 0
        quantiles.append(np.quantile(rows[:, listed], [0.05, 0.5, 0.95], axis=0))
    np.testing.assert_allclose(quantiles[0], quantiles[1], atol=0.02)


def test_more_draws_than_sweeps_make_more_sweeps() -> None:
    tree = CountTree.from_rows([[0, 0, 1]], [0, 1, 1], 2)
    draws = HDP(n_iter=5).sample(tree, n_samples=50)
    assert len(np.unique(draws[:, 0])) == 50
    with pytest.raises(ValueError, match="n_samples must be a number at least 1, got 0"):
        HDP().sample(tree, n_samples=0)


def test_ties_group_nodes_by_level_parent_all_or_none() -> None:
    tree = CountTree.from_rows([[0, 0, 1], [0, 1, 1]], [0, 1, 1], 2)
    contexts = contexts_of(tree)
    for tying in TYINGS:
        group = tie_nodes(tree, tying)
        assert group[0] == -1
        for u in range(1, tree.n_nodes):
            for v in range(1, tree.n_nodes):
                together = tied_group(contexts[u], tying) == tied_group(contexts[v], tying)
                assert (group[u] == group[v]) == together


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"group": [-1]}, "group needs one entry per node"),
        ({"group": [-1, 0, 5]}, "group must lie in"),
        ({"passed": [1.0]}, "passed needs one entry per cell"),
        ({"n_burn_in": 9}, r"n_burn_in must lie in 0\.\.8, got 9"),
    ],
)
def test_kernel_rejects_arrays_that_do_not_fit(changes: dict, message: str) -> None:
    tree = CountTree.from_rows([[0, 0, 1]], [0, 1, 1], 2)
    arguments: dict[str, Any] = {
        "group": [-1, 0, 0], "passed": np.ones(6), "concentration": np.ones(1),
        "discount": None, "learn_discounts": False, "shape": 1.0,
        "rate": 1.0, "root_concentration": 2.0, "n_sweeps": 9, "n_burn_in": 0, "n_draws": 0,
        "seed": 0,
    }  # fmt: skip
    arguments |= changes
    arguments["group"] = np.array(arguments["group"], dtype=np.int32)
    arguments["passed"] = np.array(arguments["passed"], dtype=float)
    with pytest.raises(ValueError, match=message):
        _core.sample_process(tree, **arguments)
