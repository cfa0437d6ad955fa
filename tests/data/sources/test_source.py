import gzip
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, parquet

from priorwise.data import SourceError, read_arff
from priorwise.data.arff.syntax import RowReader
from priorwise.data.sources import Batch, Source, open_source, prefetch

N_ROWS = 1000


@pytest.fixture
def frame(rng):
    size = rng.normal(size=N_ROWS).round(3)
    size[::7] = np.nan
    colour = rng.choice(np.array(["red", "light blue", "green"], dtype=object), N_ROWS)
    colour[::11] = None
    return pd.DataFrame(
        {
            "size": size,
            "n": rng.integers(5, size=N_ROWS),
            "colour": colour,
            "on": rng.choice([True, False], N_ROWS),
            "label": rng.choice(np.array(["yes", "no"], dtype=object), N_ROWS),
        }
    )


def assert_same_labels(one: Batch, other: Batch) -> None:
    assert one.y is not None
    assert other.y is not None
    assert one.y.tolist() == other.y.tolist()


def write_arff(frame, path):
    lines = [
        "@relation r",
        "@attribute size real",
        "@attribute n integer",
        "@attribute colour {red,'light blue',green}",
        "@attribute on {True,False}",
        "@attribute label {yes,no}",
        "@data",
    ]
    for row in frame.itertuples(index=False):
        words = ["?" if pd.isna(v) else f"'{v}'" if " " in str(v) else str(v) for v in row]
        lines.append(",".join(words))
    content = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)


def write_ipc_stream(frame, path):
    table = pa.Table.from_pandas(frame)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table, max_chunksize=130)


WRITERS = {
    ".parquet": lambda frame, path: frame.to_parquet(path, row_group_size=130),
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    ".feather": lambda frame, path: feather.write_feather(frame, path, chunksize=130),
    ".ipc": write_ipc_stream,
    ".arff": write_arff,
    ".arff.gz": write_arff,
}


def as_stream(frame):
    return lambda: iter([frame.iloc[:300], frame.iloc[300:]])


def as_lazy(frame):
    return pl.from_pandas(frame).lazy().filter(pl.lit(True))


def as_dask(frame):
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


def as_dataset(frame):
    return dataset.dataset(pa.Table.from_pandas(frame))


MAKERS = {"stream": as_stream, "lazy": as_lazy, "dask": as_dask, "dataset": as_dataset}


@pytest.fixture(params=[*WRITERS, *MAKERS, "folder", "list", "frame"])
def data(request, frame, tmp_path):
    """The same rows in every form a source may have."""
    if request.param in MAKERS:
        return MAKERS[request.param](frame)
    if request.param == "frame":
        return frame
    if request.param in WRITERS:
        path = tmp_path / f"rows{request.param}"
        WRITERS[request.param](frame, path)
        return path
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    frame.iloc[:300].to_parquet(paths[0], row_group_size=130)
    frame.iloc[300:].to_parquet(paths[1], row_group_size=130)
    return tmp_path if request.param == "folder" else paths


def as_words(frame):
    """Each column as text, whatever the library calls its types and its missing values."""
    columns = frame.to_pydict() if isinstance(frame, pa.Table) else frame.to_dict("list")
    return {
        name: ["missing" if pd.isna(v) else str(v + 0.0 if name == "n" else v) for v in values]
        for name, values in columns.items()
    }


def test_every_source_gives_the_rows_in_order(data, frame):
    source = open_source(data, target="label", batch_rows=90)
    assert source.feature_names == ["size", "n", "colour", "on"]
    batches = list(source.read())
    frames = [b.X.to_pandas() if isinstance(b.X, pl.DataFrame) else b.X for b in batches]
    found = [as_words(one) for one in frames]
    for name, words in as_words(frame.drop(columns="label")).items():
        assert [word for part in found for word in part[name]] == words
    assert np.concatenate([b.y for b in batches]).tolist() == frame["label"].tolist()
    assert max(batch.n_rows for batch in batches) <= 90
    assert [b.first_row for b in batches] == np.cumsum([0, *(b.n_rows for b in batches)])[
        :-1
    ].tolist()
    assert source.n_rows in (None, N_ROWS)


