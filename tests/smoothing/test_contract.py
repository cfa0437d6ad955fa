"""What every smoother promises, tested once for all of them.

A new smoother needs one line in `ENTRIES`: an instance, its twin, and how closely they agree.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

import priorwise.counts.tree
from priorwise.counts import CountTree
from priorwise.smoothing import (
    HDP,
    HGS,
    MLE,
    BestOf,
    HierarchicalShrinkage,
    Laplace,
    LevelShrinkage,
    MBranch,
    MEstimate,
    ParentEstimate,
    PitmanYor,
    PruningAverage,
    Smoother,
)
from priorwise.smoothing.base import as_smoother, smooth_trees
from reference import decision_trees
from reference.smoothing import additive, hdp_fixed_point, smoothers
from reference.trees import Table, as_dict_tree, contexts_of, validate, without_row


@dataclass
class Entry:
    smoother: Smoother
    twin: Callable[[CountTree], Table]
    twin_error: float = 1e-12
    """How far from the twin an estimate may be."""
    noise: float = 1e-9
    """How far apart two estimates of equal meaning may be: rounding, or sampling."""
    positive: bool = True
    shares_rest: bool = True
    """Whether unlisted outcomes of a sparse tree get exactly what a dense one gives them."""


def gibbs(tying: str, prior: str) -> Entry:
    # Concentrations move slowly under the diffuse prior.
    smoother = HDP("gibbs", tying=tying, prior=prior, n_iter=2000 if prior == "thesis" else 20_000)
    return Entry(smoother, smoothers.hdp_by_coins(tying, prior), twin_error=0.025, noise=0.025)


def variational(tying: str, prior: str) -> Entry:
    # The iteration stops when log c moves by less than 2e-3; test_hdp.py lets the kernel finish
    # and compares more closely.
    twin_error = 6e-3
    twin = smoothers.hdp_fixed_point(tying, prior)
    return Entry(HDP(tying=tying, prior=prior), twin, twin_error)


def discounted() -> Entry:
    def twin(tree: CountTree) -> Table:
        return hdp_fixed_point.solve(as_dict_tree(tree), len, 1.0, 0.02, 20.0, 2000, 0.3)[0]

    return Entry(PitmanYor(discount=0.3), twin, twin_error=6e-3)


def hgs(mode: str, loss: str) -> Entry:
    # Weights are found to the optimiser's tolerance; a sparse row shares by its parent's estimate.
    twin = smoothers.hgs(mode, loss)
    return Entry(HGS(mode, loss=loss), twin, twin_error=1e-3, noise=1e-4, shares_rest=False)


def tree_smoother(smoother: Smoother, twin: Callable[[CountTree], np.ndarray]) -> Entry:
    # A sparse row shares by its parent's estimate.
    def table(tree: CountTree) -> Table:
        return dict(zip(contexts_of(tree), twin(tree), strict=True))

    return Entry(smoother, table, shares_rest=False)


TYINGS = ("level", "single", "parent", "none")
ENTRIES = [
    Entry(MLE(), lambda tree: additive.mle(as_dict_tree(tree)), positive=False),
    Entry(Laplace(), lambda tree: additive.laplace(as_dict_tree(tree))),
    Entry(MEstimate(), lambda tree: additive.m_estimate(as_dict_tree(tree), 1.0)),
    Entry(MEstimate(5), lambda tree: additive.m_estimate(as_dict_tree(tree), 5.0)),
    Entry(MEstimate(0), lambda tree: additive.mle(as_dict_tree(tree)), positive=False),
    Entry(MBranch(), lambda tree: additive.m_branch(as_dict_tree(tree), 4.0)),
    Entry(MBranch(0.5), lambda tree: additive.m_branch(as_dict_tree(tree), 0.5)),
    Entry(ParentEstimate(1.0), lambda tree: additive.parent_estimate(as_dict_tree(tree), 1.0)),
    Entry(ParentEstimate(8.0), lambda tree: additive.parent_estimate(as_dict_tree(tree), 8.0)),
    # The weight is where the likelihood's derivative changes its sign, to a few per cent.
    Entry(
        LevelShrinkage(),
        lambda tree: additive.level_shrinkage(as_dict_tree(tree)),
        twin_error=3e-3,
    ),
    *[variational(tying, prior) for tying in TYINGS for prior in ("diffuse", "thesis")],
    discounted(),
    *[gibbs(tying, "thesis") for tying in TYINGS],
    gibbs("level", "diffuse"),
    *[hgs(mode, loss) for mode in ("optimised", "published") for loss in ("log", "squared")],
    *[
        tree_smoother(
            HierarchicalShrinkage(lam),
            partial(decision_trees.shrink_hierarchically, strength=lam),
        )
        for lam in (0.2, 10.0)
    ],
    *[
        tree_smoother(
            PruningAverage(rate, pseudo_count=pseudo, stop=stop),
            partial(decision_trees.average_prunings, stop=stop, pseudo=pseudo, rate=rate),
        )
        for rate, pseudo, stop in ((1.0, 1.0, 0.5), (0.2, 3.0, 0.1))
    ],
]


@pytest.fixture(params=ENTRIES, ids=lambda entry: str(entry.smoother))
def entry(request: pytest.FixtureRequest) -> Entry:
    return request.param


def draw_rows(rng: np.random.Generator, n_rows: int = 150, n_outcomes: int = 3) -> tuple:
    """Two levels; the outcome depends on both."""
    a, b = rng.integers(0, 3, n_rows), rng.integers(0, 3, n_rows)
    noisy = (a + (rng.random(n_rows) < 0.4) * (1 + b)) % n_outcomes
    return [a, b], noisy, n_outcomes


@pytest.fixture
def tree(rng: np.random.Generator) -> CountTree:
    return CountTree.from_rows(*draw_rows(rng))


def estimate(entry: Entry, tree: CountTree, seed: int = 1) -> np.ndarray:
    return entry.smoother.rows(tree, seed=seed)


def edge_trees() -> dict[str, CountTree]:
    return {
        "depth 0": CountTree.from_rows([], [0, 1, 1, 2], 4),
        "one row": CountTree.from_rows([[0], [3]], [1], 3),
        "one outcome": CountTree.from_rows([[0, 0, 1]], [0, 0, 0], 1),
        "no rows": CountTree.from_rows([[], []], [], 3),
        "single-row classes": CountTree.from_rows([[0, 0, 1, 1, 2], [0, 1, 0, 1, 0]], range(5), 5),
        "one-row ancestors": CountTree.from_rows([[0, 1, 2, 3], [0, 0, 0, 0]], [0, 0, 0, 1], 2),
        "one child each": CountTree.from_rows([[0] * 6] * 4, [0, 0, 0, 1, 1, 2], 3),
        "only one outcome occurs": CountTree.from_rows([[0, 0, 1, 1]], [1, 1, 1, 1], 3),
        "sparse": CountTree.from_rows([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]], [3, 99, 7, 7, 7], 100),
        "sparse, no rows": CountTree.from_rows([[]], [], 100),
    }


EDGE_TREES = edge_trees()


def test_every_named_smoother_is_in_the_list() -> None:
    tested = {type(entry.smoother) for entry in ENTRIES}
    # The best of several is one of them.
    assert {type(as_smoother(name)) for name in Smoother.by_name} - {BestOf} == tested


@pytest.mark.parametrize("name", EDGE_TREES)
def test_rows_are_positive_and_sum_to_one(entry: Entry, name: str) -> None:
    tree = EDGE_TREES[name]
    validate(tree)
    cells = entry.smoother.smooth(tree, 1)
    assert cells.shape == tree.counts.shape
    rows = entry.smoother.rows(tree, seed=1)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert (rows > 0).all() if entry.positive else (rows >= 0).all()


def test_rows_of_an_ordinary_tree_are_positive_and_sum_to_one(
    entry: Entry, tree: CountTree
) -> None:
    rows = estimate(entry, tree)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)
    assert (rows > 0).all() if entry.positive else (rows >= 0).all()


def test_estimates_agree_with_the_twin(entry: Entry, tree: CountTree) -> None:
    twin = entry.twin(tree)
    expected = np.array([twin[context] for context in contexts_of(tree)])
    np.testing.assert_allclose(estimate(entry, tree), expected, atol=entry.twin_error, rtol=0)


def test_estimates_permute_with_the_outcomes(entry: Entry, rng: np.random.Generator) -> None:
    path, outcome, n_outcomes = draw_rows(rng)
    order = np.array([2, 0, 1])
    rows = estimate(entry, CountTree.from_rows(path, outcome, n_outcomes))
    permuted = estimate(entry, CountTree.from_rows(path, order[outcome], n_outcomes))
    np.testing.assert_allclose(permuted[:, order], rows, atol=entry.noise, rtol=0)


def test_estimates_permute_with_the_values_of_a_level(
    entry: Entry, rng: np.random.Generator
) -> None:
    path, outcome, n_outcomes = draw_rows(rng)
    order = np.array([1, 2, 0])
    tree = CountTree.from_rows(path, outcome, n_outcomes)
    other = CountTree.from_rows([order[path[0]], path[1]], outcome, n_outcomes)
    place = other.find([order[path[0]], path[1]])
    rows, permuted = estimate(entry, tree)[tree.find(path)], estimate(entry, other)[place]
    np.testing.assert_allclose(permuted, rows, atol=entry.noise, rtol=0)


def test_a_node_without_rows_copies_its_parent(entry: Entry) -> None:
    path = [[0, 0, 0, 1, 1, 1, 2], [0, 0, 1, 0, 0, 1, 0]]
    tree = CountTree.from_rows(path, [0, 1, 1, 1, 0, 0, 0], 2)
    tree = without_row(tree, (0, 1), 1)  # a leaf
    tree = without_row(tree, (2, 0), 0)  # a leaf and the node above it
    rows = estimate(entry, tree)
    empty = np.flatnonzero(tree.totals == 0)
    assert len(empty) == 3
    np.testing.assert_allclose(rows[empty], rows[tree.parent[empty]], rtol=1e-12)


def test_estimates_approach_frequencies_with_large_counts(entry: Entry, tree: CountTree) -> None:
    large = tree.with_counts(tree.counts * 1e6)
    smoother = clone(entry.smoother)
    if isinstance(smoother, HDP):
        smoother.set_params(n_iter=20, n_burn_in=0)
    frequencies = MLE().rows(tree)
    rows = smoother.rows(large, seed=1)
    leaves = tree.level == tree.depth
    np.testing.assert_allclose(rows[leaves], frequencies[leaves], atol=1e-3)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_thread_count_changes_nothing(entry: Entry, rng: np.random.Generator, n_jobs: int) -> None:
    smoother = clone(entry.smoother)
    if isinstance(smoother, HDP):
        smoother.set_params(n_iter=50)
    trees = [CountTree.from_rows(*draw_rows(rng, 30)) for _ in range(5)]
    alone = smooth_trees(trees, smoother, seed=3, n_jobs=1)
    jointly = smooth_trees(trees, smoother, seed=3, n_jobs=n_jobs)
    for one, other in zip(alone, jointly, strict=True):
        np.testing.assert_array_equal(one, other)


def test_same_seed_gives_the_same_bits(entry: Entry, tree: CountTree) -> None:
    once = entry.smoother.smooth(tree, 5)
    np.testing.assert_array_equal(entry.smoother.smooth(tree, 5), once)
    np.testing.assert_array_equal(clone(entry.smoother).smooth(tree, 5), once)


def test_only_samplers_depend_on_the_seed(entry: Entry, tree: CountTree) -> None:
    samples = isinstance(entry.smoother, HDP) and entry.smoother.inference == "gibbs"
    equal = np.array_equal(entry.smoother.smooth(tree, 1), entry.smoother.smooth(tree, 2))
    assert equal is not samples


def test_a_sparse_layout_changes_nothing(
    entry: Entry, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    outcome = np.minimum(rng.geometric(0.1, 50) + a, 29)
    monkeypatch.setattr(priorwise.counts.tree, "MAX_DENSE_OUTCOMES", 64)
    dense = CountTree.from_rows([a, b], outcome, 30)
    monkeypatch.setattr(priorwise.counts.tree, "MAX_DENSE_OUTCOMES", 0)
    sparse = CountTree.from_rows([a, b], outcome, 30)
    validate(sparse)
    assert dense.is_dense
    assert sparse.n_cells < dense.n_cells / 3
    rows, expected = estimate(entry, sparse), estimate(entry, dense)
    listed = sparse.count_rows() > 0
    np.testing.assert_allclose(rows[listed], expected[listed], atol=entry.noise, rtol=0)
    if entry.shares_rest:
        np.testing.assert_allclose(rows, expected, atol=entry.noise, rtol=0)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)


def test_smoothing_leaves_the_tree_as_it_was(entry: Entry, tree: CountTree) -> None:
    before = tree.counts.copy()
    entry.smoother.smooth(tree, 1)
    np.testing.assert_array_equal(tree.counts, before)


# The others have no additive form of their own and borrow one.
ADDITIVE = (MLE, Laplace, MEstimate, MBranch, LevelShrinkage)


def test_shrinkage_is_a_smoother_in_additive_form(entry: Entry, tree: CountTree) -> None:
    shrinkage = entry.smoother.shrinkage(tree)
    assert shrinkage.weight.shape == (tree.n_nodes,)
    assert np.all(np.isfinite(shrinkage.weight) & (shrinkage.weight >= 0))
    cells = shrinkage.apply(tree)
    np.testing.assert_allclose(
        tree.rows(cells, rest=entry.smoother.rest).sum(axis=1), 1.0, atol=1e-12
    )
    if isinstance(entry.smoother, ADDITIVE):
        np.testing.assert_array_equal(cells, entry.smoother.smooth(tree))


def test_the_share_of_own_rows_is_the_last_on_the_path(entry: Entry, tree: CountTree) -> None:
    own = entry.smoother.own_shares(tree)
    expected = [entry.smoother.path_shares(tree, node)[-1] for node in range(tree.n_nodes)]
    np.testing.assert_allclose(own, expected, rtol=1e-9)


def test_parameters_can_be_read_set_copied_and_pickled(entry: Entry) -> None:
    smoother = entry.smoother
    copied = clone(smoother)
    assert copied is not smoother
    assert copied.get_params() == smoother.get_params()
    assert pickle.loads(pickle.dumps(smoother)).get_params() == smoother.get_params()
    for name, value in smoother.get_params().items():
        assert clone(smoother).set_params(**{name: value}).get_params() == smoother.get_params()
    assert smoother.candidates()[0].get_params() == smoother.get_params()


BAD_PARAMETERS = [
    (MEstimate(-1), r"m must be a number at least 0\.0, got -1"),
    (MEstimate(np.nan), r"m must be a number at least 0\.0, got nan"),
    (MEstimate(True), r"m must be a number at least 0\.0, got True"),
    (MEstimate("cv"), "m must be a number to smooth a tree, got 'cv'"),
    (MBranch(0), r"m must be a number above 0\.0, got 0"),
    (MBranch(np.inf), r"m must be a number above 0\.0, got inf"),
    (HDP("exact"), "inference must be one of 'variational', 'gibbs', got 'exact'"),
    (HDP(tying="all"), "tying must be one of 'level', 'single', 'parent', 'none', got 'all'"),
    (HDP(prior="flat"), "prior must be one of 'diffuse', 'network', 'thesis', got 'flat'"),
    (HDP(prior_shape=0), r"prior_shape must be a number at least 1e-09 and at most 1e\+09, got 0"),
    (HDP(prior_rate=-2), r"prior_rate must be a number at least 1e-09 and at most 1e\+09, got -2"),
    (HDP("gibbs", n_iter=0), "n_iter must be a number at least 1, got 0"),
    (HDP("gibbs", n_burn_in=-1), "n_burn_in must be a number at least 0, got -1"),
    (HGS("fast"), "mode must be one of 'cv', 'optimised', 'published', 'depth', got 'fast'"),
    (HGS("optimised", loss="hinge"), "loss must be one of 'log', 'squared', got 'hinge'"),
    (HGS("optimised", prior_sd=0), "prior_sd must be a number above 0, got 0"),
    (HGS("published", learning_rate=0), r"learning_rate must be a number above 0\.0, got 0"),
    (HGS("published", tolerance=-1), r"tolerance must be a number above 0\.0, got -1"),
]


@pytest.mark.parametrize(("smoother", "message"), BAD_PARAMETERS, ids=lambda value: str(value))
def test_parameters_out_of_range_are_an_error_that_names_them(
    smoother: Smoother, message: str, tree: CountTree
) -> None:
    with pytest.raises(ValueError, match=message):
        smoother.smooth(tree)


def test_an_unknown_name_is_an_error_that_lists_the_names() -> None:
    with pytest.raises(ValueError, match=r"smoothing must be one of 'mle', .*, got 'magic'"):
        as_smoother("magic")
    with pytest.raises(ValueError, match="got 3"):
        as_smoother(3)  # type: ignore[arg-type]
    hdp = HDP(tying="none")
    assert as_smoother(hdp) is hdp


def test_without_backoff_a_node_without_rows_is_uniform() -> None:
    tree = CountTree.from_rows([[0, 0, 1]], [0, 0, 1], 2)
    tree = without_row(tree, [1], 1)
    assert MEstimate(1.0, backoff=False).rows(tree)[2].tolist() == [0.5, 0.5]
    twin = additive.m_estimate(as_dict_tree(tree), 1.0, backoff=False)
    np.testing.assert_allclose(MEstimate(1.0, backoff=False).rows(tree)[1], twin[(0,)])
