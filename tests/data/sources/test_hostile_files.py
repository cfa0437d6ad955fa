"""Files that are damaged or made to exhaust a reader: refused by name, in bounded time and memory.

What may kill a process is run in a child process.
"""

from __future__ import annotations

import gzip
import os
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

import children
from priorwise.common import files
from priorwise.data import ArffError, SourceError, read_arff
from priorwise.data.arff import syntax as arff_syntax
from priorwise.data.arff.reader import FRAME_KINDS
from priorwise.data.sources import open_source
from priorwise.data.sources.source import default_batch_rows
from priorwise.datasets import find_datasets, read_table

MISSING = ["", "?", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "n/a", "<NA>", "#N/A"]


@pytest.mark.parametrize("quoted", [False, True])
def test_every_reader_of_csv_has_the_same_missing_values(quoted: bool, tmp_path: Path) -> None:
    words = [*MISSING, "word", "na", "missing", "NAN", "0"]
    fields = [f'"{word}"' if quoted else word for word in words]
    path = tmp_path / "rows.csv"
    lines = [f"{field},{i},x" for i, field in enumerate(fields)]
    path.write_text("\n".join(["a,b,label", *lines]) + "\n")
    expected = [word in MISSING for word in words]
    frames = [read_table(path, kind=kind) for kind in FRAME_KINDS]
    frames.append(next(open_source(path, target="label").read()).X)
    for frame in frames:
        column = frame["a"]
        values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
        assert [value is None or value != value for value in values] == expected


def test_missing_marks_do_not_make_numbers_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n1.5,x\n?,y\nNA,x\n2,y\n")
    for kind in FRAME_KINDS:
        values = np.asarray(read_table(path, kind=kind)["a"], dtype=float)
        np.testing.assert_array_equal(values, [1.5, np.nan, np.nan, 2.0])


def test_dates_in_csv_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n2020-01-02,x\n2020-01-03,y\n")
    for kind in FRAME_KINDS:
        column = read_table(path, kind=kind)["a"]
        values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
        assert values == ["2020-01-02", "2020-01-03"]


READ = """
import sys
from priorwise.data.sources import open_source
from priorwise.data import SourceError
from priorwise.datasets import read_table
from priorwise import NaiveBayesClassifier
refused = []
for path in sys.argv[1:]:
    try:
        for batch in open_source(path, target="label").read():
            pass
        NaiveBayesClassifier(smoothing="laplace").fit_dataset(path, "label", cache="off")
    except SourceError as error:
        assert path in str(error), error
        refused.append(path)
    except ValueError as error:  # rows that can be read, but of one class, or none
        assert "class" in str(error) or "row" in str(error), error
    if path.endswith(".parquet"):
        for kind in ("pandas", "polars", "pyarrow"):
            try:
                read_table(path, kind=kind)
            except SourceError as error:
                assert path in str(error), error
print(*refused, sep="\\n")
"""


def read_in_child(paths: list[Path], folder: Path) -> str:
    child = children.run_code(READ, *paths, folder=folder)
    assert child.returncode == 0, f"{child.returncode}: {child.stderr[-2000:]}"
    return child.stdout


def make_frame(rng: np.random.Generator, n_rows: int = 200) -> pd.DataFrame:
    words = np.array(["one", "two", "three", "äöü"], dtype=object)
    return pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "text": words[rng.integers(4, size=n_rows)],
            "category": pd.Categorical(words[rng.integers(4, size=n_rows)]),
            "flag": rng.integers(2, size=n_rows).astype(bool),
            "holes": np.where(rng.random(n_rows) < 0.3, None, words[0]),
            "label": np.array(["no", "yes"], dtype=object)[rng.integers(2, size=n_rows)],
        }
    )


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=50)


WRITERS: dict[str, Any] = {
    "plain.feather": lambda t, p: feather.write_feather(t, p, compression="uncompressed"),
    "lz4.feather": lambda t, p: feather.write_feather(t, p, compression="lz4", chunksize=50),
    "stream.arrow": write_stream,
    "rows.parquet": lambda t, p: t.to_pandas().to_parquet(p, row_group_size=80),
}


