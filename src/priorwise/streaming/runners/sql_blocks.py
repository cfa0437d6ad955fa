"""Sets of columns that are counted together, so that few groupings count all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MAX_BLOCK_CELLS = 1 << 13
"""Most combinations of codes of a block that counts more than one set."""
MAX_KEY = 1 << 62
"""Most combinations that one whole number of a database can tell apart."""


def plan_blocks(
    sets: Iterable[frozenset[int]],
    radices: Sequence[int],
    n_classes: int,
    max_cells: int = MAX_BLOCK_CELLS,
) -> list[tuple[int, ...]]:
    """Choose blocks of columns such that every set is within one of them.

    A block begins with the set of the most combinations that is not counted yet. It takes the
    column that completes most other sets, as long as it has at most `max_cells` combinations of
    codes and classes. The rows of a block are counted by one grouping.

    >>> pairs = [frozenset((i, j)) for i in range(4) for j in range(i)]
    >>> plan_blocks(pairs, [3, 3, 3, 3], n_classes=2)
    [(0, 1, 2, 3)]
    >>> plan_blocks(pairs, [3, 3, 3, 3], n_classes=2, max_cells=54)
    [(0, 1, 2), (0, 1, 3), (2, 3)]
    """

    def count_cells(block: Iterable[int]) -> int:
        n_cells = n_classes
        for column in block:
            n_cells *= radices[column]
        return n_cells

    # Columns as bits: whether a set is within a block is then a single operation.
    left = {sum(1 << column for column in one): one for one in sets}
    order = sorted(left, key=lambda bits: (-count_cells(left[bits]), bits))
    blocks = []
    while order:
        block = order[0]
        columns = set(left[block])
        n_cells = count_cells(columns)
        while True:
            gains: dict[int, int] = {}
            for bits in order:
                extra = bits & ~block
                if extra and extra & (extra - 1) == 0:
                    gains[extra] = gains.get(extra, 0) + 1
            fitting = {
                extra: gain
                for extra, gain in gains.items()
                if n_cells * radices[extra.bit_length() - 1] <= max_cells
            }
            if not fitting:
                break
            best = max(fitting, key=lambda extra: (fitting[extra], -extra))
            block |= best
            columns.add(best.bit_length() - 1)
            n_cells *= radices[best.bit_length() - 1]
        blocks.append(tuple(sorted(columns)))
        order = [bits for bits in order if bits & ~block]
    return blocks


def split_key(radices: Sequence[int], limit: int = MAX_KEY) -> list[list[int]]:
    """Split places into runs whose codes together fit into one whole number each.

    >>> split_key([10, 10, 10], limit=100)
    [[0, 1], [2]]
    """
    runs: list[list[int]] = [[]]
    size = 1
    for place, radix in enumerate(radices):
        if runs[-1] and size * radix > limit:
            runs.append([])
            size = 1
        runs[-1].append(place)
        size *= radix
    return runs
