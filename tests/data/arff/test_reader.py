import csv
import gzip
import io
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priorwise.data import ArffError, read_arff

SHARED = os.environ.get("PRIORWISE_SHARED", "")
HEADER = """% a comment
@RELATION 'the weather'
@attribute 'light level' real
@attribute\toutlook\t{ sunny, 'light rain', "it's \\"grey\\"", '?' }
@Attribute play {yes,no}
@DATA
"""


def read(text, name="play"):
    return read_arff(io.StringIO(text))


def rows_of(data):
    columns = [data.values(j).tolist() for j in range(len(data.names))]
    return [tuple(None if v != v else v for v in row) for row in zip(*columns, strict=True)]


def test_names_types_and_values_are_read():
    data = read(HEADER + "1.5,sunny,yes\n-2e3, 'light rain' , no\n")
    assert data.relation == "the weather"
    assert data.names == ("light level", "outlook", "play")
    assert [attribute.kind for attribute in data.attributes] == ["numeric", "nominal", "nominal"]
    assert data.attributes[1].categories == ("sunny", "light rain", 'it\'s "grey"', "?")
    assert rows_of(data) == [(1.5, "sunny", "yes"), (-2000.0, "light rain", "no")]


def test_a_bare_question_mark_is_missing_and_a_quoted_one_a_category():
    data = read(HEADER + "?,?,?\n1,'?',no\n")
    assert rows_of(data) == [(None, None, None), (1.0, "?", "no")]


def test_comments_blank_lines_and_lines_of_commas_are_skipped():
    text = HEADER + "\n% note\n1,sunny,yes\n,\n,,,\n   \n2,sunny,no % aside\n3,sunny,no,\n"
    assert [row[0] for row in rows_of(read(text))] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n", "\r"])
def test_every_kind_of_line_end_is_read(end):
    text = (HEADER + "1,sunny,yes\n2,sunny,no\n").replace("\n", end)
    assert rows_of(read(text)) == [(1.0, "sunny", "yes"), (2.0, "sunny", "no")]


def test_quotes_and_escapes_are_undone():
    data = read(HEADER + """1,"it's \\"grey\\"",yes\n2,'it\\'s "grey"',no\n""")
    assert [row[1] for row in rows_of(data)] == ['it\'s "grey"'] * 2


def test_sparse_rows_default_to_zero_and_the_first_category():
    data = read(HEADER + "{0 2.5, 2 no}\n{1 'light rain'}\n{}\n{1 ?}\n")
    assert rows_of(data) == [
        (2.5, "sunny", "no"),
        (0.0, "light rain", "yes"),
        (0.0, "sunny", "yes"),
        (0.0, None, "yes"),
    ]


def test_row_weights_are_read():
    data = read(HEADER + "1,sunny,yes,{2.5}\n2,sunny,no\n{0 1},{3}\n")
    assert data.weights.tolist() == [2.5, 1.0, 3.0]
    assert read(HEADER + "1,sunny,yes\n").weights is None


def test_text_and_dates_are_kept_as_written():
    text = "@relation r\n@attribute s string\n@attribute d date 'yyyy'\n@data\n'a, b',2001\n?,?\n"
    assert rows_of(read(text)) == [("a, b", "2001"), (None, None)]


def test_a_comma_after_the_name_and_a_range_after_the_type_are_tolerated():
    text = "@relation r\n@attribute a,{f,t}\n@attribute b integer [1,10]\n@data\nf,3\n"
    assert rows_of(read(text)) == [("f", 3.0)]


def test_gzip_bytes_and_paths_are_read(tmp_path):
    text = (HEADER + "1,sunny,yes\n").encode()
    path = tmp_path / "weather.arff.gz"
    path.write_bytes(gzip.compress(text))
    expected = [(1.0, "sunny", "yes")]
    assert rows_of(read_arff(path)) == expected
    assert rows_of(read_arff(str(path))) == expected
    assert rows_of(read_arff(io.BytesIO(text))) == expected
    with path.open("rb") as file:
        assert rows_of(read_arff(file)) == expected


