"""Texts: which columns hold them, and the words that classifiers use of them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import warn_user

TEXT = "text"
"""The form of a column of texts, where one of dates has one of `FORMS`."""

NO_YES = ("no", "yes")
"""Labels of a word, of which a text has the rank: whether the word is in it."""

PIECE_LENGTH = 4
"""Letters of a piece of a word."""
PIECE_MARK = "…"
"""Stands before and behind a piece of a word."""
SCORE_UNIT = 2.0**-10
"""Scores of words are multiples of this, so that sums do not depend on the order of words."""

_WORD = re.compile(r"[^\W_]+")


def split_words(text: Any) -> list[str]:
    """Return the words of a text: longest runs of letters and digits, in lower case.

    >>> split_words("Delayed: no-show, 2nd time")
    ['delayed', 'no', 'show', '2nd', 'time']
    """
    if not isinstance(text, str):
        text = str(int(text)) if isinstance(text, float) and text.is_integer() else str(text)
    return _WORD.findall(text.lower())


@lru_cache(100_000)
def split_word(word: str) -> tuple[str, ...]:
    """Return the pieces of a longer word, as parts of a column are called.

    >>> split_word("delays"), split_word("show")
    (('…dela…', '…elay…', '…lays…'), ())
    """
    if len(word) <= PIECE_LENGTH:
        return ()
    starts = range(len(word) - PIECE_LENGTH + 1)
    pieces = {word[start : start + PIECE_LENGTH] for start in starts}
    return tuple(sorted(f"{PIECE_MARK}{piece}{PIECE_MARK}" for piece in pieces))


def find_tokens(words: Iterable[str]) -> set[str]:
    """Return different words and all their pieces."""
    distinct = set(words)
    return distinct.union(*map(split_word, distinct))


def find_fold(words: Sequence[str], n_folds: int) -> int:
    """Return the fold of a text, a hash of its words: texts of the same words share it.

    >>> find_fold(["no", "delay"], 8)
    4
    """
    return zlib.crc32(" ".join(words).encode()) % n_folds


@dataclass(frozen=True, eq=False)
class WordScores:
    """Scores of words and pieces, whose sums over a text are numbers that tell of the class.

    ``table[s, f, w] * SCORE_UNIT`` is what word w adds to sum s of a text in fold f (`find_fold`).
    It was learnt from texts in the other folds, so that the sums of texts of training are as honest
    as those of new ones. `names` are what these sums are called as parts of a column.
    """

    names: list[str]
    words: list[str]
    table: NDArray[np.int32]

    def is_same(self, other: WordScores | None) -> bool:
        """Whether two tables have the same names, words and scores."""
        return (
            other is not None
            and (self.names, self.words) == (other.names, other.words)
            and np.array_equal(self.table, other.table)
        )


def read_texts(
    texts: Sequence[Hashable], words: Sequence[str], scores: WordScores | None = None
) -> NDArray[np.float64]:
    """Return the number of words of each text, whether it has some words or pieces, and its sums.

    The shape is (1 + n_words + n_sums, n_texts). A missing text, None, has NaN words, none of the
    words that are asked for, and sums of zero.

    >>> read_texts(["No delay!", None], ["delay", "…elay…", "late"]).tolist()
    [[2.0, nan], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    place = {word: at for at, word in enumerate(words, 1)}
    score_of = {} if scores is None else {word: at for at, word in enumerate(scores.words)}
    n_folds = 1 if scores is None else scores.table.shape[1]
    n_words, folds, found = [], list[int](), []
    scored = []
    for text in texts:
        own = [] if text is None else split_words(text)
        n_words.append(np.nan if text is None else float(len(own)))
        tokens = find_tokens(own)
        found.append([place[token] for token in tokens if token in place])
        if scores is not None:
            folds.append(find_fold(own, n_folds))
            scored.append([score_of[token] for token in tokens if token in score_of])
    values = np.zeros((1 + len(words), len(n_words)))
    values[0] = n_words
    row, column = _pair(found)
    values[column, row] = 1.0
    if scores is None:
        return values
    row, column = _pair(scored)
    added = scores.table[:, np.array(folds, dtype=np.intp)[row], column]
    sums = [np.bincount(row, one, len(n_words)) * SCORE_UNIT for one in added]
    return np.vstack([values, *sums])


def _pair(places: list[list[int]]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the text of each place, and the place."""
    row = np.repeat(np.arange(len(places)), [len(own) for own in places])
    return row, np.array([place for own in places for place in own], dtype=np.intp)


def holds_texts(labels: Sequence[Hashable], rows: NDArray[Any]) -> bool:
    """Return whether the values of a column are texts: mostly different and of several words.

    `rows` are those of each label. At least 50 rows have a value, the values are half as many or
    more, all are strings, and they have 2.5 words in the mean, between spaces.
    """
    seen = [labels[i] for i in np.flatnonzero(rows).tolist() if labels[i] is not None]
    n_known = rows[[label is not None for label in labels]].sum()
    if n_known < 50 or 2 * len(seen) < n_known:
        return False
    texts = [label for label in seen if isinstance(label, str)]
    return len(texts) == len(seen) and sum(len(t.split()) for t in texts) >= 2.5 * len(texts)


def warn_of_texts(name: str) -> None:
    """Say that a column is read as text."""
    warn_user(
        f"the text of column {name} is read as words: name the column in text_features to say "
        "that it is text, in categorical_features if it holds labels"
    )


class WordCount(float):
    """Number of words that is shown as such.

    >>> f"{WordCount(12.0):.6g}"
    '12 words'
    """

    def __format__(self, spec: str) -> str:
        return f"{float(self):.6g} word{'' if self == 1.0 else 's'}"

    def __str__(self) -> str:
        return format(self)
