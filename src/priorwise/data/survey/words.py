"""The words of texts that tell of the class."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from priorwise.data.tables.texts import PIECE_MARK, split_word, split_words

MAX_WORDS = 150
"""Most words and pieces of words of a column that are features."""


def choose_words(
    texts: Sequence[Hashable], counts: NDArray[Any], *, min_rows: int = 1, chance: float = 0.05
) -> list[str]:
    """Return the words, and pieces of words, that rows of one class have more often than others.

    `counts` are the rows of each text and class. With n_k of the n rows that have a word in class
    k, and q_k the share of the class, the chance of so many under independence is at most::

        p = K exp(-n KL(n_k / n, q_k)),    KL(a, b) = a log(a / b) + (1 - a) log((1 - a) / (1 - b))

    (Chernoff), where K is the number of classes and the class is the one of the least p; for a word
    that most rows have, the rows without it may give less. Of all words in at least 5 and at least
    `min_rows` rows those are chosen that Benjamini and Hochberg's rule finds: of noise there is one
    with at most the `chance` given. The strongest come first, and one that is in nearly the same
    rows as one before it is left out.

    >>> texts = [f"late again {i}" for i in range(30)] + [f"all was well {i}" for i in range(30)]
    >>> choose_words(texts, np.repeat(np.eye(2), 30, axis=0))
    ['again', 'all']
    """
    has_rows = counts.any(axis=1) & np.array([text is not None for text in texts], dtype=bool)
    kept = np.flatnonzero(has_rows).tolist()
    counts = counts[kept].astype(np.float64)
    names, has_word = _find_words([split_words(texts[i]) for i in kept])
    n_of_class = has_word.T @ counts
    often = n_of_class.sum(axis=1) >= max(min_rows, 5)
    names = [name for name, is_often in zip(names, often.tolist(), strict=True) if is_often]
    if not names:
        return []
    has_word = has_word[:, np.flatnonzero(often)]
    evidence = _measure_evidence(n_of_class[often], counts.sum(axis=0))
    pieces = [name[0] == PIECE_MARK for name in names]
    order = np.lexsort((np.array(names), np.array(pieces), -evidence))
    needed = np.log(len(names) / (chance * np.arange(1, len(names) + 1)))
    n_found = int(np.flatnonzero(evidence[order] >= needed).max(initial=-1)) + 1
    strongest = order[: min(n_found, 8 * MAX_WORDS)]
    chosen = _leave_out_copies(has_word[:, strongest], counts.sum(axis=1))
    return [names[i] for i in strongest[chosen].tolist()]


def _find_words(texts: list[list[str]]) -> tuple[list[str], csr_array]:
    """Return all words and pieces, in an order of their own, and which texts have which.

    Pieces that are in the same words as another one are not told apart from it here.
    """
    words = sorted({word for text in texts for word in text})
    place = {word: i for i, word in enumerate(words)}
    has_word = _mark([[place[word] for word in set(text)] for text in texts], len(words))
    of_words = [[*split_word(word)] for word in words]
    pieces = sorted({piece for own in of_words for piece in own})
    place = {piece: i for i, piece in enumerate(pieces)}
    has_piece = _mark([[place[piece] for piece in set(own)] for own in of_words], len(pieces))
    both = csr_array(has_word @ has_piece)
    both.data[:] = 1.0
    return words + pieces, _join(has_word, both)


def _mark(places: list[list[int]], width: int) -> csr_array:
    """Return a matrix with ones at some places of each row."""
    start = np.cumsum([0, *map(len, places)])
    index = np.array([i for row in places for i in row], dtype=np.int64)
    return csr_array((np.ones(len(index)), index, start), shape=(len(places), width))


def _join(a: csr_array, b: csr_array) -> csr_array:
    from scipy.sparse import hstack

    return csr_array(hstack([a, b]))


def _measure_evidence(n_of_class: NDArray[Any], totals: NDArray[Any]) -> NDArray[np.float64]:
    """Return -log p of each word, which has `n_of_class` of the `totals` rows of each class."""
    share = totals / totals.sum()
    with_word = _measure_excess(n_of_class, share)
    # A class that has a word more often has less of the rows without it.
    without = _measure_excess(totals - n_of_class, share, less=True)
    evidence: NDArray[np.float64] = np.maximum(with_word, without).max(axis=1)
    return evidence - np.log(len(totals))


def _measure_excess(
    n_of_class: NDArray[Any], share: NDArray[np.float64], *, less: bool = False
) -> NDArray[np.float64]:
    """Return n KL(n_k / n, q_k) of each class with more rows than its share; or with less."""
    n = n_of_class.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        a = n_of_class / n
        terms = [
            np.where(x > 0.0, x * np.log(x / q), 0.0) for x, q in ((a, share), (1 - a, 1 - share))
        ]
    is_meant = (a < share) if less else (a > share)
    return np.where(is_meant, n * (terms[0] + terms[1]), 0.0)


def _leave_out_copies(has_word: csr_array, n_rows: NDArray[np.float64]) -> list[int]:
    """Return the places of at most `MAX_WORDS` words of which no two share most of their rows.

    Two words do if 80 % of the rows that have one of them have both.
    """
    weighted = csr_array(has_word.multiply(n_rows[:, None]))
    both = (has_word.T @ weighted).toarray()
    n = np.diag(both)
    is_copy = both > 0.8 * (n[:, None] + n[None, :] - both)
    chosen: list[int] = []
    for i in range(len(n)):
        if len(chosen) < MAX_WORDS and not is_copy[i, chosen].any():
            chosen.append(i)
    return chosen
