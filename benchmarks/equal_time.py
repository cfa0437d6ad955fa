"""Boosting libraries that may search for as long as the flagship learns.

    python benchmarks/equal_time.py FILE.arff.gz ... [--effort balanced] [--jobs 2] [--out F.csv]

Each file is split once, 70 % of the rows to learn from. The flagship is fitted and timed. XGBoost
and LightGBM then draw settings at random, judge each on a fifth of the training rows, which also
says when to stop, and learn from all of them with the best, within the time that the flagship took;
they try at least one setting. CatBoost has 1,000 rounds and its own defaults, whatever time that
takes. Nominal columns are given to each library as it wants them. Seconds of the prediction are for
the rows that are held out. Needs xgboost, lightgbm and catboost.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import priorwise as pw
from priorwise.data import read_arff
from priorwise.evaluation import cross_entropy, rmse

MAX_ROUNDS, PATIENCE = 2_000, 30
Fitted = Callable[[pd.DataFrame], np.ndarray]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--effort", default="balanced")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    print(f"{'data set':26}{'rows':>7} {'model':10}{'fit s':>8}{'predict s':>11}", end="")
    print(f"{'RMSE':>8}{'log-loss':>10}{'settings':>10}")
    losses: dict[str, list[float]] = {}
    for file in given.files:
        for line in compare(file, given.effort, given.jobs):
            losses.setdefault(str(line["model"]), []).append(float(line["log_loss"]))
            print(
                f"{line['set']:26}{line['rows']:7} {line['model']:10}{line['fit']:8.2f}"
                f"{line['predict']:11.3f}{line['rmse']:8.4f}{line['log_loss']:10.4f}"
                f"{line['settings']:10}",
                flush=True,
            )
            if given.out is not None:
                add_line(given.out, line)
    own = np.array(losses.pop("priorwise")) + 1e-3
    for model, theirs in losses.items():
        ratio = own / (np.array(theirs) + 1e-3)
        print(
            f"log-loss, 0.001 added, over that of {model}: geometric mean "
            f"{np.exp(np.log(ratio).mean()):.3f}, lower on {(ratio < 1).sum()} of {len(ratio)}"
        )


def add_line(path: Path, line: dict[str, Any]) -> None:
    """Add a line to a CSV file, with a header if it is the first."""
    is_new = not path.exists()
    with path.open("a", newline="") as out:
        writer = csv.DictWriter(out, list(line), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(line)


def compare(file: Path, effort: str, n_jobs: int) -> list[dict[str, Any]]:
    """Fit all models to one file."""
    X, y = read_arff(file).to_X_y()
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    kept = np.flatnonzero(np.bincount(codes)[codes] >= 10)
    codes = np.unique(codes[kept], return_inverse=True)[1]
    train, test = train_test_split(
        np.arange(len(kept)), test_size=0.3, stratify=codes, random_state=0
    )
    X = X.iloc[kept].reset_index(drop=True)
    X_train, X_test, y_train = X.iloc[train], X.iloc[test], codes[train]
    n_classes = int(codes.max()) + 1
    lines: list[dict[str, Any]] = []

    def add(name: str, fit: Callable[[], tuple[Fitted, int]]) -> float:
        start = time.perf_counter()
        predict, n_settings = fit()
        fit_time = time.perf_counter() - start
        start = time.perf_counter()
        proba = np.asarray(predict(X_test), dtype=np.float64)
        predict_time = time.perf_counter() - start
        if proba.ndim == 1:
            proba = np.column_stack([1.0 - proba, proba])
        proba /= proba.sum(axis=1, keepdims=True)
        classes = np.arange(n_classes)
        lines.append({
            "set": file.name.removesuffix(".arff.gz"), "rows": len(train), "model": name,
            "fit": fit_time, "predict": predict_time,
            "rmse": rmse(codes[test], proba, labels=classes),
            "log_loss": cross_entropy(codes[test], proba, labels=classes), "settings": n_settings,
        })  # fmt: skip
        return fit_time

    def flagship() -> tuple[Fitted, int]:
        model = pw.PriorwiseClassifier(effort, n_jobs=n_jobs, random_state=0)
        return model.fit(X_train, y_train).predict_proba, 1

    seconds = add("priorwise", flagship)
    arguments = X_train, y_train, n_classes, seconds, n_jobs
    add("XGBoost", lambda: search(boost_by_xgboost, draw_for_xgboost, *arguments))
    add("LightGBM", lambda: search(boost_by_lightgbm, draw_for_lightgbm, *arguments))
    settings: dict[str, Any] = {}
    add(
        "CatBoost",
        lambda: boost_by_catboost(settings, n_classes, n_jobs, X_train, y_train, n_rounds=1_000)[
            :2
        ],
    )
    return lines


def search(
    boost: Callable[..., tuple[Fitted, int, float]],
    draw: Callable[[np.random.Generator], dict[str, Any]],
    X: pd.DataFrame,
    y: np.ndarray,
    n_classes: int,
    seconds: float,
    n_jobs: int,
    *,
    first: Mapping[str, Any] = MappingProxyType({}),
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[Fitted, int]:
    """Draw settings until the time left is that of the last fit, and fit the best to all rows.

    `first` are the settings that are tried before any are drawn.
    """
    begin, rng = clock(), np.random.default_rng(0)
    rest, held = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=1)
    parts = (X.iloc[rest], y[rest], X.iloc[held], y[held])
    best: tuple[float, dict[str, Any], int] | None = None
    n_tried, longest = 0, 0.0
    while best is None or clock() - begin + 2.5 * longest < seconds:
        settings = dict(first) if best is None else draw(rng)
        start = clock()
        _, n_rounds, loss = boost(settings, n_classes, n_jobs, *parts)
        longest = max(longest, clock() - start)
        n_tried += 1
        if best is None or loss < best[0]:
            best = loss, settings, n_rounds
    predict, _, _ = boost(best[1], n_classes, n_jobs, X, y, n_rounds=best[2])
    return predict, n_tried


def draw_for_xgboost(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "learning_rate": 10.0 ** rng.uniform(-2.0, -0.5), "max_depth": int(rng.integers(2, 11)),
        "min_child_weight": 10.0 ** rng.uniform(-1.0, 1.5), "subsample": rng.uniform(0.5, 1.0),
        "colsample_bytree": rng.uniform(0.4, 1.0), "reg_lambda": 10.0 ** rng.uniform(-2.0, 1.5),
    }  # fmt: skip


def boost_by_xgboost(
    settings: dict[str, Any], n_classes: int, n_jobs: int, X: pd.DataFrame, y: np.ndarray,
    X_held: Any = None, y_held: Any = None, n_rounds: int = MAX_ROUNDS,
) -> tuple[Fitted, int, float]:  # fmt: skip
    import xgboost

    stop = X_held is not None
    model = xgboost.XGBClassifier(
        n_estimators=n_rounds, n_jobs=n_jobs, enable_categorical=True,
        early_stopping_rounds=PATIENCE if stop else None,
        eval_metric="logloss" if n_classes == 2 else "mlogloss", **settings,
    )  # fmt: skip
    model.fit(X, y, eval_set=[(X_held, y_held)] if stop else None, verbose=False)
    if not stop:
        return model.predict_proba, n_rounds, np.nan
    return model.predict_proba, model.best_iteration + 1, float(model.best_score)


def draw_for_lightgbm(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "learning_rate": 10.0 ** rng.uniform(-2.0, -0.5),
        "num_leaves": int(2.0 ** rng.uniform(2.0, 8.0)),
        "min_child_samples": int(10.0 ** rng.uniform(0.3, 2.0)),
        "subsample": rng.uniform(0.5, 1.0), "subsample_freq": 1,
        "colsample_bytree": rng.uniform(0.4, 1.0), "reg_lambda": 10.0 ** rng.uniform(-2.0, 1.5),
    }  # fmt: skip


def boost_by_lightgbm(
    settings: dict[str, Any], n_classes: int, n_jobs: int, X: pd.DataFrame, y: np.ndarray,
    X_held: Any = None, y_held: Any = None, n_rounds: int = MAX_ROUNDS,
) -> tuple[Fitted, int, float]:  # fmt: skip
    import lightgbm

    stop = X_held is not None
    # Names may hold characters that the library refuses.
    names = [f"x{i}" for i in range(X.shape[1])]
    model = lightgbm.LGBMClassifier(n_estimators=n_rounds, n_jobs=n_jobs, verbose=-1, **settings)
    model.fit(
        X.set_axis(names, axis=1), y,
        eval_set=[(X_held.set_axis(names, axis=1), y_held)] if stop else None,
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)] if stop else None,
    )  # fmt: skip

    def predict(rows: pd.DataFrame) -> np.ndarray:
        return np.asarray(model.predict_proba(rows.set_axis(names, axis=1)))

    if not stop:
        return predict, n_rounds, np.nan
    return predict, model.best_iteration_, float(next(iter(model.best_score_["valid_0"].values())))


CATBOOST_FIRST = MappingProxyType({"learning_rate": 0.1})
"""CatBoost's own learning rate depends on the number of rounds, which a search chooses last."""


