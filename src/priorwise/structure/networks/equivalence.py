"""The graphs that no data can tell apart: those with the same skeleton and the same colliders."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def orient_compelled(
    parents: Sequence[Sequence[int]],
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return the arcs that all equivalent graphs have, and the other ones as pairs (lower, higher).

    Arcs of a collider, a child of two variables that no arc joins, are compelled, and so are those
    whose reversal would make another collider or a cycle (rules 1 to 3 of Meek 1995, which are all
    that a graph without further knowledge needs).

    >>> arcs, edges = orient_compelled([[], [], [0, 1], [2], [3], []])
    >>> sorted(arcs), edges
    ([(0, 2), (1, 2), (2, 3), (3, 4)], set())
    >>> orient_compelled([[], [0], [1]])[1] == {(0, 1), (1, 2)}
    True
    """
    joined = {frozenset((a, b)) for b, own in enumerate(parents) for a in own}
    arcs: set[tuple[int, int]] = set()
    for child, own in enumerate(parents):
        for a, b in combinations(own, 2):
            if frozenset((a, b)) not in joined:
                arcs |= {(a, child), (b, child)}
    # The direction of every arc is known from the graph; the rules say which are compelled.
    left = {(a, b) for b, own in enumerate(parents) for a in own} - arcs
    while True:
        compelled = {arc for arc in left if _is_compelled(*arc, arcs, left, joined)}
        if not compelled:
            break
        arcs |= compelled
        left -= compelled
    return arcs, {(min(arc), max(arc)) for arc in left}


def _is_compelled(
    a: int,
    b: int,
    arcs: set[tuple[int, int]],
    left: set[tuple[int, int]],
    joined: set[frozenset[int]],
) -> bool:
    """Return whether b -> a would make a collider or a cycle, given the arcs known so far."""
    into_a = [x for x, y in arcs if y == a]
    if any(frozenset((x, b)) not in joined for x in into_a):
        return True
    if any((a, y) in arcs and (y, b) in arcs for y in {y for x, y in arcs if x == a}):
        return True
    free = {x if y == a else y for x, y in left if a in (x, y)}
    tops = [x for x, y in arcs if y == b and x in free]
    return any(frozenset(pair) not in joined for pair in combinations(tops, 2))
