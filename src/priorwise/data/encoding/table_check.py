"""How a table differs from training: of each column, and in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.registered import with_registered_methods
from priorwise.common.texts import FEW, MANY, count, show_percent, show_plain
from priorwise.data.encoding import chance
from priorwise.data.encoding.new_rows import accepts_texts, count_rows
from priorwise.data.encoding.schema import ColumnSchema, find_unseen
from priorwise.data.tables.dates import show_date
from priorwise.data.tables.label_keys import NominalColumn, parse_number
from priorwise.data.tables.raw_table import RawTable

MAX_MISSING_GROWTH = 0.1
"""Largest difference of the shares of missing values that is no problem."""
FALSE_ALARM = 0.01
"""Largest chance of a problem where rows differ from those of training by chance alone. Three
comparisons of each column share it."""


@dataclass(frozen=True)
class ColumnCheck:
    """How a column differs from training.

    `problems` says in words what is more than chance has it, `notes` what may be chance.
    """

    name: str
    unseen_share: float = 0.0  # of the known values, of labels, or of texts among numbers
    outside_share: float = 0.0  # of the numbers, of those below the least or above the largest
    missing_share: float = 0.0
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@with_registered_methods
@dataclass(frozen=True, repr=False)
class TableCheck:
    """How a table differs from training: of each column, and in words.

    `problems` are differences in kind, and those that are more than chance has between two parts of
    one table; `notes` are other differences.
    """

    columns: tuple[ColumnCheck, ...]
    problems: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Differences that may be chance."""
        return tuple(note for column in self.columns for note in column.notes)

    @property
    def is_ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def __str__(self) -> str:
        return "\n".join([*(self.problems or ["no problems"]), *map(_as_note, self.notes)])

    def __repr__(self) -> str:
        more = len(self.problems) - MANY
        end = [f"and {count(more, 'more problem')}"] if more > 0 else []
        notes = [f"{count(len(self.notes), 'difference')} may be chance"] if self.notes else []
        return "\n".join([*(self.problems[:MANY] or ["no problems"]), *end, *notes])


def _as_note(note: str) -> str:
    return f"may be chance: {note}"


@dataclass
class _Comparison:
    """Differences of one column that are being found; `log_alarm` is the chance left to each."""

    name: str
    log_alarm: float
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, text: str, log_chance: float, *, is_large: bool = True) -> None:
        """Add a difference of some chance: a problem if that is small, else a note."""
        found = self.problems if is_large and log_chance < self.log_alarm else self.notes
        found.append(f"{self.name}: {text}")


