"""Data sets without noise that hold every case of a game or a rule."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pair = tuple[NDArray[Any], NDArray[Any]]
"""Features and classes."""

_LINES = (
    *((0, 1, 2), (3, 4, 5), (6, 7, 8)),
    *((0, 3, 6), (1, 4, 7), (2, 5, 8)),
    *((0, 4, 8), (2, 4, 6)),
)


def make_tic_tac_toe() -> Pair:
    """Every board at the end of a game of tic-tac-toe in which x moved first.

    958 rows of nine squares "x", "o" or "b" (blank), row by row from the top left; the class is
    "positive" if x has three in a row (626 rows), else "negative". Source: Aha (1991).

    Examples
    --------
    >>> X, y = make_tic_tac_toe()
    >>> X.shape, int((y == "positive").sum())
    ((958, 9), 626)
    """
    finals: set[str] = set()
    seen = {"b" * 9}
    boards = ["b" * 9]
    while boards:
        board = boards.pop()
        mover = "x" if board.count("x") == board.count("o") else "o"
        for square in (i for i in range(9) if board[i] == "b"):
            after = board[:square] + mover + board[square + 1 :]
            if after in seen:
                continue
            seen.add(after)
            done = _has_line(after, mover) or "b" not in after
            (finals.add if done else boards.append)(after)
    rows = sorted(finals, reverse=True)
    X = np.array([list(row) for row in rows], dtype=object)
    y = np.array(["positive" if _has_line(row, "x") else "negative" for row in rows], dtype=object)
    return X, y


def make_balance_scale() -> Pair:
    """Every setting of a balance with two weights and two distances from 1 to 5.

    625 rows of numbers (left weight, left distance, right weight, right distance); the class is
    the heavier side by weight times distance, "L", "R" or "B" for balanced. Source: Siegler (1976).

    Examples
    --------
    >>> X, y = make_balance_scale()
    >>> {str(side): int((y == side).sum()) for side in np.unique(y)}
    {'B': 49, 'L': 288, 'R': 288}
    """
    X = np.array(list(product(range(1, 6), repeat=4)), dtype=np.float64)
    torque = np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]).astype(int)
    return X, np.array(["B", "L", "R"], dtype=object)[torque]


def make_monks(problem: int = 1) -> Pair:
    """All 432 robots of one of the three MONK's problems, without noise.

    Six features with values "a" to at most "d", which stand for 1 to 4. The class is "1" if, in
    problem 1, a1 = a2 or a5 = 1; in problem 2, exactly two features are 1; in problem 3, a5 = 3 and
    a4 = 1, or a5 is not 4 and a2 is not 3; otherwise it is "0". Source: Thrun et al. (1991).

    Parameters
    ----------
    problem : {1, 2, 3}
        Number of the problem.

    Examples
    --------
    >>> [int((make_monks(problem)[1] == "1").sum()) for problem in (1, 2, 3)]
    [216, 142, 228]
    """
    sizes = (3, 3, 2, 3, 4, 2)
    a = np.array(list(product(*(range(1, size + 1) for size in sizes))))
    if problem == 1:
        member = (a[:, 0] == a[:, 1]) | (a[:, 4] == 1)
    elif problem == 2:
        member = (a == 1).sum(axis=1) == 2
    elif problem == 3:
        jacket = (a[:, 4] == 3) & (a[:, 3] == 1)
        member = jacket | ((a[:, 4] != 4) & (a[:, 1] != 3))
    else:
        raise ValueError(f"problem must be 1, 2 or 3, got {problem!r}")
    X = np.array(list("abcd"), dtype=object)[a - 1]
    return X, member.astype(int).astype(str).astype(object)


def _has_line(board: str, player: str) -> bool:
    return any(Counter(board[i] for i in line)[player] == 3 for line in _LINES)
