"""Classes of equivalent graphs against all graphs of the same skeleton."""

from itertools import combinations, product

import numpy as np
import pytest

from priorwise.structure.networks import Network
from priorwise.structure.networks.equivalence import orient_compelled


def colliders(parents: list[list[int]]) -> set[tuple[frozenset[int], int]]:
    joined = {frozenset((a, b)) for b, own in enumerate(parents) for a in own}
    return {
        (frozenset(pair), child)
        for child, own in enumerate(parents)
        for pair in combinations(own, 2)
        if frozenset(pair) not in joined
    }


def equivalent_graphs(parents: list[list[int]]) -> list[set[tuple[int, int]]]:
    """The arcs of every graph with the same skeleton and the same colliders."""
    skeleton = [(a, b) for b, own in enumerate(parents) for a in own]
    result = []
    for turned in product([False, True], repeat=len(skeleton)):
        arcs = [(b, a) if turn else (a, b) for (a, b), turn in zip(skeleton, turned, strict=True)]
        other: list[list[int]] = [[] for _ in parents]
        for a, b in arcs:
            other[b].append(a)
        try:
            Network.from_parents(other)
        except ValueError:
            continue
        if colliders(other) == colliders(parents):
            result.append(set(arcs))
    return result


@pytest.mark.parametrize("seed", range(30))
def test_compelled_arcs_are_those_of_all_equivalent_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(6)
    parents: list[list[int]] = [[] for _ in range(6)]
    for j in range(6):
        parents[order[j]] = [int(order[i]) for i in range(j) if rng.random() < 0.45]
    graphs = equivalent_graphs(parents)
    arcs, edges = orient_compelled(parents)
    assert arcs == set.intersection(*graphs)
    assert arcs | {(a, b) for a, b in edges} | {(b, a) for a, b in edges} == set.union(*graphs)
