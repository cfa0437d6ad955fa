"""Tables with text, numbers and missing values, and a model that was learnt from one of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priorwise.cli import main


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that no test may change: train.csv, test.csv, new.parquet and model.priorwise."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    n_rows = 300
    age, job = rng.normal(40, 12, n_rows).round(), rng.choice(["nurse", "clerk", "cook"], n_rows)
    risk = 0.1 * (age - 40) + (job == "nurse") + rng.normal(size=n_rows)
    table = pd.DataFrame({"id": [f"{i:04}" for i in range(n_rows)], "age": age, "job": job})
    table["ill"] = np.where(risk > 0.3, "yes", "no")
    table.loc[::17, "age"] = np.nan
    table.loc[::19, "job"] = None
    table.loc[[3, 250], "ill"] = None
    table[:200].to_csv(folder / "train.csv", index=False)
    table[200:].to_csv(folder / "test.csv", index=False)
    table[200:].drop(columns="ill").to_parquet(folder / "new.parquet")
    train, model = str(folder / "train.csv"), str(folder / "model.priorwise")
    options = ["--drop", "id", "--model", "NaiveBayesClassifier", "--quiet"]
    assert main(["fit", train, "--target", "ill", "-o", model, *options]) == 0
    return folder


@pytest.fixture
def work(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in; the tables are in the folder `made` beside it."""
    (tmp_path / "made").symlink_to(made)
    monkeypatch.chdir(tmp_path)
    return tmp_path
