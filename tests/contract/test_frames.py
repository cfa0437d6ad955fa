"""A table is the same table, whichever library holds it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from contract.rows.tables import mixed, numbers
from contract.settings import Setting, each_setting


def as_objects(frame: pd.DataFrame) -> np.ndarray:
    return frame.astype(object).where(frame.notna(), None).to_numpy()


LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "category": lambda frame: frame.astype({"colour": "category", "shape": "category"}),
    "objects": as_objects,
    "lists": lambda frame: as_objects(frame).tolist(),
}


@each_setting("ConditionalTable", smoothers=False)
def test_frames_of_all_libraries_agree(setting: Setting) -> None:
    X, y = mixed()
    for convert in LIBRARIES.values():
        other = convert(X)
        np.testing.assert_array_equal(setting.fit(other, y).predict_proba(other), setting.proba)


@each_setting("ConditionalTable", smoothers=False)
def test_matrices_of_numbers_agree_however_they_are_laid_out(setting: Setting) -> None:
    X, y = numbers()
    X = X.astype(np.float32).astype(np.float64)
    plain = setting.fit(X, y).predict_proba(X)
    frame = pd.DataFrame(X)
    others: list[Any] = [
        np.asfortranarray(X),
        X.astype(np.float32),
        np.repeat(X, 2, axis=0)[::2],
        frame.rename(columns=str),
        pl.from_numpy(X),
    ]
    for other in others:
        np.testing.assert_array_equal(setting.fit(other, y).predict_proba(other), plain)


@each_setting("ConditionalTable", smoothers=False)
def test_arrays_that_may_not_be_written_are_read(setting: Setting) -> None:
    X, y = numbers()
    plain = setting.fit(X, y).predict_proba(X)
    weight = np.ones(len(y))
    for array in (X, y, weight):
        array.setflags(write=False)
    model = setting.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict_proba(X), plain)


@each_setting("ConditionalTable", smoothers=False)
def test_the_rows_given_are_not_changed(setting: Setting) -> None:
    X, y = mixed()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    before = X.copy(), y.copy(), weight.copy()
    setting.fit(X, y, sample_weight=weight).predict_proba(X)
    pd.testing.assert_frame_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    np.testing.assert_array_equal(weight, before[2])
