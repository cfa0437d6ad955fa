"""How fast does a tree grow and answer, beside scikit-learn's?

    python benchmarks/trees.py [--rows 100000] [--features 20] [--test-rows 1000000]

One run measures both on the same rows: numeric data, and nominal data, which scikit-learn takes
one-hot. Smoothing is included and nothing is cross-validated. Then how time grows with rows and
with features, and the size of a tree's C file.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from priorwise import ProbabilityForestClassifier, ProbabilityTreeClassifier
from priorwise.export import export_c


def measure(call: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Seconds of the fastest call, and its result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return best, result


def make_numeric(n_rows: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n_rows)
    return X, (signal > 0).astype(int)


def make_nominal(n_rows: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(8, size=(n_rows, n_features))
    signal = (X[:, 0] % 3) + (X[:, 1] * X[:, 2]) % 4 + rng.normal(size=n_rows)
    return X, (signal > 2.5).astype(int)


def tree(smoothing: str = "m-branch", **options: Any) -> ProbabilityTreeClassifier:
    return ProbabilityTreeClassifier(
        smoothing, criterion="gain-ratio", nominal_splits="values", soft_thresholds=None, **options
    )


def compare_numeric(n_rows: int, n_features: int, n_test: int) -> None:
    X, y = make_numeric(n_rows, n_features)
    fresh, _ = make_numeric(n_test, n_features, seed=1)
    models = {
        "scikit-learn, gini": DecisionTreeClassifier(min_samples_leaf=2),
        "scikit-learn, entropy": DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2),
        "C4.5, M-branch": tree(),
        "C4.5, HGS": tree("hgs"),
        "C4.5, no MDL correction": tree(mdl_correction=False),
        "gain, no MDL correction": ProbabilityTreeClassifier(
            "m-branch",
            criterion="gain",
            nominal_splits="values",
            soft_thresholds=None,
            mdl_correction=False,
        ),
    }
    print(f"numeric, {n_rows} x {n_features}; predict_proba of {n_test} rows")
    for name, model in models.items():
        fit, fitted = measure(lambda model=model: model.fit(X, y), repeats=1)
        answer, _ = measure(lambda fitted=fitted: fitted.predict_proba(fresh))
        print(f"  {name:26} fit {fit:7.2f} s   predict {answer:6.2f} s   "
              f"{fitted.get_n_leaves():6d} leaves, depth {fitted.get_depth()}")  # fmt: skip


def compare_nominal(n_rows: int, n_features: int) -> None:
    X, y = make_nominal(n_rows, n_features)
    labels = X.astype("U1").astype(object)
    print(f"nominal, {n_rows} x {n_features} of 8 values")
    one_hot, encoded = measure(lambda: OneHotEncoder(dtype=np.float32).fit_transform(labels), 1)
    sparse, _ = measure(lambda: DecisionTreeClassifier(min_samples_leaf=2).fit(encoded, y), 1)
    dense, _ = measure(
        lambda: DecisionTreeClassifier(min_samples_leaf=2).fit(encoded.toarray(), y), 1
    )
    print(f"  scikit-learn, sparse       fit {sparse:7.2f} s   and {one_hot:.2f} s to encode")
    print(f"  scikit-learn, dense        fit {dense:7.2f} s   and {one_hot:.2f} s to encode")
    codes = tree(categorical_features=np.arange(n_features))
    whole, _ = measure(lambda: codes.fit(X, y), 1)
    text, _ = measure(lambda: tree().fit(labels, y), 1)
    print(f"  C4.5, M-branch             fit {whole:7.2f} s from codes, {text:.2f} s from labels")


def compare_default(n_features: int, n_test: int) -> None:
    """Compare predictions of the tree with its defaults, which imitates a forest."""
    X, y = make_numeric(5_000, n_features)
    fresh, _ = make_numeric(n_test, n_features, seed=1)
    print(f"default trees of 5,000 rows x {n_features}, {n_test} rows predicted")
    for model in (DecisionTreeClassifier(), ProbabilityTreeClassifier(random_state=0)):
        model.fit(X, y)
        seconds, _ = measure(lambda model=model: model.predict_proba(fresh))
        name, n_leaves = type(model).__name__, model.get_n_leaves()
        print(f"  {name:26} predict {seconds:6.3f} s, {n_leaves} leaves")


def show_growth(n_rows: int, n_features: int) -> None:
    print("growth of the fit with rows and with features")
    for rows in (n_rows // 8, n_rows // 4, n_rows // 2, n_rows):
        X, y = make_numeric(rows, n_features)
        seconds, _ = measure(lambda X=X, y=y: tree().fit(X, y), repeats=1)
        print(f"  {rows:8d} x {n_features:3d}  {seconds:6.2f} s")
    for features in (n_features // 2, n_features, 2 * n_features):
        X, y = make_numeric(n_rows // 4, features)
        seconds, _ = measure(lambda X=X, y=y: tree().fit(X, y), repeats=1)
        print(f"  {n_rows // 4:8d} x {features:3d}  {seconds:6.2f} s")


def show_sizes() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = ProbabilityTreeClassifier(random_state=0).fit(X, y)
    size = len(export_c(model))
    print(f"breast cancer: C file of a tree of {model.get_n_leaves()} leaves: {size} bytes")
    forest, _ = measure(lambda: ProbabilityForestClassifier(100, None).fit(X, y))
    print(f"breast cancer: forest of 100 trees: {forest:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--test-rows", type=int, default=1_000_000)
    args = parser.parse_args()
    compare_numeric(args.rows, args.features, args.test_rows)
    compare_nominal(args.rows, args.features)
    compare_default(args.features, args.test_rows)
    show_growth(args.rows, args.features)
    show_sizes()


if __name__ == "__main__":
    main()
