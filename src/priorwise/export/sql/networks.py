"""Networks as common table expressions of SQL."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from priorwise.export.layout import SCORE_UNIT, Arrays, list_factors
from priorwise.export.sql.text import softmax

if TYPE_CHECKING:
    from priorwise.export.sql.steps import StepQueries

MAX_LEVELS = 12
"""Most levels of contexts that are joined at once: SQLite joins at most 64 tables."""

SlotFinder = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]
"""The slots of the codes of features in networks."""


def add_networks(queries: StepQueries, step: Arrays, shift: int) -> str:
    codes, slot_of = _cut_numbers(queries, step, shift)
    network = np.repeat(np.arange(len(step.n_factors)), step.n_factors)
    tables = _tabulate(list_factors(step))
    context, entry, cell = (queries.add_table(n, **t) for n, t in tables.items())
    n_levels = int(step.n_parents.max(initial=0))
    first = np.cumsum(step.n_parents) - step.n_parents
    parents: dict[str, Any] = {}
    for level in range(n_levels):
        has_parent = np.flatnonzero(step.n_parents > level)
        slots = np.full(len(network), -1)
        slots[has_parent] = slot_of(network[has_parent], step.path[first[has_parent] + level])
        parents[f"slot{level}"] = slots
    base = np.cumsum(step.n_entries) - step.n_entries
    factor = queries.add_table(
        "factor",
        network=network,
        slot=slot_of(network, step.column),
        is_towards=step.rest_towards_parent,
        context0=np.cumsum(step.n_contexts) - step.n_contexts,
        base=base,
        base_rest=_in_units(step.rest[base]),
        **parents,
    )
    walk = queries.add_stage(
        "walk0_",
        f"SELECT r.id, v.code, f.* FROM pw_row r CROSS JOIN {factor} f CROSS JOIN {codes} v "
        "WHERE v.id = r.id AND v.slot = f.slot AND v.code >= 0",
    )
    for start in range(0, n_levels, MAX_LEVELS):
        walk = _walk_down(queries, walk, codes, context, start, min(n_levels, start + MAX_LEVELS))
    n_networks, n_classes = step.log_prior.shape
    classes = queries.add_table("class", class_=np.arange(n_classes))
    scored = queries.add_stage(
        "scored0_",
        f"SELECT w.*, k.class_, COALESCE(c.score, w.base_rest) AS s0 FROM {walk} w "
        f"LEFT JOIN {cell} c ON c.entry = w.base AND c.outcome = w.code CROSS JOIN {classes} k",
    )
    ends = [*range(0, n_levels + 1, MAX_LEVELS), n_levels + 1]
    for number, levels in enumerate(pairwise(ends)):
        scored = _score_levels(queries, scored, entry, cell, number, range(*levels))
    networks = {"network": np.arange(n_networks)}
    prior = queries.add_class_table("prior", networks, s=step.log_prior)
    joint = queries.add_query(
        "joint",
        "id, network, class_, s",
        f"SELECT id, network, class_, SUM(s) FROM (\n"
        f"SELECT r.id, q.network, q.class_, q.s FROM pw_row r CROSS JOIN {prior} q\nUNION ALL "
        f"SELECT id, network, class_, "
        f"{SCORE_UNIT!r} * SUM(CAST(s{len(ends) - 1} AS DOUBLE PRECISION)) "
        f"FROM {scored} GROUP BY id, network, class_) u GROUP BY id, network, class_",
    )
    if len(step.guards):
        return _add_used(queries, step, joint, codes, prior, slot_of)
    joint = _replace_impossible(joint, prior, "id, network", "i.network = j.network")
    mean = softmax(f"SELECT id, network, class_ AS class, s FROM ({joint}) t", "id, network")
    return f"SELECT id, class, AVG(p) FROM ({mean}) m GROUP BY id, class"


def _walk_down(
    queries: StepQueries, walk: str, codes: str, context: str, first: int, last: int
) -> str:
    """Add the contexts of levels `first` + 1 .. `last`; NULL beyond the deepest."""
    joins, columns, above = "", "", f"w.context{first}"
    for level in range(first, last):
        joins += (
            f"\nLEFT JOIN {codes} v{level} ON v{level}.id = w.id AND v{level}.slot = w.slot{level} "
            f"LEFT JOIN {context} x{level} ON x{level}.parent = {above} "
            f"AND x{level}.value = v{level}.code"
        )
        above = f"x{level}.context"
        columns += f", {above} AS context{level + 1}"
    return queries.add_stage(f"walk{last}_", f"SELECT w.*{columns} FROM {walk} w{joins}")


def _score_levels(
    queries: StepQueries, scored: str, entry: str, cell: str, number: int, levels: range
) -> str:
    """Add the scores that entries of some levels make of those of the levels above.

    An entry with the outcome has its score; one without adds its rest, or answers with it alone.
    """
    joins, score = "", f"w.s{number}"
    for level in levels:
        e, c = f"e{level}", f"c{level}"
        joins += (
            f"\nLEFT JOIN {entry} {e} ON {e}.context = w.context{level} "
            f"AND {e}.class_ = w.class_ "
            f"LEFT JOIN {cell} {c} ON {c}.entry = {e}.entry AND {c}.outcome = w.code"
        )
        score = (
            f"CASE WHEN {c}.score IS NOT NULL THEN {c}.score "
            f"WHEN {e}.entry IS NOT NULL AND w.is_towards = 0 THEN {e}.rest "
            f"ELSE COALESCE({e}.rest, 0) + {score} END"
        )
    return queries.add_stage(
        f"scored{number + 1}_", f"SELECT w.*, {score} AS s{number + 1} FROM {scored} w{joins}"
    )


def _replace_impossible(joint: str, prior: str, by: str, condition: str) -> str:
    """Give rows that are impossible in all classes the prior of the classes."""
    return (
        "SELECT j.id, j.network, j.class_, CASE WHEN j.largest < -1e290 THEN i.s ELSE j.s END "
        f"AS s FROM (SELECT a.*, MAX(a.s) OVER (PARTITION BY {by}) AS largest FROM {joint} a) j "
        f"JOIN {prior} i ON {condition} AND i.class_ = j.class_"
    )


def _add_used(
    queries: StepQueries, step: Arrays, joint: str, codes: str, prior: str, slot_of: SlotFinder
) -> str:
    """Return AODE's probabilities: joint probabilities of the networks used, added up."""
    first = np.cumsum(step.n_factors)[:-1] - step.n_factors[:-1]
    sizes = step.n_outcomes[first]
    network = np.repeat(np.arange(len(first)), sizes)
    code = np.concatenate([np.arange(size) for size in sizes])
    frequent = np.flatnonzero(step.guards)
    guard = queries.add_table(
        "guard",
        network=network[frequent],
        slot=slot_of(network, step.column[first][network])[frequent],
        code=code[frequent],
    )
    used = queries.add_query(
        "used",
        "id, network",
        f"SELECT v.id, g.network FROM {codes} v JOIN {guard} g "
        "ON g.slot = v.slot AND g.code = v.code",
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


def _cut_numbers(queries: StepQueries, step: Arrays, shift: int) -> tuple[str, SlotFinder]:
    """Add the codes of features by slots; return how the slot of a network's feature is found.

    A label has one slot, the number of its feature; a number one for each set of cut points.
    """
    n_features = queries.n_features

    def slot_of(network: NDArray[Any], feature: NDArray[Any]) -> NDArray[Any]:
        cuts = np.where(np.isin(feature, step.numeric), 1 + step.cut_set[network], 0)
        return np.asarray(cuts * n_features + feature)

    ends = np.cumsum(step.n_cuts).reshape(step.n_cuts.shape)
    rows: list[tuple[int, int, float, float, int, int]] = []
    for s in range(len(step.n_cuts)):
        for j, feature in enumerate(step.numeric.tolist()):
            n, slot = int(step.n_cuts[s, j]), (1 + s) * n_features + feature
            points = [-np.inf, *step.cuts[ends[s, j] - n : ends[s, j]].tolist(), np.inf]
            for code in range(n + 1):
                rows.append((feature + shift, slot, points[code], points[code + 1], code, 0))
            missing = n + 1 if step.has_missing[j] else -1
            rows.append((feature + shift, slot, 0.0, 0.0, missing, 1))
    names = ("feature", "slot", "low", "high", "code", "is_missing")
    columns = zip(*rows, strict=True) if rows else [np.empty(0)] * len(names)
    interval = queries.add_table("interval", **dict(zip(names, columns, strict=True)))
    nominal = np.setdiff1d(np.arange(n_features), step.numeric) + shift
    labels = ", ".join(map(str, nominal.tolist())) or "-1"
    codes = queries.add_query(
        "code",
        "id, slot, code",
        # In SQLite a sum has no type of its own, so that it is found by an index of any values.
        f"SELECT id, feature - {shift}, CAST(value AS INTEGER) + 0 FROM pw_x "
        f"WHERE feature IN ({labels})\n"
        f"UNION ALL SELECT x.id, i.slot, i.code FROM pw_x x CROSS JOIN {interval} i WHERE "
        "i.feature = x.feature AND i.is_missing = 0 AND x.value > i.low AND x.value <= i.high\n"
        f"UNION ALL SELECT x.id, i.slot, i.code FROM pw_x x CROSS JOIN {interval} i WHERE "
        "i.feature = x.feature AND i.is_missing = 1 AND x.value IS NULL",
    )
    return codes, slot_of


def _tabulate(factors: list[Arrays]) -> dict[str, dict[str, Any]]:
    """Return contexts, entries and cells of all factors as columns of tables."""
    names = {
        "context": ("parent", "value", "context"),
        "entry": ("context", "class_", "entry", "rest"),
        "cell": ("entry", "outcome", "score"),
    }
    parts: dict[str, list[Any]] = {name: [] for name in names}
    n_contexts = n_entries = 0
    for factor in factors:
        contexts = np.arange(len(factor.value)) + n_contexts
        entries = np.arange(len(factor.rest)) + n_entries
        parent = np.repeat(contexts, np.diff(factor.child_start))
        parts["context"].append([parent, factor.value[1:], contexts[1:]])
        of_context = np.repeat(contexts, np.diff(factor.entry_start))
        # The first entry is that of all classes.
        of_entries = (of_context, factor.entry_class, entries, factor.rest)
        parts["entry"].append([column[1:] for column in of_entries])
        of_entry = np.repeat(entries, np.diff(factor.cell_start))
        parts["cell"].append([of_entry, factor.outcome, factor.score])
        n_contexts, n_entries = n_contexts + len(contexts), n_entries + len(entries)
    tables = {}
    for name, columns in names.items():
        joined = [np.concatenate(column) for column in zip(*parts[name], strict=True)]
        joined = joined or [np.empty(0, dtype=int) for _ in columns]
        if name != "context":
            joined[-1] = _in_units(joined[-1])
        tables[name] = dict(zip(columns, joined, strict=True))
    return tables


def _in_units(scores: NDArray[Any]) -> NDArray[Any]:
    """Return scores as multiples of `SCORE_UNIT`: whole numbers unless one is infinite."""
    units = np.asarray(scores, dtype=np.float64) / SCORE_UNIT
    return units.astype(np.int64) if np.isfinite(units).all() else units
