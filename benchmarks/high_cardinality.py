"""Log-loss and time to fit beside CatBoost, on tables with columns of thousands of labels.

    python benchmarks/high_cardinality.py [DATA] [--catboost PYTHON] [--rows 20000] [--tables ...]

DATA is a folder with nycflights13.arff.gz and diabetes-130-us.arff.gz, whose rows are drawn at
random; without it only the two generated tables are run, whose true probabilities are known:

- employers: 3,000 employers of very different sizes, whose effects are drawn, and postcodes, of
  which the region, the town and the code each have a smaller effect than the one before;
- names: 10,000 names without any effect, beside three columns that have one.

--rows are learnt and as many predicted. PYTHON is that of an environment with catboost and pandas;
this one by default. All models have one thread and their defaults; CatBoost is told which columns
hold labels, and so is the flagship, by their type. Printed are log-loss and error on the rows
predicted, seconds of the processor, and the kilobytes of the flagship as a file, as a page
(`explorer` without rows) and as SQL. "fast, 5 rows" has `min_rows_per_label=5`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

LEAST_LOSS = 1e-15


def draw_employers(n_rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    n_employers, n_codes = 3000, 2000
    size = rng.pareto(1.0, n_employers) + 0.05
    employer = rng.choice(n_employers, n_rows, p=size / size.sum())
    code = rng.integers(n_codes, size=n_rows)
    town_of, region_of = rng.integers(200, size=n_codes), rng.integers(10, size=200)
    town = town_of[code]
    age = rng.normal(size=n_rows)
    effects = [(employer, 1.0, n_employers), (region_of[town], 0.8, 10), (town, 0.5, 200),
               (code, 0.3, n_codes)]  # fmt: skip
    log_odds = 0.7 * age - 0.5
    for place, deviation, n in effects:
        log_odds += rng.normal(scale=deviation, size=n)[place]
    frame = pd.DataFrame(
        {
            "employer": [f"employer {i}" for i in employer],
            "postcode": [f"{region_of[t]}{t:03d}{c:04d}" for t, c in zip(town, code, strict=True)],
            "town": [f"town {i}" for i in town],
            "region": [f"region {i}" for i in region_of[town]],
            "age": age,
        }
    )
    return frame, 1.0 / (1.0 + np.exp(-log_odds))


def draw_names(n_rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    name = rng.integers(10_000, size=n_rows)
    colour, age = rng.integers(6, size=n_rows), rng.normal(size=n_rows)
    years = rng.integers(40, size=n_rows)
    log_odds = rng.normal(size=6)[colour] + 0.8 * age + 0.03 * (years - 20)
    frame = pd.DataFrame(
        {
            "name": [f"Name{i:05d}" for i in name],
            "colour": [f"colour {i}" for i in colour],
            "age": age,
            "years": years,
        }
    )
    return frame, 1.0 / (1.0 + np.exp(-log_odds))


GENERATED = {"employers": draw_employers, "names": draw_names}
FILES = {"nycflights13": "nycflights13.arff.gz", "diabetes-130": "diabetes-130-us.arff.gz"}


def read_table(name: str, folder: str | None, n_rows: int) -> tuple[pd.DataFrame, Any, Any]:
    """Return the rows to learn and to predict, their classes, and the true probabilities."""
    rng = np.random.default_rng(1)
    if name in GENERATED:
        X, truth = GENERATED[name](2 * n_rows, rng)
        y = np.where(rng.random(2 * n_rows) < truth, "yes", "no")
        return X, y, np.column_stack([1.0 - truth, truth])[n_rows:]
    from priorwise.data import read_arff

    table = read_arff(Path(str(folder)) / FILES[name]).to_frame()
    rows = pd.DataFrame(table).sample(2 * n_rows, random_state=1).reset_index(drop=True)
    target = rows.columns[-1]
    return rows.drop(columns=target), rows[target].to_numpy().astype(str), None


def score(proba: np.ndarray, classes: list[str], y: np.ndarray) -> dict[str, float]:
    place = np.array([classes.index(label) for label in y])
    own = proba[np.arange(len(y)), place]
    error = float((proba.argmax(axis=1) != place).mean())
    return {"log_loss": float(-np.log(np.maximum(own, LEAST_LOSS)).mean()), "error": error}


def fit_flagship(effort: str, **given: Any) -> Callable[..., tuple[Any, list[str]]]:
    def fit(X: pd.DataFrame, y: np.ndarray) -> tuple[Any, list[str]]:
        from priorwise import PriorwiseClassifier

        model = PriorwiseClassifier(effort, random_state=0, n_jobs=1, **given).fit(X, y)
        return model, model.classes_.tolist()

    return fit


def fit_catboost(X: pd.DataFrame, y: np.ndarray) -> tuple[Any, list[str]]:
    from catboost import CatBoostClassifier

    labels = [name for name in X if X[name].dtype == object]
    model = CatBoostClassifier(
        cat_features=labels, thread_count=1, verbose=0, random_seed=0, allow_writing_files=False
    )
    model.fit(X, y)
    return model, [str(label) for label in model.classes_]


MODELS = {
    "fast": fit_flagship("fast"),
    "fast, 5 rows": fit_flagship("fast", min_rows_per_label=5),
    "balanced": fit_flagship("balanced"),
    "catboost": fit_catboost,
}


def run(name: str, folder: Path) -> dict[str, float]:
    """Fit a model to the table in a folder."""
    X, y = pd.read_pickle(folder / "X.pickle"), np.load(folder / "y.npy")
    n = len(X) // 2
    labels = [c for c in X if X[c].dtype == object]
    if name == "catboost":  # which takes no missing labels
        X = X.assign(**{c: X[c].fillna("missing") for c in labels})
    else:
        X = X.astype(dict.fromkeys(labels, "category"))
    start = time.process_time()
    model, classes = MODELS[name](X[:n], y[:n])
    result = {"seconds": time.process_time() - start}
    result |= score(model.predict_proba(X[n:]), classes, y[n:])
    if name != "catboost":
        from priorwise.export import export_sql

        model.save(folder / "model")
        model.explorer(folder / "page.html")
        result["file"] = (folder / "model").stat().st_size / 1000
        result["page"] = (folder / "page.html").stat().st_size / 1000
        result["sql"] = len(export_sql(model)) / 1000
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?")
    parser.add_argument("--catboost", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--tables", nargs="+", default=[*GENERATED, *FILES])
    parser.add_argument("--models", nargs="+", default=[*MODELS])
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(options.run[0], Path(options.run[1]))))
        return
    columns = ("log_loss", "error", "seconds", "file", "page", "sql")
    print(f"{'table':14}{'model':13}" + "".join(f"{column:>10}" for column in columns), flush=True)
    for name in options.tables:
        if name in FILES and options.data is None:
            continue
        X, y, truth = read_table(name, options.data, options.rows)
        X = X.astype({c: object for c in X if X[c].dtype.kind not in "iuf"})
        results = {}
        if truth is not None:
            results["truth"] = score(truth, ["no", "yes"], y[len(y) // 2 :])
        with tempfile.TemporaryDirectory() as folder:
            X.to_pickle(f"{folder}/X.pickle")
            np.save(f"{folder}/y.npy", y.astype(str))
            for model in options.models:
                python = options.catboost if model == "catboost" else sys.executable
                command = [python, __file__, "--run", model, folder]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                results[model] = json.loads(done.stdout.splitlines()[-1])
        for model, result in results.items():
            numbers = (f"{result[c]:10.4g}" if c in result else " " * 10 for c in columns)
            print(f"{name:14}{model:13}" + "".join(numbers), flush=True)


if __name__ == "__main__":
    main()
