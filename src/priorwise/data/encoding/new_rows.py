"""Reading of rows that are not from training: labels as codes, numbers, and what is unseen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import DataWarning, warn_user
from priorwise.data.columns import Columns
from priorwise.data.encoding.schema import MIN_ROWS_TO_WARN, find_unseen, unseen_error
from priorwise.data.tables.categories import to_ranks
from priorwise.data.tables.column_kinds import name_commonest
from priorwise.data.tables.label_keys import NominalColumn
from priorwise.data.tables.parts import parts_of
from priorwise.data.tables.raw_table import RawTable


def read_rows(encoder: Any, table: RawTable, model: Any) -> Columns:
    """Return a table as a fitted encoder reads it; messages name the model.

    Texts that are no numbers, in a column of numbers, are values that training did not have, and
    missing (`accepts_texts`); a warning names them.
    """
    nominal = np.flatnonzero(encoder.is_nominal_).tolist()
    numeric = np.flatnonzero(~encoder.is_nominal_).tolist()
    codes = np.empty((len(nominal), table.n_rows), dtype=np.int32)
    for at, i in enumerate(nominal):
        codes[at] = _code_nominal(encoder, table, i, at, model)
    n = encoder.n_features_in_
    plain = [i for i in numeric if i < n and i not in encoder.orders_ and i not in encoder.forms_]

    def accept(i: int, column: NominalColumn, texts: list[int]) -> bool:
        return _note_texts(encoder, table.name(i), i, column, texts, model)

    values = table.numeric_values(plain, encoder.texts_are_missing, accept)
    if len(encoder.number_marks):
        values[np.isin(values, encoder.number_marks)] = np.nan
    if len(plain) < len(numeric):
        plain_values, values = values, np.empty((len(numeric), table.n_rows))
        values[[i in plain for i in numeric]] = plain_values
        for at, i in enumerate(encoder.orders_):
            if i < n:
                values[numeric.index(i)] = _rank(encoder, table, i, len(nominal) + at, model)
        first_part = len(numeric) - len(encoder.parts_)
        for i, form in encoder.forms_.items():
            own = [at for at, (of, _) in enumerate(encoder.parts_, first_part) if of == i]
            values[[numeric.index(i), *own]] = table.parts(
                i, form, parts_of(i, encoder.parts_), encoder.scores_.get(i)
            )
    if (encoder.missing, encoder.unseen) != ("value", "backoff") and not encoder.ignores_missing:
        for at, i in enumerate(numeric):
            name = table.name(i if i < n else encoder.parts_[i - n][0])
            _treat_missing(encoder, values[at], at, name)
    return Columns(codes, values, encoder.is_nominal_)


def accepts_texts(encoder: Any, i: int, column: NominalColumn, texts: list[int]) -> bool:
    """Whether texts, at some places among the labels of a column of numbers, are missing values.

    If most values are texts the type of the column has changed: that is an error. Of a few rows it
    cannot be told, so that there it depends on the column in training: whether it held texts, all
    of which were numbers.
    """
    if not all(isinstance(column.labels[place], str) for place in texts):
        return False
    rows = count_rows(column)
    most_are_numbers = bool(2 * rows[texts].sum() <= rows.sum())
    return most_are_numbers or (encoder.held_texts(i) and bool(rows.sum() < MIN_ROWS_TO_WARN))


def count_rows(column: NominalColumn) -> NDArray[np.int64]:
    """Return the rows of each label of a column."""
    return np.bincount(column.codes[column.codes >= 0], minlength=len(column.labels))


def _note_texts(
    encoder: Any, name: str, i: int, column: NominalColumn, texts: list[int], model: Any
) -> bool:
    """Warn of texts in a column of numbers, once a column, if they are missing values."""
    if not accepts_texts(encoder, i, column, texts):
        return False
    if encoder.unseen == "error":
        raise unseen_error(name, column.labels[texts[0]])
    if i not in encoder.watch.with_texts:
        encoder.watch.with_texts.add(i)
        warn_user(
            f"{type(model).__name__}: column {name} holds texts that are no numbers, "
            f"{name_commonest(column.labels, count_rows(column), texts)}. Training had none: they "
            "are read as missing; the method check(X) says how X differs",
            DataWarning,
        )
    return True


def _code_nominal(encoder: Any, table: RawTable, i: int, at: int, model: Any) -> NDArray[np.int32]:
    column = table.nominal(i, keep_marks=True)
    codes = encoder.categories_[at].encode(column, impute=encoder.missing == "impute")
    unseen = codes < 0
    if encoder.ignores_missing and unseen.any():
        is_mark = np.array([*(key in encoder.marks for key in column.keys), True])
        unseen &= ~is_mark[column.codes]
    _note_unseen(encoder, table.name(i), column, unseen, at, model)
    return codes


def _rank(encoder: Any, table: RawTable, i: int, at: int, model: Any) -> NDArray[np.float64]:
    column = table.nominal(i, keep_marks=True)
    ranks = to_ranks(encoder.orders_[i], column)
    is_label = np.array([*(key not in encoder.marks for key in column.keys), False])
    unseen = np.isnan(ranks) & is_label[column.codes]
    _note_unseen(encoder, table.name(i), column, unseen, at, model)
    return ranks


def _note_unseen(
    encoder: Any,
    name: str,
    column: NominalColumn,
    unseen: NDArray[np.bool_],
    at: int,
    model: Any,
) -> None:
    """Count labels that training did not have, or raise the error of ``unseen="error"``."""
    if not unseen.any():
        return
    if encoder.unseen == "error":
        place = column.codes[np.argmax(unseen)]
        raise unseen_error(name, column.labels[place] if place >= 0 else None)
    places = find_unseen(column, unseen)
    labels = [column.labels[place] for place in places[:3]]
    n_unseen = int((unseen & (column.codes >= 0)).sum())
    encoder.watch.note(at, n_unseen, name, labels, type(model).__name__)


def _treat_missing(encoder: Any, values: NDArray[np.float64], at: int, name: str) -> None:
    absent = np.isnan(values)
    if encoder.missing == "impute":
        values[absent] = encoder.means_[at]
    elif absent.any() and not encoder.missing_seen_[at]:
        raise unseen_error(name, None)
