"""Fit the factors that turn parts of a variance into intervals that cover the truth.

    python benchmarks/fit_interval_factors.py collect rows.npz   # fit models on generated tables
    python benchmarks/fit_interval_factors.py fit rows.npz       # print the factors

The tables are those of `true_probabilities.FITTED`, none of which coverage.py judges by.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import betainc, betaln, expit, ndtr
from true_probabilities import FITTED

from priorwise import (
    BoostingClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
)
from priorwise.models.intervals import (
    MIN_BETA,
    centre_log_odds,
    find_beta_count,
    find_log_odds,
    trigamma,
)

N_TEST = 150
MAX_LOG_ODDS = 12.0
"""True log-odds are cut off here: beyond, nobody can tell them apart."""
LEVELS = np.array([0.5, 0.8, 0.9, 0.95])


def collect(path: Path, names: list[str], sizes: list[int], n_repeats: int, effort: str) -> None:
    rows: dict[str, list[Any]] = {}
    for size in sizes:
        for place, (name, make) in enumerate(FITTED.items()):
            if names and name not in names:
                continue
            for repeat in range(n_repeats):
                rng = np.random.default_rng([place, size, repeat])
                truth = make(rng)
                X, y = truth.draw(size)
                test, _ = truth.draw(N_TEST)
                true = truth.posterior(test)
                if len(np.unique(y)) < true.shape[1] or np.bincount(y).min() < 3:
                    continue
                pool = PriorwiseClassifier(effort, random_state=0).fit(X, y)
                models = {"pool": pool, **pool.estimators_}
                models["best forest"] = ProbabilityForestClassifier(50, random_state=0).fit(X, y)
                models["boosting"] = BoostingClassifier(random_state=0).fit(X, y)
                models["tree"] = ProbabilityTreeClassifier(random_state=0).fit(X, y)
                for kind, model in models.items():
                    columns = model._read(test)
                    proba = model.predict_columns(columns)
                    parts = model.spread_parts(columns)
                    entry = {
                        "proba": proba,
                        "true": true,
                        **{f"part {k}": v for k, v in parts.items()},
                    }
                    shape = true.shape
                    entry |= {"place": np.full(shape, place), "size": np.full(shape, size)}
                    entry["classes"] = np.full(shape, shape[1])
                    for key, value in entry.items():
                        if key.startswith("part"):
                            value = find_log_odds(proba, value)[1]
                        elif key in ("proba", "true"):
                            value = find_log_odds(value, np.zeros(shape))[0]
                        rows.setdefault(f"{kind}|{key}", []).append(value.ravel())
        print(size, file=sys.stderr, flush=True)
        np.savez(path, **{k: np.concatenate(v).astype(np.float32) for k, v in rows.items()})


def covered(log_odds: NDArray[Any], true: NDArray[Any], variance: NDArray[Any]) -> NDArray[Any]:
    """The level from which on the interval contains the truth."""
    z = (true - centre_log_odds(log_odds, variance)) / np.sqrt(variance)
    level = np.abs(2.0 * ndtr(z) - 1.0)
    wide = variance > MIN_BETA
    p = np.clip(1 / (1 + np.exp(-log_odds[wide])), 1e-300, 1 - 2.0**-53)
    count = find_beta_count(p, variance[wide])
    t = 1 / (1 + np.exp(-np.clip(true[wide], -700, 700)))
    level[wide] = np.abs(2.0 * betainc(count * p, count * (1 - p), t) - 1.0)
    between = (true - log_odds) * (true - centre_log_odds(log_odds, variance)) < 0
    return np.where(between, 0.0, level)


def number_rows(n_classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the row of each entry: entries of a row follow each other."""
    row, start = np.empty(len(n_classes), dtype=int), 0
    n_rows = 0
    while start < len(row):
        end = start + int(n_classes[start])
        row[start:end] = n_rows
        start, n_rows = end, n_rows + 1
    return row


def list_terms(fields: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the logarithms that `combine_parts` multiplies by the factors, for each entry."""
    p = expit(fields["proba"])
    row, square = number_rows(fields["classes"]), p * (1.0 - p)
    gini = np.bincount(row, square)
    terms = {
        "constant": np.ones(len(p)),
        "rows": np.log(fields["size"] / 1000.0),
        "classes": np.log(fields["classes"] / 2.0),
        "gini": np.log(gini + 0.02)[row],
    }
    for name, variance in fields.items():
        if name.startswith("part "):
            sums = np.bincount(row, square * square * np.minimum(variance, 1e3))
            terms[name[5:]] = np.log(sums / np.maximum(gini, 1e-12) + 1e-4)[row]
    return terms


def fit_kind(fields: dict[str, NDArray[Any]], without: list[str]) -> dict[str, float]:
    """Maximise the likelihood of true probabilities as beta variates; tables count equally."""
    terms = {k: v for k, v in list_terms(fields).items() if k not in without}
    design, p = np.column_stack(list(terms.values())), expit(fields["proba"])
    true = np.clip(fields["true"], -MAX_LOG_ODDS, MAX_LOG_ODDS)
    log_true, log_other = -np.log1p(np.exp(-true)), -np.log1p(np.exp(true))
    group = np.unique(fields["place"] * 1e6 + fields["size"], return_inverse=True)[1]
    weight = 1.0 / np.bincount(group)[group] / (group.max() + 1)

    def loss(factors: NDArray[Any]) -> float:
        count = np.exp(-np.clip(design @ factors, -12.0, 3.0))
        a, b = np.maximum(count * p, 1e-4), np.maximum(count * (1.0 - p), 1e-4)
        ridge = 1e-3 * float((factors[1:] ** 2).sum())
        return ridge - float((weight * (a * log_true + b * log_other - betaln(a, b))).sum())

    start = np.append(-2.0, np.zeros(design.shape[1] - 1))
    best = minimize(loss, start, method="L-BFGS-B").x
    factors = dict.fromkeys(list_terms(fields), 0.0)
    return factors | {k: round(float(f), 2) for k, f in zip(terms, best, strict=True)}


def fit(path: Path, kinds: list[str], without: list[str]) -> None:
    rows = np.load(path)
    for kind in kinds or sorted({k.split("|")[0] for k in rows}):
        fields = {k.split("|")[1]: rows[k].astype(float) for k in rows if k.split("|")[0] == kind}
        factors, p = fit_kind(fields, without), expit(fields["proba"])
        terms = list_terms(fields)
        inverse = np.exp(np.clip(sum(factors[k] * v for k, v in terms.items()), -12.0, 3.0))
        a, b = np.maximum(p / inverse, 1e-4), np.maximum((1.0 - p) / inverse, 1e-4)
        level = covered(fields["proba"], fields["true"], trigamma(a) + trigamma(b))
        print(f"{kind}: {factors}")
        for size in np.unique(fields["size"]):
            for place in np.unique(fields["place"]):
                own = (fields["size"] == size) & (fields["place"] == place)
                if own.any():
                    shares = [
                        round(100 * float((level[own] <= wanted).mean())) for wanted in LEVELS
                    ]
                    print("   ", int(size), list(FITTED)[int(place)], shares)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("collect", "fit"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000, 3000, 10000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--truths", nargs="+", default=[])
    parser.add_argument("--without", nargs="+", default=[])
    parser.add_argument("--kinds", nargs="+", default=[])
    arguments = parser.parse_args()
    if arguments.what == "collect":
        collect(
            arguments.rows, arguments.truths, arguments.sizes, arguments.repeats, arguments.effort
        )
    else:
        fit(arguments.rows, arguments.kinds, arguments.without)


if __name__ == "__main__":
    main()
