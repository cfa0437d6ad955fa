"""Small generated tables: the flagship beside the best of three simple models.

    python benchmarks/small_tables.py [--tables 200] [--first 0] [--effort balanced] [--out CSV]

Table number i is drawn with seed i: 40 to 400 rows, 3 to 20 features, a third of which may be
labels, and one of seven truths (`TRUTHS`). The models predict 4,000 further rows, whose true class
probabilities are known, so their log-loss is the expectation over the classes. "best" is the best
of the shares of the classes, a logistic regression and a random forest (scikit-learn's defaults on
standardised numbers and one-hot labels), chosen by the truth. A line is a table; the last line is
the geometric mean of flagship / best, the share of tables on which the flagship is more than 6 %
behind, and the largest ratio.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from priorwise import PriorwiseClassifier

N_TEST = 4_000
BEHIND = 1.06
"""A table is counted where the flagship's log-loss is more than this many times the best one."""
LEAST_PROBABILITY = 1e-3
"""Forests give zeros; all models' probabilities are raised to this before they are judged."""

Scores = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def draw_linear(rng: np.random.Generator, n_features: int, n_classes: int) -> Scores:
    """Draw a linear truth; all features matter."""
    weight = rng.normal(size=(n_features, n_classes)) * rng.uniform(0.3, 2.0) / n_features**0.5
    return lambda x: x @ weight * 2.0


def draw_sparse(rng: np.random.Generator, n_features: int, n_classes: int) -> Scores:
    """Draw a linear truth of two features."""
    weight = np.zeros((n_features, n_classes))
    weight[:2] = rng.normal(size=(2, n_classes)) * rng.uniform(0.5, 2.0)
    return lambda x: x @ weight


def draw_tree(rng: np.random.Generator, n_features: int, n_classes: int) -> Scores:
    """Draw a tree of depth three, the same features on each level."""
    used = rng.choice(n_features, 3, replace=False)
    cuts = rng.normal(scale=0.5, size=3)
    leaves = rng.normal(size=(8, n_classes)) * rng.uniform(0.5, 2.0)
    return lambda x: leaves[(x[:, used] > cuts) @ np.array([1, 2, 4])]


def draw_clusters(rng: np.random.Generator, n_features: int, n_classes: int) -> Scores:
    """Draw centres with classes of their own; near ones count."""
    centres = rng.normal(size=(3 * n_classes, n_features))
    own = np.eye(n_classes)[rng.permutation(3 * n_classes) % n_classes]
    width = rng.uniform(0.3, 1.0) * n_features
    strength = rng.uniform(1.0, 4.0)

    def score(x: NDArray[np.float64]) -> NDArray[np.float64]:
        near = softmax(-((x[:, None] - centres) ** 2).sum(axis=2) / width, axis=1)
        return np.asarray(strength * near @ own)

    return score


def draw_noise(rng: np.random.Generator, n_features: int, n_classes: int) -> Scores:
    """Draw classes that have nothing to do with the features."""
    share = rng.normal(scale=0.7, size=n_classes)
    return lambda x: np.tile(share, (len(x), 1))


def draw_groups(rng: np.random.Generator, n_features: int, n_classes: int) -> Scores:
    """Draw linear truths of their own for the values of one feature."""
    weights = rng.normal(size=(3, n_features, n_classes)) * rng.uniform(0.5, 2.0) / n_features**0.5
    return lambda x: np.einsum("nf,nfk->nk", x, weights[np.digitize(x[:, 0], [-0.5, 0.5])]) * 1.5


def draw_waves(rng: np.random.Generator, n_features: int, n_classes: int) -> Scores:
    """Draw sums of waves of single features."""
    rate = rng.uniform(0.5, 2.0, size=n_features)
    weight = rng.normal(size=(n_features, n_classes)) * rng.uniform(0.5, 2.0) / n_features**0.5
    return lambda x: np.sin(x * rate) @ weight * 2.0


TRUTHS = (
    draw_linear, draw_sparse, draw_tree, draw_clusters, draw_noise, draw_groups, draw_waves,
)  # fmt: skip


