"""Files as spreadsheets, databases and statistics programs write them: read right, or refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import subprocess
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from data.sources.written_files import (
    FRAME,
    INDEX,
    LEVEL_NAMES,
    LEVELS,
    NAMES,
    PLAIN,
    ROWS,
    archive,
    r_rows,
    text,
    workbook,
)
from priorwise import NaiveBayesClassifier, load
from priorwise.data import SourceError, open_source
from priorwise.data.sources.file_list import FileNotice
from priorwise.datasets import read_table


@dataclass(frozen=True)
class File:
    """A file, what it holds, and what is said of it."""

    content: bytes
    rows: list[list[Any]] | None = None  # ROWS
    notice: str | None = None
    ending: str = ".csv"
    added: str | None = None  # name of a first column of row numbers
    names: list[str] = field(default_factory=NAMES.copy)


GERMAN = text(separator=";", decimal=",", line_end="\r\n")
READ: dict[str, File] = {
    "English Excel, CSV": File(text(line_end="\r\n").encode("utf-8-sig")),
    "English Excel, CSV with thousands": File(
        text(thousands=",", line_end="\r\n").encode(), notice="text with ',' between thousands"
    ),
    "German Excel, CSV": File(
        GERMAN.encode("cp1252"), notice="semicolon-separated Latin-1 with decimal commas"
    ),
    "German Excel, CSV UTF-8": File(
        GERMAN.encode("utf-8-sig"), notice="semicolon-separated with decimal commas"
    ),
    "German Excel with thousands": File(
        text(separator=";", decimal=",", thousands=".").encode("cp1252"),
        notice="semicolon-separated Latin-1 with decimal commas and '.' between thousands",
    ),
    "French Excel with narrow spaces": File(
        text(separator=";", decimal=",", thousands="\u202f").encode(),
        notice="semicolon-separated with decimal commas",
    ),
    "French Excel with spaces": File(
        text(separator=";", decimal=",", thousands="\xa0").encode("cp1252"),
        notice="semicolon-separated Latin-1 with decimal commas",
    ),
    "Swiss Excel with apostrophes": File(
        text(separator=";", thousands="'").encode("cp1252"),
        notice="semicolon-separated Latin-1 with \"'\" between thousands",
    ),
    "Spanish Excel, a euro sign": File(
        text([*ROWS[:3], [0.75, "00501", "€", "b"]], ";", ",").encode("cp1252"),
        [*ROWS[:3], [0.75, "00501", "€", "b"]],
        "semicolon-separated Windows-1252 with decimal commas",
    ),
    "Excel, Unicode text": File(
        text(separator="\t", decimal=",", line_end="\r\n").encode("utf-16"),
        notice="tab-separated UTF-16 with decimal commas",
        ending=".txt",
    ),
    "UTF-16 without a mark": File(text().encode("utf-16-le"), notice="UTF-16"),
    "UTF-16, big end first": File("\ufeff".encode("utf-16-be") + text().encode("utf-16-be"),
                                  notice="UTF-16"),
    "a line that names the separator": File(
        b"sep=;\r\n" + GERMAN.encode("cp1252"),
        notice="semicolon-separated Latin-1 with decimal commas",
    ),
    "Excel for Mac, CR alone": File(text(line_end="\r").encode()),
    "LibreOffice, all quoted": File(text(quote_all=True).encode()),
    "LibreOffice, decimal commas between commas": File(
        text(decimal=",").encode(), notice="text with decimal commas"
    ),
    "Google Sheets, TSV": File(
        text(PLAIN, "\t", line_end="\r\n").encode(), PLAIN, "tab-separated", ".tsv"
    ),
    "empty columns and rows behind the table": File(
        b"".join(line + b";;\r\n" for line in text(PLAIN, ";", ",").encode().splitlines())
        + b"\r\n\r\n",
        PLAIN,
        "semicolon-separated with decimal commas",
    ),
    "values with ends of lines": File(
        text([[1.5, "01234", "two\nlines", "a"], *PLAIN[1:]]).encode(),
        [[1.5, "01234", "two\nlines", "a"], *PLAIN[1:]],
    ),
    "#N/A of a spreadsheet": File(text(missing="#N/A").encode()),
    "psql, \\copy CSV": File(text().encode()),
    "psql, COPY text": File(
        text(PLAIN, "\t", missing="\\N").encode(), PLAIN, "tab-separated", ".txt"
    ),
    "psql, unaligned": File(text(PLAIN, "|").encode(), PLAIN, "bar-separated"),
    "mysql --batch": File(
        text(PLAIN, "\t", missing="NULL").encode(), PLAIN, "tab-separated", ".tsv"
    ),
    "SQL Server, bars": File(
        text(PLAIN, "|", missing="NULL", line_end="\r\n").encode("utf-16"), PLAIN,
        "bar-separated UTF-16",
    ),
    "R, write.csv": File(r_rows(",", ".").encode(), PLAIN, added=""),
    "R, write.csv2": File(
        r_rows(";", ",").encode(), PLAIN, "semicolon-separated with decimal commas",
        added="",
    ),
    "R, write.table without row names": File(
        r_rows("\t", ".", row_names=False).encode(), PLAIN, "tab-separated", ".txt"
    ),
    "SAS, PROC EXPORT with bars": File(
        text(PLAIN, "|", line_end="\r\n").encode(), PLAIN, "bar-separated", ".txt"
    ),
    "SAS, PROC EXPORT with points": File(text(missing=".").encode()),
    "UTF-32": File(text().encode("utf-32"), notice="UTF-32"),
    "pandas, index": File(FRAME.to_csv().encode(), added=""),
    "pandas, two levels of an index": File(
        FRAME.set_axis(INDEX).to_csv().encode(), LEVELS, names=LEVEL_NAMES
    ),
    "pandas, gzip": File(gzip.compress(FRAME.to_csv(index=False).encode()), ending=".csv.gz"),
    "pandas, European": File(
        FRAME.to_csv(index=False, sep=";", decimal=",", na_rep="NA").encode(),
        notice="semicolon-separated with decimal commas",
    ),
    "bzip2": File(bz2.compress(text().encode()), ending=".csv.bz2"),
    "xz": File(lzma.compress(GERMAN.encode()), ending=".csv.xz",
               notice="semicolon-separated with decimal commas"),
    "zip": File(archive(text().encode()), ending=".zip"),
    "a workbook": File(workbook(ROWS), ending=".xlsx"),
    "a workbook that is called CSV": File(workbook(ROWS)),
    "a workbook of two sheets": File(
        workbook(ROWS, sheets=2), ending=".xlsx", notice="sheet 'Sheet' of 2"
    ),
}  # fmt: skip

REFUSED: dict[str, tuple[bytes, str, str]] = {
    "R, write.table": (r_rows(" ", ".").encode(), ".txt", "by spaces; the option separator"),
    "R, row names without a name": (
        r_rows("\t", ".", corner=False).encode(), ".tsv",
        "line 2 has 5 fields and the line of names 4; the option separator",
    ),
    "a title before the table": (
        b"Report of May\n" + text(PLAIN).encode(), ".csv", "line 1 .*must hold the names",
    ),
    "values where the names belong": (
        text(names=False).encode(), ".csv", r"line 1 must hold the names .*'1\.5', '01234', 'Zür",
    ),
    "numbers where the names belong": (
        b"6,148.5,72\n1,85.5,66\n8,183,64\n", ".csv", "line 1 must hold the names",
    ),
    "a line behind the table": (
        text(PLAIN).encode() + b"(4 rows)\n", ".csv",
        "line 6 has 1 field and the line of names 4; the option separator",
    ),
    "a comment behind the table": (
        text(PLAIN).encode() + b"# end, of file\n", ".csv",
        "line 6 has 2 fields and the line of names 4; the option separator",
    ),
    "a quote that is not closed": (
        text(PLAIN).encode().replace(b"10115", b'"10115'), ".csv", "line 3 has a quote",
    ),
    "thousands or decimals": (
        b"size;label\n1.234;a\n2.345;b\n", ".csv",
        r"column 'size' holds '1\.234'.*the option decimal",
    ),
    "both decimal marks": (
        b"size;share;label\n1,5;1.5;a\n2,5;2.5;b\n", ".csv",
        "column 'size'.*decimal commas and column 'share'.*the option decimal",
    ),
    "two separators": (b"a,b;c\n1,x;2\n3,y;4\n", ".csv", "commas or semicolons; the option sep"),
    "Latin-1 behind UTF-8": (
        b"a,label\n" + b"x,%b\n" % (b"y" * 95) * 60_000 + "ü,y\n".encode("latin-1"), ".csv",
        "line 60002 has a byte that is no UTF-8, 0xfc: the option encoding",
    ),
    "bytes that are no text": (bytes(range(256)) * 20, ".csv", "it is no text"),
    "an old workbook": (b"\xd0\xcf\x11\xe0" + bytes(600), ".csv", r"old Excel file \(\.xls\)"),
    "an archive of two files": (archive(b"a\n1\n", b"a\n2\n"), ".zip", "must hold one file, got 2"),
    "a sheet without rows": (workbook([], names=[]), ".xlsx", "no rows; the option sheet"),
    "a title above a sheet": (
        workbook([NAMES, *ROWS], names=["Report"]), ".xlsx",
        "row 2 has 4 cells and the row of names",
    ),
    "decimal commas behind many rows": (
        b"a;label\n" + b"11;%b\n" % (b"y" * 95) * 60_000 + b"11,5;y\n", ".csv",
        "line 60002, column 'a': .*'11,5'; the option decimal",
    ),
    "a number with a zero behind many rows": (
        b"a,label\n" + b"11,%b\n" % (b"y" * 95) * 60_000 + b"011,y\n", ".csv",
        "line 60002, column 'a': a number with a leading zero .*categorical_features",
    ),
}  # fmt: skip


def read_quietly(read: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What is read, and what is said of the file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = read()
    return result, [str(w.message) for w in caught if w.category is FileNotice]


def list_rows(columns: dict[str, list[Any]]) -> list[list[Any]]:
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return [[None if value != value else value for value in row] for row in rows]


@pytest.mark.parametrize("name", READ)
def test_a_file_is_read_right_and_predicted_as_it_is_read(name: str, tmp_path: Path) -> None:
    file = READ[name]
    path = tmp_path / f"rows{file.ending}"
    path.write_bytes(file.content)
    expected = ROWS if file.rows is None else file.rows
    names = [file.added] * (file.added is not None) + file.names
    frame, said = read_quietly(lambda: read_table(path, kind="pyarrow"))
    assert (
        said == [f"{path}: read as {file.notice}"]
        or (
            len(said) == 1
            and file.notice
            and said[0].startswith(f"{path}: read as {file.notice} and ")
        )
        or (not said and file.notice is None)
    )
    read, _ = read_quietly(lambda: [b.X for b in open_source(path, target=None).read()])
    for table in (frame, *read):
        assert table.column_names == names
        columns = table.to_pydict()
        if file.added is not None:
            assert len(set(columns.pop(file.added))) == len(expected)
        assert list_rows(columns) == expected
    X = frame.drop_columns(["label"])
    model = NaiveBayesClassifier(categorical_features=["plz"]).fit(X, frame["label"].to_pylist())
    out = tmp_path / "out.csv"
    read_quietly(lambda: model.predict_dataset(path, out))
    predicted = pd.read_csv(out)[["p(a)", "p(b)"]].to_numpy()
    np.testing.assert_allclose(predicted, model.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused_with_its_name_and_what_to_do(name: str, tmp_path: Path) -> None:
    content, ending, problem = REFUSED[name]
    path = tmp_path / f"rows{ending}"
    path.write_bytes(content)
    reads: list[Callable[[], Any]] = [
        lambda: read_table(path, kind="pyarrow"),
        lambda: list(open_source(path, target=None).read()),
    ]
    if "behind many" in name:
        # All values are known when a file is read whole: the column is text.
        assert read_quietly(reads.pop(0))[0]["a"].to_pylist()[-1] in ("011", "11,5")
    for read in reads:
        with pytest.raises((SourceError, OSError), match=rf"rows\{ending}.*{problem}"):
            read_quietly(read)


def test_a_line_of_names_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n")
    with pytest.raises(SourceError, match=r"rows\.csv: there are no rows below the names"):
        read_table(path)
    with pytest.raises(ValueError, match="at least one row"):
        NaiveBayesClassifier().fit_dataset(path, "label")


@pytest.mark.parametrize(
    "content",
    [
        "town,2018,2019,2017\nUlm,1500,2500,2000\nBonn,2600,1400,2018\n",  # years
        "1100.5,1101.5,1102.5,fat\n0.4,0.5,0.6,7\n0.5,0.6,0.7,9\n",  # wavelengths
        "0.1,0.5,0.9\n0.0,0.2,0.8\n0.3,0.6,1.2\n",  # quantiles
        "0,5,3,label\n-9.5,7,8,a\n9,-7,-8,b\n",  # some columns of an array
    ],
)
def test_names_may_be_numbers(content: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(content)
    frame, said = read_quietly(lambda: read_table(path, kind="pyarrow"))
    assert ",".join(frame.column_names) == content.split("\n", 1)[0]
    assert not said


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="sqlite3 is not installed")
@pytest.mark.parametrize(("mode", "notice"), [("csv", 0), ("tabs", 1), ("list", 1)])
def test_what_sqlite_writes_is_read(mode: str, notice: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    values = ",".join(
        str(tuple("~" if v is None else v for v in row)).replace("'~'", "NULL") for row in PLAIN
    )
    statements = f"""
        CREATE TABLE r (size REAL, plz TEXT, place TEXT, label TEXT);
        INSERT INTO r VALUES {values};
    """
    command = ["sqlite3", "-header", ":memory:", statements, f".mode {mode}", "SELECT * FROM r;"]
    path.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    frame, said = read_quietly(lambda: read_table(path, kind="pyarrow"))
    assert list_rows(frame.to_pydict()) == PLAIN
    assert len(said) == notice


def test_what_is_said_of_a_file_is_not_recognised(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a;b;c\n1.234;1,5;x\n2.345;2;y\n")
    told: dict[str, Any] = {"separator": ";", "decimal": ",", "encoding": "utf-8"}
    frame, said = read_quietly(lambda: read_table(path, kind="pyarrow", **told))
    assert frame["a"].to_pylist() == [1234.0, 2345.0]
    assert not said
    told["decimal"] = "."
    frame, _ = read_quietly(lambda: read_table(path, kind="pyarrow", **told))
    assert frame["a"].to_pylist() == [1.234, 2.345]
    assert frame["b"].to_pylist() == ["1,5", "2"]
    for parameter, value in {"separator": "ab", "decimal": ";", "encoding": "latin1000"}.items():
        wrong: dict[str, Any] = {parameter: value}
        with pytest.raises(ValueError, match=f"^{parameter} must be "):
            open_source(path, target=None, **wrong)


@pytest.mark.parametrize(("decimal", "value"), [(",", 1234.0), (".", 1.234)])
def test_a_prediction_file_that_leaves_it_open_is_read_as_that_of_training(
    decimal: str, value: float, tmp_path: Path
) -> None:
    train, new = tmp_path / "train.csv", tmp_path / "new.csv"
    sizes = np.linspace(1.05, 2000.55, 40).round(2)
    lines = [f"{size};{'ab'[i % 2]}".replace(".", decimal) for i, size in enumerate(sizes.tolist())]
    train.write_text("size;label\n" + "\n".join(lines))
    new.write_text("size\n1.234\n")
    model, _ = read_quietly(lambda: NaiveBayesClassifier().fit_dataset(train, "label"))
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    out = tmp_path / "out.csv"
    new.write_text("size;key\n1.234;x\n")
    read_quietly(lambda: loaded.predict_dataset(new, out))
    proba = pd.read_csv(out)[["p(a)", "p(b)"]].to_numpy()
    np.testing.assert_allclose(proba, model.predict_proba(pd.DataFrame({"size": [value]})))


def test_folders_and_patterns_are_read_as_one_table(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,plz\n1,1234\n")
    (tmp_path / "2.tsv").write_text("plz\ta\n01234\t2.5\n")
    (tmp_path / "notes.txt").write_text("nothing to read")
    for given in (tmp_path, f"{tmp_path}/*.?sv", [tmp_path / "1.csv", tmp_path / "2.tsv"]):
        frame, said = read_quietly(partial(read_table, given, kind="pyarrow"))
        assert frame.to_pydict() == {"a": [1.0, 2.5], "plz": ["1234", "01234"]}
        assert said == [f"{tmp_path / '2.tsv'}: read as tab-separated"]
    (tmp_path / "3.csv").write_text("a\n1\n")
    with pytest.raises(SourceError, match=r"3\.csv: the columns must be those of .*1\.csv"):
        read_quietly(lambda: read_table(tmp_path, kind="pyarrow"))
    with pytest.raises(FileNotFoundError, match="source must match a file"):
        read_table(f"{tmp_path}/*.parquet")
