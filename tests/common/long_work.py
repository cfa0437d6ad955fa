"""Work that takes longer than a test waits, for `test_interrupts`.

The child reads names of work from the standard input. For each it writes "begun", does the work
until Ctrl-C, writes the CPU seconds since the signal was sent, and fits another model to show that
the process goes on.
"""

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from priorwise import (
    ESKDBClassifier,
    KDBClassifier,
    KernelLogisticClassifier,
    NaiveBayesClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SplineLogisticClassifier,
    SuperParentClassifier,
)
from priorwise.counts import CountTree, measure_information
from priorwise.data import MDLPDiscretizer
from priorwise.smoothing import HDP, HGS, hdp
from priorwise.smoothing.base import smooth_trees

Work = Callable[[], object]
Rows = tuple[np.ndarray, np.ndarray]


def labels(n_rows: int, n_columns: int, n_labels: int) -> Rows:
    generator = np.random.default_rng(1)
    X = generator.integers(0, n_labels, (n_rows, n_columns), dtype=np.int32)
    return X, (generator.random(n_rows) * 3 + X[:, 0] / n_labels).astype(np.int32)


def numbers(n_rows: int, n_columns: int) -> Rows:
    generator = np.random.default_rng(2)
    X = generator.normal(size=(n_rows, n_columns))
    return X, (X[:, :3].sum(axis=1) + generator.normal(size=n_rows) > 0.0).astype(np.int32)


def many_classes(n_rows: int, n_columns: int) -> Rows:
    X, _ = numbers(n_rows, n_columns)
    return X, np.digitize(X[:, :2].sum(axis=1), np.linspace(-2.0, 2.0, 29))


def large_tree() -> CountTree:
    X, y = labels(300_000, 4, 20)
    return CountTree.from_rows(list(X.T), y, n_outcomes=4)


def sample_one_tree() -> Work:
    tree = large_tree()
    return lambda: HDP("gibbs", n_iter=10**8).smooth(tree)


def sample_trees_on_threads() -> Work:
    trees = [large_tree()] * 4
    return lambda: smooth_trees(trees, HDP("gibbs", n_iter=10**8), n_jobs=2)


def solve_for_ever() -> Work:
    tree = large_tree()

    def solve() -> None:
        kept = hdp.MAX_PASSES, hdp.PASS_TOLERANCE
        hdp.MAX_PASSES, hdp.PASS_TOLERANCE = 10**8, -1.0
        try:
            HDP().smooth(tree)
        finally:
            hdp.MAX_PASSES, hdp.PASS_TOLERANCE = kept

    return solve


def learn_weights_of_levels() -> Work:
    X, y = labels(1_000_000, 5, 16)
    tree = CountTree.from_rows(list(X.T), y, n_outcomes=4)
    return lambda: HGS("optimised").smooth(tree)


def count_contexts() -> Work:
    X, y = labels(2_000_000, 7, 50)
    columns = list(np.ascontiguousarray(X.T))
    return lambda: CountTree.from_rows(columns, y, n_outcomes=4)


def count_pairs() -> Work:
    X, y = labels(10_000, 1_500, 20)
    codes, arities = np.ascontiguousarray(X.T), np.full(1_500, 20, dtype=np.int32)
    return lambda: measure_information(codes, y, arities, 4, n_threads=2)


def cut_numbers() -> Work:
    X, y = numbers(750_000, 8)
    return lambda: MDLPDiscretizer().fit(X, y)


def fit(model: Any, rows: Callable[[], Rows]) -> Work:
    """Fit a model anew, and see that it is the old one when the fit was interrupted."""
    X, y = rows()
    few = X[:200]
    before = model.fit(few, y[:200]).predict_proba(few)

    def fit_anew() -> None:
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            if not np.array_equal(model.predict_proba(few), before):
                raise ValueError("the model has changed") from None
            raise

    return fit_anew


def route_rows() -> Work:
    X, y = numbers(5_000, 20)
    forest = ProbabilityForestClassifier(n_estimators=100, splitter="random", n_jobs=2).fit(X, y)
    many = np.concatenate([X] * 100)
    return lambda: forest.predict_proba(many)


WORK: dict[str, Callable[[], Work]] = {
    "Gibbs sampling": sample_one_tree,
    "Gibbs sampling on threads": sample_trees_on_threads,
    "fixed point of a Dirichlet model": solve_for_ever,
    "weights of levels": learn_weights_of_levels,
    "contexts": count_contexts,
    "pair counts": count_pairs,
    "entropy cuts": cut_numbers,
    "superparents": lambda: fit(SuperParentClassifier(n_jobs=2), lambda: labels(20_000, 150, 5)),
    "forest of random splits": lambda: fit(
        ProbabilityForestClassifier(n_estimators=400, splitter="random", n_jobs=2),
        lambda: numbers(100_000, 20),
    ),
    "forest of best splits": lambda: fit(
        ProbabilityForestClassifier(n_estimators=100, n_jobs=2), lambda: numbers(100_000, 20)
    ),
    "tree": lambda: fit(ProbabilityTreeClassifier(n_jobs=2), lambda: numbers(100_000, 40)),
    "spline member": lambda: fit(SplineLogisticClassifier(n_jobs=2), lambda: numbers(30_000, 40)),
    "kernel member": lambda: fit(
        KernelLogisticClassifier(n_landmarks=1_000), lambda: many_classes(5_000, 10)
    ),
    "network ensemble": lambda: fit(ESKDBClassifier(10, n_jobs=2), lambda: numbers(40_000, 20)),
    "selection of a network": lambda: fit(
        KDBClassifier(max_parents=3, smoothing="hdp"), lambda: labels(250_000, 60, 9)
    ),
    "rows down a forest": route_rows,
}


def main() -> None:
    # Tests that run in the background inherit that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    X, y = labels(300, 4, 3)
    expected = NaiveBayesClassifier().fit(X, y).predict_proba(X)
    for line in sys.stdin:
        name, signal_file = line.rstrip("\n").split("\t")
        work = WORK[name]()
        print("begun", flush=True)
        try:
            work()
            print("ended by itself", flush=True)
            continue
        except KeyboardInterrupt:
            answered = time.process_time()
        except Exception as error:
            print(repr(error), flush=True)
            continue
        sent = float(Path(signal_file).read_text())
        again = NaiveBayesClassifier(n_jobs=2).fit(X, y).predict_proba(X)
        print(answered - sent if np.array_equal(again, expected) else "wrong", flush=True)
