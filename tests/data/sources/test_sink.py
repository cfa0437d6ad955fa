import csv
import errno
import gzip
import os
import resource
import signal

import numpy as np
import pandas as pd
import pytest

from priorwise.data.sources import open_sink

ENDINGS = (".parquet", ".csv", ".csv.gz")


def read_back(path):
    if path.name.endswith(".parquet"):
        return pd.read_parquet(path)
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.name.endswith(".gz") else content).decode()
    header, *rows = csv.reader(text.splitlines())
    return pd.DataFrame([list(map(float, row)) for row in rows], columns=header)


@pytest.mark.parametrize("ending", ENDINGS)
def test_batches_are_read_back_bit_for_bit(ending, rng, tmp_path):
    out = tmp_path / f"answers{ending}"
    proba = rng.dirichlet([0.1, 1.0, 5.0], size=500)
    with open_sink(out, ["a, b", 2, 'say "c"']) as sink:
        for start in range(0, 500, 120):
            sink.write(proba[start : start + 120])
    found = read_back(out)
    assert list(found.columns) == ["p(a, b)", "p(2)", 'p(say "c")']
    np.testing.assert_array_equal(found.to_numpy(), proba)
    assert os.listdir(tmp_path) == [out.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_batch_gives_a_file_without_rows(ending, tmp_path):
    out = tmp_path / f"answers{ending}"
    with open_sink(out, ["a", "b"]):
        pass
    assert read_back(out).shape == (0, 2)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_folder_as_it_was(ending, error, tmp_path):
    out = tmp_path / f"answers{ending}"
    out.write_bytes(b"old")

    def write_in_part():
        with open_sink(out, ["a", "b"]) as sink:
            sink.write(np.full((1000, 2), 0.5))
            raise error

    with pytest.raises(error):
        write_in_part()
    assert os.listdir(tmp_path) == [out.name]
    assert out.read_bytes() == b"old"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_named_and_leaves_nothing(ending, rng, tmp_path):
    """A limit on the size of files stands for the disk: the system refuses to write on."""
    out = tmp_path / f"answers{ending}"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def write_much():
        with open_sink(out, ["a", "b"]) as sink:
            for _ in range(100):
                sink.write(rng.random((1000, 2)))

    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
        with pytest.raises(OSError, match="the probabilities cannot be written") as told:
            write_much()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert str(out) in str(told.value)
    assert told.value.errno in (errno.EFBIG, None)
    assert os.listdir(tmp_path) == []


def test_zipped_text_does_not_depend_on_the_time(tmp_path, monkeypatch):
    contents = []
    for clock in (1e9, 2e9):
        monkeypatch.setattr("time.time", lambda clock=clock: clock)
        with open_sink(tmp_path / "answers.csv.gz", ["a", "b"]) as sink:
            sink.write(np.array([[0.1, 0.9]]))
        contents.append((tmp_path / "answers.csv.gz").read_bytes())
    assert contents[0] == contents[1]
    assert gzip.decompress(contents[0]) == b"p(a),p(b)\n0.1,0.9\n"


def test_wrong_names_are_refused(tmp_path):
    with (
        pytest.raises(ValueError, match=r"out must end in one of .*, got 'answers.xls'"),
        open_sink(tmp_path / "answers.xls", ["a", "b"]),
    ):
        pass
    with (
        pytest.raises(FileNotFoundError, match="out must be in an existing folder"),
        open_sink(tmp_path / "nowhere" / "answers.csv", ["a", "b"]),
    ):
        pass
