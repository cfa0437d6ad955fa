"""Texts: which columns hold them, and the words that classifiers use of them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
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

_WORD = re.compile(r"[^\W_]+")


def split_words(text: Any) -> list[str]:
    """Return the words of a text: longest runs of letters and digits, in lower case.

    >>> split_words("Delayed: no-show, 2nd time")
    ['delayed', 'no', 'show', '2nd', 'time']
    """
    if not isinstance(text, str):
        text = str(int(text)) if isinstance(text, float) and text.is_integer() else str(text)
    return _WORD.findall(text.lower())


def split_word(word: str) -> Iterator[str]:
    """Yield the pieces of a longer word, as parts of a column are called.

    >>> list(split_word("delays")), list(split_word("show"))
    (['…dela…', '…elay…', '…lays…'], [])
    """
    if len(word) > PIECE_LENGTH:
        for start in range(len(word) - PIECE_LENGTH + 1):
            yield f"{PIECE_MARK}{word[start : start + PIECE_LENGTH]}{PIECE_MARK}"


def read_texts(texts: Sequence[Hashable], words: Sequence[str]) -> NDArray[np.float64]:
    """Return the number of words of each text, then whether it has each of some words or pieces.

    The shape is (1 + n_words, n_texts). A missing text, None, has NaN words, and none of them.

    >>> read_texts(["No delay!", None], ["delay", "…elay…", "late"]).tolist()
    [[2.0, nan], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    """
    place = {word: at for at, word in enumerate(words, 1)}
    pieces = [(word.strip(PIECE_MARK), at) for word, at in place.items() if word[0] == PIECE_MARK]
    n_words, rows, columns = [], list[int](), list[int]()
    for column, text in enumerate(texts):
        if text is None:
            n_words.append(np.nan)
            continue
        found = split_words(text)
        n_words.append(float(len(found)))
        distinct = set(found)
        has = [place[word] for word in distinct if word in place]
        if pieces:
            joined = " ".join(distinct)
            has += [at for piece, at in pieces if piece in joined]
        rows += has
        columns += [column] * len(has)
    values = np.zeros((1 + len(words), len(n_words)))
    values[0] = n_words
    values[rows, columns] = 1.0
    return values


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
