"""Twenty-five more kinds of tables with known class probabilities: five of rows by five of scores.

They judge the constants of intervals, which were fitted to other kinds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from crossed_truths import Rows, Scores, cross_all
from interval_truths import Floats, Rng


def _numbers(X: pd.DataFrame) -> Floats:
    return np.asarray(X.to_numpy(dtype=np.float64))


def answered(rng: Rng) -> Rows:
    """Answers from one to five, which follow from two or three hidden numbers."""
    n_hidden, d = int(rng.integers(2, 4)), int(rng.integers(6, 16))
    loading, shift = rng.normal(size=(n_hidden, d)), rng.normal(scale=0.5, size=d)

    def rows(n: int) -> pd.DataFrame:
        hidden = rng.normal(size=(n, n_hidden)) @ loading + rng.normal(size=(n, d))
        return pd.DataFrame(np.clip(np.round(hidden + 3.0 + shift), 1, 5)).add_prefix("q")

    return rows, _numbers


def over_time(rng: Rng) -> Rows:
    """A number at several times: each is near the one before."""
    d, memory = int(rng.integers(5, 13)), rng.uniform(0.3, 0.95)

    def rows(n: int) -> pd.DataFrame:
        z = rng.normal(size=(n, d))
        for i in range(1, d):
            z[:, i] = memory * z[:, i - 1] + np.sqrt(1.0 - memory**2) * z[:, i]
        return pd.DataFrame(z).add_prefix("t")

    return rows, _numbers


def amounts(rng: Rng) -> Rows:
    """Amounts, of which many are zero, seen by their square roots."""
    d, some = int(rng.integers(3, 10)), rng.uniform(0.3, 1.0)

    def rows(n: int) -> pd.DataFrame:
        amount = rng.exponential(100.0, (n, d)) * (rng.random((n, d)) < some)
        return pd.DataFrame(amount.round(2)).add_prefix("x")

    return rows, lambda X: np.sqrt(_numbers(X))


def grouped(rng: Rng) -> Rows:
    """Labels of groups, and numbers that differ between groups."""
    n_groups, d = int(rng.integers(5, 41)), int(rng.integers(3, 8))
    share, centre = rng.dirichlet(np.ones(n_groups)), rng.normal(size=(n_groups, d))
    effect = rng.normal(size=(n_groups, 2))

    def rows(n: int) -> pd.DataFrame:
        group = rng.choice(n_groups, n, p=share)
        frame = pd.DataFrame(centre[group] + rng.normal(size=(n, d))).add_prefix("x")
        return frame.assign(group=[f"v{g}" for g in group])

    def numbers(X: pd.DataFrame) -> Floats:
        group = X["group"].str[1:].astype(int).to_numpy()
        return np.hstack([_numbers(X.iloc[:, :d]), effect[group]])

    return rows, numbers


def wide(rng: Rng) -> Rows:
    """Many numbers, a few of which matter, and labels that say nothing."""
    d, n_shown = int(rng.integers(20, 41)), int(rng.integers(2, 7))

    def rows(n: int) -> pd.DataFrame:
        frame = pd.DataFrame(rng.normal(size=(n, d))).add_prefix("x")
        for j in range(3):
            frame[f"c{j}"] = np.array(list("abcd"))[rng.integers(4, size=n)]
        return frame

    return rows, lambda X: _numbers(X.iloc[:, :n_shown])


def sums(rng: Rng, d: int, n_classes: int) -> Scores:
    """Add the numbers, a few with large weights."""
    weight = rng.laplace(size=(d, n_classes)) ** 3
    return lambda z: z @ weight


def switches(rng: Rng, d: int, n_classes: int) -> Scores:
    """One number says which of two sums holds."""
    weight, by = rng.normal(size=(2, d, n_classes)), int(rng.integers(d))
    return lambda z: np.where(z[:, [by]] > 0.3, z @ weight[0], z @ weight[1])


def units(rng: Rng, d: int, n_classes: int) -> Scores:
    """Add three hidden units, each of which saturates."""
    first, second = 1.5 * rng.normal(size=(d, 3)) / d**0.5, rng.normal(size=(3, n_classes))
    shift = rng.normal(size=3)
    return lambda z: np.tanh(z @ first + shift) @ second


def squares(rng: Rng, d: int, n_classes: int) -> Scores:
    """Add squares of some sums of the numbers, and the numbers."""
    first, second = rng.normal(size=(d, 2)) / d**0.5, rng.normal(size=(2, n_classes))
    single = 0.5 * rng.normal(size=(d, n_classes)) / d**0.5
    return lambda z: np.minimum((z @ first) ** 2, 6.0) @ second + z @ single


def largest(rng: Rng, d: int, n_classes: int) -> Scores:
    """The largest of a few numbers decides, and the smallest of others."""
    chosen = rng.integers(d, size=(2, 3))
    weight = rng.normal(size=(2, n_classes))

    def score(z: Floats) -> Floats:
        ends = [z[:, chosen[0]].max(axis=1), z[:, chosen[1]].min(axis=1)]
        return np.column_stack(ends) @ weight

    return score


KEPT = cross_all(
    (answered, over_time, amounts, grouped, wide), (sums, switches, units, squares, largest)
)
