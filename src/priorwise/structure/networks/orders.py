"""Feature orders drawn at random, so that members of an ensemble differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def draw_order(mutual: ArrayLike, generator: np.random.Generator) -> NDArray[np.int64]:
    """Draw an order without replacement in proportion to I(X; Y) (thesis Algorithm 12).

    Once only features without information are left, they follow in random order.

    >>> draw_order([0.0, 1.0, 0.0], np.random.default_rng(0))[0]
    np.int64(1)
    """
    remaining = np.array(mutual, dtype=np.float64)
    if (remaining < 0).any():
        raise ValueError(f"mutual must not be negative, got {remaining.min()}")
    order = []
    left = np.ones(len(remaining), dtype=bool)
    while left.any():
        mass = np.where(left, remaining, 0.0)
        if mass.sum() == 0.0:
            mass = left.astype(np.float64)
        drawn = int(generator.choice(len(mass), p=mass / mass.sum()))
        order.append(drawn)
        left[drawn] = False
    return np.array(order, dtype=np.int64)


def draw_order_by_gumbel(
    mutual: ArrayLike, generator: np.random.Generator, *, floor: float = 1e-9
) -> NDArray[np.int64]:
    """Draw an order by sorting ``log(mutual + floor)`` plus Gumbel noise.

    The same law as `draw_order` but for the floor: the largest of log-weights with Gumbel noise is
    a draw in proportion to the weights, and so is the largest of the rest.

    >>> draw_order_by_gumbel([0.0, 1.0], np.random.default_rng(0))
    array([1, 0])
    """
    information = np.asarray(mutual, dtype=np.float64)
    noisy = np.log(information + floor) + generator.gumbel(size=len(information))
    return np.argsort(-noisy, kind="stable")
