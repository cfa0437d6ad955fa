"""Ten more kinds of tables with known class probabilities, which intervals are designed on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from interval_truths import Floats, Rng, against_zero, by_name, code, from_numbers
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from true_probabilities import Truth, draw_labels, from_scores


def from_gaussians(prior: Floats, centre: Floats, covariance: Floats, rng: Rng) -> Truth:
    """Return the truth of classes whose rows are normal, each with a covariance of its own."""
    root = np.linalg.cholesky(covariance)

    def posterior(X: pd.DataFrame) -> Floats:
        apart = X.to_numpy()[:, None] - centre
        scaled = np.stack(
            [np.linalg.solve(each, apart[:, k].T).T for k, each in enumerate(root)], axis=1
        )
        log_size = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        scores = np.log(prior) - log_size - 0.5 * (scaled**2).sum(axis=2)
        return np.asarray(softmax(scores, axis=1))

    def draw(n: int) -> tuple[pd.DataFrame, NDArray[np.intp]]:
        y = draw_labels(np.tile(prior, (n, 1)), rng)
        x = centre[y] + (root[y] @ rng.normal(size=(n, centre.shape[1], 1)))[:, :, 0]
        return pd.DataFrame(x).add_prefix("x"), y

    return Truth(draw, posterior)


def steps(rng: Rng) -> Truth:
    """Each number has a threshold of its own, and effects add up."""
    d, n_classes = int(rng.integers(4, 12)), int(rng.integers(2, 4))
    cut, effect = rng.normal(scale=0.7, size=d), rng.normal(size=(d, n_classes))
    strength = rng.uniform(0.8, 2.5) / d**0.5
    return from_numbers(rng, d, lambda x: strength * np.sign(x - cut) @ effect)


def products(rng: Rng) -> Truth:
    """Products of neighbouring numbers, and weak effects of each."""
    d, weight = int(rng.integers(4, 9)), rng.uniform(0.4, 1.2)
    single = rng.normal(scale=0.3, size=d)

    def score(x: Floats) -> Floats:
        return against_zero(weight * (x[:, :-1] * x[:, 1:]).sum(axis=1) / d**0.5 + x @ single)

    return from_numbers(rng, d, score)


def rings(rng: Rng) -> Truth:
    """The distance from the centre decides."""
    d, strength = int(rng.integers(2, 6)), rng.uniform(1.0, 3.0)
    radius = d**0.5
    return from_numbers(
        rng, d, lambda x: against_zero(strength * (np.sqrt((x**2).sum(axis=1)) - radius))
    )


def factors(rng: Rng) -> Truth:
    """Two to four hidden numbers are seen through many noisy ones; the class follows from these."""
    d, n_hidden, n_classes = int(rng.integers(8, 25)), int(rng.integers(2, 5)), 3
    loading = rng.normal(size=(n_hidden, d))
    weight = rng.normal(size=(d, n_classes)) * rng.uniform(1.0, 3.0) / d

    def rows(n: int) -> pd.DataFrame:
        hidden = rng.normal(size=(n, n_hidden))
        return pd.DataFrame(hidden @ loading + 0.5 * rng.normal(size=(n, d))).add_prefix("x")

    return from_scores(rows, lambda X: X.to_numpy() @ weight, rng)


def places(rng: Rng) -> Truth:
    """Codes lie in towns and towns in regions; each has an effect, the finer the smaller."""
    n_codes, n_towns, n_regions = 120, 30, 6
    town = rng.integers(n_towns, size=n_codes)
    region = rng.integers(n_regions, size=n_towns)
    effect = [rng.normal(scale=s, size=n) for s, n in
              ((0.8, n_regions), (0.5, n_towns), (0.3, n_codes))]  # fmt: skip
    share, slope = rng.dirichlet(np.ones(n_codes)), rng.normal(scale=0.7, size=2)

    def rows(n: int) -> pd.DataFrame:
        codes = rng.choice(n_codes, n, p=share)
        towns = town[codes]
        names = {"code": codes, "town": towns, "region": region[towns]}
        frame = pd.DataFrame(names).map("v{}".format)
        return frame.join(pd.DataFrame(rng.normal(size=(n, 2))).add_prefix("x"))

    def scores(X: pd.DataFrame) -> Floats:
        total = X[["x0", "x1"]].to_numpy() @ slope
        for name, each in zip(("region", "town", "code"), effect, strict=True):
            total = total + each[code(X[name])]
        return against_zero(total)

    return from_scores(rows, scores, rng)


def frequencies(rng: Rng) -> Truth:
    """Counts of events, whose logarithms matter."""
    d, n_classes = int(rng.integers(3, 9)), int(rng.integers(2, 4))
    rate = rng.uniform(0.5, 8.0, d)
    weight = rng.normal(size=(d, n_classes)) * rng.uniform(0.7, 1.8) / d**0.5

    def rows(n: int) -> pd.DataFrame:
        mean = rate * np.exp(0.6 * rng.normal(size=(n, d)))
        return pd.DataFrame(rng.poisson(mean)).add_prefix("n")

    return from_scores(rows, lambda X: np.log1p(X.to_numpy()) @ weight, rng)


def few_of_many(rng: Rng) -> Truth:
    """Twenty to forty columns of labels, of which three matter, two of them together."""
    d, arity, n_classes = int(rng.integers(20, 40)), 4, int(rng.integers(2, 4))
    pair = rng.normal(size=(arity, arity, n_classes)) * rng.uniform(0.5, 1.3)
    single = rng.normal(scale=0.6, size=(arity, n_classes))

    def rows(n: int) -> pd.DataFrame:
        return pd.DataFrame(rng.integers(arity, size=(n, d))).map("v{}".format).add_prefix("c")

    def scores(X: pd.DataFrame) -> Floats:
        first, second, third = (code(X[name]) for name in ("c0", "c1", "c2"))
        return np.asarray(pair[first, second] + single[third])

    return from_scores(rows, scores, rng)


def spreads(rng: Rng) -> Truth:
    """Normal classes of different covariances."""
    d, n_classes = int(rng.integers(2, 8)), int(rng.integers(2, 4))
    mix = np.eye(d) + 0.5 * rng.normal(size=(n_classes, d, d)) / d**0.5
    centre = rng.normal(size=(n_classes, d)) * rng.uniform(0.2, 0.8)
    covariance = mix @ mix.transpose(0, 2, 1) * rng.uniform(0.5, 2.0, n_classes)[:, None, None]
    prior = rng.dirichlet(np.full(n_classes, 8.0))
    return from_gaussians(prior, centre, covariance + 0.05 * np.eye(d), rng)


def seasons(rng: Rng) -> Truth:
    """The hour and the weekday matter in a circle, and differently at two kinds of places."""
    phase, size = rng.uniform(0, 2 * np.pi, (2, 2)), rng.uniform(0.4, 1.5, (2, 2))
    slope = rng.normal(scale=0.6, size=2)

    def rows(n: int) -> pd.DataFrame:
        frame = pd.DataFrame(rng.normal(size=(n, 2))).add_prefix("x")
        return frame.assign(
            hour=rng.uniform(0, 24, n),
            weekday=rng.integers(7, size=n),
            place=np.array(["v0", "v1"], dtype=object)[rng.integers(2, size=n)],
        )

    def scores(X: pd.DataFrame) -> Floats:
        at, total = code(X["place"]), X[["x0", "x1"]].to_numpy() @ slope
        for j, (name, length) in enumerate((("hour", 24.0), ("weekday", 7.0))):
            angle = 2 * np.pi * X[name].to_numpy() / length
            total = total + size[at, j] * np.sin(angle + phase[at, j])
        return against_zero(total)

    return from_scores(rows, scores, rng)


def populations(rng: Rng) -> Truth:
    """Each row is of one of two kinds, in which other features matter; the kind is not seen."""
    d, n_classes = int(rng.integers(4, 9)), 2
    weight = rng.normal(size=(2, d, n_classes)) * rng.uniform(1.5, 3.5) / d**0.5
    share = rng.uniform(0.2, 0.5)

    def score(x: Floats) -> Floats:
        log_each = log_softmax(np.einsum("nd,kdc->knc", x, weight), axis=2)
        kinds = np.log([share, 1.0 - share])[:, None, None]
        return np.asarray(np.logaddexp.reduce(log_each + kinds, axis=0))

    return from_numbers(rng, d, score)


LATER = by_name(
    steps, products, rings, factors, places, frequencies, few_of_many, spreads, seasons, populations
)