def test_reading_again_from_any_batch_gives_the_same_batches(data):
    source = open_source(data, target="label", batch_rows=170)
    batches = list(source.read())
    for start in (0, 1, len(batches) - 1, len(batches), len(batches) + 3):
        again = list(source.read(start))
        assert [b.first_row for b in again] == [b.first_row for b in batches[start:]]
        assert [b.place for b in again] == [b.place for b in batches[start:]]
        for one, other in zip(again, batches[start:], strict=True):
            assert one.X.equals(other.X)
            assert_same_labels(one, other)
    with pytest.raises(ValueError, match="start must not be negative, got -1"):
        next(source.read(-1))


def test_features_are_chosen_and_ordered_by_name(data):
    source = open_source(data, target="label", features=["colour", "size"], batch_rows=1000)
    batch = next(source.read())
    names = batch.X.column_names if hasattr(batch.X, "column_names") else list(batch.X.columns)
    assert names == ["colour", "size"]
    assert batch.y is not None
    without = open_source(data, target=None, features=["size"])
    assert all(batch.y is None for batch in without.read())


def test_a_fingerprint_changes_with_the_batch_size_and_the_columns(data):
    source = open_source(data, target="label", batch_rows=90)
    assert source.fingerprint() == open_source(data, target="label", batch_rows=90).fingerprint()
    assert source.fingerprint() != source.with_batch_rows(91).fingerprint()
    other = open_source(data, target="label", features=["size"], batch_rows=90)
    assert source.fingerprint() != other.fingerprint()


def test_a_fingerprint_changes_with_the_file(frame, tmp_path):
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    before = open_source(path, target="label").fingerprint()
    frame.iloc[1:].to_parquet(path)
    assert open_source(path, target="label").fingerprint() != before


