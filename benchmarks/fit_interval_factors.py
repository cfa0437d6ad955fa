"""Fit the factors that turn parts of a variance into intervals that cover the truth.

    # Fit models on generated tables; NETWORKS has networks as NAME.bif.gz.
    python benchmarks/fit_interval_factors.py collect FOLDER --networks NETWORKS
    python benchmarks/fit_interval_factors.py collect FOLDER --networks NETWORKS --effort balanced
    # Print factors and tails.
    python benchmarks/fit_interval_factors.py fit FOLDER

The tables are those of `fitting_truths.fitted`, none of which coverage.py judges by. `collect` adds
a file for each table to the folder and leaves out those that are there; several processes may share
a folder (`--share 0 2` and `--share 1 2`). Factors maximise the likelihood of true probabilities as
beta variates. Tails are the a and b of z (a + b |z|) that take the place of the numbers z of
standard deviations of a normal variate, so that as many truths as wanted lie in intervals of each
level. Every number of rows counts the same, and so does every table of a number of rows.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from fitting_truths import FITTED, Make, fitted
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betainc, betaln, digamma, ndtri

from priorwise import (
    BoostingClassifier,
    GaussianNetworkClassifier,
    PriorwiseClassifier,
    ProbabilityTreeClassifier,
)
from priorwise.steps.intervals import MIN_BETA, centre_log_odds, find_beta_count, trigamma
from priorwise.steps.step import list_terms

Floats = NDArray[np.float64]

N_TEST = 100
MAX_LOG_ODDS = 12.0
"""True log-odds are cut off here: beyond, nobody can tell them apart."""
LEVELS = np.array([0.5, 0.8, 0.9, 0.95])
DEVIATIONS = ndtri((1.0 + LEVELS) / 2.0)
NO_TERMS = ("proba", "true", "table", "size", "name")

ALONE: dict[str, Callable[[], Any]] = {
    "boosting alone": lambda: BoostingClassifier(random_state=0),
    "tree": lambda: ProbabilityTreeClassifier(random_state=0),
    "gaussian alone": lambda: GaussianNetworkClassifier(random_state=0),
}
"""Kinds of models that are fitted by themselves, not as members of the flagship."""


def measure_table(
    make: Make, rng: np.random.Generator, size: int, repeat: int, effort: str, kinds: list[str]
) -> dict[str, Any] | None:
    """Fit kinds of models to one table; return what they predict of test rows."""
    truth = make(rng)
    X, y = truth.draw(size)
    test, _ = truth.draw(N_TEST)
    true = truth.posterior(test)
    if len(np.unique(y)) < true.shape[1] or np.bincount(y).min() < 3:
        return None
    pool = PriorwiseClassifier(effort, random_state=0).fit(X, y)
    models = {"pool": pool, **pool.estimators_}
    if effort == "fast" and repeat % 3 == 0:
        models |= {kind: make().fit(X, y) for kind, make in ALONE.items() if kind in kinds}
    result: dict[str, Any] = {"true": true, "n_rows": size}
    for kind in models.keys() & set(kinds):
        model = models[kind]
        columns = model.read_rows(test)
        result[f"{kind}|proba"] = proba = model.step_.predict(columns)
        for part, variance in model.step_.spread_parts(columns, proba, 1).items():
            result[f"{kind}|{part}"] = variance
    return result


def collect(folder: Path, arguments: argparse.Namespace) -> None:
    """Measure tables one by one, small ones first."""
    folder.mkdir(exist_ok=True)
    first, n_shares = arguments.share
    families = fitted(arguments.networks) if arguments.networks else FITTED
    tables = product(range(arguments.repeats), arguments.sizes, families)
    for place, (repeat, size, name) in enumerate(tables):
        file = folder / f"{name} {size} {repeat} {arguments.effort}.npz"
        if place % n_shares != first or file.exists():
            continue
        rng = np.random.default_rng([list(families).index(name), size, repeat])
        table = measure_table(families[name], rng, size, repeat, arguments.effort, arguments.kinds)
        if table is not None:
            np.savez(file, **table)
            print(file.name, file=sys.stderr, flush=True)


def read(folder: Path, kind: str, without: list[str]) -> dict[str, Any]:
    """Return terms, probabilities, truths and tables of all entries of a kind of model."""
    entries: dict[str, list[Any]] = {}
    for place, file in enumerate(sorted(folder.glob("*.npz"))):
        fields = np.load(file)
        if f"{kind}|proba" not in fields:
            continue
        proba, true = fields[f"{kind}|proba"], fields["true"]
        parts = {
            name.split("|")[1]: fields[name]
            for name in fields
            if name.startswith(f"{kind}|") and name.split("|")[1] not in ("proba", *without)
        }
        terms = list_terms(proba, parts, float(fields["n_rows"]))
        repeated = {k: np.repeat(v, true.shape[1]) for k, v in terms.items()}
        for key, value in {"proba": proba.ravel(), "true": true.ravel(), **repeated}.items():
            entries.setdefault(key, []).append(value)
        entries.setdefault("table", []).append(np.full(true.size, place))
        entries.setdefault("size", []).append(np.full(true.size, int(fields["n_rows"])))
        entries.setdefault("name", []).append(np.full(true.size, file.stem))
    return {key: np.concatenate(value) for key, value in entries.items()}


def fit_factors(entries: dict[str, Any], names: list[str]) -> dict[str, float]:
    """Maximise the likelihood of true probabilities as beta variates, weighted by `weigh`."""
    design, p = np.column_stack([entries[name] for name in names]), entries["proba"]
    true = np.clip(log_odds(entries["true"]), -MAX_LOG_ODDS, MAX_LOG_ODDS)
    log_true, log_other = -np.log1p(np.exp(-true)), -np.log1p(np.exp(true))
    weight = weigh(entries)

    def loss(factors: Floats) -> tuple[float, Floats]:
        exponent = design @ factors
        count = np.exp(-np.clip(exponent, -12.0, 3.0))
        a, b = np.maximum(count * p, 1e-4), np.maximum(count * (1.0 - p), 1e-4)
        value = -float((weight * (a * log_true + b * log_other - betaln(a, b))).sum())
        slope_a = (log_true - digamma(a) + digamma(a + b)) * p * (count * p > 1e-4)
        slope_b = log_other - digamma(b) + digamma(a + b)
        slope_b *= (1.0 - p) * (count * (1.0 - p) > 1e-4)
        slope = (slope_a + slope_b) * count * ((exponent > -12.0) & (exponent < 3.0))
        ridge = 1e-3 * np.append(0.0, factors[1:])
        return value + float(ridge @ factors), design.T @ (weight * slope) + 2.0 * ridge

    start = np.append(-2.0, np.zeros(len(names) - 1))
    best = minimize(loss, start, jac=True, method="L-BFGS-B").x
    return dict(zip(names, np.round(best, 2).tolist(), strict=True))


def find_deviations(entries: dict[str, Any], factors: dict[str, float]) -> Floats:
    """Return from how many standard deviations on the interval of each entry holds the truth."""
    inverse = np.exp(np.clip(sum(f * entries[k] for k, f in factors.items()), -12.0, 3.0))
    p, true = entries["proba"], entries["true"]
    variance = trigamma(np.maximum(p / inverse, 1e-4))
    variance += trigamma(np.maximum((1.0 - p) / inverse, 1e-4))
    centre = centre_log_odds(log_odds(p), variance)
    z = (log_odds(true) - centre) / np.sqrt(variance)
    wide = variance > MIN_BETA
    mean = np.clip(p[wide], 1e-100, 1.0 - 2.0**-53)
    count = find_beta_count(mean, variance[wide])
    level = betainc(count * mean, count * (1.0 - mean), true[wide])
    z[wide] = ndtri(np.clip(level, 1e-12, 1.0 - 1e-12))
    z[(log_odds(true) - log_odds(p)) * (log_odds(true) - centre) < 0.0] = 0.0
    return np.abs(z)


def fit_tails(z: Floats, weight: Floats) -> tuple[float, float]:
    """Return a and b of q = z (a + b |z|), the numbers of deviations that hold enough truths."""
    order = np.argsort(z)
    wanted = z[order][np.searchsorted(np.cumsum(weight[order]), LEVELS)]
    design = np.column_stack([np.ones(len(LEVELS)), DEVIATIONS])
    a, b = np.linalg.lstsq(design, wanted / DEVIATIONS, rcond=None)[0].round(2).tolist()
    return a, b


def weigh(entries: dict[str, Any]) -> Floats:
    """Return weights of entries: sizes count the same, and so do tables of a size; the sum is 1."""
    table, (_, size) = entries["table"], np.unique(entries["size"], return_inverse=True)
    weight = 1.0 / np.bincount(table)[table]
    weight /= np.bincount(size, weight)[size]
    return np.asarray(weight / weight.sum())


def log_odds(p: Floats) -> Floats:
    return np.log(np.maximum(p, 1e-100)) - np.log(np.maximum(1.0 - p, 1e-16))


def fit(folder: Path, arguments: argparse.Namespace) -> None:
    """Print factors, tails and the coverage that they give, by family and by size."""
    for kind in arguments.kinds:
        entries = read(folder, kind, arguments.without)
        names = [name for name in entries if name not in NO_TERMS]
        factors, weight = fit_factors(entries, names), weigh(entries)
        z = find_deviations(entries, factors)
        a, b = fit_tails(z, weight)
        print(f"{kind}, {len(np.unique(entries['table']))} tables: {factors}, tails ({a}, {b})")
        reach = DEVIATIONS * (a + b * DEVIATIONS)
        parts = np.array([name.rsplit(" ", 3) for name in entries["name"]])
        for values in (parts[:, 0], parts[:, 1]):
            for value in np.unique(values):
                own = values == value
                shares = [100 * np.average(z[own] <= q, weights=weight[own]) for q in reach]
                print(f"   {value:12}", *(f"{share:5.0f}" for share in shares))


def main() -> None:
    """Run the command line."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("collect", "fit"))
    parser.add_argument("folder", type=Path)
    sizes = [100, 300, 1_000, 3_000, 10_000, 30_000]
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes)
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--networks", type=Path)
    parser.add_argument("--share", type=int, nargs=2, default=(0, 1))
    parser.add_argument("--without", nargs="+", default=[])
    kinds = ["pool", "forest", "networks", "boosting alone", "tree", "gaussian alone"]
    parser.add_argument("--kinds", nargs="+", default=kinds)
    arguments = parser.parse_args()
    (collect if arguments.what == "collect" else fit)(arguments.folder, arguments)


if __name__ == "__main__":
    main()
