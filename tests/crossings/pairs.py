"""Few combinations of values that have every pair of values of two factors between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

Row = dict[str, str]
Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two factors, in their order, with a value each."""


def list_pairs(row: Mapping[str, str]) -> Iterator[Pair]:
    """Pairs of values that a combination has."""
    return combinations(row.items(), 2)


def cover_pairs(
    factors: Mapping[str, Sequence[str]], is_possible: Callable[[Row], bool] = lambda row: True
) -> list[Row]:
    """Combinations that have each pair of values which any possible combination has.

    Greedy: a combination begins with the first pair that is left, and each further factor takes the
    value that adds most pairs that are left; of equals the one that was used least, then the first.
    `is_possible` is asked of combinations that may lack some factors.

    >>> cover_pairs({"a": "xy", "b": "xy", "c": "xy"})[:2]
    [{'a': 'x', 'b': 'x', 'c': 'x'}, {'a': 'x', 'b': 'y', 'c': 'y'}]
    """
    left: dict[Pair, None] = {}
    for one, other in combinations(factors, 2):
        for value in factors[one]:
            for another in factors[other]:
                if _complete(row := {one: value, other: another}, factors, is_possible):
                    left[next(list_pairs(row))] = None
    uses = {(name, value): 0 for name, values in factors.items() for value in values}
    rows = []
    while left:
        start = dict(next(iter(left)))

        def rank(item: tuple[str, str], row: Row) -> tuple[int, int]:
            new = list_pairs(_sort({**row, item[0]: item[1]}, factors))
            return -sum(pair in left for pair in new), uses[item]

        chosen = _complete(start, factors, is_possible, rank)
        assert chosen is not None
        for pair in list_pairs(chosen):
            left.pop(pair, None)
        for item in chosen.items():
            uses[item] += 1
        rows.append(chosen)
    return rows


def _complete(
    row: Row,
    factors: Mapping[str, Sequence[str]],
    is_possible: Callable[[Row], bool],
    rank: Callable[[tuple[str, str], Row], tuple[int, int]] = lambda item, row: (0, 0),
) -> Row | None:
    """A possible combination with these values, by trying others in order of rank; None if none."""
    if not is_possible(row):
        return None
    missing = [name for name in factors if name not in row]
    if not missing:
        return _sort(row, factors)
    name = missing[0]
    for value in sorted(factors[name], key=lambda value: rank((name, value), row)):
        found = _complete({**row, name: value}, factors, is_possible, rank)
        if found is not None:
            return found
    return None


def _sort(row: Row, factors: Mapping[str, Sequence[str]]) -> Row:
    return {name: row[name] for name in factors if name in row}
