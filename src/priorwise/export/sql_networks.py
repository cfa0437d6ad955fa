"""Networks as common table expressions of SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from priorwise.export.program import Networks
from priorwise.export.sql_text import softmax

if TYPE_CHECKING:
    from priorwise.export.sql_steps import StepQueries

_UNIT = repr(2.0**-24)
"""Scores of networks are multiples of it."""


def add_networks(queries: StepQueries, step: Networks, shift: int) -> str:
    codes = _cut_numbers(queries, step, shift)
    cuts_of = _cut_sets_of_features(step, shift)
    network = np.repeat(np.arange(len(step.n_factors)), step.n_factors)
    places = list(step.factor_places())
    feature, factor_number = step.column + shift, np.arange(len(step.column))
    factor = queries.add_table(
        "factor",
        factor=factor_number,
        network=network,
        feature=feature,
        cuts=_look_up(cuts_of, network, feature),
        root=[place["context"] for place in places],
        is_towards=step.rest_towards_parent,
    )
    owner = np.repeat(factor_number, step.n_parents)
    level = np.concatenate([np.empty(0, dtype=int), *map(np.arange, step.n_parents)])
    parent = queries.add_table(
        "parent",
        factor=owner,
        level=level,
        feature=step.path + shift,
        cuts=_look_up(cuts_of, network[owner], step.path + shift),
    )
    context, entry, cell = (queries.add_table(n, **t) for n, t in _tabulate(step, places).items())
    path = queries.add_query(
        "path",
        "id, factor, context, level",
        f"SELECT r.id, f.factor, f.root, 0 FROM pw_row r CROSS JOIN {factor} f\nUNION ALL "
        f"SELECT p.id, p.factor, c.context, p.level + 1 FROM pw_path{queries.n_steps} p "
        f"JOIN {parent} q ON q.factor = p.factor AND q.level = p.level "
        f"JOIN {codes} v ON v.id = p.id AND v.feature = q.feature AND v.cuts = q.cuts "
        f"JOIN {context} c ON c.parent = p.context AND c.value = v.code",
    )
    keys = "id, factor, network, class_, is_towards, depth"
    met = queries.add_query(
        "met",
        f"{keys}, entry, rest, code",
        "SELECT p.id, p.factor, f.network, e.class_, f.is_towards, 2 * p.level + e.depth, "
        f"e.entry, e.rest, v.code FROM {path} p JOIN {factor} f ON f.factor = p.factor "
        f"JOIN {codes} v ON v.id = p.id AND v.feature = f.feature AND v.cuts = f.cuts "
        f"AND v.code >= 0 JOIN {entry} e ON e.context = p.context",
    )
    # Of each class, the deepest entry with the outcome, and what entries below it leave to it.
    found = (
        f"SELECT {keys}, MAX(score) * {_UNIT} AS score, MAX(rest) * {_UNIT} AS rest FROM ("
        f"SELECT {keys}, NULL AS score, rest FROM {met} UNION ALL SELECT {keys}, c.score, NULL "
        f"FROM {met} m JOIN {cell} c ON c.entry = m.entry AND c.outcome = m.code) t "
        f"GROUP BY {keys}"
    )
    best = (
        "SELECT h.*, MAX(CASE WHEN is_towards = 0 OR score IS NOT NULL THEN depth END) "
        f"OVER (PARTITION BY id, factor, class_) AS best FROM ({found}) h"
    )
    n_networks, n_classes = step.log_prior.shape
    prior = queries.add_table(
        "prior",
        network=np.repeat(np.arange(n_networks), n_classes),
        class_=np.tile(np.arange(n_classes), n_networks),
        s=step.log_prior.ravel(),
    )
    joint = queries.add_query(
        "joint",
        "id, network, class_, s",
        "SELECT id, network, class_, SUM(s) FROM (\n"
        f"SELECT r.id, q.network, q.class_, q.s FROM pw_row r CROSS JOIN {prior} q\nUNION ALL "
        f"SELECT id, network, class_, COALESCE(score, rest) FROM ({best}) b "
        "WHERE depth >= COALESCE(best, 0)) u GROUP BY id, network, class_",
    )
    if len(step.guards):
        return _add_used(queries, step, joint, codes, prior, shift)
    joint = _replace_impossible(joint, prior, "id, network", "i.network = j.network")
    mean = softmax(f"SELECT id, network, class_ AS class, s FROM ({joint}) t", "id, network")
    return f"SELECT id, class, AVG(p) FROM ({mean}) m GROUP BY id, class"


def _replace_impossible(joint: str, prior: str, by: str, condition: str) -> str:
    """Give rows that are impossible in all classes the prior of the classes."""
    return (
        "SELECT j.id, j.network, j.class_, CASE WHEN j.largest < -1e290 THEN i.s ELSE j.s END "
        f"AS s FROM (SELECT a.*, MAX(a.s) OVER (PARTITION BY {by}) AS largest FROM {joint} a) j "
        f"JOIN {prior} i ON {condition} AND i.class_ = j.class_"
    )


def _add_used(
    queries: StepQueries, step: Networks, joint: str, codes: str, prior: str, shift: int
) -> str:
    """Return AODE's probabilities: joint probabilities of the networks used, added up."""
    first = np.cumsum(step.n_factors)[:-1] - step.n_factors[:-1]
    sizes = step.n_outcomes[first]
    network = np.repeat(np.arange(len(first)), sizes)
    code = np.concatenate([np.arange(size) for size in sizes])
    frequent = np.flatnonzero(step.guards)
    feature = (step.column[first] + shift)[network]
    cuts = _look_up(_cut_sets_of_features(step, shift), network, feature)
    guard = queries.add_table(
        "guard",
        network=network[frequent],
        feature=feature[frequent],
        cuts=cuts[frequent],
        code=code[frequent],
    )
    used = queries.add_query(
        "used",
        "id, network",
        f"SELECT v.id, g.network FROM {codes} v JOIN {guard} g "
        "ON g.feature = v.feature AND g.cuts = v.cuts AND g.code = v.code",
    )
    last = len(step.n_factors) - 1
    chosen = (
        f"SELECT j.* FROM {joint} j JOIN {used} u ON u.id = j.id AND u.network = j.network\n"
        f"UNION ALL SELECT j.* FROM {joint} j WHERE j.network = {last} "
        f"AND j.id NOT IN (SELECT id FROM {used})"
    )
    chosen = queries.add_query("chosen", "id, network, class_, s", chosen)
    chosen = _replace_impossible(chosen, prior, "id", "i.network = 0")
    # The softmax of all joint probabilities together, added up by class.
    proba = softmax(f"SELECT id, class_ AS class, s FROM ({chosen}) t", "id")
    return f"SELECT id, class, SUM(p) FROM ({proba}) m GROUP BY id, class"


