"""Data that cannot be used: the error names the file, the place, the column and the rule."""

import gzip
import os
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, parquet

from priorwise.data import SourceError
from priorwise.data.sources import open_source
from priorwise.data.sources.part import next_table

FRAME = pd.DataFrame(
    {"a": np.arange(400.0), "b": ["u", "v"] * 200, "label": ["x", "x", "y", "y"] * 100}
)


def damage(path, at):
    """Overwrite some bytes."""
    content = bytearray(path.read_bytes())
    content[at : at + 20] = b"\xff" * 20
    path.write_bytes(bytes(content))


def write(frame, path):
    if path.name.endswith(".parquet"):
        frame.to_parquet(path, row_group_size=100, write_page_checksum=True)
    elif path.name.endswith(".feather"):
        feather.write_feather(frame, path, chunksize=100)
    else:
        frame.to_csv(path, index=False)


def read_all(source, **options):
    return list(open_source(source, target="label", batch_rows=70, **options).read())


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz", ".feather"])
@pytest.mark.parametrize("column", ["b", "label"])
def test_a_column_missing_in_one_file_is_named(ending, column, tmp_path):
    write(FRAME, tmp_path / f"1{ending}")
    write(FRAME.drop(columns=column), tmp_path / f"2{ending}")
    with pytest.raises(SourceError, match=rf"2\{ending}: (column|target) '{column}' is missing"):
        open_source(tmp_path, target="label")


def test_a_column_missing_in_one_frame_of_a_stream_is_named():
    frames = [FRAME, FRAME.drop(columns="b")]
    with pytest.raises(SourceError, match="frame 1: column 'b' is missing"):
        read_all(lambda: iter(frames))


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
def test_a_column_of_another_kind_in_one_file_is_named(ending, tmp_path):
    write(FRAME, tmp_path / f"1{ending}")
    write(FRAME.assign(a=FRAME["b"]), tmp_path / f"2{ending}")
    rule = rf"2\{ending}: column 'a' must hold number values as in .*1\{ending}, got text values"
    with pytest.raises(SourceError, match=rule):
        open_source(tmp_path, target="label")


def test_a_column_of_another_kind_in_one_frame_of_a_stream_is_named():
    frames = [FRAME, FRAME.assign(a=FRAME["b"])]
    rule = r"frame 1, rows 0\.\.69: column 'a' must hold number values as before, got text values"
    with pytest.raises(SourceError, match=rule):
        read_all(lambda: iter(frames))


def test_a_column_without_values_in_one_file_takes_the_kind_of_the_others(tmp_path):
    table = pa.Table.from_pandas(FRAME)
    nothing = table.set_column(0, "a", pa.nulls(400)).set_column(1, "b", pa.nulls(400))
    parquet.write_table(nothing, tmp_path / "1.parquet")
    parquet.write_table(table, tmp_path / "2.parquet")
    batches = read_all(tmp_path)
    assert {batch.X.schema.field("a").type for batch in batches} == {pa.float64()}
    assert batches[0].X["b"].null_count == 70


