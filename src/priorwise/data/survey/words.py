"""The words of texts that tell of the class."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln

from priorwise.data.tables.texts import (
    PIECE_MARK,
    SCORE_UNIT,
    WordScores,
    find_fold,
    find_tokens,
    split_words,
)


def learn_words(
    texts: Sequence[Hashable],
    counts: NDArray[Any],
    classes: Sequence[Any],
    *,
    min_rows: int = 1,
    chance: float = 0.05,
    max_words: int = 150,
) -> tuple[list[str], WordScores | None]:
    """Return at most `max_words` words and pieces that are features, and the scores of all.

    `counts` are the rows of each text and class, and nothing is learnt of words in fewer than
    `min_rows` rows. Of noise there is a word, or a score, with at most about the `chance` given.

    >>> texts = [f"late again {i}" for i in range(30)] + [f"all was well {i}" for i in range(30)]
    >>> learn_words(texts, np.repeat(np.eye(2), 30, axis=0), ["no", "yes"])[0]
    ['again', 'all']
    """
    has_rows = counts.any(axis=1) & np.array([text is not None for text in texts], dtype=bool)
    kept = np.flatnonzero(has_rows).tolist()
    of_class = np.flatnonzero(counts[kept].any(axis=0))
    counts = counts[kept][:, of_class].astype(np.float64)
    if len(of_class) < 2:
        return [], None
    split = [split_words(texts[i]) for i in kept]
    words, has_word = _find_words(split, counts.sum(axis=1), max(min_rows, 2))
    if not words:
        return [], None
    candidates = _choose_words(has_word, counts, min_rows, chance, 8 * max_words)
    chosen = _leave_out_copies(candidates, has_word, counts.sum(axis=1), max_words)
    scores = _learn_scores(
        split, words, has_word, counts, [classes[k] for k in of_class.tolist()], chance
    )
    return [words[i] for i in chosen], scores


def _find_words(
    texts: list[list[str]], n_rows: NDArray[np.float64], least: int
) -> tuple[list[str], csr_array]:
    """Return the words and pieces in at least so many rows, and which texts have which.

    Words come before pieces, and both are sorted.
    """
    tokens = [find_tokens(text) for text in texts]
    rows: dict[str, float] = {}
    for own, n in zip(tokens, n_rows.tolist(), strict=True):
        for token in own:
            rows[token] = rows.get(token, 0.0) + n
    common = sorted(token for token, n in rows.items() if n >= least)
    words = [*(w for w in common if w[0] != PIECE_MARK), *(w for w in common if w[0] == PIECE_MARK)]
    place = {word: i for i, word in enumerate(words)}
    places = [[place[token] for token in own if token in place] for own in tokens]
    start = np.cumsum([0, *map(len, places)])
    index = np.array([i for own in places for i in own], dtype=np.int64)
    ones = np.ones(len(index))
    return words, csr_array((ones, index, start), shape=(len(texts), len(words)))


def _choose_words(
    has_word: csr_array,
    counts: NDArray[Any],
    min_rows: int,
    chance: float,
    most: int,
) -> list[int]:
    """Return at most `most` places of words that rows of one class have more often than others.

    With n_k of the n rows that have a word in class k, and q_k the share of the class, the chance
    of so many under independence is at most::

        p = K exp(-n KL(n_k / n, q_k)),    KL(a, b) = a log(a / b) + (1 - a) log((1 - a) / (1 - b))

    (Chernoff), where K is the number of classes and the class is the one of the least p; for a word
    that most rows have, the rows without it may give less. Of all words in at least 5 and at least
    `min_rows` rows those are chosen that Benjamini and Hochberg's rule finds, the strongest first.
    """
    n_of_class, totals = has_word.T @ counts, counts.sum(axis=0)
    often = np.flatnonzero(n_of_class.sum(axis=1) >= max(min_rows, 5))
    if not len(often):
        return list[int]()
    evidence = _measure_evidence(n_of_class[often], totals)
    order = np.lexsort((often, -evidence))
    needed = np.log(len(often) / (chance * np.arange(1, len(often) + 1)))
    n_found = int(np.flatnonzero(evidence[order] >= needed).max(initial=-1)) + 1
    strongest: list[int] = often[order[: min(n_found, most)]].tolist()
    return strongest


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
        divergence = np.zeros_like(a)
        for x, q in ((a, share), (1.0 - a, 1.0 - share)):
            divergence += np.where(x > 0.0, x * np.log(x / q), 0.0)
    is_meant = (a < share) if less else (a > share)
    return np.where(is_meant, n * divergence, 0.0)


def _leave_out_copies(
    places: list[int], has_word: csr_array, n_rows: NDArray[np.float64], most: int
) -> list[int]:
    """Return at most `most` of the words at some places of which no two share most of their rows.

    Two words do if 80 % of the rows that have one of them have both; the first stays.
    """
    has_word = has_word[:, places]
    weighted = csr_array(has_word.multiply(n_rows[:, None]))
    both = (has_word.T @ weighted).toarray()
    n = np.diag(both)
    is_copy = both > 0.8 * (n[:, None] + n[None, :] - both)
    chosen: list[int] = []
    for i in range(len(n)):
        if len(chosen) < most and not is_copy[i, chosen].any():
            chosen.append(i)
    return [places[i] for i in chosen]


def _learn_scores(
    texts: list[list[str]],
    words: list[str],
    has_word: csr_array,
    counts: NDArray[np.float64],
    classes: Sequence[Any],
    chance: float,
    n_folds: int = 8,
) -> WordScores | None:
    """Return the scores whose sums are a naive Bayes of all words, and one of all pieces.

    With n_k of the n rows that have a word in class k, and q_k the share of the class::

        score of class k = log((n_k + c q_k) / (n + c) / q_k)

    in each fold by the rows of the others. The concentration c is that of the largest likelihood
    of the words' rows as draws from Dirichlet distributions around the shares. There is no sum if
    this likelihood is not `chance` times larger than that of words that all have these shares. Of
    two classes there is the difference of both scores.
    """
    if len(classes) > 20:
        return None
    fold = np.array([find_fold(text, n_folds) for text in texts])
    of_fold = [has_word[fold == f].T @ counts[fold == f] for f in range(n_folds)]
    others = sum(of_fold) - np.array(of_fold)
    share = counts.sum(axis=0) / counts.sum()
    is_piece = np.array([word[0] == PIECE_MARK for word in words])
    names, tables = list[str](), []
    for name, chosen in (("all words", ~is_piece), ("all pieces", is_piece)):
        c = _find_concentration(sum(of_fold)[chosen], share, chance)
        if c is None:
            continue
        n = others.sum(axis=2, keepdims=True)
        scores = np.log((others + c * share) / (n + c) / share) * chosen[:, None]
        if len(classes) == 2:
            names.append(name)
            tables.append(scores[..., 1] - scores[..., 0])
        else:
            names += [f"{name}, {label}" for label in classes]
            tables += [*np.moveaxis(scores, 2, 0)]
    if not names:
        return None
    table = np.rint(np.array(tables) / SCORE_UNIT).astype(np.int32)
    used = np.flatnonzero(table.any(axis=(0, 1)))
    return WordScores(names, [words[i] for i in used.tolist()], table[:, :, used])


def _find_concentration(
    n_of_class: NDArray[np.float64], share: NDArray[np.float64], chance: float
) -> float | None:
    """Return the concentration of `_learn_scores`; None if words tell nothing of the class."""
    n = n_of_class.sum(axis=1)
    independent = float((n_of_class * np.log(share)).sum())
    likelihood = {
        c: float(
            (gammaln(c) - gammaln(n + c)).sum()
            + (gammaln(n_of_class + c * share) - gammaln(c * share)).sum()
        )
        for c in 2.0 ** np.arange(13)
    }
    best = max(likelihood, key=lambda c: likelihood[c])
    return best if likelihood[best] > independent - np.log(chance) else None
