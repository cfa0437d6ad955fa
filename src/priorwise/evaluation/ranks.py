"""Many models compared over many data sets, by their ranks."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import stats

# The 678,570 partitions of eleven models take seconds; of twelve, minutes and gigabytes.
MAX_BERGMANN_MODELS = 11


@dataclass(frozen=True)
class RankTable:
    """Scores of k models on N data sets with their ranks; rank 1 is best, ties share the mean."""

    names: tuple[str, ...]
    ranks: NDArray[np.float64]

    @property
    def n_datasets(self) -> int:
        return self.ranks.shape[0]

    @property
    def n_models(self) -> int:
        return self.ranks.shape[1]

    @property
    def average(self) -> NDArray[np.float64]:
        return np.asarray(self.ranks.mean(axis=0))


@dataclass(frozen=True)
class FriedmanTest:
    """Result of :func:`friedman_test`."""

    average_ranks: Mapping[str, float]
    statistic: float
    p_value: float
    chi_square: float
    n_datasets: int


@dataclass(frozen=True)
class PairTest:
    """Result of a post hoc test for one pair of models."""

    pair: tuple[str, str]
    p_value: float
    adjusted_p_value: float
    rejected: bool


def rank_models(frame: Any, higher_is_better: bool = False) -> RankTable:
    """Rank the models (columns) on every data set (row) of ``frame``.

    ``frame`` is a data frame or a mapping of model name to scores.

    >>> rank_models({"a": [0.1, 0.2], "b": [0.3, 0.2]}).ranks.tolist()
    [[1.0, 2.0], [1.5, 1.5]]
    """
    names, scores = _read_scores(frame)
    return RankTable(names, stats.rankdata(-scores if higher_is_better else scores, axis=1))


def friedman_test(frame: Any, higher_is_better: bool = False) -> FriedmanTest:
    """Friedman's test that k models are equal on N data sets, in Iman and Davenport's form.

    From the average ranks R_j::

        chi2 = 12 N / (k (k + 1)) * (sum_j R_j^2 - k (k + 1)^2 / 4)
        F    = (N - 1) chi2 / (N (k - 1) - chi2),  with k - 1 and (k - 1)(N - 1) degrees of freedom

    ``statistic`` is F, ``p_value`` its upper tail. If every data set ranks the models alike, F
    is infinite. Ties share their mean rank; no correction is made for them. Source: Demsar (2006).

    >>> test = friedman_test({"a": [1, 1, 2, 1], "b": [2, 3, 1, 2], "c": [3, 2, 3, 3]})
    >>> test.average_ranks
    {'a': 1.25, 'b': 2.0, 'c': 2.75}
    >>> round(test.statistic, 3), round(test.p_value, 4)
    (3.857, 0.0837)
    """
    table = rank_models(frame, higher_is_better)
    n, k = table.n_datasets, table.n_models
    if n < 2:
        raise ValueError(f"frame must have at least two data sets, got {n}")
    average = table.average
    chi_square = 12 * n / (k * (k + 1)) * float((average**2).sum() - k * (k + 1) ** 2 / 4)
    chi_square = max(chi_square, 0.0)
    rest = n * (k - 1) - chi_square
    statistic = float("inf") if rest <= 1e-9 else (n - 1) * chi_square / rest
    p_value = float(stats.f.sf(statistic, k - 1, (k - 1) * (n - 1)))
    ranks = dict(zip(table.names, average.tolist(), strict=True))
    return FriedmanTest(ranks, statistic, p_value, chi_square, n)


def bergmann_hommel(
    frame: Any, higher_is_better: bool = False, alpha: float = 0.05
) -> list[PairTest]:
    """Bergmann and Hommel's post hoc test of every pair of models, most significant first.

    A pair's own p-value is two-sided normal on ``z = (R_i - R_j) / sqrt(k (k + 1) / (6 N))``.
    Which equalities can hold together is known: exactly the pairs inside the blocks of a
    partition of the models. So, over all partitions whose set of pairs I holds the pair::

        adjusted p = min(1, max over I of |I| * min(p in I))

    and a pair is rejected when that is at most ``alpha``. More powerful than Nemenyi, Holm and
    Shaffer. The number of partitions grows fast (21,147 for nine models, under a second), so at
    most eleven models are allowed. Source: Bergmann and Hommel (1988); Garcia and Herrera (2008).

    >>> scores = {"a": [1, 1, 1, 1, 1], "b": [2, 2, 3, 2, 2], "c": [3, 3, 2, 3, 3]}
    >>> for test in bergmann_hommel(scores):
    ...     print(test.pair, round(test.adjusted_p_value, 4), test.rejected)
    ('a', 'c') 0.0133 True
    ('a', 'b') 0.0578 False
    ('b', 'c') 0.3428 False
    """
    table = rank_models(frame, higher_is_better)
    if table.n_models > MAX_BERGMANN_MODELS:
        raise ValueError(
            f"frame must have at most {MAX_BERGMANN_MODELS} models, got {table.n_models}"
        )
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie in (0, 1), got {alpha}")
    pairs = list(combinations(range(table.n_models), 2))
    p = _pair_p_values(table, pairs)
    adjusted = _adjust_over_partitions(p, pairs, table.n_models)
    return _sorted_tests(table, pairs, p, adjusted, alpha)


def nemenyi(frame: Any, higher_is_better: bool = False, alpha: float = 0.05) -> list[PairTest]:
    """Nemenyi's post hoc test of every pair of models, most significant first.

    The studentised range of the average ranks, by scikit-posthocs
    (``pip install priorwise[posthoc]``). ``p_value`` is the pair's own, as in
    :func:`bergmann_hommel`. Source: Nemenyi (1963), Demsar (2006).

    >>> tests = nemenyi({"a": [1, 1, 1, 1, 1], "b": [2, 2, 3, 2, 2], "c": [3, 3, 2, 3, 3]})
    >>> tests[0].pair, round(tests[0].adjusted_p_value, 3)
    (('a', 'c'), 0.012)
    """
    try:
        posthocs = importlib.import_module("scikit_posthocs")
    except ImportError as error:
        raise ImportError(
            "nemenyi needs scikit-posthocs: pip install priorwise[posthoc]"
        ) from error
    table = rank_models(frame, higher_is_better)
    pairs = list(combinations(range(table.n_models), 2))
    matrix = np.asarray(posthocs.posthoc_nemenyi_friedman(table.ranks))
    adjusted = np.array([matrix[i, j] for i, j in pairs])
    return _sorted_tests(table, pairs, _pair_p_values(table, pairs), adjusted, alpha)


def critical_difference(n_models: int, n_datasets: int, alpha: float = 0.05) -> float:
    """Difference of average ranks that Nemenyi's test calls significant::

        CD = q(alpha, k, inf) / sqrt(2) * sqrt(k (k + 1) / (6 N))

    with q the studentised range. Source: Demsar (2006), whose k = 5 critical value is 2.728.

    >>> round(critical_difference(5, 36), 3)
    1.017
    """
    if n_models < 2 or n_datasets < 1:
        raise ValueError(
            f"n_models must be at least 2 and n_datasets at least 1, got {n_models}, {n_datasets}"
        )
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie in (0, 1), got {alpha}")
    q = stats.studentized_range.isf(alpha, n_models, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_models * (n_models + 1) / (6 * n_datasets)))


def _read_scores(frame: Any) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    if isinstance(frame, Mapping):
        columns = {str(name): np.asarray(values) for name, values in frame.items()}
    else:
        table = nw.from_native(frame, eager_only=True)
        columns = {str(name): table[name].to_numpy() for name in table.columns}
    if len(columns) < 2:
        raise ValueError(f"frame must have at least two models (columns), got {len(columns)}")
    lengths = {name: values.shape for name, values in columns.items()}
    if len(set(lengths.values())) != 1 or len(next(iter(lengths.values()))) != 1:
        raise ValueError(f"columns of frame must be equally long lists, got shapes {lengths}")
    if next(iter(lengths.values())) == (0,):
        raise ValueError("frame must have at least one data set (row), got none")
    for name, values in columns.items():
        if values.dtype.kind not in "biuf":
            raise ValueError(f"column {name!r} of frame must hold numbers: drop it or convert it")
        if np.isnan(values.astype(np.float64)).any():
            raise ValueError(f"column {name!r} of frame must not hold missing values")
    scores = np.column_stack([values.astype(np.float64) for values in columns.values()])
    return tuple(columns), scores


def _pair_p_values(table: RankTable, pairs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    error = np.sqrt(table.n_models * (table.n_models + 1) / (6 * table.n_datasets))
    average = table.average
    z = np.array([abs(average[i] - average[j]) / error for i, j in pairs])
    return np.asarray(2 * stats.norm.sf(z))


def _partitions(n_models: int) -> NDArray[np.int8]:
    """Every partition of the models, one per row: the block number of each model."""
    rows = np.zeros((1, 1), dtype=np.int8)
    for _ in range(n_models - 1):
        # A next model joins one of the blocks there are, or opens the next one.
        n_choices = rows.max(axis=1).astype(np.intp) + 2
        first = np.repeat(np.cumsum(n_choices) - n_choices, n_choices)
        block = (np.arange(len(first)) - first).astype(np.int8)
        rows = np.column_stack([np.repeat(rows, n_choices, axis=0), block])
    return rows


def _adjust_over_partitions(
    p: NDArray[np.float64], pairs: Sequence[tuple[int, int]], n_models: int
) -> NDArray[np.float64]:
    blocks = _partitions(n_models)
    together = np.column_stack([blocks[:, i] == blocks[:, j] for i, j in pairs])
    smallest = np.full(len(blocks), np.inf)
    for column in np.argsort(-p):
        smallest[together[:, column]] = p[column]
    size = together.sum(axis=1)
    bound = np.where(size > 0, size * np.where(size > 0, smallest, 0.0), 0.0)
    worst = [float(bound[together[:, column]].max()) for column in range(len(pairs))]
    return np.minimum(worst, 1.0)


def _sorted_tests(
    table: RankTable,
    pairs: Sequence[tuple[int, int]],
    p: NDArray[np.float64],
    adjusted: NDArray[np.float64],
    alpha: float,
) -> list[PairTest]:
    tests = []
    for column in np.lexsort((adjusted, p)):
        i, j = pairs[column]
        names = (table.names[i], table.names[j])
        value = float(adjusted[column])
        tests.append(PairTest(names, float(p[column]), value, value <= alpha))
    return tests
