"""Answers, tables and graphs of Bayesian networks have the names that users gave."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from priorwise import BayesianNetwork

ROWS = [("a", "x", 1), ("a", "y", 2), ("b", "y", 2), ("b", "x", 1), ("a", "x", 2)] * 4
ARCS = [("u", "w"), ("v", "w")]


@pytest.fixture(scope="module")
def network() -> BayesianNetwork:
    return BayesianNetwork(ARCS).fit(pd.DataFrame(ROWS, columns=["u", "v", "w"]))


def test_a_distribution_is_a_mapping_an_array_and_a_table(network: BayesianNetwork) -> None:
    one = network.query("w", {"u": "a"})
    assert list(one) == [1, 2]
    assert dict(one) == {1: one[1], 2: one[2]}
    assert sum(one.values()) == pytest.approx(1.0)
    assert one.most_probable() == max(one, key=one.__getitem__)
    both = network.query(["w", "v"], {"u": "a"})
    assert np.asarray(both).shape == (2, 2)
    assert both[2, "y"] == np.asarray(both)[1, 1]
    frame = both.to_frame()
    assert list(frame) == ["w", "v", "probability"]
    series = both.to_series()
    assert series.loc[2, "y"] == both[2, "y"]
    assert series.unstack().loc[2, "y"] == both[2, "y"]
    assert frame["probability"].tolist() == series.tolist()
    for wrong in ("z", ("a", "x", 1)):
        with pytest.raises(KeyError, match="a key must"):
            both[wrong]


def test_long_distributions_are_shown_by_their_most_probable_lines() -> None:
    frame = pd.DataFrame({"n": [f"s{i}" for i in range(60) for _ in range(i + 1)]})
    shown = repr(BayesianNetwork([], smoothing="laplace").fit(frame).query("n"))
    lines = shown.splitlines()
    assert len(lines) == 22
    assert lines[1].startswith("s59")
    assert lines[-1] == "and 40 less probable lines"


def test_tables_have_a_row_for_each_context(network: BayesianNetwork) -> None:
    table, frame = network.table("w"), network.table("w", as_frame=True)
    assert frame.columns.name == "w"
    first, second = (network.variables_[i] for i in network.structure_.parents[2])
    assert frame.index.names == [first, second]
    for i, j, k in np.ndindex(table.shape):
        context = network.states_[first][i], network.states_[second][j]
        assert frame.loc[context, network.states_["w"][k]] == table[i, j, k]
    assert network.table("u", as_frame=True).shape == (1, 2)
    other = BayesianNetwork(ARCS).fit(pl.DataFrame(ROWS, schema=["u", "v", "w"], orient="row"))
    assert other.table("w", as_frame=True).columns == [first, second, "1", "2"]
    assert isinstance(other.query("w").to_frame(), pl.DataFrame)


def test_arcs_and_classes_of_graphs_have_names(network: BayesianNetwork) -> None:
    assert sorted(network.arcs_) == ARCS
    equivalent = network.equivalence_class()
    assert (equivalent.arcs, equivalent.edges) == (ARCS, [])
    assert repr(equivalent) == "u -> w\nv -> w"
    chain = BayesianNetwork([("u", "v")]).fit(pd.DataFrame(ROWS, columns=["u", "v", "w"]))
    assert chain.equivalence_class().edges == [("u", "v")]


def test_notebooks_draw_networks_and_distributions(network: BayesianNetwork) -> None:
    shown = network._repr_mimebundle_()["text/html"]
    assert "BayesianNetwork of 3 variables and 2 arcs" in shown
    assert shown.count("<rect") == 3
    assert "u to w" in shown
    assert "p(w, v)" in network.query(["w", "v"])._repr_html_()
    hostile = pd.DataFrame({"<b>": ["<i>", "x"], "y": ["p", "q"]})
    shown = BayesianNetwork([("<b>", "y")]).fit(hostile)._repr_mimebundle_()["text/html"]
    assert "<b>" not in shown
    assert "<i>" not in shown
