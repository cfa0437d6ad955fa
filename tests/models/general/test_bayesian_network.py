"""Bayesian networks of any graph: learning, probabilities, samples, intervals."""

from itertools import product
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import priorwise
from priorwise import BayesianNetwork, ConditionalTable, read_bif
from priorwise.explain import plot_network
from priorwise.models.general.tables import rank_parents
from priorwise.smoothing import HDP, HGS, Laplace

ARCS = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]


def draw_rows(n_rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n_rows)
    b = (a + (rng.random(n_rows) < 0.2)) % 2
    c = np.where(rng.random(n_rows) < 0.3, 2, a)
    d = (b + c + (rng.random(n_rows) < 0.1)) % 3
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d})
    return frame.apply(lambda column: column.map(lambda v: f"v{v}"))


def all_rows(network: BayesianNetwork) -> pd.DataFrame:
    states = network.states_
    return pd.DataFrame(list(product(*states.values())), columns=list(states))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return draw_rows(200)


@pytest.fixture(scope="module")
def network(frame: pd.DataFrame) -> BayesianNetwork:
    return BayesianNetwork(ARCS).fit(frame)


def test_probabilities_of_all_rows_sum_to_one(network: BayesianNetwork) -> None:
    assert np.exp(network.log_prob(all_rows(network))).sum() == pytest.approx(1.0, abs=1e-12)


def test_a_table_with_one_order_is_that_of_a_conditional_table(frame: pd.DataFrame) -> None:
    network = BayesianNetwork(ARCS, smoothing=HDP(), n_orders=1).fit(frame)
    given = [network.variables_[i] for i in network.structure_.parents[3]]
    table = ConditionalTable().fit(frame, target="d", given=given)
    values = [network.states_[name] for name in given]
    for place in np.ndindex(*map(len, values)):
        context = {name: own[i] for name, own, i in zip(given, values, place, strict=True)}
        np.testing.assert_allclose(network.table("d")[place], [*table.query(context).values()])


def test_tables_are_means_over_orders_that_begin_with_each_parent(frame: pd.DataFrame) -> None:
    network = BayesianNetwork(ARCS, smoothing=HDP()).fit(frame)
    given = [network.variables_[i] for i in network.structure_.parents[3]]
    orders = [given, given[::-1]]
    tables = [ConditionalTable().fit(frame, target="d", given=order) for order in orders]
    context = {name: network.states_[name][0] for name in given}
    mean = np.mean([[*table.query(context).values()] for table in tables], axis=0)
    np.testing.assert_allclose(network.table("d")[0, 0], mean)


def test_constant_priors_are_those_of_their_formula(frame: pd.DataFrame) -> None:
    network = BayesianNetwork(ARCS, smoothing=Laplace(backoff=False)).fit(frame)
    first, second = (network.variables_[i] for i in network.structure_.parents[3])
    counts = frame.groupby([first, second, "d"]).size().unstack(fill_value=0)
    index = pd.MultiIndex.from_product([network.states_[first], network.states_[second]])
    counts = counts.reindex(index, fill_value=0).to_numpy() + 1.0
    expected = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(network.table("d").reshape(expected.shape), expected)


def test_the_most_informative_parent_comes_first(frame: pd.DataFrame) -> None:
    noise = np.random.default_rng(5).integers(0, 4, len(frame)).astype(str)
    rows = frame.assign(noise=noise)
    network = BayesianNetwork([("noise", "d"), ("c", "d")]).fit(rows)
    assert network.structure_.parents[3] == (2, 4)
    tree = network.tables_[3].orders[0].tree  # type: ignore[union-attr]
    assert rank_parents(tree, [3, 4]) == [0, 1]


def test_all_ways_to_give_a_graph_agree(
    frame: pd.DataFrame, network: BayesianNetwork, tmp_path: Any
) -> None:
    network.to_bif(tmp_path / "x.bif")
    expected = network.log_prob(frame)
    for structure in (networkx.DiGraph(ARCS), network, str(tmp_path / "x.bif"), np.array(ARCS)):
        other = BayesianNetwork(structure).fit(frame)
        np.testing.assert_allclose(other.log_prob(frame), expected)


