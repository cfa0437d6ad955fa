"""Quality on large sets: by `fit_dataset`, by `fit` in memory, and XGBoost, on one fixed split."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from rivals import xgboost

import priorwise as pw
from priorwise.data.sources import open_source
from priorwise.evaluation import cross_entropy, rmse
from scaling.measure import run_apart

SETS = (*("covtype", "census-income-kdd", "poker-hand-sim", "nycflights13", "diabetes-130-us"),)
BATCH_ROWS = 50_000


def show(data: Path, folder: Path, max_rows: int, n_jobs: int) -> None:
    print("\nBar 3: SkDB (k = 5), a fifth of the rows held out")
    header = ("rows", "fit s", "peak MB", "RMSE", "log-loss")
    print(f"{'set':20}{'by':18}" + "".join(f"{word:>11}" for word in header))
    for name in SETS:
        given = split(data / f"{name}.arff.gz", folder, max_rows)
        answers = str(folder / f"{name}-answers.npy")
        for task in ("by_dataset", "in_memory", "by_rival"):
            found = run_apart(f"scaling.large_sets:{task}", n_jobs=n_jobs, answers=answers, **given)
            print(
                f"{name:20}{found['name']:18}{found['rows']:11,}{found['fit']:11.1f}"
                f"{found['peak'] / 1e6:11,.0f}{found['rmse']:11.5f}{found['log_loss']:11.5f}"
                + (f"   largest difference {found['apart']:.1e}" if "apart" in found else ""),
                flush=True,
            )


def split(arff: Path, folder: Path, max_rows: int) -> dict[str, str]:
    """The first rows of an ARFF file as two Parquet files, four fifths to train on."""
    import pyarrow
    from pyarrow import parquet

    stem = f"{arff.name.split('.')[0]}-{max_rows}"
    paths = {part: folder / f"{stem}-{part}.parquet" for part in ("train", "test")}
    target = folder / f"{stem}.json"
    if not target.exists():
        last = open_source(arff, target=None).feature_names
        # OpenML puts the class last; a set with the class elsewhere would need its name here.
        source = open_source(arff, target=last[-1], batch_rows=BATCH_ROWS)
        rng = np.random.default_rng(0)
        writers: dict[str, Any] = {}
        for batch in source.read():
            if batch.first_row >= max_rows:
                break
            label = pyarrow.array(batch.y.tolist()).dictionary_encode()
            table = batch.X.append_column(last[-1], label)
            held = rng.random(batch.n_rows) < 0.2
            for part, rows in (("train", ~held), ("test", held)):
                if part not in writers:
                    writers[part] = parquet.ParquetWriter(paths[part], table.schema)
                writers[part].write_table(table.filter(pyarrow.array(rows)))
        for writer in writers.values():
            writer.close()
        target.write_text(json.dumps(last[-1]))
    return {
        "train": str(paths["train"]),
        "test": str(paths["test"]),
        "target": json.loads(target.read_text()),
    }


def by_dataset(train: str, test: str, target: str, n_jobs: int, answers: str) -> dict[str, Any]:
    model = pw.SelectiveKDBClassifier(5, n_jobs=n_jobs)
    start = time.perf_counter()
    model.fit_dataset(train, target=target, batch_rows=BATCH_ROWS)
    fit = time.perf_counter() - start
    n_rows = open_source(train, target=target).n_rows
    X, y = read(test, target)
    proba = model.predict_proba(X)
    np.save(answers, proba)
    return {"name": f"fit_dataset ({model.n_passes_})", "fit": fit, "rows": n_rows} | judge(
        y, proba, model.classes_
    )


def in_memory(train: str, test: str, target: str, n_jobs: int, answers: str) -> dict[str, Any]:
    X, y = read(train, target)
    model = pw.SelectiveKDBClassifier(5, n_jobs=n_jobs)
    start = time.perf_counter()
    model.fit(X, y)
    fit = time.perf_counter() - start
    X, labels = read(test, target)
    proba = model.predict_proba(X)
    apart = float(np.abs(proba - np.load(answers)).max())
    return {"name": "fit", "fit": fit, "rows": len(y), "apart": apart} | judge(
        labels, proba, model.classes_
    )


def by_rival(train: str, test: str, target: str, n_jobs: int, answers: str) -> dict[str, Any]:
    X, y = read(train, target)
    classes, codes = np.unique(y, return_inverse=True)
    model = xgboost.make(n_jobs)
    start = time.perf_counter()
    model.fit(X, codes)
    fit = time.perf_counter() - start
    X, labels = read(test, target)
    proba = model.predict_proba(X).astype(np.float64)
    proba /= proba.sum(axis=1, keepdims=True)
    return {"name": "XGBoost", "fit": fit, "rows": len(y)} | judge(labels, proba, classes)


def read(path: str, target: str) -> tuple[Any, Any]:
    import pandas as pd

    frame = pd.read_parquet(path)
    return frame.drop(columns=target), frame[target].astype(str).to_numpy(dtype=object)


def judge(y: Any, proba: Any, classes: Any) -> dict[str, float]:
    return {
        "rmse": rmse(y, proba, labels=classes),
        "log_loss": cross_entropy(y, proba, labels=classes),
    }
