"""Tables whose true class probabilities are known.

`JUDGED` are those that coverage.py shows; `FITTED` are others, which the factors of intervals are
fitted on. Each draws itself anew from a generator: the weights of a logistic truth, the splits of
a tree and so on.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax

from priorwise.common.numeric import draw_dirichlet
from priorwise.datasets import led_posterior, make_led, make_waveform
from priorwise.models.networks.single import SingleNetworkClassifier
from priorwise.structure.networks import Network

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


def as_numbers(X: pd.DataFrame) -> NDArray[np.float64]:
    numbers = [X[c].to_numpy() for c in X if c.startswith("x")]
    labels = [
        (X[c] == v).to_numpy(float) for c in X if c.startswith("c") for v in ("v0", "v1", "v2")
    ]
    return np.column_stack(numbers + labels)


def logistic(rng: np.random.Generator, n_classes: int = 2, size: float = 1.0) -> Truth:
    rows = mixed_rows(rng, 6, 4)
    weights = size * rng.normal(size=(as_numbers(rows(2)).shape[1], n_classes)) * 0.6
    shift = rng.normal(size=n_classes) * 0.5
    return from_scores(rows, lambda X: as_numbers(X) @ weights + shift, rng)


def smooth(rng: np.random.Generator, n_classes: int = 2) -> Truth:
    """Sums of waves of pairs of numbers."""
    rows = mixed_rows(rng, 6, 2)
    waves = rng.normal(size=(n_classes, 8, 6)) * (rng.random((n_classes, 8, 6)) < 0.35)
    phase = rng.uniform(0, 6.3, (n_classes, 8))

    def scores(X: pd.DataFrame) -> NDArray[np.float64]:
        numbers = as_numbers(X)
        return np.stack(
            [
                1.0 * np.sin(numbers[:, :6] @ w.T + p).sum(axis=1) / 1.5
                for w, p in zip(waves, phase, strict=True)
            ],
            1,
        )

    return from_scores(rows, scores, rng)


def mixture(rng: np.random.Generator, n_classes: int = 3) -> Truth:
    """One Gaussian of its own for each class."""
    d = 6
    mean = rng.normal(size=(n_classes, d)) * 0.6
    root = np.eye(d) + 0.15 * rng.normal(size=(n_classes, d, d))
    prior = rng.dirichlet(np.full(n_classes, 5.0))

    def posterior(X: pd.DataFrame) -> NDArray[np.float64]:
        scores = np.tile(np.log(prior), (len(X), 1))
        for k in range(n_classes):
            z = np.linalg.solve(root[k].T, (X.to_numpy() - mean[k]).T)
            scores[:, k] -= 0.5 * (z**2).sum(axis=0) + np.log(abs(np.linalg.det(root[k])))
        return np.asarray(softmax(scores, axis=1))

    def draw(n: int) -> tuple[pd.DataFrame, NDArray[Any]]:
        y = rng.choice(n_classes, n, p=prior)
        z = mean[y] + np.einsum("ni,nij->nj", rng.normal(size=(n, d)), root[y])
        return pd.DataFrame(z, columns=[f"x{i}" for i in range(d)]), y

    return Truth(draw, posterior)


def tree(
    rng: np.random.Generator, depth: int = 4, n_classes: int = 2, spread: float = 1.0
) -> Truth:
    rows = mixed_rows(rng, 5, 4)
    sample = rows(2000)

    def grow(level: int) -> Any:
        if level == depth:
            return rng.dirichlet(np.full(n_classes, spread))
        name = rng.choice(sample.columns)
        if name.startswith("x"):
            cut: Any = float(np.quantile(sample[name], rng.uniform(0.25, 0.75)))
        else:
            cut = rng.choice(sample[name])
        return name, cut, grow(level + 1), grow(level + 1)

    root = grow(0)

    def fill(node: Any, X: pd.DataFrame, where: NDArray[Any], out: NDArray[np.float64]) -> None:
        if isinstance(node, np.ndarray):
            out[where] = node
            return
        name, cut, first, second = node
        own = X[name].to_numpy()[where]
        left = own <= cut if name.startswith("x") else own == cut
        fill(first, X, where[left], out)
        fill(second, X, where[~left], out)

    def posterior(X: pd.DataFrame) -> NDArray[np.float64]:
        out = np.empty((len(X), n_classes))
        fill(root, X, np.arange(len(X)), out)
        return out

    def draw(n: int) -> tuple[pd.DataFrame, NDArray[Any]]:
        X = rows(n)
        return X, draw_labels(posterior(X), rng)

    return Truth(draw, posterior)


def led(rng: np.random.Generator) -> Truth:
    def draw(n: int) -> tuple[Any, NDArray[Any]]:
        X, y = make_led(n, random_state=int(rng.integers(2**31)))
        return X, np.unique(y, return_inverse=True)[1]

    return Truth(draw, led_posterior)


def waveform(rng: np.random.Generator) -> Truth:
    """The posterior is an integral over the share of the two waves, by 200 points."""
    bumps = np.maximum(6.0 - np.abs(np.arange(1, 22) - np.array([[11], [15], [7]])), 0.0)
    pairs = [(0, 1), (0, 2), (1, 2)]
    shares = (np.arange(200) + 0.5)[:, None] / 200

    def posterior(X: Any) -> NDArray[np.float64]:
        x = np.asarray(X, dtype=float)[:, :21]
        scores = []
        for a, b in pairs:
            means = shares * bumps[a] + (1.0 - shares) * bumps[b]
            square = (x**2).sum(1)[:, None] - 2 * x @ means.T + (means**2).sum(1)
            low = square.min(axis=1, keepdims=True)
            scores.append(np.log(np.exp(-0.5 * (square - low)).sum(axis=1)) - 0.5 * low[:, 0])
        return np.asarray(softmax(np.column_stack(scores), axis=1))

    def draw(n: int) -> tuple[Any, NDArray[Any]]:
        X, y = make_waveform(n, random_state=int(rng.integers(2**31)))
        return X, np.unique(y, return_inverse=True)[1]

    return Truth(draw, posterior)


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


def read_bif(path: Path) -> tuple[DiscreteNetwork, list[str]]:
    text = gzip.decompress(path.read_bytes()).decode()
    states = {
        name: [v.strip() for v in values.split(",")]
        for name, values in re.findall(r"variable\s+(\S+)\s*\{[^{]*\{([^}]*)\}", text)
    }
    names = list(states)
    arity = [len(states[name]) for name in names]
    parents: list[list[int]] = [[] for _ in names]
    tables: list[Any] = [None] * len(names)
    for head, body in re.findall(r"probability\s*\(([^)]*)\)\s*\{(.*?)\n\}", text, re.DOTALL):
        own, _, given = (part.strip() for part in head.partition("|"))
        above = [v.strip() for v in given.split(",")] if given else []
        i = names.index(own)
        parents[i] = [names.index(v) for v in above]
        table = np.zeros([arity[p] for p in parents[i]] + [arity[i]])
        if not above:
            table[:] = [float(v) for v in re.search(r"table([^;]*);", body).group(1).split(",")]
        for context, numbers in re.findall(r"\(([^)]*)\)\s*([^;]*);", body):
            values = [v.strip() for v in context.split(",")]
            place = tuple(states[a].index(v) for a, v in zip(above, values, strict=True))
            table[place] = [float(v) for v in numbers.split(",")]
        tables[i] = table / table.sum(axis=-1, keepdims=True)
    return DiscreteNetwork(arity, parents, tables), names


def random_network(rng: np.random.Generator, n: int = 12) -> Truth:
    """Variables with up to three parents and Dirichlet tables."""
    arity = rng.integers(2, 5, n).tolist()
    parents = [
        sorted(rng.choice(i, min(i, int(rng.integers(0, 4))), replace=False).tolist())
        for i in range(n)
    ]
    tables = [
        rng.dirichlet(np.full(arity[i], 1.0), [arity[p] for p in parents[i]]) for i in range(n)
    ]
    network = DiscreteNetwork(arity, parents, tables)
    degree = [sum(i in p for p in parents) + len(parents[i]) for i in range(n)]
    return network.truth(int(np.argmax(degree)), rng)


def bif(folder: Path, name: str, target: str) -> Callable[[np.random.Generator], Truth]:
    def make(rng: np.random.Generator) -> Truth:
        network, names = read_bif(folder / f"{name}.bif.gz")
        return network.truth(names.index(target), rng)

    return make


FITTED: dict[str, Callable[[np.random.Generator], Truth]] = {
    "mixture": mixture,
    "mixture-2": lambda rng: mixture(rng, 2),
    "mixture-5": lambda rng: mixture(rng, 5),
    "smooth": smooth,
    "smooth-4": lambda rng: smooth(rng, 4),
    "tree-3": lambda rng: tree(rng, 3),
    "tree-6": lambda rng: tree(rng, 6, 3),
    "network": random_network,
    "logistic-3": lambda rng: logistic(rng, 3, 0.5),
    "network-6": lambda rng: random_network(rng, 6),
    "network-20": lambda rng: random_network(rng, 20),
}


def judged(folder: Path) -> dict[str, Callable[[np.random.Generator], Truth]]:
    return {
        "LED": led,
        "waveform": waveform,
        "logistic": logistic,
        "logistic, 4 classes": lambda rng: logistic(rng, 4),
        "tree, depth 4": tree,
        "tree, depth 5, 4 classes": lambda rng: tree(rng, 5, 4),
        "asia: bronc": bif(folder, "asia", "bronc"),
        "survey: T": bif(folder, "survey", "T"),
        "sachs: PKA": bif(folder, "sachs", "PKA"),
        "child: Disease": bif(folder, "child", "Disease"),
        "insurance: Accident": bif(folder, "insurance", "Accident"),
        "hepar2: Cirrhosis": bif(folder, "hepar2", "Cirrhosis"),
    }


class FixedNetworkClassifier(SingleNetworkClassifier):
    """A network with a given structure."""

    network: Network

    def _has_fixed_structure(self) -> bool:
        return True

    def _reads_again(self) -> bool:
        return False

    def _learn_structures(self, rows: Any) -> tuple[list[Network], dict[str, Any]]:
        return [self.network], {}


def own_model(n_parents: int, rng: np.random.Generator) -> tuple[FixedNetworkClassifier, Truth]:
    """Return a network and a truth drawn from the prior of its smoother, HDP."""
    n, n_classes, arity = 8, int(rng.integers(2, 5)), int(rng.integers(2, 6))
    parents = [tuple(range(i - 1, max(-1, i - 1 - n_parents), -1)) for i in range(n)]
    model = FixedNetworkClassifier(random_state=0)
    model.network = Network(tuple(parents), tuple(range(n)))
    tables = [rng.dirichlet(np.full(n_classes, 5.0))]
    for own in parents:
        table = rng.dirichlet(np.full(arity, 2.0 / arity))
        for width in [n_classes, *[arity] * len(own)]:
            below = rng.exponential(50.0) * np.repeat(table[..., None, :], width, axis=-2)
            table = draw_dirichlet(below, rng)
        tables.append(table)
    # The class is variable 0.
    network = DiscreteNetwork(
        [n_classes] + [arity] * n, [[], *([0, *(p + 1 for p in own)] for own in parents)], tables
    )
    return model, network.truth(0, rng)
