"""Codes of the labels of a column, remembered from batch to batch."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.survey.labels import join_labels
from priorwise.data.tables.column_kinds import Kind, kinds_of_columns
from priorwise.data.tables.factorise import NominalColumn
from priorwise.data.tables.raw_table import RawTable


class LabelReader:
    """Codes the labels of columns, and remembers what the codes of Arrow columns mean.

    Batches of a file mostly list the same labels in the same order: their codes are then known
    without a look at the labels.
    """

    def __init__(self) -> None:
        # Of each column: Arrow's labels, the labels to begin with, all labels, and the places of
        # Arrow's labels among them, None where they are the first ones in their order.
        self._seen: dict[int, tuple[Any, list[Hashable], list[Hashable], Any]] = {}
        self._kinds: tuple[Any, list[Kind]] | None = None  # of an Arrow schema

    def find_kinds(
        self, X: Any, table: RawTable, encoder: Any, names: Sequence[str], is_first: bool
    ) -> list[Kind]:
        """Return the kinds of the columns of a batch, which an Arrow schema decides."""
        if table.library != "pyarrow":
            return kinds_of_columns(table, encoder, names, warn=is_first)
        known = self._kinds
        if known is None or is_first or not known[0].equals(X.schema):
            known = X.schema, kinds_of_columns(table, encoder, names, warn=is_first)
            self._kinds = known
        return known[1]

    def code(
        self, table: RawTable, i: int, start: list[Hashable]
    ) -> tuple[list[Hashable], NDArray[np.int32]]:
        """Return the labels of column i behind those to begin with, and the places of its rows."""
        given = table.arrow_dictionary(i)
        if given is None:
            return _code_labels(table.nominal(i), start)
        dictionary, codes = given
        seen = self._seen.get(i)
        if seen is None or seen[1] is not start or not dictionary.equals(seen[0]):
            column = table.read_dictionary(i, dictionary)
            if (column.codes < 0).any():  # missing, if a row has it
                return _code_labels(table.nominal(i), start)
            labels, places = _code_labels(column, start)
            in_order = np.array_equal(places, np.arange(len(places)))
            seen = dictionary, start, labels, None if in_order else places
            self._seen[i] = seen
        found = codes if seen[3] is None else seen[3][codes]
        return seen[2], np.ascontiguousarray(found, dtype=np.int32)


def _code_labels(
    column: NominalColumn, start: list[Hashable]
) -> tuple[list[Hashable], NDArray[np.int32]]:
    seen: list[Hashable] = [*column.labels]
    if (column.codes < 0).any():
        seen.append(None)
    labels, places = join_labels(start, seen) if start else (seen, np.arange(len(seen)))
    if len(labels) == len(start):
        labels = start  # the same list: such batches merge without a look at the labels
    if len(seen) == len(column.labels) and np.array_equal(places, np.arange(len(places))):
        return labels, np.ascontiguousarray(column.codes, dtype=np.int32)
    # Missing, code -1, is the last of those seen.
    return labels, np.take(places.astype(np.int32), column.codes, mode="wrap")