def test_latin_1_is_read_when_utf_8_fails():
    text = "@relation r\n@attribute a {f\xfcnf}\n@data\nf\xfcnf\n"
    for encoding in ("utf-8", "latin-1", "utf-8-sig"):
        assert rows_of(read_arff(io.BytesIO(text.encode(encoding)))) == [("f\xfcnf",)]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (HEADER + "1,sunny,yes\n1,sunny\n", 8, "expected 3 values, got 2"),
        (HEADER + "1,sunny,yes,no\n", 7, "expected 3 values, got 4"),
        (
            HEADER + "one,sunny,yes\n",
            7,
            "of 'light level' must be a finite number, got 'one'",
        ),
        (HEADER + "\n\n1,snow,yes\n", 9, "'snow' is not among the declared values of 'outlook'"),
        (HEADER + "1e999,sunny,yes\n", 7, "must be a finite number"),
        (HEADER + "1_0,sunny,yes\n", 7, "must be a finite number"),
        (HEADER + "1,,yes\n", 7, "the value of 'outlook' is empty"),
        (HEADER + "1,'sunny,yes\n", 7, "the quote ' is not closed"),
        (HEADER + "1,'sunny'x,yes\n", 7, "a comma is missing after"),
        (HEADER + "{0 1, 0 2}\n", 7, "index 0 is given twice"),
        (HEADER + "{3 1}\n", 7, "index 3 is too large for 3 attributes"),
        (HEADER + "{x 1}\n", 7, "index 'x'"),
        (HEADER + "{0 1\n", 7, "the brace { is not closed"),
        (HEADER + "1,sunny,yes,{-1}\n", 7, "weight must not be negative"),
        (HEADER + "{0 1} trailing\n", 7, "unexpected 'trailing'"),
        ("@relation r\n@attribute a {x,x}\n@data\n", 2, "declares 'x' twice"),
        ("@relation r\n@attribute a {x\n@data\n", 2, "the brace { is not closed"),
        ("@relation r\n@attribute a money\n@data\n", 2, "unknown type 'money'"),
        ("@relation r\n@attribute a\n@data\n", 2, "has no type"),
        ("@relation r\n@attribute\n@data\n", 2, "needs a name"),
        ("@relation r\n@attribute a real\n@attribute a real\n", 3, "declared twice"),
        ("@relation r\nhello\n", 2, "expected @relation"),
        ("@relation r\n@data\n", 2, "no @attribute"),
        ("@relation r\n@attribute s string\n@attribute a real\n@data\n{1 2}\n", 5, "give the text"),
    ],
)
def test_a_bad_line_is_named_with_its_file_and_number(tmp_path, text, line, problem):
    path = tmp_path / "bad.arff"
    path.write_text(text)
    with pytest.raises(ArffError) as caught:
        read_arff(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert problem in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_file_without_data_or_with_damaged_gzip_is_an_error():
    with pytest.raises(ArffError, match="no @data"):
        read("@relation r\n@attribute a real\n")
    with pytest.raises(ArffError, match="gzip data is damaged"):
        read_arff(io.BytesIO(gzip.compress(HEADER.encode())[:-20]))
    with pytest.raises(ArffError, match="gzip data is damaged"):
        read_arff(io.BytesIO(b"\x1f\x8bnonsense"))


def test_an_odd_line_in_a_long_file_changes_no_other_row():
    plain = [f"{i},sunny,{'yes' if i % 3 else 'no'}" for i in range(50_000)]
    odd = plain.copy()
    odd[30_000] = """30000, "sunny" ,no"""
    expected = read(HEADER + "\n".join(plain))
    data = read(HEADER + "\n".join(odd))
    for ours, theirs in zip(data.columns, expected.columns, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    odd[45_000] = "1,snow,no"
    with pytest.raises(ArffError, match=":45007: 'snow'"):
        read(HEADER + "\n".join(odd))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_keep_categories_and_missing_values(kind):
    data = read(HEADER + "1.5,sunny,yes\n?,?,no\n")
    frame = data.to_frame(kind)
    if kind == "pandas":
        assert list(frame["outlook"].cat.categories) == list(data.attributes[1].categories)
        rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    elif kind == "polars":
        assert frame["outlook"].dtype.categories.to_list() == list(data.attributes[1].categories)
        rows = [list(row) for row in frame.rows()]
    else:
        rows = [list(row.values()) for row in frame.to_pylist()]
    assert rows == [[1.5, "sunny", "yes"], [None, None, "no"]]


def test_features_and_target_are_split():
    data = read(HEADER + "1.5,sunny,yes\n2,sunny,no\n")
    X, y = data.to_X_y()
    assert isinstance(X, pd.DataFrame)
    assert list(X.columns) == ["light level", "outlook"]
    assert y.tolist() == ["yes", "no"]
    X, y = data.to_X_y(target="light level", kind="numpy")
    assert X.tolist() == [["sunny", "yes"], ["sunny", "no"]]
    assert y.tolist() == [1.5, 2.0]
    with pytest.raises(ValueError, match="attribute must be one of"):
        data.to_X_y(target="colour")
    with pytest.raises(ValueError, match="attribute must index 3 attributes, got 3"):
        data.to_X_y(target=3)


def test_rows_without_a_target_are_refused_or_dropped():
    data = read(HEADER + "1.5,sunny,?\n2,sunny,no\n")
    with pytest.raises(ValueError, match="target 'play' is missing in 1 rows"):
        data.to_X_y()
    X, y = data.to_X_y(missing_target="drop", kind="numpy")
    assert (X.tolist(), y.tolist()) == ([[2.0, "sunny"]], ["no"])


def test_a_file_without_rows_is_data():
    data = read(HEADER)
    assert data.n_rows == 0
    assert data.to_frame().shape == (0, 3)


@pytest.mark.skipif(not SHARED, reason="PRIORWISE_SHARED is not set")
def test_shared_files_have_the_rows_and_classes_of_the_catalogue():
    folder = Path(SHARED) / "datasets"
    with (folder / "catalogue.csv").open() as file:
        catalogue = list(csv.DictReader(file))
    assert len(catalogue) == 128
    # Larger files would take a minute.
    small = [e for e in catalogue if (folder / e["file"]).stat().st_size < 200_000]
    assert len(small) > 60
    for entry in small:
        data = read_arff(folder / entry["file"])
        kinds = [attribute.kind for attribute in data.attributes[:-1]]
        found = (
            data.n_rows,
            len(set(data.columns[-1].tolist())),
            kinds.count("numeric"),
            kinds.count("nominal"),
        )
        expected = tuple(int(entry[k]) for k in ("rows", "classes", "numeric", "nominal"))
        assert found == expected, entry["file"]
