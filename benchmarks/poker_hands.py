"""Hands of five cards: a problem whose class depends on all features together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.validation import check_number

_HANDS = (
    *("nothing", "one pair", "two pairs", "three of a kind", "straight"),
    *("flush", "full house", "four of a kind", "straight flush", "royal flush"),
)


def make_poker_hands(
    n_rows: int = 10_000, *, random_state: int | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Hands of five cards, and the name of the hand as class.

    Features are the suit ("C", "D", "H" or "S") and rank ("A", "2" to "10", "J", "Q" or "K") of
    each card in turn. The class, from "nothing" to "royal flush", cannot be seen from few cards.
    Source: Cattral and Oppacher (2002).

    Examples
    --------
    >>> X, y = make_poker_hands(2000, random_state=0)
    >>> X.shape, round(float((y == "nothing").mean()), 2)
    ((2000, 10), 0.49)
    """
    check_number("n_rows", n_rows, least=1)
    rng = np.random.default_rng(random_state)
    cards = np.argpartition(rng.random((n_rows, 52)), 5, axis=1)[:, :5]
    cards = rng.permuted(cards, axis=1)
    suit, rank = cards // 13 + 1, cards % 13 + 1
    X = np.empty((n_rows, 10), dtype=object)
    X[:, 0::2], X[:, 1::2] = np.array(_SUITS)[suit - 1], np.array(_RANKS)[rank - 1]
    return X, np.array(_HANDS, dtype=object)[_name_hands(suit, rank)]


_SUITS = ("C", "D", "H", "S")
_RANKS = ("A", *map(str, range(2, 11)), "J", "Q", "K")


def _name_hands(suit: NDArray[Any], rank: NDArray[Any]) -> NDArray[np.intp]:
    ranks = np.sort(rank, axis=1)
    flush = (suit == suit[:, :1]).all(axis=1)
    # An ace may also follow the king.
    high = (ranks == [1, 10, 11, 12, 13]).all(axis=1)
    straight = high | (np.diff(ranks, axis=1) == 1).all(axis=1)
    counts = np.zeros((len(ranks), 14), dtype=int)
    np.add.at(counts, (np.arange(len(ranks))[:, None], ranks), 1)
    most = np.sort(counts, axis=1)[:, ::-1]
    conditions = [
        flush & high,
        flush & straight,
        most[:, 0] == 4,
        (most[:, 0] == 3) & (most[:, 1] == 2),
        flush,
        straight,
        most[:, 0] == 3,
        (most[:, 0] == 2) & (most[:, 1] == 2),
        most[:, 0] == 2,
    ]
    return np.asarray(np.select(conditions, [9, 8, 7, 6, 5, 4, 3, 2, 1], default=0))
