"""Checkpoints and caches: whose work they hold, who may use them, and what damage does."""

from __future__ import annotations

import os
import pickle
import stat
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset as arrow_dataset

import priorwise
from priorwise import AODEClassifier, ESKDBClassifier, KDBClassifier, SelectiveKDBClassifier
from priorwise.common.container import ContainerError, from_bytes, to_bytes
from priorwise.models.networks.streamed import StreamedClassifier
from priorwise.streaming import checkpoint as saving
from priorwise.streaming import states
from priorwise.streaming.cache import CodedCache
from priorwise.streaming.checkpoint import Checkpoint, Saved
from priorwise.streaming.passes import CountPass, Pass
from priorwise.streaming.survey_pass import SurveyPass


@pytest.fixture(autouse=True)
def save_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "BATCHES_BETWEEN_SAVES", 3)


@pytest.fixture
def frame(rng: np.random.Generator) -> pd.DataFrame:
    return make_frame(rng)


def make_frame(rng: np.random.Generator, n_rows: int = 400) -> pd.DataFrame:
    y = rng.integers(0, 2, n_rows)
    words = np.array(["aa", "bb", "cc", "dd"], dtype=object)
    columns = {f"f{i}": words[(y + rng.integers(0, 3, n_rows)) % 4] for i in range(4)}
    return pd.DataFrame({**columns, "label": np.array(["no", "yes"], dtype=object)[y]})


@pytest.fixture
def path(frame: pd.DataFrame, tmp_path: Path) -> Path:
    frame.to_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def learn(source: Any, folder: Path, **options: Any) -> SelectiveKDBClassifier:
    model = SelectiveKDBClassifier(2)
    chosen: dict[str, Any] = {"batch_rows": 29, "cache": "off", "checkpoint": folder} | options
    return model.fit_dataset(source, "label", **chosen)


def interrupt(
    source: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, n_calls: int = 10, **options: Any
) -> None:
    """Learn until the tables of a few batches have been counted."""
    original, calls = CountPass.map, []

    def map_or_raise(self: Any, batch: Any) -> Any:
        calls.append(batch)
        if len(calls) == n_calls:
            raise KeyboardInterrupt
        return original(self, batch)

    with monkeypatch.context() as patched:
        patched.setattr(CountPass, "map", map_or_raise)
        with pytest.raises(KeyboardInterrupt):
            learn(source, folder, **options)


def keep_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the cache behind, as a killed process does."""
    monkeypatch.setattr(CodedCache, "close", lambda self: None)


SOURCES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas frame": lambda frame: frame,
    "polars frame": pl.from_pandas,
    "arrow table": pa.Table.from_pandas,
    "callable": lambda frame: lambda: iter([frame.iloc[:150], frame.iloc[150:]]),
    "lazy frame": lambda frame: pl.from_pandas(frame).lazy(),
    "dataset in memory": lambda frame: arrow_dataset.dataset(pa.Table.from_pandas(frame)),
}


@pytest.mark.parametrize("kind", SOURCES, ids=lambda kind: kind.replace(" ", "-"))
def test_work_on_other_rows_is_not_resumed(
    kind: str, frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(SOURCES[kind](frame), tmp_path / "saved", monkeypatch)
    other = frame.copy()
    other.loc[200, "f2"] = "aa" if frame.loc[200, "f2"] != "aa" else "bb"
    with pytest.raises(ValueError, match="holds the work on other data"):
        learn(SOURCES[kind](other), tmp_path / "saved")
    learn(SOURCES[kind](frame), tmp_path / "saved")
    assert os.listdir(tmp_path / "saved") == []


def test_a_file_with_other_rows_of_equal_size_and_time_is_recognised(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    time = path.stat().st_mtime_ns
    interrupt(path, tmp_path / "saved", monkeypatch)
    frame.iloc[::-1].to_csv(path, index=False)
    os.utime(path, ns=(time, time))
    with pytest.raises(ValueError, match="holds the work on other data"):
        learn(path, tmp_path / "saved")


def test_a_dataset_is_identified_by_its_files_and_its_filter(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def choose(words: list[str]) -> Any:
        return arrow_dataset.dataset(path).filter(arrow_dataset.field("f0").isin(words))

    interrupt(choose(["aa", "bb"]), tmp_path / "saved", monkeypatch, n_calls=4)
    with pytest.raises(ValueError, match="holds the work on other data"):
        learn(choose(["aa", "cc"]), tmp_path / "saved")
    learn(choose(["aa", "bb"]), tmp_path / "saved")


class Opaque:
    """A label that cannot be told from another one."""


def test_rows_that_cannot_be_told_from_others_have_no_checkpoint(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame["f0"] = pd.Series([Opaque()] * len(frame), dtype=object)
    with pytest.raises(ValueError, match=r"the rows cannot be told from others.*Opaque"):
        learn(frame, tmp_path / "saved")


def test_parameters_that_cannot_be_told_from_others_have_no_checkpoint(
    path: Path, tmp_path: Path
) -> None:
    model = KDBClassifier(discretizer=Opaque())
    with pytest.raises(TypeError, match=r"parameters that can be identified.*Opaque"):
        model.fit_dataset(path, "label", checkpoint=tmp_path / "saved")


def test_work_of_another_version_is_not_resumed(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(saving, "find_version", lambda name: "0.0.1")
        interrupt(path, tmp_path / "saved", monkeypatch)
    with pytest.raises(ValueError, match=r"holds the work of version 0\.0\.1 of priorwise"):
        learn(path, tmp_path / "saved")


class Bomb:
    """A pickle of it writes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("cache", ["off", "on"])
