"""Bayesian networks of any graph, and their answers, as notebooks show them."""

from __future__ import annotations

from typing import Any

from priorwise.common.texts import SEVERAL, count, show_probability
from priorwise.report.boxes.box import MAX_TEXT, bar, box, cut_text, left_out, scrolled, soft
from priorwise.report.boxes.tables import MAX_FEATURES
from priorwise.report.graphs import draw_graph
from priorwise.report.html import Number, table
from priorwise.structure.networks.distribution import Distribution


def draw_general(model: Any) -> str:
    """Return a Bayesian network as HTML: its graph, and the states and parents of its variables."""
    network, names = model.structure_, model.variables_
    n_drawn = min(len(names), MAX_FEATURES)
    most = max((len(own) for own in network.parents), default=0)
    rows = []
    for i in network.order[:SEVERAL]:
        states = model.states_[names[i]]
        parents = ", ".join(str(names[parent]) for parent in network.parents[i])
        rows.append(
            [
                cut_text(str(names[i]), MAX_TEXT),
                cut_text(", ".join(map(str, states)), 2 * MAX_TEXT),
                cut_text(parents, 2 * MAX_TEXT) if parents else "none",
            ]
        )
    title = f"{count(len(names), 'variable')} and {count(len(model.arcs_), 'arc')}"
    return box(
        f"BayesianNetwork of {title}",
        scrolled(draw_graph(network.restrict(n_drawn, most), "Network")),
        left_out(len(names) - n_drawn, "more variable", "more variables"),
        table(["variable", "states", "parents"], rows),
        left_out(len(names) - len(rows), "more variable", "more variables"),
        soft("An arc leads from a variable to one whose table depends on it."),
    )


def draw_distribution(distribution: Distribution) -> str:
    """Return probabilities as HTML, the largest ones if there are many."""
    lines, n_more = distribution.lines(SEVERAL)
    rows = [
        [*(cut_text(state, MAX_TEXT) for state in states), bar(p, 1.0, text), Number(text)]
        for states, p in lines
        for text in [show_probability(p)]
    ]
    names = [cut_text(str(name), MAX_TEXT) for name in distribution.variables]
    return box(
        f"p({', '.join(names)})",
        table([*names, "", "probability"], rows),
        left_out(n_more, "less probable line", "less probable lines"),
    )
