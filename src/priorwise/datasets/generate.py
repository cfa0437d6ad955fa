"""Sampled problems whose true probabilities or best error are known."""

from __future__ import annotations

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

# Segments of each digit: top, upper left, upper right, middle, lower left, lower right, bottom.
_DIGITS = "1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011"
_SEGMENTS = np.array([[int(lit) for lit in digit] for digit in _DIGITS.split()])


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
