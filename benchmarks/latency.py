"""How long `predict_proba` of one row takes, beside XGBoost's scikit-learn interface.

    python benchmarks/latency.py [--rounds 300] [--effort balanced]

The models learn from a generated table and are then asked for one row at a time, in turn. All use
one thread. Printed are medians of the processor time in microseconds, which on an idle machine is
the time that passes, and their ratio to XGBoost's on the same rows. The second table has random
forests of as many trees, with few and with many nodes.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd
from rivals import xgboost

import priorwise as pw

N_TRAIN, N_ASKED = 3_000, 100
BARS = {"flagship": 3.0, "kDB": 1.0, "tree": 1.0}
"""Largest ratios to XGBoost that are accepted."""

MAX_GROWTH = 1.5
"""Largest ratio of the times of a forest of 200,000 and one of 5,000 nodes that is accepted."""


def make_table(n_rows: int, n_numbers: int = 10, n_labels: int = 0) -> tuple[pd.DataFrame, Any]:
    """Return columns of numbers and of labels, and two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame({f"x{i}": rng.normal(0.2 * (i % 10) * y) for i in range(n_numbers)})
    for i in range(n_labels):
        codes = np.where(rng.random(n_rows) < 0.3, y, rng.integers(0, 6, n_rows))
        frame[f"c{i}"] = pd.Categorical(np.array(list("abcdef"))[codes])
    return frame, y


def measure(models: dict[str, Any], rows: list[Any], n_rounds: int) -> dict[str, float]:
    """Return the median time of one row in microseconds by model; models are asked in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(n_rounds + 10):
        row = rows[turn % len(rows)]
        for name, model in models.items():
            start = time.process_time()
            model.predict_proba(row)
            seconds[name].append(time.process_time() - start)
    return {name: 1e6 * float(np.median(times[10:])) for name, times in seconds.items()}


def compare_with_xgboost(n_rounds: int, effort: str) -> None:
    """Print the times of three kinds of row."""
    print(f"{'rows':28}{'model':12}{'us':>8}{'ratio':>8}{'bar':>6}")
    kinds = {
        "array": make_table(N_TRAIN + N_ASKED),
        "array of 50 columns": make_table(N_TRAIN + N_ASKED, n_numbers=50),
        "frame of numbers": make_table(N_TRAIN + N_ASKED),
        "frame with categories": make_table(N_TRAIN + N_ASKED, n_labels=4),
    }
    for kind, (frame, y) in kinds.items():
        X: Any = frame.to_numpy() if kind.startswith("array") else frame
        models = {
            "XGBoost": xgboost.make(1),
            "flagship": pw.PriorwiseClassifier(effort, n_jobs=1, random_state=0),
            "kDB": pw.KDBClassifier(n_jobs=1),
            "tree": pw.ProbabilityTreeClassifier(n_jobs=1, random_state=0),
        }
        for model in models.values():
            model.fit(X[:N_TRAIN], y[:N_TRAIN])
        times = measure(models, [X[i : i + 1] for i in range(N_TRAIN, len(X))], n_rounds)
        for name, time_of_row in times.items():
            ratio = time_of_row / times["XGBoost"]
            bar = f"{BARS[name]:6.1f}" if name in BARS else ""
            print(f"{kind:28}{name:12}{time_of_row:8.0f}{ratio:8.2f}{bar}", flush=True)


def compare_forests(n_rounds: int) -> None:
    """Print the times of forests with few and with many nodes."""
    X, y = make_table(40_000)
    forests = {}
    for n_rows in (500, 40_000):
        forest = pw.ProbabilityForestClassifier(
            50, splitter="random", min_samples_leaf=3, n_jobs=1, random_state=0
        ).fit(X.to_numpy()[:n_rows], y[:n_rows])
        forests[f"{forest.forest_.n_nodes} nodes"] = forest
    rows = [X.to_numpy()[i : i + 1] for i in range(N_ASKED)]
    few, many = measure(forests, rows, n_rounds).items()
    print(f"\n{'forest':28}{'us':>8}\n{few[0]:28}{few[1]:8.0f}\n{many[0]:28}{many[1]:8.0f}")
    print(f"growth {many[1] / few[1]:.2f}, at most {MAX_GROWTH}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--effort", default="balanced")
    args = parser.parse_args()
    compare_with_xgboost(args.rounds, args.effort)
    compare_forests(args.rounds)


if __name__ == "__main__":
    main()
