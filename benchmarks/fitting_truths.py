"""Families of tables with known class probabilities that the constants of intervals are fitted to.

Each draws its size, its classes and all else anew. coverage.py judges by none of them: not by
Gaussian mixtures, sums of waves, sums of small trees, additive scores, products of labels, random
networks, naive Bayes tables, full tables of few labels or ordered classes, nor by the networks from
the literature that are listed here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, softmax
from true_probabilities import (
    DiscreteNetwork,
    Truth,
    draw_labels,
    from_scores,
    mixed_rows,
    read_bif,
)

Make = Callable[[np.random.Generator], Truth]


def mixture(rng: np.random.Generator) -> Truth:
    """A Gaussian, or two of them, for each class; some features say nothing."""
    n_classes, d, n_noise = int(rng.integers(2, 7)), int(rng.integers(2, 16)), int(rng.integers(6))
    n_parts = int(rng.integers(1, 3))
    label = np.repeat(np.arange(n_classes), n_parts)
    mean = rng.normal(size=(len(label), d)) * rng.uniform(0.5, 2.0) / np.sqrt(d) * 1.5
    root = np.eye(d) + rng.choice([0.0, 0.15]) * rng.normal(size=(len(label), d, d))
    prior = np.repeat(rng.dirichlet(np.full(n_classes, 5.0)), n_parts) / n_parts

    def posterior(X: pd.DataFrame) -> NDArray[np.float64]:
        scores = np.tile(np.log(prior), (len(X), 1))
        for k in range(len(label)):
            z = np.linalg.solve(root[k].T, (X.to_numpy()[:, :d] - mean[k]).T)
            scores[:, k] -= 0.5 * (z**2).sum(axis=0) + np.log(abs(np.linalg.det(root[k])))
        return np.asarray(softmax(scores, axis=1).reshape(len(X), n_classes, n_parts).sum(axis=2))

    def draw(n: int) -> tuple[pd.DataFrame, NDArray[Any]]:
        part = rng.choice(len(label), n, p=prior)
        z = mean[part] + np.einsum("ni,nij->nj", rng.normal(size=(n, d)), root[part])
        z = np.column_stack([z, rng.normal(size=(n, n_noise))])
        return pd.DataFrame(z, columns=[f"x{i}" for i in range(d + n_noise)]), label[part]

    return Truth(draw, posterior)


def waves(rng: np.random.Generator) -> Truth:
    """Sums of waves of some numbers."""
    n_classes, d = int(rng.integers(2, 5)), int(rng.integers(2, 9))
    rows = mixed_rows(rng, d, int(rng.integers(0, 4)))
    n_waves = int(rng.integers(3, 10))
    shape = (n_classes, n_waves, d)
    wave = rng.uniform(0.3, 1.2) * rng.normal(size=shape) * (rng.random(shape) < 0.35)
    phase = rng.uniform(0, 6.3, shape[:2])
    size = rng.uniform(0.5, 2.5) / np.sqrt(n_waves)

    def scores(X: pd.DataFrame) -> NDArray[np.float64]:
        numbers = X.to_numpy()[:, :d].astype(float)
        by_class = [np.sin(numbers @ w.T + p).sum(1) for w, p in zip(wave, phase, strict=True)]
        return size * np.stack(by_class, 1)

    return from_scores(rows, scores, rng)


def small_trees(rng: np.random.Generator) -> Truth:
    """Sums of small trees of the scores of the classes."""
    n_classes, n_trees = int(rng.integers(2, 6)), int(rng.integers(1, 9))
    depth, size = int(rng.integers(1, 4)), rng.uniform(0.5, 2.0)
    rows = mixed_rows(rng, int(rng.integers(2, 8)), int(rng.integers(1, 6)))
    sample = rows(1000)
    splits = []
    for _ in range(n_trees * depth):
        name = str(rng.choice(sample.columns))
        column = sample[name].to_numpy()
        numeric = name.startswith("x")
        cut: Any = np.quantile(column, rng.uniform(0.2, 0.8)) if numeric else rng.choice(column)
        splits.append((name, cut, numeric))
    leaves = size * rng.normal(size=(n_trees, 2**depth, n_classes)) / np.sqrt(n_trees) * 1.4

    def scores(X: pd.DataFrame) -> NDArray[np.float64]:
        total = np.zeros((len(X), n_classes))
        for t in range(n_trees):
            leaf = np.zeros(len(X), dtype=int)
            for name, cut, numeric in splits[t * depth : (t + 1) * depth]:
                column = X[name].to_numpy()
                leaf = 2 * leaf + (column <= cut if numeric else column == cut)
            total += leaves[t, leaf]
        return total

    return from_scores(rows, scores, rng)


def additive(rng: np.random.Generator) -> Truth:
    """Sums of one curve for each number and one effect for each label."""
    n_classes, d, n_labels = int(rng.integers(2, 6)), int(rng.integers(2, 9)), int(rng.integers(8))
    arity = int(rng.integers(2, 6))
    rows = mixed_rows(rng, d, n_labels, arity)
    size = rng.uniform(0.4, 2.0) / np.sqrt(d + n_labels) * 2.0
    kind, slope = rng.integers(0, 4, d), rng.normal(size=(d, n_classes)) * size
    slope *= rng.random((d, 1)) < 0.7
    effect = rng.normal(size=(n_labels, arity, n_classes)) * size
    curves = [lambda x: x, lambda x: np.abs(x) - 0.8, np.tanh, lambda x: np.sin(2.0 * x)]

    def scores(X: pd.DataFrame) -> NDArray[np.float64]:
        total = np.zeros((len(X), n_classes))
        for i in range(d):
            total += curves[kind[i]](X[f"x{i}"].to_numpy())[:, None] * slope[i]
        for j in range(n_labels):
            total += effect[j, X[f"c{j}"].str[1:].astype(int).to_numpy()]
        return total

    return from_scores(rows, scores, rng)


def labels(rng: np.random.Generator) -> Truth:
    """Independent labels; effects of single ones, of pairs and of threes."""
    n_classes, d, arity = int(rng.integers(2, 6)), int(rng.integers(3, 11)), int(rng.integers(2, 6))
    sets = [(i,) for i in range(d) if rng.random() < 0.8] or [(0,)]
    for width in (2, 3):
        sets += [tuple(rng.choice(d, width, replace=False)) for _ in range(int(rng.integers(0, 4)))]
    size = rng.uniform(0.5, 2.0) / np.sqrt(len(sets)) * 1.5
    effect = [size * rng.normal(size=(*[arity] * len(one), n_classes)) for one in sets]
    share = rng.dirichlet(np.full(arity, 3.0), d)
    names = np.array([f"s{i}" for i in range(arity)], dtype=object)

    def rows(n: int) -> pd.DataFrame:
        codes = [draw_labels(np.broadcast_to(p, (n, arity)), rng) for p in share]
        return pd.DataFrame({f"c{i}": names[code] for i, code in enumerate(codes)})

    def scores(X: pd.DataFrame) -> NDArray[np.float64]:
        codes = [X[f"c{i}"].str[1:].astype(int).to_numpy() for i in range(d)]
        return np.asarray(
            sum(e[tuple(codes[i] for i in s)] for s, e in zip(sets, effect, strict=True))
        )

    return from_scores(rows, scores, rng)


def network(rng: np.random.Generator) -> Truth:
    """A random network; the class is one of its best connected variables."""
    n, most = int(rng.integers(4, 25)), int(rng.integers(1, 4))
    arity = rng.integers(2, int(rng.integers(3, 6)), n).tolist()
    parents = [
        sorted(rng.choice(i, min(i, int(rng.integers(0, most + 1))), replace=False).tolist())
        for i in range(n)
    ]
    spread = rng.uniform(0.5, 3.0)
    tables = [
        rng.dirichlet(np.full(arity[i], spread), [arity[p] for p in parents[i]]) for i in range(n)
    ]
    degree = [sum(i in p for p in parents) + len(parents[i]) for i in range(n)]
    target = int(rng.choice(np.argsort(degree)[-3:]))
    return DiscreteNetwork(arity, parents, tables).truth(target, rng)


def naive(rng: np.random.Generator) -> Truth:
    """Labels that depend on the class alone."""
    n_classes, d, arity = int(rng.integers(2, 9)), int(rng.integers(3, 20)), int(rng.integers(2, 6))
    spread = rng.uniform(1.0, 2.0 * d)
    tables = [rng.dirichlet(np.full(n_classes, 5.0))]
    for _ in range(d):
        mean = rng.dirichlet(np.full(arity, 3.0))
        tables.append(rng.dirichlet(spread * mean + 0.05, n_classes))
    parents: list[list[int]] = [[], *([0] for _ in range(d))]
    return DiscreteNetwork([n_classes, *[arity] * d], parents, tables).truth(0, rng)


def few_labels(rng: np.random.Generator) -> Truth:
    """A full table of probabilities of two to five labels, drawn around those of all rows."""
    n_classes, d, arity = int(rng.integers(2, 5)), int(rng.integers(2, 6)), int(rng.integers(2, 4))
    base, size = rng.dirichlet(np.full(n_classes, 5.0)), rng.uniform(2.0, 20.0)
    table = rng.dirichlet(size * base + 0.05, [arity] * d)
    share = rng.dirichlet(np.full(arity, 3.0), d)
    names = np.array([f"s{i}" for i in range(arity)], dtype=object)

    def rows(n: int) -> pd.DataFrame:
        codes = [draw_labels(np.broadcast_to(p, (n, arity)), rng) for p in share]
        return pd.DataFrame({f"c{i}": names[code] for i, code in enumerate(codes)})

    def scores(X: pd.DataFrame) -> NDArray[np.float64]:
        codes = tuple(X[f"c{i}"].str[1:].astype(int).to_numpy() for i in range(d))
        return np.asarray(np.log(np.maximum(table[codes], 1e-300)))

    return from_scores(rows, scores, rng)


def ordered_classes(rng: np.random.Generator) -> Truth:
    """Classes are intervals of a sum of numbers and labels with normal noise."""
    n_classes, d, n_labels = int(rng.integers(2, 6)), int(rng.integers(2, 13)), int(rng.integers(4))
    rows = mixed_rows(rng, d, n_labels)
    slope = rng.normal(size=d) * (rng.random(d) < 0.7)
    effect = rng.normal(size=(n_labels, 4))
    noise = rng.uniform(0.5, 2.0) * np.sqrt((slope**2).sum() + n_labels + 0.1)

    def latent(X: pd.DataFrame) -> NDArray[np.float64]:
        total = X[[f"x{i}" for i in range(d)]].to_numpy(dtype=float) @ slope
        for j in range(n_labels):
            total += effect[j, X[f"c{j}"].str[1:].astype(int).to_numpy()]
        return np.asarray(total)

    cuts = np.quantile(latent(rows(1000)), np.arange(1, n_classes) / n_classes)

    def scores(X: pd.DataFrame) -> NDArray[np.float64]:
        below = ndtr((cuts - latent(X)[:, None]) / noise)
        ends = np.column_stack([np.zeros(len(X)), below, np.ones(len(X))])
        return np.asarray(np.log(np.maximum(np.diff(ends, axis=1), 1e-12)))

    return from_scores(rows, scores, rng)


FITTED: dict[str, Make] = {
    make.__name__.replace("_", " "): make
    for make in (
        mixture,
        waves,
        small_trees,
        additive,
        labels,
        network,
        naive,
        few_labels,
        ordered_classes,
    )
}

LITERATURE = ("alarm", "andes", "barley", "hailfinder", "munin1", "pathfinder", "water", "win95pts")
"""Networks from the literature that constants are fitted to; coverage.py judges by others."""
MAX_CLASSES, LEAST_ROWS, N_TRIED, MAX_CERTAIN = 8, 5, 300, 0.05


def fitted(folder: Path) -> dict[str, Make]:
    """Return all families: those above, and networks of a folder with a class drawn anew."""
    return FITTED | {name: literature(folder / f"{name}.bif.gz") for name in LITERATURE}


def literature(path: Path) -> Make:
    """A variable of the network of a BIF file, predicted from its Markov blanket and others.

    It has at most `MAX_CLASSES` values, each of which `LEAST_ROWS` of `N_TRIED` rows have, and does
    not nearly follow from the others: at most a share `MAX_CERTAIN` of its probabilities is below
    0.001.
    """

    def make(rng: np.random.Generator) -> Truth:
        network, _ = read_bif(path)
        for target in rng.permutation(len(network.arity)).tolist():
            arity = network.arity[target]
            if 2 <= arity <= MAX_CLASSES:
                truth = network.truth(target, rng)
                X, y = truth.draw(N_TRIED)
                has_rows = np.bincount(y, minlength=arity).min() >= LEAST_ROWS
                is_open = (truth.posterior(X) < 0.001).mean() <= MAX_CERTAIN
                if X.shape[1] > 1 and has_rows and is_open:
                    return truth
        raise ValueError(f"{path.name} has no variable to predict")

    return make
