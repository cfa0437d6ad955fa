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
from scipy.special import betainc, ndtr
from true_probabilities import FITTED

from priorwise import PriorwiseClassifier, ProbabilityForestClassifier, ProbabilityTreeClassifier
from priorwise.models.intervals import MIN_BETA, centre_log_odds, find_beta_count, find_log_odds

N_TEST = 150
LEVELS = np.array([0.5, 0.8, 0.9, 0.95])


def collect(path: Path, sizes: list[int], n_repeats: int, effort: str) -> None:
    rows: dict[str, list[Any]] = {}
    for size in sizes:
        for place, make in enumerate(FITTED.values()):
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
                models["tree"] = ProbabilityTreeClassifier(random_state=0).fit(X, y)
                for kind, model in models.items():
                    columns = model._read(test)
                    proba = model.predict_columns(columns)
                    parts = {"all": model.spread_columns(columns)}
                    if hasattr(model, "spread_parts"):
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


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("collect", "fit"))
    parser.add_argument("rows", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300, 1000, 3000, 10000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--effort", default="fast")
    arguments = parser.parse_args()
    if arguments.what == "collect":
        collect(arguments.rows, arguments.sizes, arguments.repeats, arguments.effort)


if __name__ == "__main__":
    main()
