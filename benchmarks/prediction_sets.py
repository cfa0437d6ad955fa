"""How often do prediction sets contain the true class, and how large are they?

    python benchmarks/prediction_sets.py DATA [--sets 20] [--splits 5] [--effort fast]

DATA is a folder of ARFF files, in folders inside it too. The first N sets by name with at least
1,000 rows are used. In each split the flagship learns from half of the rows, at most --max-rows,
and predicts sets for the others. Coverage is the share of rows whose set contains the true class;
it should be 1 - alpha. The standard error of a mean coverage, from its spread over the splits, says
how much of a difference is chance: splits of few rows need many repetitions.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from priorwise import PriorwiseClassifier
from priorwise.data import read_arff

ALPHAS = (0.05, 0.1, 0.2)
LEAST_ROWS = 1_000


def measure(
    file: Path, n_splits: int, effort: str, max_rows: int
) -> tuple[list[float], list[float], float]:
    """Return mean coverage and size of the sets for each alpha, and the largest standard error."""
    X, y = read_arff(file).to_X_y()
    y = np.asarray(y)
    coverage, size = [], []
    for split in range(n_splits):
        order = np.random.default_rng(split).permutation(len(y))
        train = order[: min(len(y) // 2, max_rows)]
        test = order[len(train) :][:20_000]
        model = PriorwiseClassifier(effort, random_state=split).fit(X.iloc[train], y[train])
        known = np.isin(y[test], model.classes_)
        test = test[known]
        truth = np.searchsorted(model.classes_, y[test])
        sets = [model.prediction_set(X.iloc[test], alpha) for alpha in ALPHAS]
        coverage.append([s[np.arange(len(test)), truth].mean() for s in sets])
        size.append([s.sum(axis=1).mean() for s in sets])
    spread = np.std(coverage, axis=0, ddof=1) if n_splits > 1 else np.full(len(ALPHAS), np.nan)
    error = float(spread.max()) / np.sqrt(n_splits)
    return np.mean(coverage, axis=0).tolist(), np.mean(size, axis=0).tolist(), error


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--max-rows", type=int, default=5_000)
    arguments = parser.parse_args()
    print(
        f"{'data set':32}{'rows':>8}"
        + "".join(f"{f'1-a={1 - a:g}':>9}{'size':>6}" for a in ALPHAS)
        + f"{'error':>8}"
    )
    worst, n_done = 0.0, 0
    for file in sorted(arguments.data.rglob("*.arff.gz"), key=lambda path: path.name):
        n_rows = read_arff(file).n_rows
        if n_rows < LEAST_ROWS or n_done == arguments.sets:
            continue
        n_done += 1
        coverage, size, error = measure(
            file, arguments.splits, arguments.effort, arguments.max_rows
        )
        worst = max(worst, *(abs(c - (1 - a)) for c, a in zip(coverage, ALPHAS, strict=True)))
        cells = "".join(f"{c:9.3f}{s:6.2f}" for c, s in zip(coverage, size, strict=True))
        print(f"{file.name.removesuffix('.arff.gz'):32}{n_rows:8}{cells}{error:8.4f}", flush=True)
    print(f"largest difference of a coverage from 1 - alpha: {worst:.3f}")


if __name__ == "__main__":
    main()
