import csv
import errno
import gzip
import io
import os
import resource
import signal

import numpy as np
import pandas as pd
import pytest

from priorwise import NaiveBayesClassifier
from priorwise.data.sources import open_sink

ENDINGS = (".parquet", ".csv", ".csv.gz")


def read_back(path):
    if path.name.endswith(".parquet"):
        return pd.read_parquet(path)
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.name.endswith(".gz") else content).decode()
    header, *rows = csv.reader(text.splitlines())
    return pd.DataFrame(rows, columns=header)


def codes_of(proba):
    return proba.argmax(axis=1)


@pytest.mark.parametrize("ending", ENDINGS)
def test_batches_are_read_back_bit_for_bit(ending, rng, tmp_path):
    out = tmp_path / f"answers{ending}"
    proba = rng.dirichlet([0.1, 1.0, 5.0], size=500)
    with open_sink(out, ["a, b", 2, 'say "c"']) as sink:
        for start in range(0, 500, 120):
            batch = proba[start : start + 120]
            sink.write(codes_of(batch), batch)
    found = read_back(out)
    assert list(found.columns) == ["prediction", "p(a, b)", "p(2)", 'p(say "c")']
    np.testing.assert_array_equal(found.iloc[:, 1:].to_numpy(dtype=float), proba)
    expected = np.array(["a, b", "2", 'say "c"'])[codes_of(proba)]
    assert found["prediction"].tolist() == expected.tolist()
    assert os.listdir(tmp_path) == [out.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_batch_gives_a_file_without_rows(ending, tmp_path):
    out = tmp_path / f"answers{ending}"
    with open_sink(out, ["a", "b"]):
        pass
    assert read_back(out).shape == (0, 3)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_folder_as_it_was(ending, error, tmp_path):
    out = tmp_path / f"answers{ending}"
    out.write_bytes(b"old")

    def write_in_part():
        with open_sink(out, ["a", "b"], overwrite=True) as sink:
            sink.write(np.zeros(1000, dtype=int), np.full((1000, 2), 0.5))
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
                sink.write(rng.integers(2, size=1000), rng.random((1000, 2)))

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
        with open_sink(tmp_path / "answers.csv.gz", ["a", "b"], overwrite=True) as sink:
            sink.write(np.array([1]), np.array([[0.1, 0.9]]))
        contents.append((tmp_path / "answers.csv.gz").read_bytes())
    assert contents[0] == contents[1]
    assert gzip.decompress(contents[0]) == b"prediction,p(a),p(b)\nb,0.1,0.9\n"


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


def test_a_file_that_exists_is_replaced_only_if_asked(tmp_path):
    out = tmp_path / "answers.csv"
    out.write_text("old")
    with (
        pytest.raises(FileExistsError, match=r"overwrite must be True, got .*answers.csv"),
        open_sink(out, ["a", "b"]),
    ):
        pass
    assert out.read_text() == "old"
    with open_sink(out, ["a", "b"], overwrite=True):
        pass
    assert out.read_text() == "prediction,p(a),p(b)\n"


@pytest.mark.parametrize("ending", ENDINGS)
def test_classes_keep_their_type_and_kept_columns_their_values(ending, tmp_path):
    out = tmp_path / f"answers{ending}"
    kept = pd.DataFrame(
        {
            "key": ["a,1", None, 'b"'],
            "size": [1.0, np.nan, 2.5],
            "day": pd.to_datetime(["2020-01-01"] * 3),
            "kind": pd.Categorical(["u", "v", "u"]),
        }
    )
    proba = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    with open_sink(out, [True, 7], kept=list(kept)) as sink:
        sink.write(codes_of(proba), proba, kept[:])
        sink.write(codes_of(proba[:1]), proba[:1], kept[1:2])
    with open_sink(tmp_path / f"numbers{ending}", [3, 7]) as sink:
        sink.write(codes_of(proba), proba)
    found = read_back(out)
    if ending == ".parquet":
        assert found["prediction"].tolist() == ["True", "7", "True", "True"]
        assert found["kind"].tolist() == ["u", "v", "u", "v"]
        assert found["size"].tolist()[::2] == [1.0, 2.5]
        assert found["day"].dtype.kind == "M"
        assert read_back(tmp_path / "numbers.parquet")["prediction"].tolist() == [3, 7, 3]
    else:
        assert found["key"].tolist() == ["a,1", "", 'b"', ""]
        assert found["size"].tolist() == ["1", "", "2.5", ""]
        assert found["prediction"].tolist() == ["True", "7", "True", "True"]


def test_a_kept_column_must_not_have_the_name_of_another(tmp_path):
    with (
        pytest.raises(ValueError, match="keep must not name 'prediction'"),
        open_sink(tmp_path / "answers.csv", ["a", "b"], kept=["prediction"]),
    ):
        pass
    assert os.listdir(tmp_path) == []


def test_an_open_file_gets_lines_of_text():
    file = io.BytesIO()
    with open_sink(file, ["a", "b"]) as sink:
        sink.write(np.array([0]), np.array([[1.0, 0.0]]))
    assert file.getvalue() == b"prediction,p(a),p(b)\na,1.0,0.0\n"


def test_predictions_do_not_replace_the_rows_they_are_of(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n2\n")
    model = NaiveBayesClassifier().fit(pd.DataFrame({"a": [1.0, 2.0] * 9}), [0, 1] * 9)
    (tmp_path / "link.csv").symlink_to(path)
    for source in (path, [path], tmp_path / "*s.csv"):
        with pytest.raises(ValueError, match="out must not be a file that source reads"):
            model.predict_dataset(source, tmp_path / "link.csv", overwrite=True)
    assert path.read_text() == "a\n1\n2\n"
