"""Rows as they are given: their columns are those of an encoder, by name if training had names."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from priorwise.data.tables.column_kinds import drop_column
from priorwise.data.tables.dict_rows import DictRows, as_dict_rows
from priorwise.data.tables.label_keys import mark_keys
from priorwise.data.tables.raw_table import RawTable


def arrange_rows(encoder: Any, X: Any, model: Any) -> Any:
    """Return dicts as `DictRows` with the columns of a fitted encoder, anything else as it is.

    A column of the classes, which `model` knows by name, may be among those of X.
    """
    if isinstance(X, np.ndarray):
        return X
    return as_dict_rows(X, list(encoder.column_names), getattr(model, "target_name_", None))


def open_rows(encoder: Any, X: Any, model: Any) -> tuple[RawTable, Any]:
    """Return the table of arranged rows, and the rows without a column of the classes.

    ValueError, which names the columns, if they are not those of training; messages name `model`.
    """
    table = RawTable(X, marks=encoder.marks)
    expected = list(encoder.column_names) or list(range(encoder.n_features_in_))
    target = getattr(model, "target_name_", None)
    if table.names != expected and target in table.names and target not in expected:
        X = drop_column(X, str(target))
        table = RawTable(X, marks=encoder.marks)
    if table.names != expected:
        validate_data(model, X, reset=False, skip_check_array=True)
    return table, X


def learn_columns(encoder: Any, X: Any) -> RawTable:
    """Return the table of rows to learn from, whose columns become those of the encoder."""
    table = RawTable(X, marks=mark_keys(encoder.missing_values))
    if isinstance(as_dict_rows(X), DictRows):
        encoder.n_features_in_ = table.n_columns
        encoder.feature_names_in_ = np.array(table.names, dtype=object)
    else:
        validate_data(encoder, X, reset=True, skip_check_array=True)
    return table