def test_files_with_flipped_bits_are_read_or_refused(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    table = pa.Table.from_pandas(make_frame(rng), preserve_index=False)
    paths = []
    for name, write in WRITERS.items():
        write(table, tmp_path / name)
        content = (tmp_path / name).read_bytes()
        for number in range(40):
            damaged = bytearray(content)
            for _ in range(int(rng.integers(1, 4))):
                damaged[int(rng.integers(len(damaged)))] ^= 1 << int(rng.integers(8))
            paths.append(tmp_path / f"{number}-{name}")
            paths[-1].write_bytes(damaged)
    refused = read_in_child(paths, tmp_path).split()
    for name in WRITERS:
        assert sum(path.endswith(name) for path in refused) > 1


def test_arrow_codes_without_a_label_are_refused(tmp_path: Path) -> None:
    codes = pa.array([0, 1, 100_000_000], type=pa.int32())
    forged = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]), safe=False)
    label = pa.array(["x", "y", "x"])
    feather.write_feather(
        pa.table({"a": forged, "label": label}), tmp_path / "x.arrow", compression="uncompressed"
    )
    with pytest.raises(SourceError, match=r"x\.arrow, record batch 0: the record batch cannot be"):
        list(open_source(tmp_path / "x.arrow", target="label").read())


LIMIT_SECONDS = 60


def limit_child() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_SECONDS, LIMIT_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))


def execute_limited(code: str, arguments: list[str]) -> None:
    limit_child()
    children.execute(code, arguments)


def run_limited(code: str, *paths: Path) -> str:
    """Run code that must end within a minute of processor time; it took 387 s and more."""
    names = [str(path) for path in paths]
    child = children.run(execute_limited, code, names, folder=paths[0].parent)
    assert child.returncode == 0, f"{child.returncode}: {child.stderr[-2000:]}"
    return child.stdout


REFUSED = """
import sys
from priorwise.data import read_arff, ArffError, SourceError, open_source
readers = [lambda path: open_source(path, target=None)]
if sys.argv[1].endswith(".arff"):
    readers.append(read_arff)
for read in readers:
    try:
        read(sys.argv[1])
    except (ArffError, SourceError) as error:
        print(error)
"""


@pytest.mark.usefixtures("address_space_limits")
def test_a_category_declared_twice_among_many_is_found_quickly(tmp_path: Path) -> None:
    categories = ",".join([*(f"c{i}" for i in range(60_000)), "c59999"])
    path = tmp_path / "x.arff"
    path.write_text(f"@relation r\n@attribute a {{{categories}}}\n@data\nc0\n")
    told = run_limited(REFUSED, path)
    assert told.count("x.arff:2: attribute 'a' declares 'c59999' twice") == 2


