"""A large problem like the search for splice sites, written straight to Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.validation import check_number
from priorwise.data.sources.part import import_arrow
from priorwise.data.sources.source import prefetch

CHUNK_ROWS = 1 << 18
_LEVELS = 1 << 12  # chances are multiples of 1 / 4096: tables that fit the nearest cache
_REACH = 12  # positions on either side of the site that depend on the class
_N_PAIRS = 8


def write_splice_like(
    path: str | os.PathLike[str],
    n_rows: int,
    *,
    n_features: int = 140,
    n_values: int = 4,
    positives: float = 0.01,
    seed: int = 0,
    n_files: int = 1,
    first_row: int = 0,
) -> list[Path]:
    """Write sequences around a possible splice site, few of which are real, as Parquet.

    The values of a row are a Markov chain of first order along the positions. Within 12 positions
    of the site, in the middle, the chain of "positive" rows differs; eight positions further
    out depend on a position at the far end instead of on their neighbour, and how they do differs
    too. So the best network has arcs between neighbours around the site and a few long ones, and
    all other features are irrelevant. The problem is modelled on the splice data of 50 million rows
    (Sonnenburg and Franc 2010).

    Parameters
    ----------
    path : path
        A file, or a folder of ``part-0000.parquet`` ... if `n_files` is more than one.
    n_rows : int
        Number of rows. The first rows do not depend on `n_rows` and `n_files`.
    n_features : int
        Columns ``x000``, ``x001``, ...; categories, so that they are nominal.
    n_values : int
        Values of each feature: A, C, G, T for four, else ``v0``, ``v1``, ...
    positives : float
        Probability of the class "positive" in the last column, ``label``; others are "negative".
    seed : int
        Seed of the draws.
    n_files : int
        Number of files.
    first_row : int
        Number of rows of the endless sequence to skip: use later rows to test on.

    Returns
    -------
    list of Path
        The files written.

    Examples
    --------
    >>> import tempfile
    >>> from priorwise.data.sources import open_source
    >>> folder = tempfile.mkdtemp()
    >>> files = write_splice_like(folder, 1000, n_features=30, positives=0.2, n_files=2)
    >>> [file.name for file in files]
    ['part-0000.parquet', 'part-0001.parquet']
    >>> batch = next(open_source(folder, target="label").read())
    >>> batch.X.shape, batch.X["x000"].to_pylist()[:4], int((batch.y == "positive").sum())
    ((500, 30), ['T', 'T', 'T', 'C'], 115)
    """
    check_number("n_rows", n_rows, least=1)
    check_number("n_features", n_features, least=4)
    check_number("n_values", n_values, least=2, most=100)
    check_number("n_files", n_files, least=1)
    check_number("first_row", first_row, least=0)
    check_number("positives", positives, above=0, below=1)
    chain = SpliceChain.draw(n_features, n_values, seed)
    paths = _name_files(Path(path), n_files)
    ends = [n_rows * (i + 1) // n_files for i in range(n_files)]
    _write_files(prefetch(_tables(chain, first_row, n_rows, positives, seed)), paths, ends)
    return paths


@dataclass(frozen=True)
class SpliceChain:
    """Which position each one depends on, and how.

    ``lookup[j, (class * n_values + parent's value) * 4096 + u]`` is the value at position j for a
    uniform u in 0..4095.
    """

    n_values: int
    parent: list[int]
    lookup: NDArray[np.uint8]

    @classmethod
    def draw(cls, n_features: int, n_values: int, seed: int) -> SpliceChain:
        """Draw the chances of all transitions."""
        rng = np.random.default_rng([seed, 0])
        site = n_features // 2
        reach = min(_REACH, n_features // 4)
        parent = [j - 1 for j in range(n_features)]
        n_pairs = min(_N_PAIRS, (n_features - 2 * reach) // 4)
        far = [n_features - 1 - 2 * pair for pair in range(n_pairs)]
        for pair, j in enumerate(far):
            parent[j] = 2 * pair
        lookup = np.empty((n_features, 2 * n_values * _LEVELS), dtype=np.uint8)
        for j in range(n_features):
            chances = np.repeat(rng.dirichlet(np.full(n_values, 2.0), (1, n_values)), 2, axis=0)
            if abs(j - site) <= reach or j in far:
                # Nearer positions depend more on the class.
                weight = 0.5 if j in far else 0.9 - 0.6 * abs(j - site) / (reach + 1)
                other = rng.dirichlet(np.full(n_values, 0.7), n_values)
                chances[1] = (1 - weight) * chances[1] + weight * other
            lookup[j] = _to_lookup(chances.reshape(2 * n_values, n_values))
        return cls(n_values, parent, lookup)

    def sample(self, label: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
        """Values of rows of those classes, shape (n_features, n_rows)."""
        values = np.empty((len(self.parent), len(label)), dtype=np.uint8)
        first = label.astype(np.int32) * self.n_values
        for j, parent in enumerate(self.parent):
            state = first if parent < 0 else first + values[parent]
            u = rng.integers(_LEVELS, size=len(label), dtype=np.uint16)
            np.take(self.lookup[j], state * _LEVELS + u, out=values[j], mode="clip")
        return values


def _to_lookup(chances: NDArray[np.float64]) -> NDArray[np.uint8]:
    ends = np.rint(np.cumsum(chances, axis=1) * _LEVELS)[:, :-1]
    levels = np.arange(_LEVELS)
    return (levels[None, :, None] >= ends[:, None, :]).sum(axis=2).astype(np.uint8).ravel()


def _tables(
    chain: SpliceChain, first_row: int, n_rows: int, positives: float, seed: int
) -> Iterator[Any]:
    arrow = import_arrow("writing Parquet")
    words = list("ACGT") if chain.n_values == 4 else [f"v{i}" for i in range(chain.n_values)]
    values = arrow.array(words)
    classes = arrow.array(["negative", "positive"])
    names = [f"x{j:03d}" for j in range(len(chain.parent))]
    last_row = first_row + n_rows
    for number in range(first_row // CHUNK_ROWS, -(-last_row // CHUNK_ROWS)):
        # Whole chunks are drawn, so the rows do not depend on how many are asked for.
        rng = np.random.default_rng([seed, 1, number])
        label = (rng.random(CHUNK_ROWS) < positives).astype(np.uint8)
        codes = chain.sample(label, rng).view(np.int8)
        columns = [arrow.DictionaryArray.from_arrays(arrow.array(c), values) for c in codes]
        columns.append(arrow.DictionaryArray.from_arrays(arrow.array(label.view(np.int8)), classes))
        table = arrow.Table.from_arrays(columns, [*names, "label"])
        start = number * CHUNK_ROWS
        begin, end = max(first_row - start, 0), min(last_row - start, CHUNK_ROWS)
        yield table.slice(begin, end - begin)


def _name_files(path: Path, n_files: int) -> list[Path]:
    if n_files == 1 and not path.is_dir():
        return [path]
    path.mkdir(parents=True, exist_ok=True)
    return [path / f"part-{i:04d}.parquet" for i in range(n_files)]


def _write_files(tables: Iterator[Any], paths: list[Path], ends: list[int]) -> None:
    from pyarrow import parquet

    row, table = 0, next(tables)
    for path, end in zip(paths, ends, strict=True):
        # Draws do not compress: packed codes are as small as they get.
        with parquet.ParquetWriter(
            path, table.schema, compression="none", write_statistics=False
        ) as writer:
            while row < end:
                take = min(end - row, table.num_rows)
                writer.write_table(table.slice(0, take))
                row, table = row + take, table.slice(take)
                if table.num_rows == 0:
                    table = next(tables, table)
