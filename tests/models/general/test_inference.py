"""Exact answers of Bayesian networks against enumeration of all rows."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import BayesianNetwork
from priorwise.models.general.tables import GivenTable
from reference.general_networks import enumerate_rows, random_network

SEEDS = range(8)


def pick(rows: pd.DataFrame, p: np.ndarray, n_known: int, seed: int) -> tuple[dict, np.ndarray]:
    """Return values of some variables, and which rows have them."""
    rng = np.random.default_rng(seed)
    row = rows.iloc[rng.choice(len(rows), p=p)]
    names = rng.choice(list(rows), n_known, replace=False)
    given = {name: row[name] for name in names}
    return given, np.all([rows[name] == value for name, value in given.items()] or [p >= 0], axis=0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_known", [0, 2])
def test_queries_are_sums_over_all_rows(seed: int, n_known: int) -> None:
    network = random_network(7, seed)
    rows, p = enumerate_rows(network)
    given, fits = pick(rows, p, n_known, seed)
    posterior = p * fits / (p @ fits)
    free = [name for name in rows if name not in given]
    for names in (free[:1], free[-1:], free[1::2], free):
        result = network.query(names, given)
        assert result.variables == names
        expected = pd.Series(posterior).groupby([rows[name] for name in names]).sum()
        np.testing.assert_allclose([result[key] for key in expected.index], expected, atol=1e-12)
        each = network.query(names, given, joint=False)
        for name in names:
            np.testing.assert_allclose(each[name], result.marginal(name), atol=1e-12)
    assert np.exp(network.log_prob(pd.DataFrame([given or {free[0]: None}], dtype=object))) == (
        pytest.approx(p @ fits)
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_known", [0, 2])
def test_best_values_have_the_largest_sum(seed: int, n_known: int) -> None:
    network = random_network(7, seed)
    rows, p = enumerate_rows(network)
    given, fits = pick(rows, p, n_known, seed)
    free = [name for name in rows if name not in given]
    for names in (None, free[:1], free[::2]):
        result = network.map_query(names, given)
        assert list(result) == (names or free)
        sums = pd.Series(p * fits).groupby([rows[name] for name in result]).sum()
        key = tuple(result.values())
        assert sums[key if len(key) > 1 else key[0]] == pytest.approx(sums.max())


@pytest.mark.parametrize("seed", SEEDS)
def test_conditional_samples_have_the_posterior_distribution(seed: int) -> None:
    network = random_network(5, seed)
    rows, p = enumerate_rows(network)
    given, fits = pick(rows, p, 2, seed)
    drawn = network.sample(10_000, given, random_state=seed)
    pd.testing.assert_frame_equal(drawn, network.sample(10_000, given, random_state=seed))
    index = pd.MultiIndex.from_frame(rows)
    counts = drawn.value_counts().reindex(index, fill_value=0).to_numpy()
    assert counts.sum() == 10_000
    expected = 10_000 * p * fits / (p @ fits)
    assert not counts[expected == 0].any()
    z = (counts - expected)[expected > 0] / np.sqrt(expected[expected > 0])
    assert np.abs(z).max() < 5


def test_predictions_are_the_most_probable_values_of_each_row() -> None:
    network = random_network(7, 1)
    rows = network.sample(200, random_state=0).astype(object)
    rows.iloc[::3, 2] = None
    one = network.predict(rows, "v4")
    proba = network.predict_proba(rows, "v4")
    assert one.tolist() == [network.states_["v4"][k] for k in proba.argmax(axis=1)]
    both = network.predict(rows, ["v4", "v2"])
    assert list(both) == ["v2", "v4"]
    alone = network.predict_proba(rows.drop(columns="v2"), "v4").argmax(axis=1)
    assert both["v4"].tolist() == [network.states_["v4"][k] for k in alone]


def test_an_intervention_cuts_the_arcs_into_a_variable() -> None:
    arcs = [("age", "smoke"), ("age", "ill"), ("smoke", "ill")]
    rng = np.random.default_rng(0)
    age = rng.integers(0, 2, 2000)
    smoke = (rng.random(2000) < 0.2 + 0.6 * age).astype(int)
    ill = (rng.random(2000) < 0.1 + 0.2 * smoke + 0.5 * age).astype(int)
    network = BayesianNetwork(arcs).fit(pd.DataFrame({"age": age, "smoke": smoke, "ill": ill}))
    changed = network.do({"smoke": 1})
    assert changed.arcs_ == [("age", "ill"), ("smoke", "ill")]
    assert network.arcs_ != changed.arcs_
    table = network.query(["age", "ill"], {"smoke": 1})
    of_age = network.query("age")
    by_age = {a: table[a, 1] / (table[a, 0] + table[a, 1]) for a in (0, 1)}
    adjusted = sum(of_age[a] * by_age[a] for a in (0, 1))
    assert changed.query("ill")[1] == pytest.approx(adjusted)
    assert changed.query("ill", {"smoke": 1})[1] == pytest.approx(adjusted)
    assert changed.query("age")[1] == pytest.approx(of_age[1])
    with pytest.raises(ValueError, match="values must have states of 'smoke'"):
        network.do({"smoke": "often"})


def test_a_markov_blanket_separates_a_variable_from_all_others() -> None:
    network = random_network(7, 2)
    rows, p = enumerate_rows(network)
    for name in network.variables_:
        blanket = network.markov_blanket(name)
        row = rows.iloc[int(np.argmax(p))].to_dict()
        row.pop(name)
        near = {other: value for other, value in row.items() if other in blanket}
        np.testing.assert_allclose(network.query(name, near), network.query(name, row), atol=1e-12)


def test_impossible_evidence_is_refused() -> None:
    frame = pd.DataFrame({"a": ["x", "u"], "b": ["y", "v"], "c": ["p", "q"]})
    network = BayesianNetwork([("a", "b"), ("b", "c")], smoothing="mle").fit(frame)
    given: dict[Any, str] = {"a": "x", "b": "v"}
    asks: list[Callable[[], Any]] = [
        lambda: network.query("b", {"a": "x", "c": "q"}),
        lambda: network.query(["b"], {"a": "x", "c": "q"}, joint=False),
        lambda: network.map_query("b", {"a": "x", "c": "q"}),
        lambda: network.sample(3, given),
    ]
    for ask in asks:
        with pytest.raises(ValueError, match="evidence must have a probability above zero"):
            ask()


def test_a_table_that_is_too_large_is_refused_with_its_treewidth() -> None:
    side = 14
    names = [f"{i},{j}" for i, j in product(range(side), repeat=2)]
    arcs = [(f"{i},{j}", f"{i},{j + 1}") for i in range(side) for j in range(side - 1)]
    arcs += [(f"{i},{j}", f"{i + 1},{j}") for i in range(side - 1) for j in range(side)]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 6, (50, side**2)), columns=names)
    network = BayesianNetwork(arcs, smoothing="laplace").fit(frame)
    with pytest.raises(ValueError, match=r"treewidth of \d+.*to_pyagrum"):
        network.query(names[0], {names[-1]: 0})
    assert sum(network.query(names[3]).values()) == pytest.approx(1.0)
    assert isinstance(network.do({names[-1]: 0}).tables_[-1], GivenTable)
