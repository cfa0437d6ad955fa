"""What do networks cost beside XGBoost, and how does the cost grow?

    python benchmarks/networks.py ADULT.arff.gz CONNECT-4.arff.gz [--jobs 1,2]

Times of one run, in seconds; on a shared machine trust the ratios.
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

N_PREDICTED = 1_000_000


def seconds(work: Callable[[], object], repeats: int = 1) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def compare_with_xgboost(file: Path, n_jobs: int) -> None:
    X, y = read_arff(file).to_X_y()
    codes = np.unique(y, return_inverse=True)[1]
    many = X.iloc[np.arange(N_PREDICTED) % len(X)].reset_index(drop=True)
    rival = xgboost.make(n_jobs)
    rival_fit = seconds(lambda: rival.fit(X, codes))
    rival_predict = seconds(lambda: rival.predict_proba(many))
    print(f"\n{file.name.split('.')[0]} {X.shape}, {n_jobs} thread(s)")
    print(f"{'model':16}{'fit':>8}{'ratio':>8}{'predict 1e6':>13}{'ratio':>8}")
    print(f"{'xgboost':16}{rival_fit:8.2f}{1:8.2f}{rival_predict:13.2f}{1:8.2f}")
    models = {
        "kdb-5 hdp": pw.KDBClassifier(5, n_jobs=n_jobs),
        "skdb-5 hdp": pw.SelectiveKDBClassifier(5, n_jobs=n_jobs),
        "eskdb thesis": pw.ESKDBClassifier(
            10, max_parents=5, recipe="thesis", n_jobs=n_jobs, random_state=0
        ),
        "eskdb": pw.ESKDBClassifier(n_jobs=n_jobs, random_state=0),
    }
    for name, model in models.items():
        fit = seconds(lambda m=model: m.fit(X, y))
        predict = seconds(lambda m=model: m.predict_proba(many))
        print(
            f"{name:16}{fit:8.2f}{fit / rival_fit:8.2f}{predict:13.2f}"
            f"{predict / rival_predict:8.2f}"
        )


def draw(n_rows: int, n_features: int, arity: int, n_classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n_rows)
    X = rng.integers(0, arity, (n_rows, n_features))
    for i in range(1, n_features):
        copied = rng.random(n_rows) < 0.5
        X[copied, i] = (X[copied, i - 1] + y[copied]) % arity
    return X, y


def show_growth() -> None:
    base = {"rows": 20_000, "features": 20, "arity": 4, "max_parents": 2, "classes": 2}
    steps = {
        "rows": (20_000, 80_000, 320_000),
        "features": (20, 40, 80),
        "arity": (4, 16, 64),
        "max_parents": (1, 3, 5),
        "classes": (2, 8, 32),
    }
    print(
        "\nGrowth of kDB with HDP, one thread (base: 20,000 rows, 20 features of 4 values, "
        "max_parents = 2)"
    )
    print(f"{'varied':12}{'value':>9}{'fit':>9}{'predict':>9}")
    for varied, values in steps.items():
        for value in values:
            case = base | {varied: value}
            X, y = draw(case["rows"], case["features"], case["arity"], case["classes"])
            model = pw.KDBClassifier(case["max_parents"], categorical_features=range(X.shape[1]))
            fit = seconds(lambda m=model, X=X, y=y: m.fit(X, y))
            predict = seconds(lambda m=model, X=X: m.predict_proba(X))
            print(f"{varied:12}{value:9d}{fit:9.3f}{predict:9.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--jobs", default="1,2")
    args = parser.parse_args()
    for file in args.files:
        for n_jobs in (int(j) for j in args.jobs.split(",")):
            compare_with_xgboost(file, n_jobs)
    show_growth()


if __name__ == "__main__":
    main()
