"""Does every model by `fit_dataset` equal `fit` in memory, whatever the rows come from?"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import priorwise as pw
from priorwise.datasets import read_table

MODELS: dict[str, Callable[[], Any]] = {
    "naive Bayes": lambda: pw.NaiveBayesClassifier(),
    "TAN": lambda: pw.TANClassifier(),
    "kDB-3": lambda: pw.KDBClassifier(3),
    "SkDB-3": lambda: pw.SelectiveKDBClassifier(3),
    "AODE": lambda: pw.AODEClassifier(),
    "KDF": lambda: pw.KDFClassifier(),
    "ESKDB": lambda: pw.ESKDBClassifier(n_estimators=4, random_state=0),
    "SuperParent": lambda: pw.SuperParentClassifier(),
}
BATCHES = (331, 2_000)
N_ROWS = 4_000


def show(folder: Path) -> None:
    print(f"\nBar 1: fit_dataset against fit in memory, {N_ROWS:,} mixed rows (largest difference")
    print("of a probability; 'same' if structure and counts are equal)")
    sources = write_sources(folder)
    columns = [f"{name} {n}" for name in sources for n in BATCHES]
    print(f"{'model':14}{'passes':>7}" + "".join(f"{column:>16}" for column in columns))
    for name, make in MODELS.items():
        cells, n_passes = [], set()
        for source, reference in sources.values():
            X, y = reference.drop(columns="label"), reference["label"].to_numpy(dtype=object)
            expected = make().fit(X, y)
            for batch_rows in BATCHES:
                found = make().fit_dataset(source, target="label", batch_rows=batch_rows)
                apart = np.abs(found.predict_proba(X) - expected.predict_proba(X)).max()
                cells.append(f"{apart:.0e} {'same' if same_counts(found, expected) else 'OTHER'}")
                n_passes.add(found.n_passes_)
        print(
            f"{name:14}{'/'.join(map(str, sorted(n_passes))):>7}"
            + "".join(f"{cell:>16}" for cell in cells),
            flush=True,
        )


def write_sources(folder: Path) -> dict[str, tuple[Any, Any]]:
    """The same rows as Parquet, CSV, ARFF and Dask, each with what is read of it at once."""
    import dask.dataframe as dd

    frame = make_rows()
    frame.to_parquet(folder / "mixed.parquet", row_group_size=700)
    frame.to_csv(folder / "mixed.csv", index=False)
    write_arff(frame, folder / "mixed.arff.gz")
    files = {name: folder / f"mixed.{name}" for name in ("parquet", "csv", "arff.gz")}
    sources: dict[str, tuple[Any, Any]] = {
        name: (path, read_table(path, kind="pandas")) for name, path in files.items()
    }
    sources["dask"] = (dd.from_pandas(frame, npartitions=5), frame)
    return sources


def make_rows() -> Any:
    """Numbers, labels and missing values that depend on the class and on each other."""
    import pandas as pd

    rng = np.random.default_rng(0)
    y = rng.integers(3, size=N_ROWS)
    columns: dict[str, Any] = {}
    for i in range(4):
        number = (y * rng.random() + rng.normal(size=N_ROWS)).round(2)
        columns[f"number{i}"] = np.where(rng.random(N_ROWS) < 0.05, np.nan, number)
    previous = y
    for i in range(5):
        previous = np.where(rng.random(N_ROWS) < 0.5, previous, rng.integers(4, size=N_ROWS))
        words = np.array(["red", "light blue", "green", "grey"], dtype=object)[previous]
        columns[f"word{i}"] = np.where(rng.random(N_ROWS) < 0.05, None, words)
    columns["label"] = np.array(["low", "middle", "high"], dtype=object)[y]
    return pd.DataFrame(columns)


def write_arff(frame: Any, path: Path) -> None:
    lines = ["@relation mixed"]
    for name in frame.columns:
        values = "real"
        if not name.startswith("number"):
            values = "{" + ",".join(f"'{v}'" for v in sorted(frame[name].dropna().unique())) + "}"
        lines.append(f"@attribute {name} {values}")
    lines.append("@data")
    for row in frame.itertuples(index=False):
        words = ["?" if v is None or v != v else v if v != str(v) else f"'{v}'" for v in row]
        lines.append(",".join(map(str, words)))
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


def same_counts(a: Any, b: Any) -> bool:
    """Whether all networks and trees of counts of two models are equal."""
    pairs = list(zip(models_of(a), models_of(b), strict=True))
    return bool(pairs) and all(
        one.counts.network == other.counts.network
        and all(
            np.array_equal(mine.counts, yours.counts) and np.array_equal(mine.parent, yours.parent)
            for mine, yours in zip(trees_of(one), trees_of(other), strict=True)
        )
        for one, other in pairs
    )


def models_of(model: Any) -> list[Any]:
    """The networks of a model, one or many."""
    if hasattr(model, "model_"):
        return [model.model_]
    return [getattr(member, "model", member) for member in model.estimators_]


def trees_of(network: Any) -> list[Any]:
    return [network.counts.class_tree, *network.counts.feature_trees]