def test_inference_is_that_of_the_joint_distribution(network: BayesianNetwork) -> None:
    rows = all_rows(network)
    joint = np.exp(network.log_prob(rows))
    cases: list[dict[Any, str]]
    cases = [{}, {"d": "v1"}, {"b": "v0", "d": "v2"}, {"a": "v0", "b": "v1", "c": "v2"}]
    for given in cases:
        fits = np.all([rows[name] == value for name, value in given.items()], axis=0)
        target = "a" if "a" not in given else "d"
        expected = pd.Series(joint * fits).groupby(rows[target]).sum()
        result = network.query(target, given)
        np.testing.assert_allclose([*result.values()], expected / expected.sum(), rtol=1e-12)
        if given:
            one = pd.DataFrame([given])
            assert network.predict_proba(one, target)[0] == pytest.approx([*result.values()])
            assert np.exp(network.log_prob(one)) == pytest.approx((joint * fits).sum())


def test_missing_values_are_unknown(frame: pd.DataFrame, network: BayesianNetwork) -> None:
    row = frame.iloc[[0]]
    hole = row.assign(b=None)
    both = pd.concat([row, hole])
    np.testing.assert_allclose(
        network.predict_proba(both, "b")[0], network.predict_proba(hole, "b")[0]
    )
    sums = np.exp(network.log_prob(pd.concat([row.assign(b="v0"), row.assign(b="v1")]))).sum()
    assert np.exp(network.log_prob(both)[1]) == pytest.approx(sums)
    assert network.log_prob(row.assign(b="other"))[0] == -np.inf


def test_rows_that_miss_a_parent_count_without_it(frame: pd.DataFrame) -> None:
    rows = frame.astype(object).copy()
    rows.loc[rows.index[:60], "a"] = None
    network = BayesianNetwork([("a", "b")], smoothing="mle").fit(rows)
    known = rows[60:]
    expected = pd.crosstab(known["a"], known["b"], normalize="index").to_numpy()
    np.testing.assert_allclose(network.table("b"), expected)
    assert network.tables_[1].orders[0].tree.totals[0] == len(rows)  # type: ignore[union-attr]
    assert None in BayesianNetwork([("a", "b")], missing="value").fit(rows).states_["a"]


def test_weights_count_rows(frame: pd.DataFrame) -> None:
    weight = np.arange(len(frame)) % 3
    weighted = BayesianNetwork("hill-climb").fit(frame, sample_weight=weight)
    repeated = BayesianNetwork("hill-climb").fit(frame.loc[frame.index.repeat(weight)])
    assert weighted.structure_ == repeated.structure_
    np.testing.assert_array_equal(weighted.log_prob(frame), repeated.log_prob(frame))


def test_samples_have_the_distribution_of_the_network(network: BayesianNetwork) -> None:
    rows = network.sample(20_000, random_state=0)
    pd.testing.assert_frame_equal(rows, network.sample(20_000, random_state=0))
    counts = rows.value_counts().reindex(pd.MultiIndex.from_frame(all_rows(network)), fill_value=0)
    p = np.exp(network.log_prob(all_rows(network)))
    z = (counts.to_numpy() - 20_000 * p) / np.sqrt(20_000 * p)
    assert np.abs(z).max() < 5


def test_intervals_hold_the_estimates(network: BayesianNetwork) -> None:
    lower, upper = network.interval("d", n_samples=200)
    table = network.table("d")
    assert lower.shape == table.shape
    assert np.mean((lower <= table) & (table <= upper)) > 0.95
    one = network.interval("b", {"a": "v1"}, n_samples=200)
    low, high = one["v0"]
    assert 0.0 <= low < network.table("b")[1, 0] < high <= 1.0
    with pytest.raises(ValueError, match="given must name the parents"):
        network.interval("d", {"a": "v1"})


def test_intervals_need_whole_weights(frame: pd.DataFrame) -> None:
    weighted = BayesianNetwork(ARCS).fit(frame, sample_weight=np.full(len(frame), 1.5))
    with pytest.raises(ValueError, match="interval needs whole numbers as sample_weight"):
        weighted.interval("b")


def test_saved_networks_give_the_same_bits(
    network: BayesianNetwork, frame: Any, tmp_path: Any
) -> None:
    network.save(tmp_path / "x.model")
    loaded = priorwise.load(tmp_path / "x.model")
    np.testing.assert_array_equal(loaded.log_prob(frame), network.log_prob(frame))
    network.to_bif(tmp_path / "x.bif")
    read = read_bif(tmp_path / "x.bif")
    read.save(tmp_path / "y.model")
    again = priorwise.load(tmp_path / "y.model")
    np.testing.assert_array_equal(again.log_prob(frame), read.log_prob(frame))


