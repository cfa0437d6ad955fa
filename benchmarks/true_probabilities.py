"""What generated tables with known class probabilities are made of (`interval_truths`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

Draw = Callable[[int], tuple[Any, NDArray[Any]]]
Posterior = Callable[[Any], NDArray[np.float64]]


@dataclass(frozen=True)
class Truth:
    """Draws rows and labels 0, 1, ...; `posterior` gives the probabilities of the labels."""

    draw: Draw
    posterior: Posterior


def draw_labels(proba: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    return (rng.random(len(proba))[:, None] > np.cumsum(proba, axis=1)[:, :-1]).sum(axis=1)


def from_scores(
    rows: Callable[[int], pd.DataFrame],
    scores: Callable[[pd.DataFrame], NDArray[np.float64]],
    rng: np.random.Generator,
) -> Truth:
    def posterior(X: pd.DataFrame) -> NDArray[np.float64]:
        return np.asarray(softmax(scores(X), axis=1))

    def draw(n: int) -> tuple[pd.DataFrame, NDArray[Any]]:
        X = rows(n)
        return X, draw_labels(posterior(X), rng)

    return Truth(draw, posterior)


def mixed_rows(
    rng: np.random.Generator, n_numeric: int, n_nominal: int, arity: int = 4
) -> Callable[[int], pd.DataFrame]:
    """Correlated normal numbers and labels that depend on them."""
    mix = np.eye(n_numeric) + 0.4 * rng.normal(size=(n_numeric, n_numeric))
    cut = rng.normal(size=(n_nominal, n_numeric))

    def rows(n: int) -> pd.DataFrame:
        z = rng.normal(size=(n, n_numeric)) @ mix
        frame = {f"x{i}": z[:, i] for i in range(n_numeric)}
        for j in range(n_nominal):
            value = z @ cut[j] / np.linalg.norm(mix @ cut[j]) + rng.normal(size=n)
            code = np.clip(np.floor((value + 2.0) * arity / 4.0), 0, arity - 1).astype(int)
            frame[f"c{j}"] = np.array([f"v{i}" for i in range(arity)], dtype=object)[code]
        return pd.DataFrame(frame)

    return rows


@dataclass(frozen=True)
class DiscreteNetwork:
    """A Bayesian network of nominal variables: parents and a table for each, in any order."""

    arity: list[int]
    parents: list[list[int]]
    tables: list[NDArray[np.float64]]  # (arities of the parents, own arity)

    def truth(self, target: int, rng: np.random.Generator, max_features: int = 30) -> Truth:
        """Predict one variable from its Markov blanket and some others."""
        n = len(self.arity)
        children = [i for i in range(n) if target in self.parents[i]]
        blanket = {target, *self.parents[target], *children}
        blanket |= {p for c in children for p in self.parents[c]}
        others = [i for i in range(n) if i not in blanket]
        shown = sorted(blanket - {target}) + others[: max(0, max_features - len(blanket))]

        def draw(n_rows: int) -> tuple[pd.DataFrame, NDArray[Any]]:
            codes = np.full((n_rows, n), -1)
            left = list(range(n))
            while left:
                for i in [i for i in left if all(codes[0, p] >= 0 for p in self.parents[i])]:
                    table = self.tables[i][tuple(codes[:, p] for p in self.parents[i])]
                    codes[:, i] = draw_labels(np.broadcast_to(table, (n_rows, self.arity[i])), rng)
                    left.remove(i)
            frame = {
                f"v{i}": np.array([f"s{k}" for k in range(self.arity[i])], dtype=object)[
                    codes[:, i]
                ]
                for i in shown
            }
            return pd.DataFrame(frame), codes[:, target]

        def posterior(X: pd.DataFrame) -> NDArray[np.float64]:
            codes = np.zeros((len(X), n), dtype=int)
            for name in X:
                codes[:, int(name[1:])] = X[name].str[1:].astype(int)
            scores = np.zeros((len(X), self.arity[target]))
            for k in range(self.arity[target]):
                codes[:, target] = k
                for i in [target, *children]:
                    place = (*(codes[:, p] for p in self.parents[i]), codes[:, i])
                    scores[:, k] += np.log(np.maximum(self.tables[i][place], 1e-300))
            return np.asarray(softmax(scores, axis=1))

        return Truth(draw, posterior)
