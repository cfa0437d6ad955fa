"""How time and memory grow with the rows: SkDB beside XGBoost with external memory."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from problems.splice import write_splice_like
from rivals import xgboost_external

import priorwise as pw
from priorwise.data.encoding import TableEncoder
from priorwise.data.sources import open_source
from priorwise.evaluation import cross_entropy, rmse
from priorwise.streaming.runners import local as local_runner
from scaling.measure import run_apart

N_TEST = 200_000
PAPER_SECONDS_PER_ROW = 4 * 3600 / 50e6


def show(folder: Path, row_counts: list[int], n_jobs: int, rival_rows: list[int]) -> None:
    print("\nBar 2: SkDB (k = 5) on splice-like rows x 140 features of 4 values, 1 % positives")
    test = folder / "splice-test.parquet"
    if not test.exists():
        write_splice_like(test, N_TEST, first_row=1 << 30)
    header = ("model", "rows", "seconds", "rows/s", "us/row", "peak MB", "RMSE", "log-loss")
    print(f"{header[0]:20}" + "".join(f"{word:>11}" for word in header[1:]))
    for n_rows in row_counts:
        train = folder / f"splice-{n_rows}.parquet"
        if not train.exists():
            start = time.perf_counter()
            write_splice_like(train, n_rows)
            took = time.perf_counter() - start
            print(
                f"  written: {n_rows:,} rows in {took:.0f} s, {train.stat().st_size / 1e6:.0f} MB"
            )
        given = {"train": str(train), "test": str(test), "n_jobs": n_jobs}
        found = run_apart("scaling.growth:fit_network", **given)
        _print_row("priorwise SkDB", n_rows, found)
        for title, seconds in found["passes"]:
            print(f"  pass {title:40}{seconds:8.1f} s{n_rows / seconds:14,.0f} rows/s")
        print(f"  smoothing and the rest{'':23}{found['rest']:8.1f} s")
        ratio = PAPER_SECONDS_PER_ROW / (found["fit"] / n_rows)
        print(f"  {ratio:.1f} times less wall time per row than 4 hours for 50 million")
        if n_rows in rival_rows:
            _print_row("XGBoost ext. mem.", n_rows, run_apart("scaling.growth:fit_rival", **given))


def _print_row(name: str, n_rows: int, found: dict[str, Any]) -> None:
    fit = found["fit"]
    print(
        f"{name:20}{n_rows:11,}{fit:11.1f}{n_rows / fit:11,.0f}{fit / n_rows * 1e6:11.2f}"
        f"{found['peak'] / 1e6:11,.0f}{found['rmse']:11.5f}{found['log_loss']:11.5f}",
        flush=True,
    )


def fit_network(train: str, test: str, n_jobs: int, **options: Any) -> dict[str, Any]:
    """Fit SkDB by `fit_dataset`; times of its passes."""
    passes = time_passes()
    model = pw.SelectiveKDBClassifier(5, n_jobs=n_jobs)
    start = time.perf_counter()
    model.fit_dataset(train, target="label", **options)
    fit = time.perf_counter() - start
    return {
        "fit": fit,
        "passes": passes,
        "rest": fit - sum(seconds for _, seconds in passes),
        "n_passes": model.n_passes_,
        **judge(test, model.classes_, model.predict_proba),
    }


def fit_rival(train: str, test: str, n_jobs: int) -> dict[str, Any]:
    """Fit XGBoost from batches of the same file."""
    source = open_source(train, target="label")
    first = next(source.read())
    encoder = TableEncoder(discretizer="equal-width").fit(first.X)
    classes = np.unique(first.y)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(train)) as cache:
        start = time.perf_counter()
        booster = xgboost_external.train(source, encoder, classes, f"{cache}/pages", n_jobs)
        fit = time.perf_counter() - start
        judged = judge(test, classes, lambda X: xgboost_external.predict(booster, encoder, X))
    return {"fit": fit, **judged}


def time_passes() -> list[tuple[str, float]]:
    """Titles and seconds of the passes that runners make from now on."""
    passes: list[tuple[str, float]] = []

    def timed(method: Any) -> Any:
        def run(self: Any, work: Any, *coder: Any) -> Any:
            start = time.perf_counter()
            result = method(self, work, *coder)
            passes.append((work.title, time.perf_counter() - start))
            return result

        return run

    runner = local_runner.LocalRunner
    runner.survey, runner.run = timed(runner.survey), timed(runner.run)  # type: ignore[method-assign]
    return passes


def judge(test: str, classes: Any, predict_proba: Any) -> dict[str, float]:
    """RMSE and log-loss over the rows of a file."""
    y, proba = [], []
    for batch in open_source(test, target="label").read():
        y.append(np.searchsorted(classes, batch.y))
        proba.append(predict_proba(batch.X))
    labels, answers = np.concatenate(y), np.vstack(proba)
    columns = np.arange(len(classes))
    return {
        "rmse": rmse(labels, answers, labels=columns),
        "log_loss": cross_entropy(labels, answers, labels=columns),
    }
