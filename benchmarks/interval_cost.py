"""Measure the processor time of `predict_interval` over that of `predict_proba`.

    python benchmarks/interval_cost.py

Each classifier learns from 3,000 rows of 40 numbers (waveform) and of 21 labels (the same numbers
in five bins), and predicts 10,000 rows. A line has the ratio for numbers and for labels.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import priorwise
from priorwise.datasets import make_waveform

CLASSIFIERS = (
    "NaiveBayes", "TAN", "KDB", "SelectiveKDB", "SuperParent", "AODE", "KDF", "ESKDB",
    "ProbabilityTree", "ProbabilityForest", "Boosting", "SplineLogistic", "KernelLogistic",
    "GaussianNetwork", "Priorwise",
)  # fmt: skip
N_TRAINING, N_PREDICTED = 3_000, 10_000


def measure(call: Callable[[Any], Any], rows: Any, n_repeats: int) -> float:
    """Return the least processor time of some calls, after a first one."""
    call(rows)
    times = []
    for _ in range(n_repeats):
        start = time.process_time()
        call(rows)
        times.append(time.process_time() - start)
    return min(times)


def as_labels(X: Any) -> Any:
    """Return 21 labels of five values each."""
    numbers = np.asarray(X, dtype=float)[:, :21]
    return np.array(list("abcde"))[np.clip(np.round(numbers / 2.0) + 2, 0, 4).astype(int)]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--classifiers", nargs="+", default=list(CLASSIFIERS))
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    X, y = make_waveform(N_TRAINING + N_PREDICTED, random_state=0)
    for name in arguments.classifiers:
        line = []
        for table in (X, as_labels(X)):
            first = {"effort": "fast"} if name == "Priorwise" else {}
            model = getattr(priorwise, f"{name}Classifier")(**first, random_state=0)
            model.fit(table[:N_TRAINING], y[:N_TRAINING])
            rows = table[N_TRAINING:]
            proba = measure(model.predict_proba, rows, arguments.repeats)
            interval = measure(model.predict_interval, rows, arguments.repeats)
            line.append(f"{interval / proba:6.1f} ({1e6 * proba / N_PREDICTED:.2f} us a row)")
        print(f"{name:18}", *line, flush=True)


if __name__ == "__main__":
    main()
