"""How often do prediction sets contain the true class, and how large are they?

    python benchmarks/prediction_sets.py DATA --out docs/results/prediction_sets.csv

DATA is a folder of ARFF files, in folders inside it too. The first --sets of them by name with at
least 1,000 rows are used. In each split the flagship learns from half of the rows, at most
--max-rows, and predicts sets for others, at most 5,000. Coverage is the share of rows whose set
contains the true class; it should be 1 - alpha. Splits that the file has are not measured again, so
that more can be added. The standard error of a mean over splits says how much of a difference is
chance.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import PriorwiseClassifier
from priorwise.data import read_arff

ALPHAS = (0.05, 0.1, 0.2)
LEAST_ROWS = 1_000
MAX_TEST_ROWS = 5_000


def measure(X: Any, y: NDArray[Any], split: int, effort: str, max_rows: int) -> list[float]:
    """Return the coverage for each alpha, and then the mean size of the sets for each."""
    order = np.random.default_rng(split).permutation(len(y))
    train = order[: min(len(y) // 2, max_rows)]
    test = order[len(train) :][:MAX_TEST_ROWS]
    model = PriorwiseClassifier(effort, random_state=split).fit(X.iloc[train], y[train])
    test = test[np.isin(y[test], model.classes_)]
    truth = np.searchsorted(model.classes_, y[test])
    sets = [model.prediction_set(X.iloc[test], alpha) for alpha in ALPHAS]
    coverage = [float(s[np.arange(len(test)), truth].mean()) for s in sets]
    return coverage + [float(s.sum(axis=1).mean()) for s in sets]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--names", nargs="+", help="data sets instead of the first ones")
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--max-rows", type=int, default=1_500)
    arguments = parser.parse_args()
    done = set[tuple[str, int]]()
    if arguments.out.exists():
        with arguments.out.open() as file:
            done = {(row["dataset"], int(row["split"])) for row in csv.DictReader(file)}
    names = [f"{what} {1 - alpha:g}" for what in ("coverage", "size") for alpha in ALPHAS]
    n_sets = 0
    with arguments.out.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(["dataset", "rows", "split", *names])
        for path in sorted(arguments.data.rglob("*.arff.gz"), key=lambda path: path.name):
            name = path.name.removesuffix(".arff.gz")
            if n_sets == arguments.sets or (arguments.names and name not in arguments.names):
                continue
            X, y = read_arff(path).to_X_y()
            if len(X) < LEAST_ROWS:
                continue
            n_sets += 1
            for split in range(arguments.splits):
                if (name, split) not in done:
                    line = measure(X, np.asarray(y), split, arguments.effort, arguments.max_rows)
                    writer.writerow([name, len(X), split, *(f"{x:.4f}" for x in line)])
                    file.flush()


if __name__ == "__main__":
    main()
