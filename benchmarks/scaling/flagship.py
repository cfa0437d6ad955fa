"""The flagship out of core: memory, log-loss and time beside XGBoost with external memory."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import priorwise as pw
from scaling.growth import judge
from scaling.measure import run_apart

N_NUMERIC, N_TEST, BATCH = 15, 100_000, 250_000
ARITIES = (2, 2, 3, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50, 100)
MEMORY_LIMIT = "2GB"


def show(folder: Path, n_rows: int, memory_rows: int, n_jobs: int) -> None:
    """Print what the flagship and XGBoost take on one file, and a fit to fewer rows in memory."""
    print(f"\nFlagship: {n_rows:,} rows x 30 mixed columns within {MEMORY_LIMIT}, beside XGBoost")
    test = write_rows(folder / "thirty-test.parquet", N_TEST, first_row=1 << 40)
    train = write_rows(folder / f"thirty-{n_rows}.parquet", n_rows)
    given = {"train": str(train), "test": str(test), "n_jobs": n_jobs}
    header = ("rows", "learnt from", "seconds", "peak MB", "RMSE", "log-loss")
    print(f"{'model':24}" + "".join(f"{word:>13}" for word in header))
    rival = run_apart("scaling.growth:fit_rival", **given)
    print_line("XGBoost ext. mem.", n_rows, n_rows, rival)
    streamed = run_apart("scaling.flagship:fit_streamed", **given)
    print_line("fit_dataset", n_rows, streamed["n_sampled"], streamed)
    memory: dict[str, Any] = {}
    if memory_rows:
        memory = run_apart("scaling.flagship:fit_in_memory", n_rows=memory_rows, **given)
        print_line("fit", memory_rows, memory_rows, memory)
    processor = streamed["processor"] / rival["processor"]
    print(f"  time of fit_dataset / XGBoost: {streamed['fit'] / rival['fit']:.2f} (at most 3)")
    print(f"  processor time, with prediction of the test rows: {processor:.2f}")
    if memory:
        ratio = streamed["log_loss"] / memory["log_loss"]
        print(f"  log-loss of fit_dataset / fit in memory: {ratio:.4f} (at most 1.01)")


def print_line(name: str, n_rows: int, n_learnt: int, found: dict[str, Any]) -> None:
    print(
        f"{name:24}{n_rows:13,}{n_learnt:13,}{found['fit']:13.1f}{found['peak'] / 1e6:13,.0f}"
        f"{found['rmse']:13.5f}{found['log_loss']:13.5f}",
        flush=True,
    )


def fit_streamed(train: str, test: str, n_jobs: int, **options: Any) -> dict[str, Any]:
    model = pw.PriorwiseClassifier(n_jobs=n_jobs, random_state=0)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the rows left out
        model.fit_dataset(train, target="label", memory_limit=MEMORY_LIMIT, **options)
    fit = time.perf_counter() - start
    sizes = {"n_sampled": model.n_sampled_, "report": str(model.score_report())}
    return {"fit": fit, **sizes, **judge(test, model.classes_, model.predict_proba)}


def fit_in_memory(train: str, test: str, n_jobs: int, n_rows: int) -> dict[str, Any]:
    from pyarrow import parquet

    batches = parquet.ParquetFile(train).iter_batches(BATCH)
    frames = []
    while sum(map(len, frames)) < n_rows:
        frames.append(next(batches).to_pandas())
    import pandas as pd

    frame = pd.concat(frames).iloc[:n_rows]
    model = pw.PriorwiseClassifier(n_jobs=n_jobs, random_state=0)
    start = time.perf_counter()
    model.fit(frame.drop(columns="label"), frame["label"].to_numpy())
    fit = time.perf_counter() - start
    report = {"report": str(model.score_report())}
    return {"fit": fit, **report, **judge(test, model.classes_, model.predict_proba)}


def write_rows(path: Path, n_rows: int, *, first_row: int = 0) -> Path:
    """Write fifteen numbers and fifteen nominal features, a twentieth of some missing.

    The log odds are a sum of curves, effects of labels, effects of pairs of labels and steps where
    two numbers meet.
    """
    import pyarrow as pa
    from pyarrow import parquet

    if path.exists():
        return path
    writer = None
    for start in range(0, n_rows, BATCH):
        n = min(BATCH, n_rows - start)
        rng = np.random.default_rng(first_row + start)
        numbers, codes = draw_features(rng, n)
        positive = rng.random(n) < 1.0 / (1.0 + np.exp(-log_odds(numbers, codes)))
        columns: dict[str, Any] = {}
        for i, number in enumerate(numbers):
            values = number.round(2) if i % 3 == 0 else np.exp(number) if i % 3 == 1 else number
            missing = rng.random(n) < (0.05 if i % 5 == 0 else 0.0)
            columns[f"number{i}"] = pa.array(values, mask=missing)
        for i, code in enumerate(codes):
            labels = pa.array([f"label {k}" for k in range(ARITIES[i])])
            columns[f"word{i}"] = pa.DictionaryArray.from_arrays(code.astype(np.int32), labels)
        columns["label"] = pa.DictionaryArray.from_arrays(
            positive.astype(np.int32), pa.array(["no", "yes"])
        )
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return path


def draw_features(
    rng: np.random.Generator, n: int
) -> tuple[NDArray[np.float64], list[NDArray[np.intp]]]:
    """Draw correlated normal numbers, and labels that are rare at the end of the list."""
    hidden = rng.normal(size=(3, n))
    loads = np.random.default_rng(1).normal(size=(N_NUMERIC, 3)) * 0.5
    numbers = loads @ hidden + rng.normal(size=(N_NUMERIC, n))
    codes = []
    for i, arity in enumerate(ARITIES):
        share = 1.0 / np.arange(1, arity + 1)
        bounds = np.cumsum(share / share.sum())[:-1]
        place = 1.0 / (1.0 + np.exp(-1.7 * (0.5 * hidden[i % 3] + rng.normal(size=n))))
        codes.append(np.searchsorted(bounds, place))
    return numbers, codes


def log_odds(numbers: NDArray[np.float64], codes: list[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Return the logarithm of the odds of the second class."""
    rng = np.random.default_rng(2)
    odds = np.full(numbers.shape[1], -0.5)
    for i in range(0, N_NUMERIC, 2):
        odds += 0.6 * rng.normal() * np.sin(rng.uniform(0.5, 2.0) * numbers[i] + rng.uniform(0, 3))
    for code, arity in zip(codes, ARITIES, strict=True):
        odds += 0.4 * rng.normal(size=arity)[code]
    for first, second in ((4, 7), (3, 12), (9, 10), (5, 14)):
        effects = 0.6 * rng.normal(size=(ARITIES[first], ARITIES[second]))
        odds += effects[codes[first], codes[second]]
    for first, second in ((0, 1), (2, 7), (4, 9), (11, 13)):
        odds += 0.8 * rng.normal() * ((numbers[first] > 0.3) & (numbers[second] < 0.2))
    return odds
