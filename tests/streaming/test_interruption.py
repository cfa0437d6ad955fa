"""Interrupted learning goes on where it was, and leaves nothing behind."""

from __future__ import annotations

import copy
import pickle
import signal
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import children
from priorwise import KDBClassifier, NaiveBayesClassifier, SelectiveKDBClassifier
from priorwise.common import runtime
from priorwise.models.networks.streamed import StreamedNetwork
from priorwise.streaming import checkpoint as saving
from priorwise.streaming.passes import CountPass, PairPass, SelectionPass
from priorwise.streaming.survey_pass import SurveyPass


@pytest.fixture(autouse=True)
def save_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "BATCHES_BETWEEN_SAVES", 3)


@pytest.fixture
def path(rng: np.random.Generator, tmp_path: Path) -> Path:
    return write_rows(rng, tmp_path / "rows.parquet", numeric=False)


def write_rows(rng: np.random.Generator, path: Path, *, numeric: bool, n_rows: int = 400) -> Path:
    y = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame(
        {
            f"f{i}": np.array(["aa", "bb", "cc", "dd"], dtype=object)[
                (y + rng.integers(0, 3, n_rows)) % 4
            ]
            for i in range(5)
        }
    )
    if numeric:
        frame["u"] = y + rng.normal(size=n_rows).round(2)
    frame["label"] = np.array(["no", "yes"], dtype=object)[y]
    frame.to_parquet(path)
    return path


def interrupt(
    monkeypatch: pytest.MonkeyPatch, work: Any, n_calls: int, error: BaseException
) -> None:
    """Raise an error when a pass maps a batch for the n-th time."""
    original, calls = work.map, list[Any]()

    def map_or_raise(self: Any, batch: Any) -> Any:
        calls.append(batch)
        if len(calls) == n_calls:
            raise error
        return original(self, batch)

    name = "map_surveyed" if work is SurveyPass else "map"
    original = getattr(work, name)
    monkeypatch.setattr(work, name, map_or_raise)