@pytest.mark.parametrize("holes", [False, True])
def test_streams_give_what_rows_in_memory_give(frame: pd.DataFrame, holes: bool) -> None:
    rows = frame.astype(object).copy()
    if holes:
        for start, name in enumerate(rows.columns):
            rows.loc[rows.index[start::7], name] = None
    choices = [(ARCS, None), ("chow-liu", None), ("kdb", "a"), ("hill-climb", None)]
    for structure, target in choices:
        for missing in ("ignore", "value"):
            network = BayesianNetwork(
                structure, target=target, max_parents=1, missing=missing, random_state=0
            )
            expected = network.fit(rows)
            read = clone(network).fit_dataset(rows, batch_rows=37)
            assert read.structure_ == expected.structure_
            assert read.states_ == expected.states_
            for name in rows.columns:
                np.testing.assert_array_equal(read.table(name), expected.table(name))


def test_streams_have_the_states_that_are_declared_or_given(frame: pd.DataFrame) -> None:
    typed = frame.astype(pd.CategoricalDtype(["v2", "v1", "v0", "never"]))
    assert BayesianNetwork(ARCS).fit_dataset(typed).states_["a"] == ["v2", "v1", "v0", "never"]
    given = BayesianNetwork(ARCS).fit(frame[frame["a"] != "v2"])
    with pytest.raises(ValueError, match="column 'a' must have states of the structure, got 'v2'"):
        BayesianNetwork(given).fit_dataset(frame)


def test_networks_without_a_class_are_plotted(network: BayesianNetwork) -> None:
    axes = plot_network(network)
    assert sorted(text.get_text() for text in axes.texts) == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="show_class"):
        plot_network(network, show_class=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": [("a", "b"), ("b", "a")]}, "structure must be a graph without cycles"),
        ({"structure": [("a", "z")]}, "structure must name columns of the table, got 'z'"),
        ({"structure": "best"}, "structure must be one of 'chow-liu'"),
        ({"structure": ["ab"]}, r"structure must list arcs \(parent, child\), got 'ab'"),
        ({"structure": "kdb"}, "target must name the class for structure='kdb'"),
        ({"search_score": "aic"}, "search_score must be"),
        ({"n_orders": 0}, "n_orders must be"),
        ({"missing": "drop"}, "missing must be"),
    ],
)
def test_wrong_parameters_are_named(frame: pd.DataFrame, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BayesianNetwork(**options).fit(frame)


def test_smoothers_that_hold_rows_out_are_refused_by_name(frame: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"no parameter that is 'cv', .* got HGS\(\): .*'optim"):
        BayesianNetwork(ARCS, smoothing="hgs").fit(frame)
    fitted = BayesianNetwork(ARCS, smoothing=HGS("optimised")).fit(frame)
    assert np.isfinite(fitted.log_prob(frame)).all()


def test_columns_of_many_numbers_are_refused_by_name(frame: pd.DataFrame) -> None:
    height = np.random.default_rng(0).normal(size=len(frame))
    for values in (height, np.arange(len(frame))):
        rows = frame.assign(height=values)
        for fit in (BayesianNetwork(ARCS).fit, BayesianNetwork("hill-climb").fit_dataset):
            with pytest.raises(
                ValueError, match="column 'height' must have at most 64 different n"
            ):
                fit(rows)
    for accepted in (pd.qcut(height, 3), pd.Categorical(height), np.round(height)):
        assert "height" in BayesianNetwork(ARCS).fit(frame.assign(height=accepted)).states_


def test_wrong_queries_are_named(network: BayesianNetwork) -> None:
    with pytest.raises(ValueError, match="variables must be a variable of the network"):
        network.query("z")
    states = r"evidence must have states of 'b' \('v0', 'v1'\), got 'x'"
    with pytest.raises(ValueError, match=states):
        network.query("a", {"b": "x"})
    with pytest.raises(ValueError, match="given must have states of 'a'"):
        network.interval("b", {"a": "x"})
    with pytest.raises(ValueError, match="evidence must not name variables asked for, got 'a'"):
        network.map_query(["d", "a"], {"a": "v0"})
    with pytest.raises(ValueError, match="variables must name each variable once"):
        network.query(["a", "a"])
    with pytest.raises(ValueError, match="a column must be a variable of the network"):
        network.log_prob(pd.DataFrame({"z": ["v0"]}))
