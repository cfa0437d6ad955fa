"""Data sets that need no file: enumerated games and sampled problems."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import describe
from priorwise.common.validation import check_number

Pair = tuple[NDArray[Any], NDArray[Any]]

_SHARED = """
Parameters
----------
n_rows : int
    Number of rows.
random_state : int or None
    Seed of the draws.

Returns
-------
X : array of shape (n_rows, n_features)
    Features.
y : array of shape (n_rows,)
    Classes.
"""

_LINES = (
    *((0, 1, 2), (3, 4, 5), (6, 7, 8)),
    *((0, 3, 6), (1, 4, 7), (2, 5, 8)),
    *((0, 4, 8), (2, 4, 6)),
)
# Segments of each digit: top, upper left, upper right, middle, lower left, lower right, bottom.
_SEGMENTS = np.array(
    [
        [1, 1, 1, 0, 1, 1, 1],
        [0, 0, 1, 0, 0, 1, 0],
        [1, 0, 1, 1, 1, 0, 1],
        [1, 0, 1, 1, 0, 1, 1],
        [0, 1, 1, 1, 0, 1, 0],
        [1, 1, 0, 1, 0, 1, 1],
        [1, 1, 0, 1, 1, 1, 1],
        [1, 0, 1, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1, 1],
        [1, 1, 1, 1, 0, 1, 1],
    ]
)


@describe(_SHARED)
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


@describe(_SHARED)
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


@describe(_SHARED)
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


@describe(_SHARED)
def make_led(
    n_rows: int = 1000,
    *,
    noise: float = 0.1,
    n_irrelevant: int = 0,
    random_state: int | None = None,
) -> Pair:
    """Digits on a display of seven segments, each of which may be wrong.

    Segments are True or False; the class is the digit. The best possible error at a noise of 0.1 is
    26 %; see :func:`led_posterior`. Source: Breiman et al. (1984).

    Parameters
    ----------
    noise : float
        Probability that a segment is wrong.
    n_irrelevant : int
        Number of further features that are True or False with equal probability; 17 in the usual
        harder form.

    Examples
    --------
    >>> X, y = make_led(5, noise=0.0, random_state=0)
    >>> X.shape, y.tolist()
    ((5, 7), ['8', '6', '5', '2', '3'])
    """
    check_number("n_rows", n_rows, least=1)
    check_number("noise", noise, least=0, most=1)
    check_number("n_irrelevant", n_irrelevant, least=0)
    rng = np.random.default_rng(random_state)
    digit = rng.integers(10, size=n_rows)
    lit = _SEGMENTS[digit] ^ (rng.random((n_rows, 7)) < noise)
    coins = rng.integers(2, size=(n_rows, n_irrelevant))
    X = np.hstack([lit.astype(bool), coins.astype(bool)]).astype(object)
    return X, digit.astype(str).astype(object)


def led_posterior(X: NDArray[Any], noise: float = 0.1) -> NDArray[np.float64]:
    """The true probabilities of the ten digits for rows of :func:`make_led`.

    With d wrong segments, p(digit) is proportional to ``noise^d (1 - noise)^(7 - d)``.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        Rows of `make_led`.
    noise : float
        Probability that a segment is wrong.

    Returns
    -------
    array of shape (n_rows, 10)
        Probabilities of the digits 0 to 9.

    Examples
    --------
    >>> X, y = make_led(1, noise=0.1, random_state=0)
    >>> led_posterior(X).round(2).tolist()
    [[0.01, 0.0, 0.08, 0.08, 0.0, 0.08, 0.68, 0.0, 0.08, 0.01]]
    """
    lit = np.asarray(X)[:, :7].astype(int)
    wrong = (lit[:, None, :] != _SEGMENTS[None, :, :]).sum(axis=2)
    joint = noise**wrong * (1 - noise) ** (7 - wrong)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


@describe(_SHARED)
def make_waveform(
    n_rows: int = 5000, *, n_noise: int = 19, random_state: int | None = None
) -> Pair:
    """Mixtures of two of three triangular waves, with noise.

    Features are 21 numbers ``u h_a(i) + (1 - u) h_b(i) + N(0, 1)`` with u uniform; the class "0",
    "1" or "2" is the pair of waves. The best possible error is 14 %. Source: Breiman et al. (1984).

    Parameters
    ----------
    n_noise : int
        Number of further features that are only noise.

    Examples
    --------
    >>> X, y = make_waveform(3, random_state=0)
    >>> X.shape, y.tolist()
    ((3, 40), ['2', '1', '1'])
    """
    check_number("n_rows", n_rows, least=1)
    check_number("n_noise", n_noise, least=0)
    rng = np.random.default_rng(random_state)
    i = np.arange(1, 22)
    waves = np.array([np.maximum(6 - np.abs(i - centre), 0) for centre in (11, 15, 7)])
    label = rng.integers(3, size=n_rows)
    first, second = waves[[0, 0, 1]][label], waves[[1, 2, 2]][label]
    u = rng.random((n_rows, 1))
    signal = u * first + (1 - u) * second
    X = np.hstack([signal, np.zeros((n_rows, n_noise))]) + rng.normal(size=(n_rows, 21 + n_noise))
    return X, label.astype(str).astype(object)


def _has_line(board: str, player: str) -> bool:
    return any(Counter(board[i] for i in line)[player] == 3 for line in _LINES)
