"""Learning from data that turns out bad: a clear error, and nothing half-written left behind."""

import errno
import os
import resource
import signal

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from priorwise import KDBClassifier, SelectiveKDBClassifier
from priorwise.data import SourceError

N_ROWS = 1200


@pytest.fixture
def frame(rng):
    y = rng.integers(2, size=N_ROWS)
    words = np.array(["u", "v", "w"], dtype=object)
    columns = {
        f"x{i}": words[np.where(rng.random(N_ROWS) < 0.6, y, rng.integers(3, size=N_ROWS))]
        for i in range(4)
    }
    return pd.DataFrame({**columns, "label": np.array(["no", "yes"], dtype=object)[y]})


@pytest.fixture
def folder(frame, tmp_path):
    """Three files, to be spoilt."""
    data = tmp_path / "data"
    data.mkdir()
    for number in range(3):
        part = frame.iloc[number * 400 : (number + 1) * 400]
        part.to_parquet(data / f"{number}.parquet", row_group_size=100, index=False)
    return data


def learn(folder, model=None, **options):
    model = SelectiveKDBClassifier(2) if model is None else model
    scratch = folder.parent / "scratch"
    scratch.mkdir(exist_ok=True)
    return model.fit_dataset(
        folder, target="label", batch_rows=90, cache="on", scratch=scratch, **options
    )


def spoil_column(path):
    pd.read_parquet(path).drop(columns="x2").to_parquet(path, index=False)


def spoil_type(path):
    frame = pd.read_parquet(path)
    frame.assign(x2=np.arange(len(frame))).to_parquet(path, index=False)


def spoil_row_group(path):
    layout = parquet.ParquetFile(path).metadata.row_group(1).column(2)
    content = bytearray(path.read_bytes())
    content[layout.data_page_offset : layout.data_page_offset + 20] = b"\xff" * 20
    path.write_bytes(bytes(content))


def spoil_all(path):
    path.write_bytes(b"nothing that could be read")


def spoil_target(path):
    frame = pd.read_parquet(path)
    frame.loc[250, "label"] = None
    frame.to_parquet(path, index=False)


BAD = {
    spoil_column: r"2\.parquet: column 'x2' is missing",
    spoil_type: r"2\.parquet: column 'x2' must hold text values as in .*0\.parquet",
    spoil_row_group: r"2\.parquet, row group 1, rows 100\.\.199: the row group cannot be read",
    spoil_all: r"2\.parquet: the file cannot be read as Parquet",
    spoil_target: r"2\.parquet, rows 180\.\.269: target 'label' must not be missing",
}


@pytest.mark.parametrize("spoil", BAD, ids=lambda spoil: spoil.__name__)
def test_bad_data_is_named_and_nothing_is_left_behind(spoil, folder):
    spoil(folder / "2.parquet")
    model = SelectiveKDBClassifier(2)
    with pytest.raises(SourceError, match=BAD[spoil]):
        learn(folder, model)
    assert os.listdir(folder.parent / "scratch") == []
    assert not hasattr(model, "model_")


def test_a_file_that_goes_bad_between_passes_is_named(folder, monkeypatch):
    """The first pass reads it well; without a cache, the next one does not."""
    from priorwise.streaming.runners.local import LocalRunner

    run = LocalRunner.run

    def spoil_and_run(self, work, coder):
        spoil_row_group(folder / "1.parquet")
        return run(self, work, coder)

    monkeypatch.setattr(LocalRunner, "run", spoil_and_run)
    with pytest.raises(SourceError, match=r"1\.parquet, row group 1, rows 100\.\.199"):
        SelectiveKDBClassifier(2).fit_dataset(folder, target="label", cache="off")


def test_a_new_category_in_the_last_batch_counts_like_any(folder, frame):
    frame.loc[N_ROWS - 1, "x1"] = "new"
    frame.iloc[800:].to_parquet(folder / "2.parquet", index=False)
    found = learn(folder, KDBClassifier(2))
    expected = KDBClassifier(2).fit(frame.drop(columns="label"), frame["label"].to_numpy(object))
    assert "new" in found.encoder_.code_labels(1)
    X = frame.drop(columns="label")
    np.testing.assert_allclose(
        found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-12
    )


def test_a_new_class_in_the_last_batch_counts_like_any(folder, frame):
    frame.loc[N_ROWS - 1, "label"] = "maybe"
    frame.iloc[800:].to_parquet(folder / "2.parquet", index=False)
    assert learn(folder).classes_.tolist() == ["maybe", "no", "yes"]


def test_interrupted_learning_leaves_no_scratch(folder, monkeypatch):
    from priorwise.streaming.passes import CountPass

    def interrupt(self, batch):
        raise KeyboardInterrupt

    monkeypatch.setattr(CountPass, "map", interrupt)
    with pytest.raises(KeyboardInterrupt):
        learn(folder)
    assert os.listdir(folder.parent / "scratch") == []


@pytest.mark.parametrize("what", ["cache", "checkpoint"])
def test_a_full_disk_is_told_and_leaves_nothing_half_written(what, folder):
    """A limit on the size of files stands for the disk: the system refuses to write on."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    saved = folder.parent / "saved"
    options = {"checkpoint": saved} if what == "checkpoint" else {}
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))
        with pytest.raises(OSError, match=r".") as told:
            learn(folder, **options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert told.value.errno in (errno.EFBIG, errno.ENOSPC)
    assert str(folder.parent) in str(told.value), "the message names no file"
    assert os.listdir(folder.parent / "scratch") == []
    if what == "checkpoint":
        assert [name for name in os.listdir(saved) if name.endswith(".part")] == []
        # With room again, learning goes on, and ends like learning that was never interrupted.
        assert learn(folder, checkpoint=saved).structure_ == learn(folder).structure_
        assert os.listdir(saved) == []


@pytest.mark.parametrize("failing", ["survey", "run"])
def test_learning_that_fails_leaves_the_fitted_model_as_it_was(failing, folder, frame, monkeypatch):
    from priorwise.streaming.runners.local import LocalRunner

    model = learn(folder, KDBClassifier(1))
    before = {name: id(value) for name, value in vars(model).items()}
    X = frame.drop(columns="label")
    proba = model.predict_proba(X)

    def fail(self, work, *coder):
        assert {name: id(value) for name, value in vars(model).items()} == before
        raise ValueError("odd")

    monkeypatch.setattr(LocalRunner, failing, fail)
    with pytest.raises(ValueError, match="odd"):
        learn(folder, model, features=["x0", "x1"])
    assert {name: id(value) for name, value in vars(model).items()} == before
    np.testing.assert_array_equal(model.predict_proba(X), proba)


def test_learning_again_forgets_what_only_the_first_model_had(folder, frame):
    model = KDBClassifier(1).fit(frame.drop(columns="label").to_numpy(), frame["label"])
    model.extra_ = "of a model before"
    learn(folder, model)
    assert not hasattr(model, "extra_")
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
