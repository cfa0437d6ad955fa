import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from priorwise.data import FrameEncoder

COLUMNS = {"a": [1.0, None, 4.0], "b": ["x", None, "w"], "c": [True, False, True], "d": [1, 2, 3]}


def as_frames():
    pandas = pd.DataFrame(COLUMNS)
    pandas["b"] = pandas["b"].astype("category")
    array = np.empty((3, 4), dtype=object)
    for j, column in enumerate(COLUMNS.values()):
        array[:, j] = column
    return {
        "pandas": pandas,
        "polars": pl.DataFrame(COLUMNS),
        "pyarrow": pa.table(COLUMNS),
        "numpy": array,
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "numpy"])
def test_every_kind_of_frame_gives_the_same_matrix(kind):
    frame = as_frames()[kind]
    expected = [
        [1.0, 0, 1, 0, 0, 1, 1],
        [2.5, 0, 0, 1, 1, 0, 2],
        [4.0, 1, 0, 0, 0, 1, 3],
    ]
    assert FrameEncoder().fit_transform(frame).tolist() == expected
    ordinal = FrameEncoder(nominal="ordinal").fit_transform(frame)
    assert ordinal.tolist() == [[1.0, 1, 1, 1], [2.5, 2, 0, 2], [4.0, 0, 1, 3]]


def test_a_value_never_seen_is_no_known_value():
    train = np.array([["x"], ["y"]], dtype=object)
    test = np.array([["z"], [None]], dtype=object)
    assert FrameEncoder().fit(train).transform(test).tolist() == [[0, 0], [0, 0]]
    assert FrameEncoder(nominal="ordinal").fit(train).transform(test).tolist() == [[-1], [-1]]


def test_numbers_pass_and_missing_ones_get_the_training_mean():
    encoder = FrameEncoder().fit(np.array([[1.0], [3.0], [np.nan]]))
    assert encoder.transform(np.array([[np.nan], [7.0]])).tolist() == [[2.0], [7.0]]
    nothing = FrameEncoder().fit(np.array([[np.nan], [np.nan]]))
    assert nothing.transform(np.array([[np.nan], [5.0]])).tolist() == [[0.0], [5.0]]


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="nominal must be one of"):
        FrameEncoder(nominal="hash").fit(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="X has 3 features, but FrameEncoder is expecting 2"):
        FrameEncoder().fit(np.zeros((2, 2))).transform(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="Expected 2D array"):
        FrameEncoder().fit(np.zeros(2))
