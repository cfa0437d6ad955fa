"""What each number that the flagship is planned by gains: another value, and what it costs.

    python benchmarks/pool_numbers.py DATA [--sets 30] [--least 100] [--most 1000]
                                      [--names letter,adult] [--draw 20000]
                                      [--effort balanced] [--numbers floor,penalty]

DATA is a folder of ARFF files (by default that in the environment variable PRIORWISE_DATA), of
which the first sets with a number of rows from --least to --most, or those of --names, are taken,
in the order of their names. Of each at most --draw rows are drawn, half of which are learnt, the
others predicted, and the other way round. A line of the table is a number: its value, the other
value, the number of sets whose plan the other value changes, and for these the geometric means of
the log-loss, plus 0.001, with its standard error, and of the processor time of `fit` with the other
value, as shares of those with the value.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from priorwise import PriorwiseClassifier
from priorwise.data import read_arff
from priorwise.evaluation import cross_entropy
from priorwise.models.memory import TableSize
from priorwise.models.pool.numbers import EFFORTS, NUMBERS, Effort, PoolNumbers

POOLING = ("floor", "floor_rows", "half_weight_rows", "shares", "total_weight")
"""Numbers that are no part of a plan: they change every fit."""
LEAST_LOSS = 1e-3
"""Added to log-losses before their logarithms are averaged: some sets are predicted exactly."""


@dataclass(frozen=True)
class Halves:
    """A data set, and places of rows to learn from and to predict, twice."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    parts: list[tuple[np.ndarray, np.ndarray]]


def read_sets(
    folder: Path,
    n_sets: int,
    least: int,
    most: int,
    *,
    names: tuple[str, ...] = (),
    n_drawn: int | None = None,
) -> Iterator[Halves]:
    """Yield the first data sets by name with a number of rows, or some rows of those with names."""
    found = {path.name: path for path in sorted(folder.rglob("*.arff*"))}
    for path in sorted(found.values(), key=lambda path: path.name.lower()):
        name = path.name.split(".arff")[0]
        if names and name not in names:
            continue
        data = read_arff(path)
        if n_sets == 0:
            return
        if not names and not least <= data.n_rows <= most:
            continue
        X, given = data.to_X_y()
        known = np.flatnonzero(pd.notna(given))
        if n_drawn is not None and len(known) > n_drawn:
            known = np.sort(np.random.default_rng(0).choice(known, n_drawn, replace=False))
        X, y = (
            X.iloc[known],
            np.unique(np.asarray(given)[known].astype(str), return_inverse=True)[1],
        )
        common = np.isin(y, np.flatnonzero(np.bincount(y) >= 2))
        X, y = X[common], np.unique(y[common], return_inverse=True)[1]
        if len(np.unique(y)) < 2:
            continue
        n_sets -= 1
        folds = StratifiedKFold(2, shuffle=True, random_state=0)
        yield Halves(name, X, y, list(folds.split(X, y)))


@contextmanager
def changed(numbers: PoolNumbers | Effort, name: str, value: Any) -> Iterator[None]:
    """Give a number another value for a while."""
    kept = getattr(numbers, name)
    object.__setattr__(numbers, name, value)
    try:
        yield
    finally:
        object.__setattr__(numbers, name, kept)


def run(data: Halves, effort: str) -> tuple[float, float]:
    """Return the mean log-loss of both halves, plus `LEAST_LOSS`, and the processor time to fit."""
    losses, seconds = [], 0.0
    for train, test in data.parts:
        model = PriorwiseClassifier(effort, random_state=0)
        start = time.process_time()
        model.fit(data.X.iloc[train], data.y[train])
        seconds += time.process_time() - start
        proba = model.predict_proba(data.X.iloc[test])
        losses.append(cross_entropy(data.y[test], proba, labels=model.classes_))
    return float(np.mean(losses)) + LEAST_LOSS, seconds


def describe_plan(data: Halves, effort: str) -> str:
    """Return the plan for a half of a data set as text."""
    n_numeric = sum(pd.api.types.is_numeric_dtype(kind) for kind in data.X.dtypes)
    n_rows, n_classes = len(data.parts[0][0]), len(np.unique(data.y))
    size = TableSize(n_rows, n_numeric, (2,) * (data.X.shape[1] - n_numeric), n_classes)
    plan = PriorwiseClassifier(effort).make_plan(size)
    boosting = plan.plan_boosting(n_rows, n_classes)
    return repr((plan.members, plan.penalty, plan.intercept_penalty, boosting))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", nargs="?", default=os.environ.get("PRIORWISE_DATA"), type=Path)
    parser.add_argument("--sets", type=int, default=30)
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--most", type=int, default=1_000)
    parser.add_argument("--names", default="")
    parser.add_argument("--draw", type=int)
    parser.add_argument("--effort", default="balanced")
    parser.add_argument("--numbers", default="")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    effort = arguments.effort
    owners: dict[str, PoolNumbers | Effort] = {
        one.name: owner for owner in (NUMBERS, EFFORTS[effort]) for one in fields(owner)
    }
    given = arguments
    sets = list(
        read_sets(
            given.data, given.sets, given.least, given.most,
            names=tuple(filter(None, given.names.split(","))), n_drawn=given.draw,
        )
    )  # fmt: skip
    before = {one.name: run(one, effort) for one in sets}
    print(f"{len(sets)} sets: {', '.join(before)}", flush=True)
    print(
        f"{'number':24}{'value':>18}{'instead':>18}{'sets':>6}{'log-loss':>10}{'error':>8}{'time':>8}"
    )
    for name in list(filter(None, arguments.numbers.split(","))) or list(owners):
        owner = owners[name]
        value, origins = getattr(owner, name), {one.name: one.metadata for one in fields(owner)}
        instead = origins[name]["origin"].instead
        logs = []
        for one in sets:
            plan = describe_plan(one, effort)
            with changed(owner, name, instead):
                if name in POOLING or describe_plan(one, effort) != plan:
                    logs.append(np.log(np.divide(run(one, effort), before[one.name])))
        loss, seconds = np.exp(np.mean(logs, axis=0)) if logs else (1.0, 1.0)
        error = np.std([one[0] for one in logs], ddof=1) / len(logs) ** 0.5 if logs[1:] else 0.0
        print(
            f"{name:24}{value!s:>18}{instead!s:>18}{len(logs):6}{loss:10.4f}{error:8.4f}{seconds:8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
