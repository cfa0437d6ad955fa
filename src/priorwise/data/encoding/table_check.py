"""How a table differs from training: of each column, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from priorwise.common.registered import with_registered_methods
from priorwise.common.texts import FEW, MANY, count, show_percent, show_plain
from priorwise.data.encoding.schema import ColumnSchema, find_unseen
from priorwise.data.tables.dates import show_date
from priorwise.data.tables.label_keys import parse_number
from priorwise.data.tables.raw_table import RawTable

MAX_MISSING_GROWTH = 0.1
"""Largest difference of the shares of missing values that is no problem."""


@dataclass(frozen=True)
class ColumnCheck:
    """How a column differs from training; `problems` says it in words."""

    name: str
    unseen_share: float = 0.0  # of the known values of a nominal column
    outside_share: float = 0.0  # of the numbers, of those below the least or above the largest
    missing_share: float = 0.0
    problems: tuple[str, ...] = ()


@with_registered_methods
@dataclass(frozen=True, repr=False)
class TableCheck:
    """How a table differs from training: of each column, and in `problems` in words."""

    columns: tuple[ColumnCheck, ...]
    problems: tuple[str, ...]

    @property
    def is_ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def __str__(self) -> str:
        return "\n".join(self.problems) or "no problems"

    def __repr__(self) -> str:
        more = len(self.problems) - MANY
        end = [f"and {count(more, 'more problem')}"] if more > 0 else []
        return "\n".join([*self.problems[:MANY], *end]) or "no problems"


def check_table(encoder: Any, X: Any, target: str | None = None) -> TableCheck:
    """Compare a table with the training of an encoder; nothing is raised but for what is no table.

    Columns are found by their names if training had names; it may have the column `target` too.
    """
    table = RawTable(X, marks=encoder.marks)
    names = encoder.feature_names
    if names:
        place = {str(name): i for i, name in enumerate(table.names)}
    else:
        place = {schema.name: i for i, schema in enumerate(encoder.schema_) if i < table.n_columns}
    expected = {schema.name for schema in encoder.schema_}
    found = list(place) if names else [str(i) for i in range(table.n_columns)]
    problems: list[str] = []
    columns = []
    for feature, schema in enumerate(encoder.schema_):
        if schema.name not in place:
            check = ColumnCheck(schema.name, problems=(f"column {schema.name!r} is missing",))
        else:
            check = _check_column(encoder, feature, schema, table, place[schema.name])
        columns.append(check)
        problems += check.problems
    extra = [name for name in found if name not in {*expected, target}]
    if extra:
        problems.append(f"columns {extra[:FEW]} are not among those of training")
    return TableCheck(tuple(columns), tuple(problems))


def _check_column(
    encoder: Any, feature: int, schema: ColumnSchema, table: RawTable, i: int
) -> ColumnCheck:
    problems: list[str] = []
    unseen = outside = 0.0
    name = f"column {schema.name!r}"
    try:
        if schema.kind in ("nominal", "ordered"):
            column = table.nominal(i, keep_marks=True)
            categories = encoder.orders_.get(feature)
            if categories is None:
                categories = encoder.categories_[int(encoder.is_nominal_[:feature].sum())]
            codes = categories.encode(column)
            is_mark = np.array([*(key in encoder.marks for key in column.keys), True])
            known = (codes >= 0) | ~is_mark[column.codes]
            known &= (codes != categories.missing_code) | (codes < 0)
            places = find_unseen(column, codes < 0)
            missing = 1.0 - float(known.mean())
            if len(places):
                unseen = float((codes[known] < 0).mean())
                examples = ", ".join(f"{column.labels[p]!r:.40}" for p in places[:FEW])
                problems.append(
                    f"{name}: {show_percent(unseen)} of its values were never seen in training, "
                    f"such as {examples}"
                )
            if table.kind(i) == "numeric" and None in map(parse_number, schema.labels or ()):
                problems.append(f"{name} holds numbers; training had labels")
        else:
            values = encoder.read_numbers(table, i, feature)
            numbers = values[~np.isnan(values)]
            missing = float(np.isnan(values).mean())
            if schema.least is not None and schema.largest is not None and len(numbers):
                is_outside = (numbers < schema.least) | (numbers > schema.largest)
                outside = float(is_outside.mean())
                if outside:
                    show = show_date if schema.kind == "date" else show_plain
                    kind = {"date": "dates", "text": "numbers of words"}.get(schema.kind, "numbers")
                    problems.append(
                        f"{name}: {show_percent(outside)} of its {kind} lie outside of training's "
                        f"{show(schema.least)} to {show(schema.largest)}, such as "
                        f"{show(float(numbers[is_outside][0]))}"
                    )
    except (TypeError, ValueError) as error:
        return ColumnCheck(schema.name, problems=(str(error),))
    grown = missing - schema.missing_share > MAX_MISSING_GROWTH
    if grown or (missing > 0 and schema.missing_share == 0):
        problems.append(
            f"{name}: {show_percent(missing)} of its values are missing; "
            f"{show_percent(schema.missing_share)} were in training"
        )
    return ColumnCheck(schema.name, unseen, outside, missing, tuple(problems))
