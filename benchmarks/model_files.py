"""Size of model files, and how long they take to save and to load, beside other libraries.

    python benchmarks/model_files.py FILE.arff.gz [...] [--repeats 100]

Fits PriorwiseClassifier with the efforts "fast" and "balanced", and XGBoost and LightGBM with their
defaults (those that are installed), to all rows of each file. All files are loaded in turn, again
and again; a time is the median, in one process. The last columns are the median, and the least and
largest quarter, of the time to load as a multiple of XGBoost's in the same turn. Below the table is
the processor time of one row in C, which `export_c` writes and cc compiles, if it is there.
"""

from __future__ import annotations

import argparse
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from exports import COMPILERS, run_c, spoil

import priorwise as pw
from priorwise.data import read_arff

EFFORTS = ("fast", "balanced")


@dataclass(frozen=True)
class Format:
    """A way to store a model: its name, and how it is written and read."""

    name: str
    save: Callable[[Path], Any]
    load: Callable[[Path], Any]


def timed(work: Callable[[Path], Any], path: Path) -> float:
    """The seconds of one call."""
    start = time.perf_counter()
    work(path)
    return time.perf_counter() - start


def as_codes(X: pd.DataFrame) -> pd.DataFrame:
    """The table with categories where columns are no numbers."""
    return X.assign(
        **{
            name: column.astype("category")
            for name, column in X.items()
            if not pd.api.types.is_numeric_dtype(column)
        }
    )


def rivals(X: pd.DataFrame, y: Any) -> Iterator[Format]:
    """XGBoost and LightGBM, each in its own fastest format."""
    with suppress(ImportError):
        import xgboost

        model = xgboost.XGBClassifier(enable_categorical=True).fit(X, y)
        yield Format(
            "XGBoost (ubj)", model.save_model, lambda path: xgboost.XGBClassifier().load_model(path)
        )
    with suppress(ImportError):
        import lightgbm

        booster = lightgbm.LGBMClassifier(verbose=-1).fit(X, y).booster_
        yield Format(
            "LightGBM (text)", booster.save_model, lambda path: lightgbm.Booster(model_file=path)
        )


def own(models: dict[str, pw.PriorwiseClassifier]) -> Iterator[Format]:
    """The flagship: safe files, compressed ones, and pickle."""
    for effort, model in models.items():
        yield Format(f"{effort}", model.save, pw.load)
        yield Format(
            f"{effort}, compressed",
            lambda path, model=model: model.save(path, compress=True),
            pw.load,
        )
        yield Format(
            f"{effort}, pickle",
            lambda path, model=model: path.write_bytes(pickle.dumps(model, 5)),
            lambda path: pickle.loads(path.read_bytes()),
        )


def run(file: Path, repeats: int) -> None:
    """Print the table of one data set."""
    X, labels = read_arff(file).to_X_y()
    _, y = np.unique(np.asarray(labels), return_inverse=True)
    print(f"{file.name}: {len(X)} rows, {X.shape[1]} features")
    print(f"{'':24}{'kB':>9}{'save ms':>9}{'load ms':>9}{'/ XGBoost':>10}{'quarters':>14}")
    models = {
        effort: pw.PriorwiseClassifier(effort=effort, random_state=0).fit(X, y)
        for effort in EFFORTS
    }
    formats = [*rivals(as_codes(X), y), *own(models)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{place}.ubj" for place in range(len(formats))]
        stored = list(zip(formats, paths, strict=True))
        saving = [timed(one.save, path) for one, path in stored]
        loading = np.array(
            [[timed(one.load, path) for one, path in stored] for _ in range(repeats)]
        )
        has_xgboost = [one.name.startswith("XGBoost") for one in formats]
        reference = (
            loading[:, has_xgboost].sum(axis=1, keepdims=True) if any(has_xgboost) else np.nan
        )
        ratios = np.quantile(loading / reference, [0.25, 0.5, 0.75], axis=0)
        for place, one in enumerate(formats):
            low, middle, high = ratios[:, place]
            print(
                f"{one.name:24}{paths[place].stat().st_size / 1e3:9.0f}{1e3 * saving[place]:9.1f}"
                f"{1e3 * np.median(loading[:, place]):9.2f}{middle:10.2f}{low:8.2f}-{high:.2f}"
            )
        if shutil.which("cc"):
            rng = np.random.default_rng(0)
            rows = spoil(X.iloc[rng.choice(len(X), 1000)], rng).to_dict("records")
            for effort, model in models.items():
                _, microseconds = run_c(model, Path(folder), rows, COMPILERS[:1])
                print(f"{effort}: one row in C takes {microseconds:.1f} microseconds")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--repeats", type=int, default=100)
    options = parser.parse_args()
    for one in options.files:
        run(one, options.repeats)
