"""Columns, conditional tables and networks as notebooks show them."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise.common.texts import MANY, SEVERAL, count, show_percent, show_probability
from priorwise.data.encoding.schema import TableSchema, describe_values
from priorwise.data.encoding.table_check import TableCheck
from priorwise.report.boxes.box import (
    MAX_TEXT,
    bar,
    box,
    cut_text,
    left_out,
    scrolled,
    soft,
)
from priorwise.report.graphs import draw_graph
from priorwise.report.html import Number, paragraph, table
from priorwise.report.structures import draw_network
from priorwise.report.svg import show_number
from priorwise.structure import Network

MAX_FEATURES = 40
"""Features of a network that are drawn at most."""


def draw_schema(schema: TableSchema) -> str:
    """Return what columns were taken for as HTML."""
    rows = [
        [
            cut_text(column.name, MAX_TEXT),
            column.kind,
            cut_text(describe_values(column), 60),
            Number(show_percent(column.missing_share) if column.missing_share else "none"),
        ]
        for column in schema[:MANY]
    ]
    return box(
        count(len(schema), "feature"),
        table(["feature", "kind", "values in training", "missing"], rows),
        left_out(len(schema) - len(rows), "more feature", "more features"),
    )


def draw_check(check: TableCheck) -> str:
    """Return how a table differs from training as HTML."""
    notes = soft(f"{count(len(check.notes), 'difference')} may be chance.") if check.notes else ""
    if check.is_ok:
        return box("The table is like training", notes or soft("No column differs."))
    shown = check.problems[:MANY]
    return box(
        f"The table differs from training: {count(len(check.problems), 'problem')}",
        *(paragraph(problem[0].upper() + problem[1:]) for problem in shown),
        left_out(len(check.problems) - len(shown), "more problem", "more problems"),
        notes,
    )


def draw_conditional(model: Any) -> str:
    """Return the commonest contexts of a conditional table and their probabilities as HTML."""
    tree, labels = model.count_tree_, model.classes_.tolist()
    places = np.argsort(-np.asarray(tree.totals), kind="stable")
    depth = np.asarray(tree.level)[places]
    full = places[depth == tree.depth]
    nodes = [0, *full[full > 0][:MANY].tolist()]
    contexts, proba = model.describe_contexts(np.array(nodes, dtype=np.int32))
    order = np.argsort(-proba[0], kind="stable")[:SEVERAL]
    order = np.sort(order)
    rows = []
    for place, node in enumerate(nodes):
        values = [
            "any" if node == 0 else "missing" if value is None else cut_text(str(value), MAX_TEXT)
            for value in contexts[place]
        ]
        cells: list[Any] = []
        for k in order:
            text = show_probability(float(proba[place, k]))
            cells += [bar(float(proba[place, k]), 1.0, text), Number(text)]
        rows.append([*values, Number(show_number(float(tree.totals[node]))), *cells])
    heads = [cut_text(str(name), MAX_TEXT) for name in model.given_]
    outcomes = [text for k in order for text in ("", cut_text(str(labels[k]), MAX_TEXT))]
    n_more = int((np.asarray(tree.level) == tree.depth).sum()) - len(nodes) + 1
    given = ", ".join(heads)
    return box(
        f"p({model.target_} | {given})" if given else f"p({model.target_})",
        soft(f"Learnt from {count(float(tree.totals[0]), 'row')}, smoothed by {model.smoothing_}."),
        table([*heads, "rows", *outcomes], rows),
        left_out(max(n_more, 0), "rarer context: to_frame()", "rarer contexts: to_frame()"),
        left_out(len(labels) - len(order), "rarer value", "rarer values"),
    )


def draw_structure(network: Network) -> str:
    """Return a picture of a network as HTML."""
    n_shown = min(len(network.order), MAX_FEATURES)
    shown = network.restrict(n_shown, max((len(own) for own in network.parents), default=0))
    n_arcs = sum(1 for _ in network.arcs())
    has_class = network.class_name is not None
    draw = draw_network if has_class else draw_graph
    about = " The class is a parent of every feature." if has_class else ""
    return box(
        f"Network of {count(len(network.order), 'feature')} with {count(n_arcs, 'arc')}",
        scrolled(draw(shown, "Network")),
        left_out(len(network.order) - n_shown, "more feature", "more features"),
        soft(f"An arc leads from a feature to one that depends on it.{about}"),
    )