def check_table(encoder: Any, X: Any, n_train: float, target: str | None = None) -> TableCheck:
    """Compare a table with the training of an encoder; nothing is raised but for what is no table.

    Columns are found by their names if training had names; it may have the column `target` too.
    `n_train` is the weight of the rows of training.
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
    log_alarm = float(np.log(FALSE_ALARM / (3.0 * len(encoder.schema_))))
    for feature, schema in enumerate(encoder.schema_):
        if schema.name not in place:
            check = ColumnCheck(schema.name, problems=(f"column {schema.name!r} is missing",))
        else:
            comparison = _Comparison(f"column {schema.name!r}", log_alarm)
            i = place[schema.name]
            check = _check_column(encoder, feature, schema, table, i, n_train, comparison)
        columns.append(check)
        problems += check.problems
    extra = [name for name in found if name not in {*expected, target}]
    if extra:
        problems.append(f"columns {extra[:FEW]} are not among those of training")
    return TableCheck(tuple(columns), tuple(problems))


def _check_column(
    encoder: Any,
    feature: int,
    schema: ColumnSchema,
    table: RawTable,
    i: int,
    n_train: float,
    found: _Comparison,
) -> ColumnCheck:
    n_known = (1.0 - schema.missing_share) * n_train
    unseen = outside = 0.0
    try:
        if schema.kind in ("nominal", "ordered"):
            unseen, missing = _check_labels(encoder, feature, schema, table, i, n_known, found)
            if table.kind(i) == "numeric" and None in map(parse_number, schema.labels or ()):
                found.problems.append(f"{found.name} holds numbers; training had labels")
        else:
            values, texts = _read_numbers(encoder, table, i, feature)
            n_texts, numbers = sum(texts.values()), values[~np.isnan(values)]
            missing = float(np.isnan(values).sum() - n_texts) / len(values)
            if texts:
                unseen = n_texts / (len(numbers) + n_texts)
                rows = np.array([n_known + len(numbers)])
                log_chance = chance.never_seen(np.array([*texts.values()]), rows, n_known)
                found.add(_name_unseen(unseen, [*texts]), log_chance)
            outside = _check_range(schema, numbers, n_known, found)
    except (TypeError, ValueError) as error:
        return ColumnCheck(schema.name, problems=(str(error),))
    grown = missing - schema.missing_share > MAX_MISSING_GROWTH
    if grown or (missing > 0 and schema.missing_share == 0):
        n_missing = round(missing * table.n_rows)
        found.add(
            f"{show_percent(missing)} of its values are missing; "
            f"{show_percent(schema.missing_share)} were in training",
            chance.more_missing(n_missing, table.n_rows, schema.missing_share, n_train),
        )
    return ColumnCheck(
        schema.name, unseen, outside, missing, tuple(found.problems), tuple(found.notes)
    )


def _check_labels(
    encoder: Any,
    feature: int,
    schema: ColumnSchema,
    table: RawTable,
    i: int,
    n_known: float,
    found: _Comparison,
) -> tuple[float, float]:
    """Return the shares of labels never seen and of missing values."""
    column = table.nominal(i, keep_marks=True)
    order = encoder.orders_.get(feature)
    labels = order or encoder.categories_[int(encoder.is_nominal_[:feature].sum())]
    codes = labels.encode(column)
    is_mark = np.array([*(key in encoder.marks for key in column.keys), True])
    known = (codes >= 0) | ~is_mark[column.codes]
    known &= (codes != labels.missing_code) | (codes < 0)
    missing = 1.0 - float(known.mean())
    places = find_unseen(column, codes < 0)
    if not len(places):
        return 0.0, missing
    seen, n_seen = np.array([n_known]), np.array([(codes[known] >= 0).sum()])
    if order is None:
        is_label = np.array([label is not None for label in labels.labels])
        seen = np.array(labels.counts)[is_label]
        n_seen = np.bincount(codes[known & (codes >= 0)], minlength=len(is_label))[is_label]
    unseen = float((codes[known] < 0).mean())
    log_chance = chance.never_seen(count_rows(column)[places], seen + n_seen, float(seen.sum()))
    found.add(_name_unseen(unseen, [column.labels[place] for place in places]), log_chance)
    return unseen, missing


def _name_unseen(share: float, labels: list[Any]) -> str:
    examples = ", ".join(f"{label!r:.40}" for label in labels[:FEW])
    return f"{show_percent(share)} of its values were never seen in training, such as {examples}"


def _read_numbers(
    encoder: Any, table: RawTable, i: int, feature: int
) -> tuple[NDArray[np.float64], dict[Any, int]]:
    """Return column i as the numbers of a feature, NaN where missing, and the rows of its texts."""
    texts: dict[Any, int] = {}
    if feature in encoder.forms_:
        return table.parts(i, encoder.forms_[feature], [])[0], texts

    def accept(i: int, column: NominalColumn, places: list[int]) -> bool:
        rows = count_rows(column)
        texts.update((column.labels[place], int(rows[place])) for place in places)
        return accepts_texts(encoder, i, column, places)

    values = table.numeric(i, texts_are_missing=feature in encoder.texts_are_missing, accept=accept)
    return np.where(np.isin(values, encoder.number_marks), np.nan, values), texts


def _check_range(
    schema: ColumnSchema, numbers: NDArray[np.float64], n_known: float, found: _Comparison
) -> float:
    """Return the share of numbers outside of training's range."""
    if schema.least is None or schema.largest is None or not len(numbers):
        return 0.0
    below, above = numbers < schema.least, numbers > schema.largest
    is_outside = below | above
    if is_outside.any():
        show = show_date if schema.kind == "date" else show_plain
        kind = {"date": "dates", "text": "numbers of words"}.get(schema.kind, "numbers")
        found.add(
            f"{show_percent(float(is_outside.mean()))} of its {kind} lie outside of training's "
            f"{show(schema.least)} to {show(schema.largest)}, such as "
            f"{show(float(numbers[is_outside][0]))}",
            chance.beyond_range(int(below.sum()), int(above.sum()), n_known, len(numbers)),
        )
    return float(is_outside.mean())
