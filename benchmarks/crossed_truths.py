"""Twenty more kinds of tables with known class probabilities: five of rows by four of scores.

The constants of intervals were fitted to them and to thirty others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
import pandas as pd
from interval_truths import Floats, Make, Rng
from true_probabilities import Truth, from_scores

Rows = tuple[Callable[[int], pd.DataFrame], Callable[[pd.DataFrame], Floats]]
"""What draws rows, and what gives the numbers (n_rows, n_numbers) that scores are made of."""
N_SCALED = 2_000
"""Rows that numbers and scores are scaled by."""


def correlated(rng: Rng) -> Rows:
    """Normal numbers that depend on each other."""
    d = int(rng.integers(4, 13))
    mix = np.eye(d) + rng.uniform(0.0, 0.6) * rng.normal(size=(d, d))
    return lambda n: pd.DataFrame(rng.normal(size=(n, d)) @ mix).add_prefix("x"), _numbers


def counted(rng: Rng) -> Rows:
    """Uniform numbers, counts and logarithms, some of which say nothing."""
    d = int(rng.integers(2, 4))
    shown = int(rng.integers(1, 3 * d + 1))

    def rows(n: int) -> pd.DataFrame:
        parts = [rng.random((n, d)), rng.poisson(3.0, (n, d)), rng.lognormal(size=(n, d))]
        return pd.DataFrame(np.hstack(parts)).add_prefix("x")

    return rows, lambda X: np.log1p(_numbers(X))[:, -shown:]


def labelled(rng: Rng) -> Rows:
    """Labels of 2 to 30 values, each of which stands for a number."""
    arity = rng.integers(2, 31, int(rng.integers(4, 11)))
    value = [rng.normal(size=k) for k in arity]
    share = [rng.dirichlet(np.ones(k)) for k in arity]

    def rows(n: int) -> pd.DataFrame:
        codes = {f"c{j}": rng.choice(k, n, p=share[j]) for j, k in enumerate(arity)}
        return pd.DataFrame(codes).map("v{}".format)

    def numbers(X: pd.DataFrame) -> Floats:
        codes = [X[f"c{j}"].str[1:].astype(int).to_numpy() for j in range(len(arity))]
        return np.column_stack([value[j][code] for j, code in enumerate(codes)])

    return rows, numbers


def incomplete(rng: Rng) -> Rows:
    """Numbers and yes or no, of which a tenth is missing, as if it were the mean."""
    d = int(rng.integers(3, 7))

    def rows(n: int) -> pd.DataFrame:
        z = rng.normal(size=(n, 2 * d)) + 0.7 * rng.normal(size=(n, 1))
        z[:, d:] = z[:, d:] > 0.5
        z[rng.random(z.shape) < 0.1] = np.nan
        frame = pd.DataFrame(z).add_prefix("x")
        for name in frame.columns[d:]:
            frame[name] = frame[name].map({0.0: "no", 1.0: "yes"})
        return frame

    def numbers(X: pd.DataFrame) -> Floats:
        answers = X.iloc[:, d:].apply(lambda column: column.map({"no": -1.0, "yes": 1.0}))
        return np.nan_to_num(np.hstack([_numbers(X.iloc[:, :d]), _numbers(answers)]))

    return rows, numbers


def clustered(rng: Rng) -> Rows:
    """Numbers near a few centres, and others that say nothing."""
    d, n_centres = int(rng.integers(2, 6)), int(rng.integers(3, 9))
    centre, n_others = 2.0 * rng.normal(size=(n_centres, d)), int(rng.integers(0, 15))

    def rows(n: int) -> pd.DataFrame:
        near = centre[rng.integers(n_centres, size=n)] + rng.normal(size=(n, d))
        return pd.DataFrame(np.hstack([near, rng.normal(size=(n, n_others))])).add_prefix("x")

    return rows, lambda X: _numbers(X)[:, :d]


def _numbers(X: pd.DataFrame) -> Floats:
    return np.asarray(X.to_numpy(dtype=np.float64))


Scores = Callable[[Floats], Floats]
MakeRows = Callable[[Rng], Rows]
MakeScores = Callable[[Rng, int, int], Scores]


def curves(rng: Rng, d: int, n_classes: int) -> Scores:
    """Add a smooth curve of each number."""
    speed, shift = rng.uniform(0.3, 2.0, d), rng.uniform(0.0, 6.0, d)
    weight = rng.normal(size=(d, n_classes)) * rng.exponential(size=(d, 1))
    return lambda z: np.sin(speed * z + shift) @ weight


def rules(rng: Rng, d: int, n_classes: int) -> Scores:
    """Add a number for each of some rules, which ask one to three numbers to be large or small."""
    asked = [rng.choice(d, min(d, int(rng.integers(1, 4))), replace=False) for _ in range(12)]
    sign, cut = rng.choice([-1.0, 1.0], (12, d)), rng.normal(scale=0.6, size=(12, d))
    weight = rng.normal(size=(12, n_classes))

    def score(z: Floats) -> Floats:
        holds = [(sign[r, f] * (z[:, f] - cut[r, f]) > 0).all(axis=1) for r, f in enumerate(asked)]
        return np.column_stack(holds) @ weight

    return score


def pairs(rng: Rng, d: int, n_classes: int) -> Scores:
    """Add each number and the products of some pairs."""
    first, second = rng.integers(d, size=(2, d))
    single = rng.normal(size=(d, n_classes))
    both = rng.uniform(0.3, 1.5) * rng.normal(size=(d, n_classes))
    return lambda z: z @ single + (z[:, first] * np.tanh(z[:, second])) @ both


def prototypes(rng: Rng, d: int, n_classes: int) -> Scores:
    """The nearer prototypes of a class are, the more probable it is."""
    prototype = rng.normal(size=(3 * n_classes, d))

    def score(z: Floats) -> Floats:
        far = ((z[:, None] - prototype) ** 2).mean(axis=2)
        return np.log(np.exp(-2.0 * far).reshape(len(z), n_classes, 3).sum(axis=2))

    return score


def cross(make_rows: MakeRows, make_scores: MakeScores) -> Make:
    """Return a kind of tables of two to five classes, whose scores have a random spread."""

    def make(rng: Rng) -> Truth:
        rows, numbers = make_rows(rng)
        n_classes, spread = int(rng.integers(2, 6)), rng.uniform(0.4, 2.5)
        first = numbers(rows(N_SCALED))
        mean, deviation = first.mean(axis=0), first.std(axis=0) + 1e-9
        score = make_scores(rng, first.shape[1], n_classes)
        raw = score((first - mean) / deviation)
        size, share = (raw - raw.mean(axis=0)).std(), rng.normal(scale=0.4, size=n_classes)

        def scores(X: pd.DataFrame) -> Floats:
            apart = score((numbers(X) - mean) / deviation) - raw.mean(axis=0)
            return spread / size * apart + share

        return from_scores(rows, scores, rng)

    return make


def cross_all(all_rows: Iterable[MakeRows], all_scores: Iterable[MakeScores]) -> dict[str, Make]:
    """Return all kinds of rows by all kinds of scores, by what they are called."""
    return {
        f"{make_scores.__name__} of {make_rows.__name__}": cross(make_rows, make_scores)
        for make_rows, make_scores in product(all_rows, all_scores)
    }


CROSSED = cross_all(
    (correlated, counted, labelled, incomplete, clustered), (curves, rules, pairs, prototypes)
)
