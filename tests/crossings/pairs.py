"""Few combinations of values that have every pair of values of two factors between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random

Row = dict[str, str]
Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two factors, in their order, with a value each."""


def list_pairs(row: Mapping[str, str]) -> Iterator[Pair]:
    """Pairs of values that a combination has."""
    return combinations(row.items(), 2)


def cover_pairs(
    factors: Mapping[str, Sequence[str]],
    is_possible: Callable[[Row], bool] = lambda row: True,
    seed: int = 0,
    recurring: Sequence[str] = (),
) -> list[Row]:
    """Combinations that have each pair of values which any possible combination has.

    Greedy: a combination begins with the first pair that is left, and each further factor takes the
    value that adds most pairs that are left. Of equals it takes one with which the values of the
    factors `recurring` are those of an earlier combination; of these one is drawn by `seed`, so
    that triples vary. `is_possible` is asked of combinations that may lack some factors.

    >>> sorted("".join(row.values()) for row in cover_pairs({"a": "xy", "b": "xy", "c": "xy"}))
    ['xxy', 'xyx', 'yxx', 'yyy']
    """
    left: dict[Pair, None] = {}
    for one, other in combinations(factors, 2):
        for value in factors[one]:
            for another in factors[other]:
                if _complete(row := {one: value, other: another}, factors, is_possible):
                    left[next(list_pairs(row))] = None
    random, rows = Random(seed), list[Row]()
    known: set[frozenset[tuple[str, str]]] = set()
    while left:
        start = dict(next(iter(left)))

        def rank(name: str, value: str, row: Row) -> tuple[float, ...]:
            longer = _sort({**row, name: value}, factors)
            n_new = sum(pair in left for pair in list_pairs(longer))
            return -n_new, _pick(longer, recurring) not in known, random.random()

        chosen = _complete(start, factors, is_possible, rank)
        assert chosen is not None
        for pair in list_pairs(chosen):
            left.pop(pair, None)
        rows.append(chosen)
        for size in range(len(recurring) + 1):
            known.update(_pick(chosen, names) for names in combinations(recurring, size))
    return rows


def _pick(row: Row, names: Sequence[str]) -> frozenset[tuple[str, str]]:
    return frozenset(item for item in row.items() if item[0] in names)


def _complete(
    row: Row,
    factors: Mapping[str, Sequence[str]],
    is_possible: Callable[[Row], bool],
    rank: Callable[[str, str, Row], tuple[float, ...]] = lambda name, value, row: (0.0,),
) -> Row | None:
    """A possible combination with these values, by trying others in order of rank; None if none."""
    if not is_possible(row):
        return None
    missing = [name for name in factors if name not in row]
    if not missing:
        return _sort(row, factors)
    name = missing[0]
    for value in sorted(factors[name], key=lambda value: rank(name, value, row)):
        found = _complete({**row, name: value}, factors, is_possible, rank)
        if found is not None:
            return found
    return None


def _sort(row: Row, factors: Mapping[str, Sequence[str]]) -> Row:
    return {name: row[name] for name in factors if name in row}
