"""What the columns of a CSV file are, whatever library reads it."""

from pathlib import Path

import narwhals as nw
import pytest

from priorwise import NaiveBayesClassifier
from priorwise.datasets import read_table

KINDS = ["pandas", "polars", "pyarrow"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_texts_among_many_numbers_are_warned_of(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "".join(f"{i}.5,x\n" for i in range(50)) + "abc,y\n")
    with pytest.warns(UserWarning, match=r"column 'a' holds texts among numbers: 'abc' \(1 row\)"):
        frame = read_table(path, kind=kind)
    assert nw.from_native(frame, eager_only=True).shape == (51, 2)
    marked = nw.from_native(read_table(path, kind=kind, missing_values=["abc"]), eager_only=True)
    assert marked["a"].dtype.is_numeric()
    assert marked["b"].to_list()[-1] == "y"


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_with_spaces_are_numbers(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n 1.5 ,x\n 2.5,y\n")
    frame = nw.from_native(read_table(path, kind=kind), eager_only=True)
    assert frame["a"].to_list() == [1.5, 2.5]


def test_choices_settle_a_column_of_a_file_that_is_read_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    # The kinds of columns are those of the first bytes: long lines need fewer rows.
    rows = [f"{i % 90}.5{'0' * 80},{i % 2}\n" for i in range(70_000)]
    path.write_text("a,label\n" + "".join(rows) + "abc,1\n")
    with pytest.raises(ValueError, match=r"column 'a': .*abc.* numeric_features"):
        NaiveBayesClassifier().fit_dataset(path, "label")
    for model in (
        NaiveBayesClassifier(numeric_features=["a"]),
        NaiveBayesClassifier(missing_values=["abc"]),
    ):
        assert not model.fit_dataset(path, "label").encoder_.is_nominal_[0]
    model = NaiveBayesClassifier(categorical_features=[0]).fit_dataset(path, "label")
    assert "abc" in model.encoder_.category_labels(0)