@pytest.mark.parametrize(
    ("work", "numeric"),
    [
        (work, numeric)
        for work in (SurveyPass, PairPass, CountPass, SelectionPass)
        for numeric in (False, True)
        if work is not PairPass or numeric  # the first pass counts pairs of nominal features
    ],
)
@pytest.mark.parametrize(("n_calls", "cache"), [(1, "off"), (11, "on")])
def test_resumed_work_gives_the_same_bytes(
    work: type,
    numeric: bool,
    n_calls: int,
    cache: str,
    rng: np.random.Generator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write_rows(rng, tmp_path / "rows.parquet", numeric=numeric)

    def learn(folder: str) -> SelectiveKDBClassifier:
        return SelectiveKDBClassifier(max_parents=2).fit_dataset(
            path, "label", batch_rows=29, checkpoint=tmp_path / folder, cache=cache
        )

    whole = learn("a")
    with monkeypatch.context() as patched:
        interrupt(patched, work, n_calls, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            learn("b")
    assert [file.name for file in (tmp_path / "b").iterdir() if file.is_dir()] == []
    resumed = learn("b")
    assert pickle.dumps(resumed) == pickle.dumps(whole)
    assert list((tmp_path / "b").iterdir()) == []
    assert list((tmp_path / "a").iterdir()) == []


def test_resumed_work_does_not_read_batches_again(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learn() -> KDBClassifier:
        return KDBClassifier().fit_dataset(
            path, "label", batch_rows=20, checkpoint=tmp_path / "saved", cache="off"
        )

    with monkeypatch.context() as patched:
        interrupt(patched, CountPass, 11, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            learn()
    mapped: list[int] = []
    original = CountPass.map

    def map_and_record(self: Any, batch: Any) -> Any:
        mapped.append(batch.first_row)
        return original(self, batch)

    monkeypatch.setattr(CountPass, "map", map_and_record)
    learn()
    # Ten batches were merged, nine of them saved.
    assert sorted(mapped) == list(range(180, 400, 20))


@pytest.mark.parametrize(
    "random_state", [None, 7, np.random.RandomState(1)], ids=["None", "number", "RandomState"]
)
def test_seed_of_interrupted_work_is_used_again(
    random_state: Any, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "saved"
    seeds: list[int] = []
    original = StreamedNetwork.learn

    def learn(self: StreamedNetwork, rows: Any, seed: int) -> Any:
        seeds.append(seed)
        if len(seeds) == 1:
            raise KeyboardInterrupt
        return original(self, rows, seed)

    monkeypatch.setattr(StreamedNetwork, "learn", learn)
    for expected in (pytest.raises(KeyboardInterrupt), nullcontext()):
        model = NaiveBayesClassifier(random_state=copy.deepcopy(random_state))
        with expected:
            model.fit_dataset(path, "label", batch_rows=20, checkpoint=folder)
    assert len(seeds) == 2
    assert seeds[0] == seeds[1]


@pytest.mark.parametrize(
    "change",
    [
        {"max_parents": 3},
        {"smoothing": "laplace"},
        {"batch_rows": 10},
        {"memory_limit": "1GB"},
        {"features": ["f0", "f1"]},
    ],
)
def test_a_checkpoint_of_other_work_is_refused(
    change: dict[str, Any], path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "saved"
    with monkeypatch.context() as patched:
        interrupt(patched, CountPass, 5, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            KDBClassifier(max_parents=2).fit_dataset(
                path, "label", batch_rows=20, checkpoint=folder
            )
    options = {"batch_rows": 20, "features": None, "max_parents": 2, "smoothing": "hdp"} | change
    model = KDBClassifier(
        max_parents=options.pop("max_parents"), smoothing=options.pop("smoothing")
    )
    with pytest.raises(ValueError, match="holds the work on other data or with other parameters"):
        model.fit_dataset(path, "label", checkpoint=folder, **options)


def test_work_without_a_limit_is_resumed_as_planned_where_other_memory_is_available(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learn() -> KDBClassifier:
        return KDBClassifier().fit_dataset(path, "label", checkpoint=tmp_path / "saved")

    with monkeypatch.context() as patched:
        patched.setattr(runtime, "measure_available_memory", lambda: 400_000)
        interrupt(patched, CountPass, 2, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            learn()
    mapped: list[int] = []
    original = CountPass.map

    def map_and_record(self: Any, batch: Any) -> Any:
        mapped.append(batch.first_row)
        return original(self, batch)

    monkeypatch.setattr(CountPass, "map", map_and_record)
    monkeypatch.setattr(runtime, "measure_available_memory", lambda: 10**10)
    model = learn()
    assert len(mapped) > 1  # All rows would be one batch in so much memory.
    X = pd.read_parquet(path).drop(columns="label")
    whole = KDBClassifier().fit_dataset(path, "label")
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_a_folder_with_other_files_is_no_checkpoint(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="must be an empty folder or one of interrupted work"):
        KDBClassifier().fit_dataset(path, "label", checkpoint=folder)
    assert (folder / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("error", [ValueError("odd"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("work", [SurveyPass, CountPass])
def test_the_cache_is_removed_after_any_error(
    work: type,
    error: BaseException,
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scratch = tmp_path / "scratch"
    interrupt(monkeypatch, work, 7, error)
    with pytest.raises(type(error)):
        KDBClassifier().fit_dataset(path, "label", batch_rows=20, scratch=scratch, cache="on")
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError("odd"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("work", [SurveyPass, CountPass, SelectionPass])
def test_a_model_stays_as_it_was_after_any_error(
    work: type, error: BaseException, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SelectiveKDBClassifier(1).fit([["x"], ["y"], ["x"]], ["no", "yes", "no"])
    proba = model.predict_proba([["y"], ["aa"]])
    before = pickle.dumps(model)
    interrupt(monkeypatch, work, 7, error)
    with pytest.raises(type(error)):
        model.fit_dataset(path, "label", batch_rows=20)
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(model.predict_proba([["y"], ["aa"]]), proba)


SCRIPT = """
import pickle, sys
from priorwise import SelectiveKDBClassifier
from priorwise.streaming import checkpoint
checkpoint.BATCHES_BETWEEN_SAVES = 3
path, folder, scratch, out = sys.argv[1:]
model = SelectiveKDBClassifier(max_parents=2).fit_dataset(
    path, "label", batch_rows=50, checkpoint=folder, scratch=scratch, cache="on"
)
with open(out, "wb") as file:
    pickle.dump(model, file)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system cannot kill like that")
def test_killed_work_resumes_to_the_same_bytes(rng: np.random.Generator, tmp_path: Path) -> None:
    path = write_rows(rng, tmp_path / "rows.parquet", numeric=True, n_rows=2000)

    def run(folder: str, until: str | None = None) -> int | None:
        """Learn until the end, or kill once a file is in the checkpoint; returns the exit code."""
        arguments = [path, tmp_path / folder, tmp_path / "scratch", tmp_path / f"{folder}.pickle"]
        with children.start(children.execute, SCRIPT, [*map(str, arguments)]) as process:
            while until is not None and process.is_alive():
                if (tmp_path / folder / until).exists():
                    process.kill()
                time.sleep(0.002)
            process.join()
            return process.exitcode

    assert run("whole") == 0
    assert run("killed", until="pass-2.safetensors") == -signal.SIGKILL
    assert run("killed") == 0
    assert (tmp_path / "killed.pickle").read_bytes() == (tmp_path / "whole.pickle").read_bytes()
    assert list((tmp_path / "scratch").iterdir()) == []
    assert list((tmp_path / "killed").iterdir()) == []