def test_a_corrupt_row_group_is_named(tmp_path):
    path = tmp_path / "rows.parquet"
    write(FRAME, path)
    layout = parquet.ParquetFile(path).metadata.row_group(2).column(0)
    damage(path, layout.data_page_offset + layout.total_compressed_size // 2)
    source = open_source(path, target="label", batch_rows=70)
    batches = source.read()
    assert next(batches).n_rows == 70
    with pytest.raises(SourceError, match=r"rows\.parquet, row group 2, rows 200\.\.299: "):
        list(batches)


def test_a_corrupt_file_of_a_dataset_is_named(tmp_path):
    write(FRAME, tmp_path / "1.parquet")
    write(FRAME, tmp_path / "2.parquet")
    layout = parquet.ParquetFile(tmp_path / "2.parquet").metadata.row_group(0).column(0)
    damage(tmp_path / "2.parquet", layout.data_page_offset)
    with pytest.raises(SourceError, match=r"2\.parquet: the rows cannot be read"):
        read_all(dataset.dataset(tmp_path))


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".arff", ".csv.gz", ".arff.gz"])
def test_a_file_of_something_else_is_named(ending, tmp_path):
    path = tmp_path / f"rows{ending}"
    path.write_bytes(b"\x1f\x8bthis is not what its name says" * 10)
    with pytest.raises(ValueError, match=rf"rows\{ending}.* (cannot be read|damaged)"):
        read_all(path)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    write(FRAME, tmp_path / "1.csv")
    write(FRAME, tmp_path / "2.csv")
    os.chmod(tmp_path / "2.csv", 0)
    if os.access(tmp_path / "2.csv", os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(SourceError, match=r"2\.csv: the file cannot be read as CSV"):
        open_source(tmp_path, target="label")


def test_a_link_to_nowhere_in_a_folder_is_named(tmp_path):
    write(FRAME, tmp_path / "1.parquet")
    (tmp_path / "2.parquet").symlink_to(tmp_path / "gone.parquet")
    with pytest.raises(FileNotFoundError, match=r"source must be an existing file, got .*2\.parq"):
        open_source(tmp_path, target="label")


def test_a_file_removed_between_passes_is_named(tmp_path):
    write(FRAME, tmp_path / "1.parquet")
    source = open_source(tmp_path, target="label")
    list(source.read())
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(SourceError, match=r"1\.parquet: the file cannot be read as Parquet"):
        list(source.read())


def test_a_zipped_file_cut_short_is_named(tmp_path):
    words = np.random.default_rng(0).choice(["u", "v"], 40_000)
    frame = pd.DataFrame({"b": words, "label": words})
    frame.to_csv(tmp_path / "rows.csv.gz", index=False)
    arff = "@relation r\n@attribute b {u,v}\n@attribute label {u,v}\n@data\n"
    text = arff + "\n".join(f"{word},{word}" for word in words)
    (tmp_path / "rows.arff.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("rows.csv.gz", "rows.arff.gz"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: len(content) // 2])
        with pytest.raises(SourceError, match=rf"{name}.*: .* cannot be read"):
            read_all(tmp_path / name)


def test_a_csv_value_that_contradicts_the_first_block_is_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("b,a,label\n" + "w,1,x\n" * 1_000_000 + "w,many,y\n")
    rule = r"rows\.csv, after row \d+: .*line 1000002, column 'a': .*invalid value 'many'"
    with pytest.raises(SourceError, match=rule):
        list(open_source(path, target="label", features=["a"]).read())


def test_a_csv_row_of_another_length_is_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,label\n" + "1,w,x\n" * 100 + "1,w\n")
    with pytest.raises(
        SourceError, match=r"rows\.csv.*line 102 has 2 fields and the line of names 3"
    ):
        read_all(path)


def test_a_csv_column_that_is_there_twice_is_named(tmp_path):
    (tmp_path / "rows.csv").write_text("a,a,label\n1,2,x\n")
    with pytest.raises(SourceError, match=r"rows\.csv: the column 'a' is there twice"):
        read_all(tmp_path / "rows.csv")


def test_an_arff_value_that_is_not_declared_is_named_with_its_line(tmp_path):
    path = tmp_path / "rows.arff"
    head = "@relation r\n@attribute b {u,v}\n@attribute label {x,y}\n@data\n"
    path.write_text(head + "u,x\n" * 30_000 + "w,y\n")
    with pytest.raises(ValueError, match=r"rows\.arff:30005: 'w' is not among the declared"):
        read_all(path)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
@pytest.mark.parametrize("labels", ["text", "number"])
def test_a_target_that_is_missing_is_named_with_its_row(ending, labels, tmp_path):
    frame = FRAME.assign(label=FRAME["a"] % 2) if labels == "number" else FRAME.copy()
    frame.loc[[250, 251], "label"] = None
    write(FRAME.assign(label=frame["label"].ffill()), tmp_path / f"1{ending}")
    write(frame, tmp_path / f"2{ending}")
    rule = (
        rf"2\{ending}, rows 210\.\.279: target 'label' must not be missing, but is in 2 rows, .* 40"
    )
    with pytest.raises(SourceError, match=rule):
        read_all(tmp_path)


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy"])
def test_a_target_that_is_missing_in_a_frame_is_named(kind):
    frame = FRAME.copy()
    frame.loc[250, "label"] = None
    if kind != "pandas":
        frame = pl.from_pandas(frame)
    with pytest.raises(SourceError, match=r"frame, rows 210\.\.279: target 'label' must not be"):
        read_all(frame.lazy() if kind == "lazy" else frame)


def test_a_new_category_in_the_last_batch_is_read_like_any(tmp_path):
    frame = FRAME.copy()
    frame.loc[399, "b"] = "new"
    for ending in (".parquet", ".csv", ".feather"):
        write(frame, tmp_path / f"rows{ending}")
        assert read_all(tmp_path / f"rows{ending}")[-1].X["b"].to_pylist()[-1] == "new"


# A backslash in a name must not be read as the beginning of an escape.
@pytest.mark.parametrize("name", ["a", "a\\x\\1"])
def test_an_error_names_the_commonest_texts_of_a_column_of_numbers(tmp_path, name):
    path = tmp_path / "late.csv"
    # The kinds of columns are those of the first bytes: long lines need fewer rows.
    numbers = "".join(f"{i}.5{'0' * 80},{i % 2}\n" for i in range(70_000))
    path.write_text(f"{name},t\n{numbers}low,0\nhigh,1\nlow,1\nnone,0\nlow,1\nhigh,0\nrare,0\n")
    texts = r"'low' \(3 rows\), 'high' \(2 rows\), 'none' \(1 row\) and 1 more"
    rule = f"column {re.escape(repr(name))}.*{texts}"
    with pytest.raises(SourceError, match=rule):
        list(open_source(path, target="t").read())


@pytest.mark.parametrize("places", [[0, 7], [None, 7], [0, -1]])
def test_codes_beyond_the_labels_of_an_arrow_column_are_an_error(places):
    arrow = pytest.importorskip("pyarrow")
    codes = arrow.array(places, type=arrow.int32())
    column = arrow.DictionaryArray.from_arrays(codes, arrow.array(["a"]), safe=False)
    batch = arrow.record_batch([column], names=["word"])
    with pytest.raises(SourceError, match=r"column 'word' has labels -?\d\.\.\d of 1"):
        next_table(iter([batch]), ["word"], "the batch cannot be read", "a file")