def draw_for_catboost(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "learning_rate": 10.0 ** rng.uniform(-2.0, -0.5), "depth": int(rng.integers(2, 9)),
        "l2_leaf_reg": 10.0 ** rng.uniform(-0.5, 1.5), "random_strength": rng.uniform(0.0, 2.0),
        "bagging_temperature": rng.uniform(0.0, 2.0),
    }  # fmt: skip


def boost_by_catboost(
    settings: dict[str, Any], n_classes: int, n_jobs: int, X: pd.DataFrame, y: np.ndarray,
    X_held: Any = None, y_held: Any = None, n_rounds: int = MAX_ROUNDS,
) -> tuple[Fitted, int, float]:  # fmt: skip
    import catboost

    stop = X_held is not None
    nominal = [name for name, kind in X.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]

    def prepare(rows: pd.DataFrame) -> pd.DataFrame:
        labels = {name: rows[name].astype(object).fillna("missing").astype(str) for name in nominal}
        return rows.assign(**labels)

    model = catboost.CatBoostClassifier(
        iterations=n_rounds, thread_count=n_jobs, cat_features=nominal, verbose=False,
        allow_writing_files=False, **settings,
    )  # fmt: skip
    model.fit(
        prepare(X), y, eval_set=(prepare(X_held), y_held) if stop else None,
        early_stopping_rounds=PATIENCE if stop else None,
    )  # fmt: skip

    def predict(rows: pd.DataFrame) -> np.ndarray:
        return np.asarray(model.predict_proba(prepare(rows)))

    if not stop:
        return predict, n_rounds, np.nan
    loss = next(iter(model.get_best_score()["validation"].values()))
    return predict, int(model.get_best_iteration()) + 1, float(loss)


if __name__ == "__main__":
    main()
