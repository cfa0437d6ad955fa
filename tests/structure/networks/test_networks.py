"""Networks, kDB, TAN and random orders."""

import builtins
import itertools

import numpy as np
import pytest
from numpy.typing import ArrayLike
from sklearn.datasets import load_iris

from priorwise.counts.information import Information, measure_information
from priorwise.data.encoding import TableEncoder
from priorwise.structure import Network
from priorwise.structure.networks import (
    draw_order,
    draw_order_by_gumbel,
    learn_kdb,
    learn_tan,
    rank_by_information,
)


def inform(mutual: ArrayLike, conditional: ArrayLike) -> Information:
    """Information whose bias is one for every pair."""
    mutual, conditional = np.asarray(mutual, dtype=float), np.asarray(conditional, dtype=float)
    return Information(mutual, conditional, np.full((len(mutual), 2), 2), 1.0)


def random_information(seed: int, d: int = 7) -> Information:
    rng = np.random.default_rng(seed)
    conditional = rng.random((d, d))
    conditional = conditional + conditional.T
    np.fill_diagonal(conditional, 0.0)
    return inform(rng.random(d), conditional)


@pytest.mark.parametrize("k", [0, 1, 3, 20])
def test_kdb_parents_are_the_k_earlier_features_of_largest_information(k):
    information = random_information(0)
    network, conditional = learn_kdb(information, k), information.conditional
    assert list(network.order) == np.argsort(-information.mutual).tolist()
    for place, child in enumerate(network.order):
        earlier = sorted(network.order[:place], key=lambda j: -conditional[child, j])
        assert network.parents[child] == tuple(earlier[:k])


def test_kdb_ties_go_to_the_earlier_feature():
    network = learn_kdb(inform([0.5, 0.5, 0.5, 0.5], np.ones((4, 4))), 2)
    assert network.parents == ((), (0,), (0, 1), (0, 1))


def test_kdb_with_bias_takes_only_parents_that_remain():
    information = random_information(1)
    assert (information.bias_with(0, np.arange(len(information.mutual))) == 1.0).all()
    network = learn_kdb(information, 4, subtract_bias=True)
    full = learn_kdb(information, 4)
    for child in range(7):
        expected = [j for j in full.parents[child] if information.conditional[child, j] > 1.0]
        assert network.parents[child] == tuple(expected)
    assert network != full


def test_kdb_follows_a_given_order():
    order = [3, 1, 0, 2, 6, 5, 4]
    assert learn_kdb(random_information(2), 2, order=order).order == tuple(order)


@pytest.mark.parametrize("seed", range(10))
def test_tan_is_the_heaviest_of_all_trees(seed):
    information = random_information(seed, d=5)
    network, conditional = learn_tan(information), information.conditional
    weight = sum(conditional[arc] for arc in network.arcs())
    pairs = list(itertools.combinations(range(5), 2))
    best = max(
        sum(conditional[pair] for pair in tree)
        for tree in itertools.combinations(pairs, 4)
        if _connects(tree, 5)
    )
    assert weight == pytest.approx(best, abs=1e-12)
    assert network.order[0] == np.argmax(information.mutual)
    assert [len(network.parents[i]) for i in network.order] == [0, 1, 1, 1, 1]


def _connects(edges, n):
    reached = {0}
    for _ in range(n):
        reached |= {v for edge in edges if set(edge) & reached for v in edge}
    return len(reached) == n


def test_one_feature_has_a_network_of_every_kind():
    one = inform([0.1], [[0.0]])
    for network in (learn_tan(one), learn_kdb(one, 3), Network.naive(1)):
        assert network.parents == ((),)


@pytest.mark.parametrize(
    ("parents", "order", "rule"),
    [
        (((0,),), (0,), "must be other features"),
        (((5,), ()), (1, 0), "must be other features"),
        (((1, 1), ()), (1, 0), "must differ"),
        (((1,), ()), (0, 1), "parents before children"),
        (((1,), ()), (0,), "parents before children"),
        (((), ()), (0, 0), "each once"),
        (((), ()), (0, 2), "each once"),
    ],
)
def test_networks_that_are_none_are_refused(parents, order, rule):
    with pytest.raises(ValueError, match=rule):
        Network(parents, order)