def _cut_numbers(queries: StepQueries, step: Networks, shift: int) -> str:
    """Add the codes of features; those of labels have the set of cut points -1."""
    n_sets = len(step.n_cuts)
    ends = np.cumsum(step.n_cuts).reshape(step.n_cuts.shape)
    rows: list[tuple[int, int, float, float, int, int]] = []
    for s in range(n_sets):
        for j, feature in enumerate((step.numeric + shift).tolist()):
            n = int(step.n_cuts[s, j])
            points = [-np.inf, *step.cuts[ends[s, j] - n : ends[s, j]].tolist(), np.inf]
            for code in range(n + 1):
                rows.append((s, feature, points[code], points[code + 1], code, 0))
            rows.append((s, feature, 0.0, 0.0, n + 1 if step.has_missing[j] else -1, 1))
    names = ("cuts", "feature", "low", "high", "code", "is_missing")
    columns = zip(*rows, strict=True) if rows else [np.empty(0)] * len(names)
    interval = queries.add_table("interval", **dict(zip(names, columns, strict=True)))
    nominal = np.setdiff1d(np.arange(queries.n_features), step.numeric) + shift
    labels = ", ".join(map(str, nominal.tolist())) or "-1"
    return queries.add_query(
        "code",
        "id, cuts, feature, code",
        f"SELECT id, -1, feature, CAST(value AS INTEGER) FROM pw_x WHERE feature IN ({labels})\n"
        f"UNION ALL SELECT x.id, i.cuts, x.feature, i.code FROM pw_x x JOIN {interval} i "
        "ON i.feature = x.feature AND i.is_missing = 0 AND x.value > i.low AND x.value <= i.high\n"
        f"UNION ALL SELECT x.id, i.cuts, x.feature, i.code FROM pw_x x JOIN {interval} i "
        "ON i.feature = x.feature AND i.is_missing = 1 WHERE x.value IS NULL",
    )


