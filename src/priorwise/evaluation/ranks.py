"""Comparison of many models on many data sets by their ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from priorwise.common.docstrings import describe
from priorwise.common.validation import check_number

MAX_BERGMANN_MODELS = 11
"""The 678,570 partitions of eleven models take seconds, those of twelve minutes and gigabytes."""

SCORE_TABLE = """
Parameters
----------
frame : frame or mapping of str to array-like
    Score of each model (column) on each data set (row).
higher_is_better : bool
    Whether higher scores are better.
alpha : float
    Level of significance.
"""
_PAIR_TESTS = f"""{SCORE_TABLE}
Returns
-------
list of PairTest
    One for each pair of models.
"""


@dataclass(frozen=True)
class RankTable:
    """Ranks of k models on N data sets; rank 1 is the best, equal scores share their mean rank."""

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
    """Result of :func:`friedman_test`.

    Parameters
    ----------
    average_ranks : mapping of str to float
        Mean rank of each model; lower is better.
    statistic : float
        Iman and Davenport's F.
    p_value : float
        Probability of a statistic at least as large if all models are equal.
    chi_square : float
        Friedman's statistic.
    n_datasets : int
        Number of data sets.

    Examples
    --------
    >>> result = friedman_test({"a": [0.1, 0.2, 0.1], "b": [0.3, 0.4, 0.2], "c": [0.2, 0.5, 0.3]})
    >>> result.average_ranks["a"], round(result.p_value, 3)
    (1.0, 0.049)
    """

    average_ranks: Mapping[str, float]
    statistic: float
    p_value: float
    chi_square: float
    n_datasets: int


@dataclass(frozen=True)
class PairTest:
    """Result of a post hoc test for one pair of models.

    Parameters
    ----------
    pair : tuple of str
        Names of the two models.
    p_value : float
        P-value of this pair alone.
    adjusted_p_value : float
        P-value adjusted for testing all pairs.
    rejected : bool
        Whether the two models differ significantly.

    Examples
    --------
    >>> scores = {"a": [0.1] * 9, "b": [0.3] * 9, "c": [0.2] * 9}
    >>> result = nemenyi(scores)[0]
    >>> result.pair, result.rejected
    (('a', 'b'), True)
    """

    pair: tuple[str, str]
    p_value: float
    adjusted_p_value: float
    rejected: bool


@describe(SCORE_TABLE)
def rank_models(frame: Any, *, higher_is_better: bool = False) -> RankTable:
    """Rank the models on every data set.

    Returns
    -------
    RankTable
        Ranks and names of the models; rank 1 is the best, equal scores share their mean rank.

    Examples
    --------
    >>> rank_models({"a": [0.1, 0.2], "b": [0.3, 0.2]}).ranks.tolist()
    [[1.0, 2.0], [1.5, 1.5]]
    """
    names, scores = _read_scores(frame)
    return RankTable(names, stats.rankdata(-scores if higher_is_better else scores, axis=1))


@describe(SCORE_TABLE)
def friedman_test(frame: Any, *, higher_is_better: bool = False) -> FriedmanTest:
    """Friedman's test that k models are equal on N data sets, in Iman and Davenport's form.

    From the average ranks R_j::

        chi2 = 12 N / (k (k + 1)) * (sum_j R_j^2 - k (k + 1)^2 / 4)
        F    = (N - 1) chi2 / (N (k - 1) - chi2),  with k - 1 and (k - 1)(N - 1) degrees of freedom

    If every data set ranks the models alike, F is infinite. Equal scores share their mean rank; no
    correction is made for them. Source: Demsar (2006).

    Returns
    -------
    FriedmanTest
        Average ranks, statistics and p-value.

    Examples
    --------
    >>> test = friedman_test({"a": [1, 1, 2, 1], "b": [2, 3, 1, 2], "c": [3, 2, 3, 3]})
    >>> test.average_ranks
    {'a': 1.25, 'b': 2.0, 'c': 2.75}
    >>> round(test.statistic, 3), round(test.p_value, 4)
    (3.857, 0.0837)
    """
    table = rank_models(frame, higher_is_better=higher_is_better)
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


@describe(_PAIR_TESTS)
def bergmann_hommel(
    frame: Any, *, higher_is_better: bool = False, alpha: float = 0.05
) -> list[PairTest]:
    """Bergmann and Hommel's post hoc test of every pair of models, most significant first.

    The p-value of a pair alone is that of ``z = (R_i - R_j) / sqrt(k (k + 1) / (6 N))``, normal.
    Models can only be equal in blocks of a partition of the models. With I the set of pairs that
    are in a common block of a partition, the maximum over all partitions that join the pair is::

        adjusted p = min(1, max over I of |I| * min(p in I))

    A pair is rejected if that is at most `alpha`. The test is more powerful than those of Nemenyi,
    Holm and Shaffer. The number of partitions grows fast (21,147 for nine models, less than a
    second), so at most eleven models are allowed. Source: Bergmann and Hommel (1988); Garcia and
    Herrera (2008).

    Examples
    --------
    >>> scores = {"a": [1, 1, 1, 1, 1], "b": [2, 2, 3, 2, 2], "c": [3, 3, 2, 3, 3]}
    >>> for test in bergmann_hommel(scores):
    ...     print(test.pair, round(test.adjusted_p_value, 4), test.rejected)
    ('a', 'c') 0.0133 True
    ('a', 'b') 0.0578 False
    ('b', 'c') 0.3428 False
    """
    table = rank_models(frame, higher_is_better=higher_is_better)
    if table.n_models > MAX_BERGMANN_MODELS:
        raise ValueError(
            f"frame must have at most {MAX_BERGMANN_MODELS} models, got {table.n_models}"
        )
    check_number("alpha", alpha, above=0, below=1)
    pairs = list(combinations(range(table.n_models), 2))
    p = _pair_p_values(table, pairs)
    adjusted = _adjust_over_partitions(p, pairs, table.n_models)
    return _sorted_tests(table, pairs, p, adjusted, alpha)


@describe(_PAIR_TESTS)
def nemenyi(frame: Any, *, higher_is_better: bool = False, alpha: float = 0.05) -> list[PairTest]:
    """Nemenyi's post hoc test of every pair of models, most significant first.

    The adjusted p-value is that of the studentised range of average ranks. The p-value of a pair
    alone is as in :func:`bergmann_hommel`. Source: Nemenyi (1963), Demsar (2006).

    Examples
    --------
    >>> tests = nemenyi({"a": [1, 1, 1, 1, 1], "b": [2, 2, 3, 2, 2], "c": [3, 3, 2, 3, 3]})
    >>> tests[0].pair, round(tests[0].adjusted_p_value, 3)
    (('a', 'c'), 0.012)
    """
    table = rank_models(frame, higher_is_better=higher_is_better)
    pairs = list(combinations(range(table.n_models), 2))
    # The studentised range is of single ranks, the difference of a pair is of two.
    adjusted = stats.studentized_range.sf(
        np.sqrt(2) * _pair_statistics(table, pairs), table.n_models, np.inf
    )
    return _sorted_tests(table, pairs, _pair_p_values(table, pairs), adjusted, alpha)


@describe(SCORE_TABLE)
def critical_difference(n_models: int, n_datasets: int, *, alpha: float = 0.05) -> float:
    """Smallest difference of average ranks that is significant in Nemenyi's test.

    For k models and N data sets::

        CD = q(alpha, k, inf) / sqrt(2) * sqrt(k (k + 1) / (6 N))

    with q the studentised range. Source: Demsar (2006), whose critical value for k = 5 is 2.728.

    Parameters
    ----------
    n_models, n_datasets : int
        Number of models and of data sets.

    Returns
    -------
    float
        The critical difference.

    Examples
    --------
    >>> round(critical_difference(5, 36), 3)
    1.017
    """
    check_number("n_models", n_models, least=2)
    check_number("n_datasets", n_datasets, least=1)
    check_number("alpha", alpha, above=0, below=1)
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


def _pair_statistics(table: RankTable, pairs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    error = np.sqrt(table.n_models * (table.n_models + 1) / (6 * table.n_datasets))
    average = table.average
    return np.array([abs(average[i] - average[j]) / error for i, j in pairs])


def _pair_p_values(table: RankTable, pairs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    return np.asarray(2 * stats.norm.sf(_pair_statistics(table, pairs)))


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
