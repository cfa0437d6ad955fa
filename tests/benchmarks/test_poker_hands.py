"""Poker hands are named by the rules of the game."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np

PATH = Path(__file__).parents[2] / "benchmarks" / "poker_hands.py"
poker_hands = SimpleNamespace(**runpy.run_path(str(PATH)))


def slow_hand(cards):
    """Name a hand of (suit, rank) by the rules of the game."""
    suits, ranks = {suit for suit, _ in cards}, sorted(rank for _, rank in cards)
    groups = sorted((ranks.count(rank) for rank in set(ranks)), reverse=True)
    high = ranks == [1, 10, 11, 12, 13]
    straight = high or (len(groups) == 5 and ranks[4] - ranks[0] == 4)
    if len(suits) == 1 and straight:
        return "royal flush" if high else "straight flush"
    by_groups: dict[tuple[int, ...], str] = {(4, 1): "four of a kind", (3, 2): "full house"}
    if tuple(groups) in by_groups:
        return by_groups[tuple(groups)]
    if len(suits) == 1:
        return "flush"
    if straight:
        return "straight"
    rest = {(3, 1, 1): "three of a kind", (2, 2, 1): "two pairs", (2, 1, 1, 1): "one pair"}
    return rest.get(tuple(groups), "nothing")


def test_poker_hands_are_named_by_the_rules():
    X, y = poker_hands.make_poker_hands(20_000, random_state=3)
    rank = {"A": 1, "J": 11, "Q": 12, "K": 13} | {str(n): n for n in range(2, 11)}
    for row, name in zip(X.tolist(), y, strict=True):
        cards = list(zip(row[0::2], [rank[word] for word in row[1::2]], strict=True))
        assert len(set(cards)) == 5
        assert name == slow_hand(cards)
    assert len(set(y)) >= 8


def test_every_rank_of_straight_is_named():
    hands = [[1, 2, 3, 4, 5], [9, 13, 10, 12, 11], [1, 10, 11, 12, 13], [1, 2, 11, 12, 13]]
    same, mixed = np.ones((4, 5), dtype=int), np.tile([1, 2, 1, 2, 1], (4, 1))
    names = [poker_hands._HANDS[k] for k in poker_hands._name_hands(same, np.array(hands))]
    assert names == ["straight flush", "straight flush", "royal flush", "flush"]
    names = [poker_hands._HANDS[k] for k in poker_hands._name_hands(mixed, np.array(hands))]
    assert names == ["straight", "straight", "straight", "nothing"]