def draw_table(seed: int) -> tuple[str, pd.DataFrame, NDArray[np.intp], int, NDArray[np.float64]]:
    """Return kind, rows, classes of the training rows, their number, and true probabilities."""
    rng = np.random.default_rng([seed, 2026])
    truth = TRUTHS[seed % len(TRUTHS)]
    n_rows, n_features = int(np.exp(rng.uniform(np.log(40), np.log(400)))), int(rng.integers(3, 21))
    n_classes = int(rng.choice([2, 2, 2, 3, 4, 6, 10]))
    x = rng.normal(size=(n_rows + N_TEST, n_features))
    if rng.random() < 0.5:
        x = x @ (np.eye(n_features) + 0.5 * rng.normal(size=(n_features,) * 2) / n_features**0.5)
    proba = softmax(truth(rng, n_features, n_classes)(x), axis=1)
    y = (rng.random(len(x))[:, None] > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    X = pd.DataFrame({f"x{i}": x[:, i] for i in range(n_features)})
    for name in rng.choice(X.columns, rng.integers(0, n_features // 3 + 1), replace=False):
        X[name] = pd.Categorical(np.digitize(X[name], np.sort(rng.normal(size=3))).astype(str))
    return truth.__name__.removeprefix("draw_"), X, y[:n_rows], n_rows, proba


def judge(model: Any, X: pd.DataFrame, proba: NDArray[np.float64]) -> float:
    """Return the expected log-loss of a fitted model."""
    given = np.zeros_like(proba)
    given[:, model.classes_] = model.predict_proba(X)
    given = np.maximum(given, LEAST_PROBABILITY)
    given /= given.sum(axis=1, keepdims=True)
    return float(-(proba * np.log(given)).sum(axis=1).mean())


def prepare(model: Any) -> Any:
    """Return a pipeline that standardises numbers and codes labels."""
    labels = make_column_selector(dtype_exclude="number")
    coded = (OneHotEncoder(handle_unknown="ignore"), labels)
    return make_pipeline(make_column_transformer(coded, remainder=StandardScaler()), model)


class Shares:
    """The shares of the classes, one row added to each."""

    def fit(self, X: pd.DataFrame, y: NDArray[np.intp]) -> Shares:
        self.classes_, count = np.unique(y, return_counts=True)
        self.proba = (count + 1.0) / (count + 1.0).sum()
        return self

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        return np.tile(self.proba, (len(X), 1))


def run(seed: int, effort: str) -> dict[str, Any]:
    """Return the log-losses of a table."""
    kind, X, y, n_rows, proba = draw_table(seed)
    rivals = {
        "shares": Shares(),
        "logistic": prepare(LogisticRegression(max_iter=1_000)),
        "forest": prepare(RandomForestClassifier(random_state=0)),
    }
    line: dict[str, Any] = {
        "table": seed, "kind": kind, "rows": n_rows, "features": X.shape[1],
        "classes": proba.shape[1],
    }  # fmt: skip
    if len(np.unique(y)) < 2:
        return line
    train, test, truth = X.iloc[:n_rows], X.iloc[n_rows:], proba[n_rows:]
    for name, rival in rivals.items():
        line[name] = judge(rival.fit(train, y), test, truth)
    line["best"] = min(line[name] for name in rivals)
    start = time.process_time()
    model = PriorwiseClassifier(effort, random_state=0).fit(train, y)
    line["seconds"] = time.process_time() - start
    line["flagship"] = judge(model, test, truth)
    line["ratio"] = line["flagship"] / line["best"]
    return line


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--effort", default="balanced")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [run(seed, given.effort) for seed in range(given.first, given.first + given.tables)]
    lines = [line for line in lines if "ratio" in line]
    print(f"{'table':>6} {'kind':10}{'rows':>5}{'features':>9}{'classes':>8}"
          f"{'shares':>8}{'logistic':>9}{'forest':>8}{'flagship':>9}{'ratio':>7}")  # fmt: skip
    for line in sorted(lines, key=lambda line: line["ratio"]):
        print(f"{line['table']:6} {line['kind']:10}{line['rows']:5}{line['features']:9}"
              f"{line['classes']:8}{line['shares']:8.3f}{line['logistic']:9.3f}"
              f"{line['forest']:8.3f}{line['flagship']:9.3f}{line['ratio']:7.3f}")  # fmt: skip
    if given.out is not None:
        with given.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)
    ratio = np.array([line["ratio"] for line in lines])
    print(f"{len(lines)} tables: geometric mean {np.exp(np.log(ratio).mean()):.4f}, more than "
          f"{BEHIND - 1:.0%} behind {np.mean(ratio > BEHIND):.1%}, most {ratio.max():.2f}, "
          f"seconds {np.mean([line['seconds'] for line in lines]):.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
