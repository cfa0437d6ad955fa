"""Measure how many true probabilities lie in their intervals, and how wide these are.

    python benchmarks/coverage.py --out docs/results/coverage.csv
    python benchmarks/coverage.py --out docs/results/coverage.csv --summary

Models learn from generated tables whose true class probabilities are known. The rules of intervals
were designed on the fifty kinds of "design" (`interval_truths`, `later_truths`, `crossed_truths`)
and not on the twenty-five of "kept" (`kept_truths`). A line has the coverage of each level and the
mean width of the intervals of 90 %, over that of intervals of the same model that are wider or
narrower by a factor, the same for all rows, so that they cover as many truths as the level says
("oracle"). "all" is the coverage of the mean probability of each class over all test rows, by the
quantiles of the means of draws (`sample_proba`); "part" is that of ten parts of the rows, from
those of the least to those of the largest predicted probability of the first class. Lines that the
file has are not measured again. `--summary` prints means over generators, and the generator of the
least coverage at 90 %.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from crossed_truths import CROSSED
from interval_truths import FIRST
from kept_truths import KEPT
from later_truths import LATER
from numpy.typing import NDArray
from scipy.optimize import brentq

import priorwise

LEVELS = (0.5, 0.8, 0.9, 0.95)
SUM_LEVELS = (0.5, 0.9)
N_TEST, N_PARTS, N_DRAWS = 500, 10, 100
NAMES = {
    "forest": "ProbabilityForest", "tree": "ProbabilityTree", "boosting": "Boosting",
    "ESKDB": "ESKDB", "TAN": "TAN", "kDB": "KDB", "splines": "SplineLogistic",
}  # fmt: skip
MODELS: dict[str, Callable[[], Any]] = {
    "fast": lambda: priorwise.PriorwiseClassifier("fast", random_state=0),
    "balanced": lambda: priorwise.PriorwiseClassifier(random_state=0),
}
for short, name in NAMES.items():
    MODELS[short] = lambda name=name: getattr(priorwise, f"{name}Classifier")(random_state=0)


def cover(calibration: Any, proba: Any, true: Any, level: float) -> tuple[float, float]:
    """Return the share of true probabilities in the intervals of a level, and their mean width."""
    lower, upper = calibration.find_interval(proba, level)
    # Rounding must not throw out what equals an end.
    inside = (lower <= true + 1e-9) & (true - 1e-9 <= upper)
    return float(inside.mean()), float((upper - lower).mean())


def cover_means(model: Any, rows: Any, true: NDArray[np.float64]) -> dict[str, float]:
    """Return the share of true mean probabilities between the quantiles of the means of draws."""
    draws = model.sample_proba(rows, N_DRAWS, random_state=0)
    order = np.argsort(model.predict_proba(rows)[:, 0], kind="stable")
    result = {}
    for name, n_parts in (("all", 1), ("part", N_PARTS)):
        means = [
            values[..., order, :].reshape(*values.shape[:-2], n_parts, -1, true.shape[1]).mean(-2)
            for values in (draws, true)
        ]
        for level in SUM_LEVELS:
            tail = (1.0 - level) / 2.0
            lower, upper = np.quantile(means[0], [tail, 1.0 - tail], axis=0)
            result[f"{name} {level}"] = float(((lower <= means[1]) & (means[1] <= upper)).mean())
    return result


def measure(model: Any, rows: Any, true: NDArray[np.float64]) -> dict[str, float]:
    """Return coverage and width for a fitted model."""
    calibration, proba = model.find_calibration(), model.predict_proba(rows)
    found = {level: cover(calibration, proba, true, level) for level in LEVELS}

    def excess(log_factor: float) -> float:
        other = replace(calibration, error=calibration.error * np.exp(log_factor))
        return cover(other, proba, true, 0.9)[0] - 0.9

    width = found[0.9][1]
    best = brentq(excess, -12.0, 12.0, xtol=0.01) if excess(-12.0) < 0.0 < excess(12.0) else -12.0
    oracle = replace(calibration, error=calibration.error * np.exp(best))
    shares = {str(level): share for level, (share, _) in found.items()}
    return {**shares, "width": width, "oracle": cover(oracle, proba, true, 0.9)[1]} | (
        cover_means(model, rows, true)
    )


def summarise(lines: pd.DataFrame) -> pd.DataFrame:
    """Return means over the generators for each model, number of rows and kind of generator."""
    columns = [str(level) for level in LEVELS]
    grouped = lines.groupby(["kind", "model", "rows"], sort=False)
    table = (100.0 * grouped[columns].mean()).round(0).astype(int)
    table["tables"] = grouped.size()
    table["width"] = (grouped["width"].mean() / grouped["oracle"].mean()).round(2)
    by_truth = lines.groupby(["kind", "model", "rows", "truth"])["0.9"].mean().reset_index()
    worst = by_truth.loc[by_truth.groupby(["kind", "model", "rows"])["0.9"].idxmin()]
    worst = worst.set_index(["kind", "model", "rows"])
    table["least at 90"] = (100.0 * worst["0.9"]).round(0).astype(int)
    return table.assign(where=worst["truth"])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--kinds", nargs="+", default=["design", "kept"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--models", nargs="+", default=[*MODELS])
    parser.add_argument("--truths", nargs="+")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    lines = pd.read_csv(arguments.out) if arguments.out.exists() else pd.DataFrame()
    if arguments.summary:
        print(summarise(lines).to_string())
        return
    warnings.simplefilter("ignore")
    key = ["kind", "truth", "rows", "repeat", "model"]
    done = set(map(tuple, lines[key].to_numpy().tolist())) if len(lines) else set()
    for size in arguments.sizes:
        for repeat in range(arguments.repeats):
            for kind, truths in (("design", FIRST | LATER | CROSSED), ("kept", KEPT)):
                for place, (name, make) in enumerate(truths.items()):
                    if kind not in arguments.kinds or name not in (arguments.truths or truths):
                        continue
                    # The constants were fitted to tables of seeds of another end.
                    truth = make(np.random.default_rng([place, size, repeat, 7]))
                    X, y = truth.draw(size)
                    test, _ = truth.draw(N_TEST)
                    true = truth.posterior(test)
                    if len(np.unique(y)) < true.shape[1] or np.bincount(y).min() < 2:
                        continue
                    for model in arguments.models:
                        line = (kind, name, size, repeat, model)
                        if line in done:
                            continue
                        result = measure(MODELS[model]().fit(X, y), test, true)
                        row = dict(zip(key, line, strict=True)) | {
                            field: round(value, 4) for field, value in result.items()
                        }
                        pd.DataFrame([row]).to_csv(
                            arguments.out, mode="a", header=not arguments.out.exists(), index=False
                        )


if __name__ == "__main__":
    main()