@pytest.mark.usefixtures("address_space_limits")
def test_a_column_that_is_there_twice_among_many_is_found_quickly(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    names = [*(f"c{i}" for i in range(60_000)), "c59999"]
    path.write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    told = run_limited(REFUSED, path)
    assert "x.csv: the column 'c59999' is there twice" in told


WIDE = """
import sys
from priorwise.data import open_source
from priorwise.datasets import FileDataset
for path in sys.argv[1:]:
    (batch,) = open_source(path, target="label").read()
    print(batch.X.shape)
"""


@pytest.mark.usefixtures("address_space_limits")
def test_many_columns_take_linear_time(tmp_path: Path) -> None:
    n = 6_000
    paths = [tmp_path / f"x.{ending}" for ending in ("csv", "arff", "feather", "parquet")]
    csv, arff, feather_file, parquet = paths
    attributes = "".join(f"@attribute c{i} real\n" for i in range(n))
    arff.write_text(f"@relation r\n{attributes}@attribute label {{x,y}}\n@data\n{{}}\n{{}}\n")
    frame = pd.DataFrame(np.zeros((2, n)), columns=[f"c{i}" for i in range(n)])
    frame = pd.concat([frame, pd.DataFrame({"label": ["x", "y"]})], axis=1)
    frame.to_csv(csv, index=False)
    frame.to_feather(feather_file)
    frame.to_parquet(parquet)
    assert run_limited(WIDE, *paths) == f"(2, {n})\n" * len(paths)


def write_sparse(path: Path, n_attributes: int, n_rows: int) -> Path:
    attributes = "".join(f"@attribute c{i} real\n" for i in range(n_attributes))
    path.write_text(f"@relation r\n{attributes}@data\n" + "{}\n" * n_rows)
    return path


READ_SPARSE = """
import resource, sys
from pathlib import Path
from priorwise.data import read_arff, ArffError
from priorwise.data.arff import syntax
syntax.MAX_SPARSE_CELLS //= 16
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (2**31 // 16), used + (2**31 // 16)))
try:
    read_arff(sys.argv[1])
except ArffError as error:
    print(error)
"""


@pytest.mark.usefixtures("address_space_limits")
def test_sparse_rows_that_become_a_huge_table_are_refused(tmp_path: Path) -> None:
    """A sixteenth of the limit takes less than a sixteenth of 2 GB."""
    path = write_sparse(tmp_path / "x.arff", 25_000, 20_000)
    assert path.stat().st_size < 1_000_000
    told = run_limited(READ_SPARSE, path)
    assert "the sparse rows become a table of more than 4000000 cells" in told
    assert "MAX_SPARSE_CELLS sets that limit" in told


def test_sparse_rows_are_read_in_batches_whatever_their_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arff_syntax, "MAX_SPARSE_CELLS", 1000)
    path = write_sparse(tmp_path / "x.arff", 30, 100)
    with pytest.raises(ArffError, match=r"x\.arff:66: the sparse rows become"):
        read_arff(path)
    batches = open_source(path, target=None, batch_rows=7).read()
    assert sum(batch.n_rows for batch in batches) == 100


def test_sparse_rows_mixed_with_dense_ones_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.arff"
    path.write_text(
        "@relation r\n@attribute a real\n@attribute b {u,v}\n@attribute c real\n@data\n"
        "{0 1.5, 1 v}\n1,u,?\n{}\n{2 -3}, {4}\n"
    )
    data = read_arff(path)
    np.testing.assert_array_equal(data.columns[0], [1.5, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(data.columns[1], [1, 0, 0, 0])
    np.testing.assert_array_equal(data.columns[2], [0.0, np.nan, 0.0, -3.0])
    assert data.weights is not None
    assert data.weights.tolist() == [1.0, 1.0, 1.0, 4.0]


@pytest.mark.parametrize("ending", [".csv.gz", ".arff.gz"])
def test_gzip_that_becomes_too_long_is_refused(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FREE_PACKED_BYTES", 1000)
    path = tmp_path / f"x{ending}"
    header = b"a,label\n" if "csv" in ending else b"@relation r\n@attribute a real\n@data\n"
    path.write_bytes(gzip.compress(header + b"1,1\n" * 1_000_000))
    with pytest.raises(ValueError, match=r"x\..*gz: .*more than 200 times as long"):
        list(open_source(path, target=None).read())
    with pytest.raises(ValueError, match=r"x\..*gz: .*more than 200 times as long"):
        read_table(path)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_only_regular_files_of_a_folder_are_opened(kind: str, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,label\n1,x\n")
    path = tmp_path / "2.csv"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    for read in (lambda p: open_source(p, target="label"), find_datasets):
        with pytest.raises(OSError, match=rf"2\.csv must be a regular file, got a {kind}"):
            read(tmp_path)
    for read in (lambda p: open_source(p, target="label"), read_table):
        with pytest.raises(OSError, match=rf"2\.csv must be a regular file, got a {kind}"):
            read(path)


def test_wide_tables_have_short_batches(tmp_path: Path) -> None:
    frame = pd.DataFrame(np.zeros((3, 1000)), columns=[f"c{i}" for i in range(1000)])
    assert open_source(frame, target=None).batch_rows == default_batch_rows(1000) == 32_000
    assert open_source(frame, target=None, batch_rows=10).batch_rows == 10
