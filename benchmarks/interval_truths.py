"""Twenty kinds of tables with known class probabilities, which intervals are designed on.

Each draws its number of features, its strengths and all else anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr
from true_probabilities import DiscreteNetwork, Truth, draw_labels, from_scores, mixed_rows

Floats = NDArray[np.float64]
Rng = np.random.Generator
Make = Callable[[Rng], Truth]


def from_numbers(rng: Rng, n_features: int, score: Callable[[Floats], Floats]) -> Truth:
    """Return the truth of scores of independent normal numbers."""

    def rows(n: int) -> pd.DataFrame:
        return pd.DataFrame(rng.normal(size=(n, n_features))).add_prefix("x")

    return from_scores(rows, lambda X: score(X.to_numpy()), rng)


def against_zero(score: Floats) -> Floats:
    """Return scores of two classes, the first of which has zero."""
    return np.column_stack([np.zeros(len(score)), score])


def code(column: Any) -> NDArray[np.intp]:
    """Return the number of labels such as v3."""
    return np.asarray(column.str[1:].astype(int).to_numpy())


def linear(rng: Rng) -> Truth:
    d, n_classes = int(rng.integers(4, 16)), int(rng.integers(2, 5))
    weight = rng.normal(size=(d, n_classes)) * rng.uniform(0.6, 2.5) / d**0.5
    return from_numbers(rng, d, lambda x: x @ weight)


def sparse(rng: Rng) -> Truth:
    d, weight = int(rng.integers(10, 30)), rng.normal(size=(2, 3)) * rng.uniform(0.5, 2.0)
    return from_numbers(rng, d, lambda x: x[:, :2] @ weight)


def tree(rng: Rng) -> Truth:
    d, depth = int(rng.integers(5, 12)), int(rng.integers(2, 5))
    n_inner = 2**depth
    feature, cut = rng.integers(0, d, n_inner), rng.normal(scale=0.6, size=n_inner)
    leaves = rng.normal(size=(2 * n_inner, 3)) * rng.uniform(0.5, 2.0)

    def score(x: Floats) -> Floats:
        node = np.ones(len(x), dtype=int)
        for _ in range(depth):
            node = 2 * node + (x[np.arange(len(x)), feature[node]] > cut[node])
        return np.asarray(leaves[node])

    return from_numbers(rng, d, score)


def xor(rng: Rng) -> Truth:
    d, strength = int(rng.integers(3, 10)), rng.uniform(0.7, 2.5)
    return from_numbers(rng, d, lambda x: against_zero(strength * np.sign(x[:, 0] * x[:, 1])))


def mixture(rng: Rng) -> Truth:
    """Each class is two normal clouds."""
    d, n_classes = int(rng.integers(2, 10)), int(rng.integers(2, 5))
    centre = rng.normal(size=(n_classes, 2, d)) * rng.uniform(0.5, 1.5)

    def posterior(X: pd.DataFrame) -> Floats:
        near = np.exp(-0.5 * ((X.to_numpy()[:, None, None] - centre) ** 2).sum(axis=3)).sum(axis=2)
        return np.asarray((near + 1e-300) / (near + 1e-300).sum(axis=1, keepdims=True))

    def draw(n: int) -> tuple[pd.DataFrame, NDArray[Any]]:
        y = rng.integers(0, n_classes, n)
        x = centre[y, rng.integers(0, 2, n)] + rng.normal(size=(n, d))
        return pd.DataFrame(x).add_prefix("x"), y

    return Truth(draw, posterior)


def naive(rng: Rng) -> Truth:
    """Labels that depend on the class alone."""
    d, arity, n_classes = int(rng.integers(4, 15)), int(rng.integers(2, 6)), int(rng.integers(2, 5))
    tables = [rng.dirichlet(np.full(n_classes, 5.0))]
    tables += [rng.dirichlet(np.full(arity, d / 2.0), n_classes) for _ in range(d)]
    parents: list[list[int]] = [[], *([0] for _ in range(d))]
    return DiscreteNetwork([n_classes, *[arity] * d], parents, tables).truth(0, rng)


def network(rng: Rng) -> Truth:
    """Labels with up to three parents each; the class is one of the best connected."""
    n = int(rng.integers(6, 18))
    arity = rng.integers(2, 5, n).tolist()
    parents = [
        sorted(rng.choice(i, min(i, int(rng.integers(0, 4))), replace=False).tolist())
        for i in range(n)
    ]
    tables = [
        rng.dirichlet(np.full(arity[i], 1.5), [arity[p] for p in parents[i]]) for i in range(n)
    ]
    degree = [sum(i in p for p in parents) + len(parents[i]) for i in range(n)]
    return DiscreteNetwork(arity, parents, tables).truth(int(np.argmax(degree)), rng)


def waves(rng: Rng) -> Truth:
    d, rate = int(rng.integers(3, 12)), rng.uniform(0.5, 3.0)
    weight = rng.normal(size=(d, 2)) * rng.uniform(0.7, 2.5) / d**0.5
    return from_numbers(rng, d, lambda x: np.sin(rate * x) @ weight)


def noise(rng: Rng) -> Truth:
    share = rng.normal(scale=0.7, size=int(rng.integers(2, 5)))
    return from_numbers(rng, int(rng.integers(3, 20)), lambda x: np.tile(share, (len(x), 1)))


def rare(rng: Rng) -> Truth:
    """Two to ten per cent of the rows have the second class."""
    d, shift = int(rng.integers(5, 15)), rng.uniform(2.6, 4.2)
    weight = rng.normal(size=d) * rng.uniform(0.8, 1.5) / d**0.5
    return from_numbers(rng, d, lambda x: against_zero(x @ weight + 0.4 * x[:, 0] ** 2 - shift))


def monotone(rng: Rng) -> Truth:
    d, slope = int(rng.integers(3, 10)), rng.uniform(1.0, 4.0)
    part = rng.dirichlet(np.ones(d)) * 3.0
    return from_numbers(rng, d, lambda x: against_zero(np.tanh(slope * x) @ part + x[:, 0]))


def bumps(rng: Rng) -> Truth:
    """Near each of some centres, one class is more probable."""
    d, n_classes = int(rng.integers(2, 7)), int(rng.integers(2, 4))
    centre, own = rng.normal(size=(4 * n_classes, d)), np.eye(n_classes)
    width, strength = rng.uniform(0.5, 1.5) * d, rng.uniform(1.0, 4.0)

    def score(x: Floats) -> Floats:
        near = np.exp(-((x[:, None] - centre) ** 2).sum(axis=2) / width)
        return np.asarray(strength * near @ np.tile(own, (4, 1)))

    return from_numbers(rng, d, score)


def labels(rng: Rng) -> Truth:
    """Labels of up to twelve values, with effects of their own and of pairs."""
    d, n_classes = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    arity = rng.integers(3, 13, d)
    share = [rng.dirichlet(np.full(k, 2.0)) for k in arity]
    single = [rng.normal(scale=0.5, size=(k, n_classes)) for k in arity]
    pair = rng.normal(size=(arity[0], arity[1], n_classes)) * rng.uniform(0.3, 1.2)

    def rows(n: int) -> pd.DataFrame:
        names = {f"c{i}": draw_labels(np.tile(p, (n, 1)), rng) for i, p in enumerate(share)}
        return pd.DataFrame(names).map("v{}".format)

    def scores(X: pd.DataFrame) -> Floats:
        codes = [code(X[name]) for name in X]
        total: Any = sum(effect[c] for effect, c in zip(single, codes, strict=True))
        return np.asarray(total + pair[codes[0], codes[1]])

    return from_scores(rows, scores, rng)


def many_classes(rng: Rng) -> Truth:
    d, n_classes = int(rng.integers(5, 12)), int(rng.integers(8, 13))
    weight = rng.normal(size=(2 * d, n_classes)) * rng.uniform(0.7, 1.5) / d**0.5
    return from_numbers(rng, d, lambda x: np.column_stack([x, np.abs(x)]) @ weight)


def bank(rng: Rng) -> Truth:
    """Numbers and labels, a tenth of rare answers, few features that matter, and a threshold."""
    rows, effect = mixed_rows(rng, 7, 9, 6), rng.normal(scale=0.5, size=(9, 6))

    def scores(X: pd.DataFrame) -> Floats:
        x, total = X[[f"x{i}" for i in range(7)]].to_numpy(), np.full(len(X), -3.2)
        for j in range(9):
            total += effect[j, code(X[f"c{j}"])]
        return against_zero(total + 1.5 * (x[:, 0] > 0.8) + 0.6 * x[:, 1] + 0.4 * np.abs(x[:, 2]))

    return from_scores(rows, scores, rng)


def missing(rng: Rng) -> Truth:
    """A third of the numbers is missing, which changes the class itself."""
    d = int(rng.integers(4, 10))
    weight, unknown = rng.normal(size=(d, 2)) * 1.5 / d**0.5, rng.normal(scale=0.5, size=(d, 2))

    def rows(n: int) -> pd.DataFrame:
        x = rng.normal(size=(n, d))
        x[rng.random(x.shape) < 0.33] = np.nan
        return pd.DataFrame(x).add_prefix("x")

    def scores(X: pd.DataFrame) -> Floats:
        x = X.to_numpy()
        return np.asarray(np.nan_to_num(x) @ weight + np.isnan(x) @ unknown)

    return from_scores(rows, scores, rng)


def certain(rng: Rng) -> Truth:
    """Classes that nearly follow from the features."""
    d = int(rng.integers(3, 8))
    weight, strength = rng.normal(size=(d, 3)), rng.uniform(4.0, 12.0)
    return from_numbers(rng, d, lambda x: strength * (x @ weight) / d**0.5)


def heavy_tails(rng: Rng) -> Truth:
    """Numbers over several orders of magnitude; their logarithms say the class."""
    d = int(rng.integers(4, 10))
    weight = rng.normal(size=(d, 3)) * rng.uniform(0.7, 2.0) / d**0.5

    def rows(n: int) -> pd.DataFrame:
        return pd.DataFrame(np.exp(1.5 * rng.normal(size=(n, d)))).add_prefix("x")

    return from_scores(rows, lambda X: np.log(X.to_numpy()) @ weight, rng)


def neural(rng: Rng) -> Truth:
    """A random network of twelve hidden units."""
    d, n_classes = int(rng.integers(4, 12)), int(rng.integers(2, 4))
    first, shift = rng.normal(size=(d, 12)) * 2.0 / d**0.5, rng.normal(size=12)
    second = rng.normal(size=(12, n_classes)) * rng.uniform(0.4, 1.2)
    return from_numbers(rng, d, lambda x: np.tanh(x @ first + shift) @ second)


def ordered(rng: Rng) -> Truth:
    """Classes are intervals of a sum of numbers and labels with noise."""
    rows, slope, effect = mixed_rows(rng, 5, 3), rng.normal(size=5), rng.normal(size=(3, 4))
    noise, n_classes = rng.uniform(1.0, 3.0), int(rng.integers(3, 6))

    def latent(X: pd.DataFrame) -> Floats:
        labels = sum(effect[j, code(X[f"c{j}"])] for j in range(3))
        return np.asarray(X[[f"x{i}" for i in range(5)]].to_numpy(dtype=float) @ slope + labels)

    cuts = np.quantile(latent(rows(1000)), np.arange(1, n_classes) / n_classes)

    def scores(X: pd.DataFrame) -> Floats:
        below = ndtr((cuts - latent(X)[:, None]) / noise)
        ends = np.column_stack([np.zeros(len(X)), below, np.ones(len(X))])
        return np.asarray(np.log(np.maximum(np.diff(ends, axis=1), 1e-12)))

    return from_scores(rows, scores, rng)


def by_name(*makes: Make) -> dict[str, Make]:
    """Return generators by what they are called."""
    return {make.__name__.replace("_", " "): make for make in makes}


FIRST = by_name(
    linear, sparse, tree, xor, mixture, naive, network, waves, noise, rare,
    monotone, bumps, labels, many_classes, bank, missing, certain, heavy_tails, neural, ordered,
)  # fmt: skip
