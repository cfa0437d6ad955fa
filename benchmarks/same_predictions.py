"""Do two versions of the library give the same probabilities?

    python benchmarks/same_predictions.py store FOLDER old.npz     (with the old version)
    python benchmarks/same_predictions.py store FOLDER new.npz     (with the new version)
    python benchmarks/same_predictions.py compare old.npz new.npz

`store` fits every classifier on every second row of at most thirty ARFF files of FOLDER (by default
the folder in the environment variable PRIORWISE_DATA) and stores the probabilities of the other
rows. `compare` prints the largest and the mean difference of each classifier, and in how
many sets every bit is the same.
"""

from __future__ import annotations

import argparse
import inspect
import os
from pathlib import Path
from typing import Any

import numpy as np

import priorwise
from priorwise.data import read_arff

MAX_SETS = 30
MAX_ROWS = 1000

OLD_NAMES = {"max_parents": "k"}
"""Parameters by their present name, and by the name that an older version knows."""


def make(name: str, **options: Any) -> Any:
    """Make a classifier, with the names of parameters that this version has."""
    kind = getattr(priorwise, name)
    known = inspect.signature(kind.__init__).parameters
    return kind(**{key if key in known else OLD_NAMES[key]: v for key, v in options.items()})


def make_classifiers() -> dict[str, Any]:
    """Return every classifier by name, in fast settings with fixed seeds."""
    return {
        "naive Bayes": make("NaiveBayesClassifier"),
        "TAN": make("TANClassifier"),
        "kDB": make("KDBClassifier", max_parents=2),
        "kDB laplace": make("KDBClassifier", max_parents=2, smoothing="laplace"),
        "selective kDB": make("SelectiveKDBClassifier", max_parents=3),
        "SuperParent": make("SuperParentClassifier"),
        "AODE": make("AODEClassifier"),
        "KDF": make("KDFClassifier", max_parents=2),
        "ESKDB": make("ESKDBClassifier", n_estimators=5, max_parents=3, random_state=0),
        "ESKDB thesis": make("ESKDBClassifier", n_estimators=3, recipe="thesis", random_state=0),
        "tree": make("ProbabilityTreeClassifier", random_state=0),
        "tree laplace": make(
            "ProbabilityTreeClassifier", smoothing="laplace", criterion="gain",
            nominal_splits="values", soft_thresholds=None, random_state=0,
        ),
        "forest": make("ProbabilityForestClassifier", n_estimators=20, random_state=0),
        "forest random": make(
            "ProbabilityForestClassifier", n_estimators=20, splitter="random", random_state=0
        ),
        "spline": make("SplineLogisticClassifier", random_state=0),
        "kernel": make("KernelLogisticClassifier", n_landmarks=100, random_state=0),
        "Gaussians": make("GaussianNetworkClassifier", random_state=0),
        "boosting": make("BoostingClassifier", max_rounds=50, random_state=0),
        "boosting symmetric": make(
            "BoostingClassifier", max_rounds=50, symmetric=True, random_state=0
        ),
        "pool": make(
            "LogLinearPool", random_state=0,
            estimators=[
                ("bayes", make("NaiveBayesClassifier", missing="impute")),
                ("line", make("SplineLogisticClassifier")),
            ],
        ),
        "flagship": make("PriorwiseClassifier", effort="fast", random_state=0),
        "flagship balanced": make("PriorwiseClassifier", random_state=0),
    }  # fmt: skip


def store(folder: Path, out: Path) -> None:
    """Store the probabilities of every classifier on every data set."""
    proba: dict[str, Any] = {}
    found = {path.stem: path for path in sorted(folder.rglob("*.arff*"))}
    files = sorted(found.values(), key=lambda path: (path.stat().st_size, path.name))
    # Of the smaller files every third, to have tables of different kinds.
    for path in files[9 : 9 + 3 * MAX_SETS : 3]:
        table = read_arff(path).to_frame()
        table = table[table.iloc[:, -1].notna()].sample(frac=1.0, random_state=0)[:MAX_ROWS]
        X, y = table.iloc[:, :-1], table.iloc[:, -1].astype(str).to_numpy()
        for name, model in make_classifiers().items():
            proba[f"{path.stem}/{name}"] = model.fit(X[::2], y[::2]).predict_proba(X[1::2])
        print(path.stem, flush=True)
    np.savez_compressed(out, **proba)


def compare(one: Path, other: Path) -> None:
    """Print the differences of two files by classifier."""
    with np.load(one) as a, np.load(other) as b:
        shared = sorted(set(a.files) & set(b.files))
        differences = {key: np.abs(a[key] - b[key]) for key in shared}
    names = dict.fromkeys(key.split("/")[1] for key in shared)
    print(f"{'classifier':<20}{'largest':>12}{'mean':>12}{'sets':>6}{'same':>6}")
    for name in names:
        found = [d for key, d in differences.items() if key.split("/")[1] == name]
        largest, mean = max(d.max() for d in found), np.mean([d.mean() for d in found])
        n_same = sum(not d.any() for d in found)
        print(f"{name:<20}{largest:>12.2e}{mean:>12.2e}{len(found):>6}{n_same:>6}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("action", choices=["store", "compare"])
    parser.add_argument("paths", nargs="+", type=Path)
    arguments = parser.parse_args()
    paths = arguments.paths
    if arguments.action == "compare":
        compare(*paths)
    else:
        folder = paths[0] if len(paths) > 1 else Path(os.environ["PRIORWISE_DATA"])
        store(folder, paths[-1])


if __name__ == "__main__":
    main()
