"""Trees whose nodes compare places among thresholds, which take less memory than thresholds."""

from __future__ import annotations

import numpy as np

from priorwise.export.layout import EQUAL, Arrays, Ints, whole

N_WAYS = 3


def rank_trees(trees: Arrays) -> Arrays:
    """Return the same trees with the rank of each node's threshold among those of its feature.

    Thresholds of `features` ascend, `n_thresholds` of each. The rank of a number is how many of
    them are below it. The `source` of a node is its feature's place times three plus its way, all
    times two, plus one if ranks must be equal. The roots of all trees come first. The `child` of a
    node is the first of its two children, which are beside each other; that of a leaf is ~row.
    """
    features, place = np.unique(trees.feature, return_inverse=True)
    tables = [np.unique(trees.threshold[place == i]) for i in range(len(features))]
    rank = np.zeros(len(place) + 1, dtype=np.int32)
    for i, table in enumerate(tables):
        rank[:-1][place == i] = np.searchsorted(table, trees.threshold[place == i])
    source = np.append(2 * (N_WAYS * place + trees.way) + (trees.way == EQUAL), 0)
    order, pair = _order_nodes(trees)
    # The last place, which leaves have too, is of a node that compares nothing.
    node = np.maximum(order, -1)
    return Arrays(
        features=whole(features),
        n_thresholds=whole([len(table) for table in tables]),
        thresholds=np.concatenate([np.zeros(0), *tables]),
        rank=rank[node],
        source=whole(source[node]),
        child=whole(np.where(order < 0, order, pair[node])),
    )


def _order_nodes(trees: Arrays) -> tuple[Ints, Ints]:
    """Return the nodes and leaves in their new order, and where the children of each node begin.

    It is that of a walk that takes the child with more nodes first, so that children are often in
    the memory beside their parents.
    """
    below, above = trees.below.tolist(), trees.above.tolist()
    # Children come after their parents. The last size, zero, is that of leaves.
    sizes = [0] * (len(below) + 1)
    for node in reversed(range(len(below))):
        sizes[node] = 1 + sizes[max(below[node], -1)] + sizes[max(above[node], -1)]
    order = trees.root.tolist()
    pair = [-1] * (len(below) + 1)
    for root in trees.root.tolist():
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node >= 0:
                pair[node] = len(order)
                children = [below[node], above[node]]
                order += children
                waiting += sorted(children, key=lambda child: sizes[max(child, -1)])
    return whole(order), whole(pair)