def test_the_fingerprint_of_a_dask_frame_is_that_of_all_its_rows(frame):
    dd = pytest.importorskip("dask.dataframe")

    def fingerprint(rows, n_partitions=3):
        # Names of frames of files are different in each process; here each frame has another.
        parts = np.array_split(np.arange(len(rows)), n_partitions)
        spread = dd.from_map(lambda places: rows.iloc[places], parts, meta=rows[:0])
        return open_source(spread, target="label").fingerprint()

    before = fingerprint(frame)
    assert before == fingerprint(frame.copy())
    assert before != fingerprint(frame, n_partitions=4)
    changed = frame.copy()
    changed.loc[changed.index[len(frame) // 2], "size"] += 1.0
    assert before != fingerprint(changed)


@pytest.mark.parametrize("ending", WRITERS)
def test_a_source_of_files_survives_a_pickle(ending, frame, tmp_path):
    path = tmp_path / f"rows{ending}"
    WRITERS[ending](frame, path)
    source = open_source(path, target="label", batch_rows=300)
    copy = pickle.loads(pickle.dumps(source))
    assert isinstance(copy, Source)
    for one, other in zip(copy.read(), source.read(), strict=True):
        assert_same_labels(one, other)


def test_integer_labels_stay_integers_in_every_file(frame, tmp_path):
    for ending in (".parquet", ".csv", ".feather"):
        path = tmp_path / f"rows{ending}"
        WRITERS[ending](frame, path)
        batch = next(open_source(path, target="n").read())
        assert batch.y is not None
        assert batch.y.dtype == np.int64


def test_fractions_after_many_integers_are_read_from_csv(tmp_path):
    path = tmp_path / "rows.csv"
    n_rows = 600_000  # more than one block of text
    path.write_text("a,label\n" + "1,x\n" * n_rows * 2 + "1.5,y\n")
    *_, last = open_source(path, target="label", batch_rows=500_000).read()
    assert last.X["a"].to_pylist()[-1] == 1.5
    assert last.first_row + last.n_rows == n_rows * 2 + 1


def test_a_csv_column_without_values_in_the_first_block_is_read_on(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c,label\n" + ",,,x\n" * 1_200_000 + "2,word,,y\n")
    source = open_source(path, target="label", batch_rows=500_000)
    assert source.families == {"a": "number", "b": "text", "c": "unknown", "label": "text"}
    *_, last = source.read()
    assert last.X["a"].to_pylist()[-1] == 2.0
    assert last.X["b"].to_pylist()[-2:] == [None, "word"]


def test_small_batches_of_arff_hold_few_lines_at_a_time(frame, tmp_path, monkeypatch):
    lengths, read = [], RowReader.read

    def read_and_record(self, lines, number):
        lengths.append(len(lines))
        return read(self, lines, number)

    monkeypatch.setattr(RowReader, "read", read_and_record)
    write_arff(frame, tmp_path / "rows.arff")
    source = open_source(tmp_path / "rows.arff", target="label", batch_rows=40)
    assert sum(batch.n_rows for batch in source.read()) == N_ROWS
    assert max(lengths) <= 40


def test_latin_text_in_arff_is_read_as_the_whole_file_reader_does(tmp_path):
    path = tmp_path / "rows.arff"
    text = "@relation r\n@attribute a {caf\xe9,x}\n@attribute c {u,v}\n@data\ncaf\xe9,u\nx,v\n"
    path.write_bytes(text.encode("latin-1"))
    (batch,) = open_source(path, target="c").read()
    assert batch.X["a"].to_pylist() == read_arff(path).values("a").tolist()


def test_partition_columns_and_filters_of_a_dataset_are_kept(frame, tmp_path):
    table = pa.Table.from_pandas(frame)
    parquet.write_to_dataset(table, tmp_path, partition_cols=["n"])
    opened = dataset.dataset(tmp_path, partitioning="hive")
    source = open_source(opened.filter(dataset.field("size") > 0), target="label")
    batches = list(source.read())
    assert "n" in source.feature_names
    assert sum(batch.n_rows for batch in batches) == int((frame["size"] > 0).sum())
    assert {value for batch in batches for value in batch.X["n"].to_pylist()} == set(range(5))
    assert "n=0" in batches[0].place


def test_prefetch_keeps_order_and_raises_what_was_raised():
    def numbers():
        yield 1
        yield 2
        raise KeyError("three")

    assert list(prefetch(range(100), depth=3)) == list(range(100))
    ahead = prefetch(numbers(), depth=2)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(KeyError, match="three"):
        next(ahead)
    with pytest.raises(ValueError, match="depth must not be negative, got -1"):
        list(prefetch([], depth=-1))


def test_prefetch_closes_what_it_reads_when_it_is_dropped():
    closed = []

    def endless():
        try:
            while True:
                yield 0
        finally:
            closed.append(True)

    ahead = prefetch(endless(), depth=2)
    next(ahead)
    ahead.close()
    assert closed == [True]


def test_wrong_arguments_are_named(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(FileNotFoundError, match=r"source must be an existing file, got .*csv"):
        open_source(tmp_path / "none.csv", target="label")
    with pytest.raises(ValueError, match=r"source must end in one of .*, got 'rows.xls'"):
        open_source(tmp_path / "rows.xls", target="label")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="with none"):
        open_source(tmp_path / "empty", target="label")
    with pytest.raises(ValueError, match="source must hold at least one file"):
        open_source([], target="label")
    with pytest.raises(ValueError, match="batch_rows must be a whole number at least 1, got 0"):
        open_source(tmp_path, target="label", batch_rows=0)
    with pytest.raises(ValueError, match="features must not hold the target 'label'"):
        open_source(tmp_path, target="label", features=["label", "n"])
    with pytest.raises(ValueError, match="features must name each column once, got 'n' twice"):
        open_source(tmp_path, target="label", features=["n", "n"])
    with pytest.raises(SourceError, match=r"rows\.parquet: target 'klass' is missing; the columns"):
        open_source(tmp_path, target="klass")
    with pytest.raises(TypeError, match=r"source must be a path, .* got int"):
        open_source(7, target="label")
    with pytest.raises(TypeError, match="must return an iterator of frames, got a frame"):
        list(open_source(lambda: frame, target=None, features=["size"]).read())
