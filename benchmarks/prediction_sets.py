"""How often do prediction sets contain the true class, and how large are they?

    python benchmarks/prediction_sets.py DATA --out docs/results/prediction_sets.csv
    python benchmarks/prediction_sets.py DATA --by-class --out docs/results/sets_by_class.csv

DATA is a folder of ARFF files, in folders inside it too. The first --sets of them by name with at
least 1,000 rows are used. In each split the flagship learns from half of the rows, at most
--max-rows, and predicts sets for others, at most 5,000. Coverage is the share of rows whose set
contains the true class; it should be 1 - alpha. Splits that the file has are not measured again, so
that more can be added. The standard error of a mean over splits says how much of a difference is
chance. With --by-class a line has the coverage of a class by sets with alpha 0.1 of both kinds, for
classes of which at least 100 rows are learnt and predicted; and that by sets by class after
`calibrate_sets` with new rows: each half of the rows calibrates the sets of the other half.
"""

from __future__ import annotations

import argparse
import csv
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import PriorwiseClassifier
from priorwise.data import read_arff

ALPHAS = (0.05, 0.1, 0.2)
SETS = ("sets of all rows", "sets by class", "sets by class, calibrated with new rows")
LEAST_ROWS, LEAST_CLASS_ROWS = 1_000, 100
MAX_TEST_ROWS = 5_000


def measure(X: Any, y: NDArray[Any], split: int, effort: str, max_rows: int) -> list[list[Any]]:
    """Return one line: the coverage for each alpha, and then the mean size of the sets for each."""
    model, rows, truth = learn(X, y, split, effort, max_rows)
    sets = [model.prediction_set(rows, alpha) for alpha in ALPHAS]
    shares = [float(s[np.arange(len(truth)), truth].mean()) for s in sets]
    return [[f"{x:.4f}" for x in (*shares, *(float(s.sum(axis=1).mean()) for s in sets))]]


def measure_classes(
    X: Any, y: NDArray[Any], split: int, effort: str, max_rows: int
) -> list[list[Any]]:
    """Return for each class its share and the coverage of it by the three kinds of sets."""
    model, rows, truth = learn(X, y, split, effort, max_rows)
    n_learnt, n_rows = model.class_count_, np.bincount(truth, minlength=len(model.classes_))
    held = np.arange(len(truth)), truth
    inside = [model.prediction_set(rows, 0.1, by_class=each)[held] for each in (False, True)]
    inside.append(np.empty(len(truth), dtype=bool))
    for place in (0, 1):
        own, other = slice(place, None, 2), slice(1 - place, None, 2)
        calibrated = copy(model).calibrate_sets(rows.iloc[other], model.classes_[truth[other]])
        sets = calibrated.prediction_set(rows.iloc[own], 0.1, by_class=True)
        inside[2][own] = sets[np.arange(len(sets)), truth[own]]
    return [
        [model.classes_[k], f"{n_learnt[k] / n_learnt.sum():.4f}", int(n_rows[k]),
         *(f"{each[truth == k].mean():.4f}" for each in inside)]
        for k in np.flatnonzero(np.minimum(n_learnt, n_rows) >= LEAST_CLASS_ROWS)
    ]  # fmt: skip


def learn(
    X: Any, y: NDArray[Any], split: int, effort: str, max_rows: int
) -> tuple[PriorwiseClassifier, Any, NDArray[np.intp]]:
    """Return a fitted model, other rows, and the codes of their classes."""
    order = np.random.default_rng(split).permutation(len(y))
    train = order[: min(len(y) // 2, max_rows)]
    test = order[len(train) :][:MAX_TEST_ROWS]
    model = PriorwiseClassifier(effort, random_state=split).fit(X.iloc[train], y[train])
    test = test[np.isin(y[test], model.classes_)]
    return model, X.iloc[test], np.searchsorted(model.classes_, y[test])


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
    parser.add_argument("--by-class", action="store_true")
    arguments = parser.parse_args()
    done = set[tuple[str, int]]()
    if arguments.out.exists():
        with arguments.out.open() as file:
            done = {(row["dataset"], int(row["split"])) for row in csv.DictReader(file)}
    names = [f"{what} {1 - alpha:g}" for what in ("coverage", "size") for alpha in ALPHAS]
    if arguments.by_class:
        names = ["class", "share", "predicted", *SETS]
    run = measure_classes if arguments.by_class else measure
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
                    lines = run(X, np.asarray(y), split, arguments.effort, arguments.max_rows)
                    writer.writerows([name, len(X), split, *line] for line in lines)
                    file.flush()


if __name__ == "__main__":
    main()