def test_cycles_are_refused():
    with pytest.raises(ValueError, match=r"no cycle, got one among features \[0, 1, 2\]"):
        Network.from_parents([[1], [2], [0], []])


def test_names_are_as_many_as_features():
    with pytest.raises(ValueError, match="feature_names must have 2 entries"):
        Network.naive(2, ["a"])


def test_restriction_keeps_a_prefix_of_the_order_and_of_the_parents():
    network = learn_kdb(random_information(3), 3)
    small = network.restrict(4, 2)
    assert small.order == network.order[:4]
    for i in range(7):
        expected = network.parents[i][:2] if i in small.order else ()
        assert small.parents[i] == expected
    assert network.restrict(0, 0).order == ()
    with pytest.raises(ValueError, match=r"n_features must lie in 0\.\.7, got 8"):
        network.restrict(8, 1)


def test_graphviz_text_names_every_node_and_arc():
    text = Network.from_parents([[], [0]], ('a "b"', "c\\d")).to_graphviz()
    assert '"a \\"b\\"" -> "c\\\\d";' in text
    assert '"class" -> "a \\"b\\"";' in text
    assert text.count("->") == 3


def test_networkx_graph_has_the_same_arcs():
    networkx = pytest.importorskip("networkx")
    network = learn_kdb(random_information(4), 2)
    graph = network.to_networkx()
    assert networkx.is_directed_acyclic_graph(graph)
    assert graph.number_of_edges() == 7 + len(list(network.arcs()))
    for child in range(7):
        for rank, parent in enumerate(network.parents[child]):
            assert graph.edges[f"x{parent}", f"x{child}"]["rank"] == rank


def test_missing_networkx_names_the_extra(monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "networkx":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install priorwise\[graph\]"):
        Network.naive(1).to_networkx()


@pytest.mark.parametrize("draw", [draw_order, draw_order_by_gumbel])
def test_drawn_orders_are_permutations_drawn_by_information(draw):
    rng = np.random.default_rng(0)
    mutual = np.array([0.1, 0.6, 0.3])
    orders = np.array([draw(mutual, rng) for _ in range(4000)])
    assert (np.sort(orders, axis=1) == np.arange(3)).all()
    first = np.bincount(orders[:, 0], minlength=3) / 4000
    # Four standard errors of a frequency of one half.
    np.testing.assert_allclose(first, mutual, atol=4 * 0.5 / np.sqrt(4000))
    second = orders[orders[:, 0] == 1, 1]
    assert np.mean(second == 2) == pytest.approx(0.75, abs=4 * 0.5 / np.sqrt(len(second)))


@pytest.mark.parametrize("draw", [draw_order, draw_order_by_gumbel])
def test_features_without_information_still_come(draw):
    orders = {tuple(draw([0.0, 0.0], np.random.default_rng(s))) for s in range(20)}
    assert orders == {(0, 1), (1, 0)}


def test_ranking_is_stable():
    assert rank_by_information([0.2, 0.3, 0.2, 0.3]).tolist() == [1, 3, 0, 2]


def test_kdb_orders_iris_as_the_thesis_does():
    iris = load_iris()
    encoder = TableEncoder()
    codes = encoder.fit_transform(iris.data, iris.target)
    info = measure_information(codes, iris.target.astype(np.int32), encoder.arities_, 3)
    network = learn_kdb(info, 2, feature_names=iris.feature_names)
    # Table 1: petal width, petal length, sepal length, sepal width. The parents of the last one
    # are close and depend on the cuts, which the thesis does not give.
    assert network.order == (3, 2, 0, 1)
    assert network.parents[2] == (3,)
    assert set(network.parents[0]) == {3, 2}
