"""Arrays and columns that are not what they seem: masked, sparse, without a class, too wide."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from priorwise.data.columns import encode_labels
from priorwise.data.encoding import TableEncoder


def test_rows_without_a_class_are_counted_and_the_first_are_named() -> None:
    labels = np.array(["a", "b"] * 10)
    masked = np.ma.array(labels, mask=np.isin(np.arange(20), [3, 7, 8, 9, 19]))
    rule = "Input y contains NaN: 5 rows of 20 have no class .rows from 0: 3, 7, 8, ...."
    numbers = np.ma.array(np.arange(20) % 2, mask=masked.mask)
    for y in (masked, numbers, masked.tolist(), pd.Series(masked.tolist()), numbers.astype(bool)):
        with pytest.raises(ValueError, match=rule):
            encode_labels(y)
    with pytest.raises(ValueError, match=r"1 row of 2 has no class \(rows from 0: 1\); leave"):
        encode_labels([1.0, np.nan])
    assert encode_labels(np.ma.array(labels, mask=False))[0].tolist() == [0, 1] * 10


def test_masked_cells_are_missing_whatever_marks_mean_missing() -> None:
    X = np.ma.array([["a"], ["b"], ["a"]], mask=[[False], [True], [False]])
    for marks in ("usual", ["-"]):
        encoder = TableEncoder(missing_values=marks).fit(X)
        assert encoder.category_labels(0) == ["a", None]


def test_whole_numbers_of_128_bits_are_read() -> None:
    pl = pytest.importorskip("polars")
    wide = pl.DataFrame({"a": pl.Series([1, 2, None, 2**100], dtype=pl.Int128)})
    encoder = TableEncoder(discretizer="equal-width").fit(wide)
    np.testing.assert_array_equal(encoder.read(wide).values, [[1.0, 2.0, np.nan, 2.0**100]])
    labels = TableEncoder(categorical_features=["a"]).fit(wide).category_labels(0)
    assert labels == [1, 2, 2**100, None]


def test_a_sparse_matrix_is_refused_with_what_to_give_instead() -> None:
    csr = scipy.sparse.csr_matrix
    for shape, rule in (
        ((20, 5), "Otherwise give X.toarray.., which has 100 cells"),
        ((1_000_000, 200), "choose the columns that matter, since X.toarray.. has 200,000,000"),
    ):
        with pytest.raises(TypeError, match=f"X must be dense.*text_features. {rule}|{rule}"):
            TableEncoder().fit(csr(shape))
