"""Is the flagship level with foundation models for tables?

    python benchmarks/foundation_models.py DATA REFERENCE [--effort balanced] [--max-rows 20000]
        [--splits 5] [--jobs -1] [--out results.csv]

DATA is the folder of ARFF files, REFERENCE a CSV file with the columns dataset, file, n_train,
tabpfn3_logloss and tabpfn25_logloss: published log-loss on one 80/20 split of each data set, whose
rows are not known. The flagship is scored on stratified 80/20 splits with the seeds 42, 0, 1, 2, 3
and their mean is compared. Both are samples of the same thing, so single data sets differ by chance
and only the table as a whole says something. Seconds are of one fit. Files of the same name that
hold other data than the published figures are of are left out.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from priorwise import PriorwiseClassifier
from priorwise.data import read_arff

SEEDS = (42, 0, 1, 2, 3)
OTHER_DATA = {"phoneme"}
"""Of 47 classes in the files, of two in the published figures."""
PEERS = {"TabPFN-3": "tabpfn3_logloss", "TabPFN-2.5": "tabpfn25_logloss"}


def score(
    X: Any, y: np.ndarray, effort: str, seeds: tuple[int, ...], n_jobs: int
) -> tuple[float, float]:
    """Return the mean log-loss over the splits, and the median seconds of a fit."""
    losses, seconds = [], []
    for seed in seeds:
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed
        )
        model = PriorwiseClassifier(effort, random_state=seed, n_jobs=n_jobs)
        start = time.perf_counter()
        model.fit(X.iloc[train], y[train])
        seconds.append(time.perf_counter() - start)
        proba = model.predict_proba(X.iloc[test])
        losses.append(log_loss(y[test], proba, labels=model.classes_))
    return float(np.mean(losses)), float(np.median(seconds))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--effort", default="balanced")
    parser.add_argument("--max-rows", type=int, default=20_000)
    parser.add_argument("--splits", type=int, default=len(SEEDS))
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with arguments.reference.open() as file:
        lines = [
            line
            for line in csv.DictReader(file)
            if int(line["n_train"]) + int(line["n_test"]) <= arguments.max_rows
            and line["dataset"] not in OTHER_DATA
        ]
    lines.sort(key=lambda line: int(line["n_train"]))
    print(f"{'data set':28}{'rows':>7}{'priorwise':>11}", end="")
    print("".join(f"{name:>12}" for name in PEERS) + f"{'seconds':>9}")
    rows = []
    for line in lines:
        X, y = read_arff(arguments.data / f"{line['file']}.arff.gz").to_X_y()
        own, seconds = score(
            X, np.asarray(y), arguments.effort, SEEDS[: arguments.splits], arguments.jobs
        )
        peers = [float(line[column]) for column in PEERS.values()]
        rows.append([own, *peers])
        print(f"{line['dataset']:28}{len(y):7}{own:11.4f}", end="")
        print("".join(f"{peer:12.4f}" for peer in peers) + f"{seconds:9.1f}", flush=True)
        if arguments.out is not None:
            is_new = not arguments.out.exists()
            with arguments.out.open("a") as file:
                writer = csv.writer(file, lineterminator="\n")
                if is_new:
                    writer.writerow(["dataset", "rows", "priorwise", *PEERS, "seconds"])
                writer.writerow([line["dataset"], len(y), f"{own:.5f}", *peers, f"{seconds:.1f}"])
    losses = np.array(rows)
    means = losses.mean(axis=0)
    print(f"{'mean':35}{means[0]:11.4f}" + "".join(f"{mean:12.4f}" for mean in means[1:]))
    for i, name in enumerate(PEERS, start=1):
        n_won = int((losses[:, 0] < losses[:, i]).sum())
        print(f"lower log-loss than {name} on {n_won} of {len(losses)} data sets")


if __name__ == "__main__":
    main()
