"""CSV files with quotes that are not closed, and with long lines."""

import csv
import gzip
import io
import random

import pandas as pd
import pytest

from priorwise import NaiveBayesClassifier
from priorwise.data import open_source
from priorwise.data.sources.part import SourceError
from priorwise.data.sources.row_scan import RowScan
from priorwise.datasets import read_table

ROWS = 'a,b\n1,"x"\n2,"y\n3,x\n4,y\n'


def find_open_quote(text: bytes) -> int | None:
    """A slow twin of `RowScan`: the line of the first quote that is not closed."""
    opened, has_lines, line, at = 0, False, 1, 0
    text = text.removeprefix(b"\xef\xbb\xbf")
    while at < len(text):
        byte, following = text[at : at + 1], text[at + 1 : at + 2]
        if not opened and byte == b'"':
            if at == 0 or text[at - 1 : at] in (b",", b"\n", b"\r"):
                opened, has_lines = line, False
        elif opened and byte == b'"' and following == b'"':
            at += 1
        elif opened and byte == b'"':
            if has_lines and following not in (b"", b",", b"\n", b"\r"):
                return opened
            opened = 0
        if byte == b"\n":
            line += 1
            has_lines = True
        at += 1
    return opened or None


def check(text: bytes, block_bytes: int) -> int | None:
    """The line that `RowScan` names if it is given the text in blocks."""
    checked = RowScan()
    try:
        for start in range(0, len(text), block_bytes):
            checked.add(text[start : start + block_bytes])
        checked.finish()
    except ValueError as error:
        return int(str(error).split()[1])
    return None


def test_lines_are_those_of_a_slow_twin():
    draw = random.Random(0)
    n_errors = 0
    for _ in range(5_000):
        text = "".join(draw.choices(['"', '""', ",", "\n", "x", "\r\n"], k=draw.randint(0, 14)))
        content = draw.choice([b"", b"\xef\xbb\xbf"]) + text.encode()
        expected = find_open_quote(content)
        n_errors += expected is not None
        # The mark at the beginning is not split.
        assert check(content, draw.choice([3, 4, 7, 100])) == expected, content
    assert 500 < n_errors < 4_500


def test_leading_zeros_are_found_in_their_columns():
    draw = random.Random(0)
    fields = ["7", "07", "0.5", "00.5", "x07", "08:30", "0", "01.02.2020", "a, 01", 'a"b', "c\n01"]
    zeros = {"07", "00.5"}
    for _ in range(1_000):
        rows = [draw.choices(fields, k=3) for _ in range(draw.randint(1, 4))]
        separator = draw.choice(",;|")
        out = io.StringIO()
        if draw.random() < 0.5:
            csv.writer(out, delimiter=separator).writerows(rows)
        else:
            csv.writer(out, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(rows)
        scan, content = RowScan(separator), out.getvalue().encode()
        for start in range(0, len(content), size := draw.choice([5, 20, 1000])):
            scan.add(content[start : start + size])
        scan.finish()
        expected = {i for row in rows for i, field in enumerate(row) if field in zeros}
        assert set(scan.zeros) == expected, content


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_a_file_with_an_open_quote_is_refused_with_its_line(tmp_path, kind, name):
    pytest.importorskip(kind)
    content = ROWS.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    for read in (
        lambda: read_table(tmp_path / name, kind=kind),
        lambda: NaiveBayesClassifier().fit_dataset(tmp_path / name, "b"),
        lambda: [batch.X for batch in open_source(tmp_path / name, target=None).read()],
    ):
        with pytest.raises(SourceError, match=rf"{name}.*line 3 has a quote that is not closed"):
            read()


def test_an_open_quote_far_from_the_beginning_is_found(tmp_path):
    rows = pd.DataFrame({"a": range(400_000), "b": "some label"}).to_csv(index=False)
    (tmp_path / "rows.csv").write_text(rows + '1,"open\n2,x\n3,y\n')
    with pytest.raises(SourceError, match="line 400002 has a quote that is not closed"):
        NaiveBayesClassifier().fit_dataset(tmp_path / "rows.csv", "b")


def test_an_open_quote_before_many_rows_is_found(tmp_path):
    rows = pd.DataFrame({"a": range(600_000), "b": "some label"}).to_csv(index=False)
    (tmp_path / "rows.csv").write_text(rows.replace("\n5,", '\n"5,'))
    with pytest.raises(SourceError, match="line 7 has a quote that is not closed"):
        NaiveBayesClassifier().fit_dataset(tmp_path / "rows.csv", "b")


def test_quotes_that_lose_no_row_are_read(tmp_path):
    text = 'size,note\n5" pipe,"two\nlines"\n"a ""b""",\' \n"x"y,"z" \n'
    (tmp_path / "rows.csv").write_text(text)
    frame = read_table(tmp_path / "rows.csv", kind="pandas")
    assert frame["size"].tolist() == ['5" pipe', 'a "b"', "xy"]
    (batch,) = open_source(tmp_path / "rows.csv", target=None).read()
    assert batch.X.column("size").to_pylist() == ['5" pipe', 'a "b"', "xy"]


@pytest.mark.parametrize("length", [20, 3_000])
def test_the_line_of_names_may_be_longer_than_a_block(tmp_path, length):
    names = [f"{i}".rjust(length, "n") for i in range(2_000)]
    rows = pd.DataFrame([range(2_000), range(1, 2_001)], columns=names)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    model = NaiveBayesClassifier(discretizer="equal-width").fit(rows[names[:3]], ["x", "y"])
    model.predict_dataset(tmp_path / "rows.csv", tmp_path / "out.csv", batch_rows=1)
    assert read_table(tmp_path / "out.csv", kind="pandas")["prediction"].tolist() == ["x", "y"]