def _cut_sets_of_features(step: Networks, shift: int) -> dict[int, NDArray[np.int32]]:
    """Return the set of cut points of each network, for each numeric feature."""
    return dict.fromkeys((step.numeric + shift).tolist(), step.cut_set)


def _look_up(
    cuts_of: dict[int, NDArray[np.int32]], network: NDArray[Any], feature: NDArray[Any]
) -> NDArray[np.int64]:
    """Return the set of cut points that networks cut features at, -1 for labels."""
    pairs = zip(network.tolist(), feature.tolist(), strict=True)
    return np.array([cuts_of[f][n] if f in cuts_of else -1 for n, f in pairs], dtype=np.int64)


def _tabulate(step: Networks, places: list[dict[str, int]]) -> dict[str, dict[str, Any]]:
    """Return contexts, entries and cells of all factors as columns of tables."""
    n_classes = step.log_prior.shape[1]
    contexts: list[list[NDArray[Any]]] = []
    entries: list[list[NDArray[Any]]] = []
    cells: list[list[NDArray[Any]]] = []
    for f, place in enumerate(places):
        n_contexts, n_entries = int(step.n_contexts[f]), int(step.n_entries[f])
        start = slice(place["start"], place["start"] + n_contexts + 1)
        n_children = np.diff(step.child_start[start])
        parent = np.repeat(np.arange(n_contexts), n_children) + place["context"]
        own = np.arange(1, n_contexts) + place["context"]
        contexts.append([parent, step.value[own], own])
        of_context = np.repeat(np.arange(n_contexts), np.diff(step.entry_start[start]))
        number = np.arange(n_entries) + place["entry"]
        # The first entry serves all classes.
        times = np.where(np.arange(n_entries) == 0, n_classes, 1)
        classes = np.concatenate([np.arange(n_classes), step.entry_class[number[1:]]])
        depth = np.repeat(np.arange(n_entries) > 0, times).astype(int)
        rest = step.rest[np.repeat(number, times)]
        entries.append(
            [np.repeat(of_context + place["context"], times), classes, depth,
             np.repeat(number, times), rest]
        )  # fmt: skip
        n_cells, n_outcomes = int(step.n_cells[f]), int(step.n_outcomes[f])
        score = step.score[place["cell"] : place["cell"] + n_cells]
        if step.is_dense[f]:
            outcome = np.tile(np.arange(n_outcomes, dtype=np.int32), n_entries)
            sizes = np.full(n_entries, n_outcomes)
        else:
            outcome = step.outcome[place["outcome"] : place["outcome"] + n_cells]
            at = place["cell_start"]
            sizes = np.diff(step.cell_start[at : at + n_entries + 1])
        cells.append([np.repeat(number, sizes), outcome, score])
    names = {
        "context": ("parent", "value", "context"),
        "entry": ("context", "class_", "depth", "entry", "rest"),
        "cell": ("entry", "outcome", "score"),
    }
    tables = {}
    for (name, columns), parts in zip(names.items(), (contexts, entries, cells), strict=True):
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        joined = joined or [np.empty(0, dtype=int) for _ in columns]
        if name != "context":
            joined[-1] = _in_units(joined[-1])
        tables[name] = dict(zip(columns, joined, strict=True))
    return tables


def _in_units(scores: NDArray[Any]) -> NDArray[Any]:
    """Return scores as multiples of 2**-24: whole numbers unless one is infinite."""
    units = np.asarray(scores, dtype=np.float64) * 2.0**24
    return units.astype(np.int64) if np.isfinite(units).all() else units
