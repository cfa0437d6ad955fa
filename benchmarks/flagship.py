"""How long PriorwiseClassifier takes and how good it is, beside XGBoost with its defaults.

    python benchmarks/flagship.py --small DATA [--number 30]
    python benchmarks/flagship.py --large FILE.arff.gz ... [--max-rows 100000] [--jobs 2]

DATA is a folder of ARFF files. Of its files with 200 to 5,000 rows, sorted by name, --small takes
--number at even distances, fits half of the rows of each with one thread, and prints processor
times as multiples of XGBoost's, and their medians. Short fits are repeated; the shortest counts.
--large fits half of the rows of each file, at most --max-rows, and prints RMSE, log-loss, fit time
and the time to predict 100,000 rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rivals import xgboost

import priorwise as pw
from priorwise.data import read_arff
from priorwise.evaluation import cross_entropy, rmse

LEAST_SMALL, MOST_SMALL = 200, 5_000
MOST_FITS, SECONDS_OF_FITS = 10, 1.0
"""A fit is repeated until it has taken this long, at most so often."""
N_PREDICTED = 100_000


def timed(work: Callable[[], Any], n_times: int = 1) -> tuple[float, Any]:
    """Return the least time that the work took, and its last result."""
    best, result = np.inf, None
    for _ in range(n_times):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def time_fit(model: Any, X: Any, y: np.ndarray) -> float:
    """Return the processor time of the shortest of some fits."""
    times: list[float] = []
    while len(times) < MOST_FITS and sum(times) < SECONDS_OF_FITS:
        start = time.process_time()
        model.fit(X, y)
        times.append(time.process_time() - start)
    return min(times)


def halves(file: Path, max_rows: int | None = None) -> tuple[Any, Any, Any, Any]:
    """Training and test rows; classes as codes, those that training lacks left out of the test."""
    X, y = read_arff(file).to_X_y()
    _, codes = np.unique(np.asarray(y), return_inverse=True)
    shuffled = np.random.default_rng(0).permutation(len(codes))
    n_train = len(codes) // 2 if max_rows is None else min(len(codes) // 2, max_rows)
    train, test = shuffled[:n_train], shuffled[n_train : 2 * n_train]
    seen, y_train = np.unique(codes[train], return_inverse=True)
    test = test[np.isin(codes[test], seen)]
    return X.iloc[train], y_train, X.iloc[test], np.searchsorted(seen, codes[test])


def run_small(folder: Path, number: int, efforts: list[str]) -> None:
    print(f"{'data set':32}{'rows':>6}{'XGB ms':>9}" + "".join(f"{e:>10}" for e in efforts))
    paths = {path.name: path for path in folder.rglob("*.arff.gz")}
    files = [
        path
        for path in sorted(paths.values(), key=lambda path: path.name.lower())
        if LEAST_SMALL <= read_arff(path).n_rows <= MOST_SMALL
    ]
    places = np.linspace(0, len(files) - 1, min(number, len(files))).round().astype(int)
    ratios = []
    for file in (files[place] for place in places):
        X, y, _, _ = halves(file)
        rival = time_fit(xgboost.make(1), X, y)
        models = [pw.PriorwiseClassifier(one, n_jobs=1, random_state=0) for one in efforts]
        line = [time_fit(model, X, y) / rival for model in models]
        ratios.append(line)
        name = file.name.removesuffix(".arff.gz")
        print(
            f"{name:32}{len(y):6d}{1e3 * rival:9.0f}" + "".join(f"{r:10.2f}" for r in line),
            flush=True,
        )
    print(f"{'median':47}" + "".join(f"{r:10.2f}" for r in np.median(ratios, axis=0)))


def run_large(files: list[Path], max_rows: int, efforts: list[str], n_jobs: int) -> None:
    for file in files:
        X, y, X_test, y_test = halves(file, max_rows)
        rows = np.random.default_rng(1).integers(0, len(y_test), N_PREDICTED)
        many = X_test.iloc[rows]
        print(f"\n{file.name.removesuffix('.arff.gz')}: {len(y)} training rows")
        print(f"{'':10}{'RMSE':>8}{'log-loss':>10}{'fit s':>9}{'x':>7}{'predict s':>11}{'x':>7}")
        models = {
            "XGBoost": xgboost.make(n_jobs),
            **{e: pw.PriorwiseClassifier(e, n_jobs=n_jobs, random_state=0) for e in efforts},
        }
        base: tuple[float, float] | None = None
        for name, model in models.items():
            fit_time, _ = timed(lambda model=model, X=X, y=y: model.fit(X, y))
            predict_time, _ = timed(lambda model=model, many=many: model.predict_proba(many), 2)
            base = base or (fit_time, predict_time)
            proba = np.asarray(model.predict_proba(X_test), dtype=np.float64)
            proba /= proba.sum(axis=1, keepdims=True)
            labels = np.arange(proba.shape[1])
            print(
                f"{name:10}{rmse(y_test, proba, labels=labels):8.4f}"
                f"{cross_entropy(y_test, proba, labels=labels):10.4f}"
                f"{fit_time:9.2f}{fit_time / base[0]:7.2f}"
                f"{predict_time:11.3f}{predict_time / base[1]:7.2f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=Path)
    parser.add_argument("--large", type=Path, nargs="+", default=[])
    parser.add_argument("--number", type=int, default=30, help="small data sets")
    parser.add_argument("--max-rows", type=int, default=100_000)
    parser.add_argument("--efforts", default="fast,balanced")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    efforts = args.efforts.split(",")
    if args.small:
        run_small(args.small, args.number, efforts)
    run_large(args.large, args.max_rows, efforts, args.jobs)


if __name__ == "__main__":
    main()