def test_no_pickle_in_the_folders_is_read(
    cache: str, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, scratch = tmp_path / "saved", tmp_path / "scratch"
    with monkeypatch.context() as patched:
        keep_cache(patched)
        interrupt(path, saved, monkeypatch, cache=cache, scratch=scratch)
    files = [file for folder in (saved, scratch) for file in folder.rglob("*") if file.is_file()]
    planted = [file for file in files if not file.name.startswith("about")]
    assert len(planted) > 1
    for file in planted:
        file.write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))
    with warnings.catch_warnings(action="ignore"):
        resumed = learn(path, saved, cache=cache, scratch=scratch)
    assert not (tmp_path / "exploded").exists()
    assert pickle.dumps(resumed) == pickle.dumps(learn(path, tmp_path / "whole"))


def test_folders_and_files_are_the_owner_s_alone(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, scratch = tmp_path / "saved", tmp_path / "scratch"
    before = os.umask(0)
    try:
        keep_cache(monkeypatch)
        interrupt(path, saved, monkeypatch, cache="on", scratch=scratch)
    finally:
        os.umask(before)
    (cache,) = scratch.iterdir()
    for folder in (saved, cache):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        files = list(folder.iterdir())
        assert len(files) > 1
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_names_of_caches_are_random(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_cache(monkeypatch)
    for name in ("a", "b"):
        interrupt(path, tmp_path / name, monkeypatch, cache="on", scratch=tmp_path / "scratch")
    assert len(list((tmp_path / "scratch").iterdir())) == 2


def test_files_are_on_the_disk_before_they_are_trusted(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file that has a final name was flushed under its unfinished one."""
    flushed: set[int] = set()
    renamed: list[int] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        flushed.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def note_replace(source: Any, target: Any, **options: Any) -> None:
        renamed.append(os.stat(source, dir_fd=options["src_dir_fd"]).st_ino)
        replace(source, target, **options)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    learn(path, tmp_path / "saved", cache="on", scratch=tmp_path / "scratch")
    assert len(renamed) > 20
    assert set(renamed) <= flushed


def test_a_second_process_is_told_who_holds_the_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, leave = threading.Event(), threading.Event()
    original = SurveyPass.map_surveyed

    def wait(self: Any, batch: Any) -> Any:
        inside.set()
        assert leave.wait(60)
        return original(self, batch)

    monkeypatch.setattr(SurveyPass, "map_surveyed", wait)
    first = threading.Thread(target=learn, args=(path, tmp_path / "saved"))
    first.start()
    try:
        assert inside.wait(60)
        text = rf"checkpoint .*saved' is in use by process {os.getpid()} on "
        with pytest.raises(RuntimeError, match=text):
            learn(path, tmp_path / "saved")
    finally:
        leave.set()
        first.join()
    assert os.listdir(tmp_path / "saved") == []


def test_a_damaged_file_never_gives_another_model(
    path: Path, tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = pickle.dumps(learn(path, tmp_path / "whole"))
    interrupt(path, tmp_path / "saved", monkeypatch)
    contents = {file: file.read_bytes() for file in (tmp_path / "saved").iterdir()}
    outcomes = set()
    for number in range(6 * len(contents)):
        for file, content in contents.items():
            file.write_bytes(content)
        (tmp_path / "saved").chmod(0o700)
        file = list(contents)[number % len(contents)]
        damaged = bytearray(contents[file])
        at = int(rng.integers(len(damaged)))
        if number // len(contents) % 3 == 0:
            del damaged[at:]
        else:
            damaged[at] ^= 1 << int(rng.integers(8))
        file.write_bytes(damaged)
        with warnings.catch_warnings(action="ignore"):
            try:
                model = learn(path, tmp_path / "saved")
            except ValueError as error:
                assert "is damaged: remove it to begin again" in str(error)  # noqa: PT017
                outcomes.add("refused")
            else:
                assert pickle.dumps(model) == expected
                outcomes.add("done again")
    assert outcomes == {"refused", "done again"}


def test_a_pass_with_a_damaged_file_is_done_again_with_a_warning(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(path, tmp_path / "saved", monkeypatch)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "saved" / "pass-0.safetensors").unlink()
    (tmp_path / "saved" / "pass-0.safetensors").symlink_to(tmp_path / "secret")
    with pytest.warns(UserWarning, match=r"checkpoint is damaged, pass 1 is done again"):
        learn(path, tmp_path / "saved")
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_file_of_another_pass_is_not_taken_for_that_of_a_pass(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "saved", identity="x", seed=0, plan=[1, 1, 1, 1, 1])
    checkpoint.save(0, Saved("counting", [1], 1, 5, True))
    (tmp_path / "saved" / "pass-0.safetensors").rename(tmp_path / "saved" / "pass-1.safetensors")
    with pytest.warns(UserWarning, match="must hold a state of pass 2, got a state of pass 1"):
        assert checkpoint.load(1, "counting") is None
    checkpoint.close()


def test_a_damaged_cache_is_read_again_from_the_source(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = pickle.dumps(learn(path, tmp_path / "whole"))
    original = CodedCache.is_complete

    def damage(self: CodedCache, n_rows: int) -> bool:
        for file in sorted(self.path.iterdir())[5:7]:
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(content)
        return original(self, n_rows)

    monkeypatch.setattr(CodedCache, "is_complete", damage)
    with pytest.warns(UserWarning, match="cache is damaged, the source is read again"):
        model = learn(path, tmp_path / "saved", cache="on")
    assert pickle.dumps(model) == expected


NETWORKS = [
    network
    for network in (getattr(priorwise, name) for name in priorwise.__all__)
    if isinstance(network, type)
    and issubclass(network, StreamedClassifier)
    and network is not ESKDBClassifier
]
MODELS = [
    *(network() for network in NETWORKS),
    ESKDBClassifier(n_estimators=2, recipe="thesis"),
    ESKDBClassifier(n_estimators=2, recipe="weighted"),
    AODEClassifier(smoothing="best"),
]


@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_every_state_comes_back_as_it_was(
    model: Any,
    numeric: bool,
    frame: pd.DataFrame,
    tmp_path: Path,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever a model's passes save can be stored, read, and stored as the same bytes."""
    if numeric:
        frame["u"] = (frame["label"] == "yes") + rng.normal(size=len(frame)).round(1)
    original, titles = Checkpoint.save, []

    def check(self: Checkpoint, number: int, saved: Saved) -> None:
        content = to_bytes(saved.state, kind="test", states=states.STATES)
        again = from_bytes(content, kind="test", states=states.STATES)
        assert to_bytes(again, kind="test", states=states.STATES) == content
        assert type(again) is type(saved.state)
        titles.append(saved.title)
        original(self, number, saved)

    monkeypatch.setattr(Checkpoint, "save", check)
    model.fit_dataset(frame, "label", batch_rows=50, checkpoint=tmp_path / "saved")
    assert len(set(titles)) >= (1 if "Naive" in repr(model) and not numeric else 2)


def test_every_pass_has_a_title_of_its_own() -> None:
    def subclasses(cls: Any) -> list[Any]:
        return [cls, *(c for child in cls.__subclasses__() for c in subclasses(child))]

    titles = [cls.title for cls in subclasses(Pass)[1:]]
    assert len(set(titles)) == len(titles)


def test_a_state_that_does_not_fit_together_is_refused() -> None:
    summary = states.ValueSummary.of(np.array([1.0, 2.0]), np.array([0, 1], dtype=np.int32), 2)
    summary.runs = [(summary.values(), summary.counts()[:1])]
    content = to_bytes(summary, kind="test", states=states.STATES)
    with pytest.raises(ContainerError, match="values are counted by class"):
        from_bytes(content, kind="test", states=states.STATES)
