import gzip

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from priorwise.datasets import FileDataset, find_datasets, read_table

FRAME = pd.DataFrame({"a": [1.5, 2.0, 3.0], "b": ["x", "y", "x"], "label": ["u", None, "v"]})
ARFF = "@relation r\n@attribute a real\n@attribute label {u,v}\n@data\n1,u\n2,?\n3,v\n"
TYPES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


@pytest.fixture
def folder(tmp_path):
    FRAME.to_csv(tmp_path / "one.csv", index=False)
    FRAME.to_parquet(tmp_path / "two.parquet")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "three.arff.gz").write_bytes(gzip.compress(ARFF.encode()))
    (tmp_path / "notes.txt").write_text("not a table")
    return tmp_path


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("file", ["one.csv", "two.parquet", "deep/three.arff.gz"])
def test_every_format_is_read_into_every_kind_of_frame(folder, file, kind):
    frame = read_table(folder / file, kind=kind)
    assert isinstance(frame, TYPES[kind])
    assert frame.shape[0] == 3
    names = frame.column_names if kind == "pyarrow" else list(frame.columns)
    assert names[0] == "a"
    assert names[-1] == "label"


@pytest.mark.parametrize("kind", ["auto", *TYPES])
def test_a_folder_gives_features_and_target_without_unlabelled_rows(folder, kind):
    datasets = find_datasets(folder, kind=kind)
    assert list(datasets) == ["one", "three", "two"]
    for dataset in datasets.values():
        with pytest.warns(UserWarning, match="left out 1 row without a target"):
            X, y = dataset()
        assert y.tolist() == ["u", "v"]
        assert X.shape[0] == 2


def test_a_file_in_place_of_a_folder_is_one_data_set(folder):
    assert find_datasets(folder / "one.csv", "b")["one"]()[1].tolist() == ["x", "y", "x"]


def test_the_target_is_chosen_by_name_or_position(folder):
    X, y = FileDataset(str(folder / "one.csv"), target="b")()
    assert y.tolist() == ["x", "y", "x"]
    assert list(X.columns) == ["a", "label"]
    _, y = FileDataset(str(folder / "one.csv"), target=0)()
    assert y.tolist() == [1.5, 2.0, 3.0]
    with pytest.raises(ValueError, match="target must be one of"):
        FileDataset(str(folder / "one.csv"), target="z")()
    with pytest.raises(ValueError, match="target must index 3 columns, got 3"):
        FileDataset(str(folder / "one.csv"), target=3)()


def test_files_of_one_name_are_told_apart_by_their_folder(folder):
    (folder / "deep" / "one.csv").write_text("a,label\n1,u\n")
    assert list(find_datasets(folder)) == ["deep/one", "one", "three", "two"]
    (folder / "one.arff").write_text(ARFF)
    with pytest.raises(ValueError, match=r"two files in .* are called 'one'"):
        find_datasets(folder)


def test_unknown_endings_kinds_and_folders_are_refused(folder):
    with pytest.raises(ValueError, match=r"source must end in one of .*, got 'notes.md'"):
        read_table(folder / "notes.md")
    with pytest.raises(ValueError, match="kind must be one of 'auto', 'pandas'"):
        read_table(folder / "one.csv", kind="excel")
    with pytest.raises(ValueError, match="folder must be a directory"):
        find_datasets(folder / "nowhere")
