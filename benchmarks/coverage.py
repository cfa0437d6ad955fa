"""Measure how many true probabilities lie in their intervals.

    python benchmarks/coverage.py NETWORKS --out docs/results/coverage.csv

NETWORKS is a folder of networks as NAME.bif.gz. Models learn from generated tables whose true class
probabilities are known (`true_probabilities.judged`) and, for "own model", networks from tables
that are drawn from the prior of their smoother. For "fixed network" these tables and the test rows
are the same for all sizes, so that widths may be compared. Rows of the file are added to those it
has.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from true_probabilities import judged, own_model

from priorwise import (
    ESKDBClassifier,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    SplineLogisticClassifier,
)

LEVELS = (0.5, 0.8, 0.9, 0.95)
N_TEST = 400
OWN_MODELS = ("own model", "fixed network")
PARENTS = ("no parent", "1", "2")
MODELS: dict[str, Callable[[], Any]] = {
    "PriorwiseClassifier, fast": lambda: PriorwiseClassifier("fast", random_state=0),
    "PriorwiseClassifier, balanced": lambda: PriorwiseClassifier(random_state=0),
    "ESKDBClassifier": lambda: ESKDBClassifier(random_state=0),
    "ProbabilityForestClassifier": lambda: ProbabilityForestClassifier(random_state=0),
    "SplineLogisticClassifier": lambda: SplineLogisticClassifier(random_state=0),
    "NaiveBayesClassifier": lambda: NaiveBayesClassifier(random_state=0),
}


def measure(model: Any, rows: Any, true: NDArray[np.float64]) -> list[float]:
    """Return the share of true probabilities in the interval of each level, and the mean width."""
    ends = [model.predict_interval(rows, level) for level in LEVELS]
    shares = [float(((low <= true) & (true <= high)).mean()) for low, high in ends]
    return [*shares, float((ends[2][1] - ends[2][0]).mean())]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("networks", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--models", nargs="+", default=[*MODELS, *OWN_MODELS])
    parser.add_argument("--truths", nargs="+")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    truths = judged(arguments.networks)
    new = not arguments.out.exists()
    with arguments.out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(["model", "truth", "rows", "seed", *map(str, LEVELS), "width"])
        for size in arguments.sizes:
            for seed in range(arguments.first_seed, arguments.first_seed + arguments.repeats):
                tables: dict[tuple[str, str], Any] = {}
                for name in arguments.models:
                    if name in OWN_MODELS:
                        tables |= {(name, kind): None for kind in PARENTS}
                    else:
                        tables |= {(name, truth): None for truth in arguments.truths or truths}
                for name, truth_name in tables:
                    rng = np.random.default_rng([0 if name == "fixed network" else size, seed])
                    if name in OWN_MODELS:
                        model, truth = own_model(PARENTS.index(truth_name), rng)
                    else:
                        model, truth = MODELS[name](), truths[truth_name](rng)
                    if name == "fixed network":
                        test, _ = truth.draw(N_TEST)
                        X, y = truth.draw(size)
                    else:
                        X, y = truth.draw(size)
                        test, _ = truth.draw(N_TEST)
                    true = truth.posterior(test)
                    if len(np.unique(y)) < true.shape[1] or np.bincount(y).min() < 2:
                        continue
                    line = measure(model.fit(X, y), test, true)
                    writer.writerow([name, truth_name, size, seed, *(f"{x:.4f}" for x in line)])
                    file.flush()


if __name__ == "__main__":
    main()
