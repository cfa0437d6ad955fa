"""The marks in numbers of delimited text: before decimals and between thousands."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from priorwise.common.runtime import MIB
from priorwise.data.sources.part import SourceError, import_arrow
from priorwise.data.tables.label_keys import parse_number

_SAMPLE_CHARACTERS = MIB
_GROUPS = {",": ",", ".": r"\.", " ": " ", "\u00a0": "\u00a0", "\u202f": "\u202f", "'": "'"}
"""What may stand between thousands, and its regular expression."""
_ANY = (
    r"^ *[+-]?(([0-9]+|[0-9]{1,3}([.,' \x{a0}\x{202f}][0-9]{3})+)([.,][0-9]*)?|[.,][0-9]+)"
    r"([eE][+-]?[0-9]+)? *$"
)
_LEADING_ZERO = r"^ *[+-]?0[0-9]"
_OTHER = {",": ".", ".": ","}
_NAMES = {",": "decimal commas", ".": "decimal points"}


def group_pattern(thousands: str, decimal: str) -> str:
    """Return a regular expression of whole texts that are numbers with groups of thousands.

    >>> bool(re.match(group_pattern(".", ","), "1.234.567,8"))
    True
    """
    group = _GROUPS.get(thousands, re.escape(thousands))
    whole = rf"([1-9][0-9]{{0,2}}({group}[0-9]{{3}})+|0|[1-9][0-9]*)"
    return rf"^ *[+-]?{whole}({re.escape(decimal)}[0-9]*)? *$"


def is_grouped(texts: Any, thousands: str, decimal: str) -> bool:
    """Return whether all texts of an Arrow array are numbers, some with groups of thousands."""
    import pyarrow.compute as pc

    if not thousands or not len(texts):
        return False
    pattern = group_pattern(thousands, decimal)
    return bool(
        pc.all(pc.match_substring_regex(texts, pattern)).as_py()
        and pc.any(pc.match_substring(texts, thousands)).as_py()
    )


def ungroup(texts: Any, thousands: str, decimal: str) -> Any:
    """Return the numbers that an Arrow array of texts means; ArrowInvalid if one is no number."""
    import pyarrow as arrow
    import pyarrow.compute as pc

    if arrow.types.is_dictionary(texts.type):
        return ungroup(texts.dictionary, thousands, decimal).take(texts.indices)
    wrong = pc.invert(pc.match_substring_regex(texts, group_pattern(thousands, decimal)))
    if pc.any(wrong).as_py():
        first = texts.filter(wrong)[0].as_py()
        raise arrow.ArrowInvalid(f"invalid value {first!r}")
    plain = pc.replace_substring(pc.utf8_trim(texts, " "), thousands, "")
    return pc.cast(pc.replace_substring(plain, decimal, "."), arrow.float64())


def guess_type(values: Any, thousands: str, decimal: str) -> Any:
    """Return the type of Arrow of what known texts mean: numbers, booleans, or text."""
    import pyarrow as arrow
    import pyarrow.compute as pc

    if is_grouped(values, thousands, decimal):
        return arrow.float64()
    if pc.any(pc.match_substring_regex(values, _LEADING_ZERO)).as_py():
        return arrow.string()
    if decimal != "." and not pc.any(pc.match_substring(values, ".")).as_py():
        values = pc.replace_substring(values, decimal, ".")
    for kind in (arrow.int64(), arrow.float64(), arrow.bool_()):
        try:
            values.cast(kind)
        except arrow.ArrowInvalid:
            continue
        return kind
    return arrow.string()


def choose_marks(
    text: str,
    separator: str,
    marks: Sequence[str],
    *,
    decimal: str | None,
    like: str | None,
    place: str,
    is_whole: bool,
) -> tuple[str, str, bool]:
    """Return the decimal mark of a text, what stands between thousands, and whether that is sure.

    Nothing is "". Columns tell that hold numbers only. SourceError if they contradict each other,
    or leave it open and `like` does too.
    """
    # Between commas, a comma in a number would have to be quoted.
    has_commas = separator != "," or '"' in text
    if decimal is None and not (has_commas or _has_spaced_numbers(text[:_SAMPLE_CHARACTERS])):
        return ".", "", True
    columns = [c for c in _read_columns(text, separator, marks, is_whole) if c.is_numeric]
    is_sure = decimal is not None or any(c.has(mark) for c in columns for mark in _OTHER)
    if decimal is None:
        decimal = _choose_decimal(columns, separator, like, place)
    other = _OTHER[decimal]
    for thousands in (other, *(mark for mark in _GROUPS if mark not in (other, decimal))):
        if any(is_grouped(column.texts, thousands, decimal) for column in columns):
            return decimal, thousands, True
    return decimal, "", is_sure


def refuse_values_as_names(
    text: str, separator: str, decimal: str, marks: Sequence[str], place: str, *, is_whole: bool
) -> None:
    """Raise if the first line of a text has values where the names of the columns belong.

    It has if each column of numbers is called by a number, mostly one in the range of its values;
    and if a column of texts is called by one of its values, or the numbers do not rise or fall from
    name to name and have fractions. Years and wavelengths are names.
    """
    first = next(csv.reader([text.split("\n", 1)[0]], delimiter=separator), [])
    if not any(re.fullmatch(r" *[+-]?[0-9][0-9.,]*([eE][+-]?[0-9]+)? *", name) for name in first):
        return
    columns = _read_columns(text, separator, marks, is_whole)
    known = [column for column in columns if len(column.texts)]
    numbers = [c for c in known if c.is_numeric and c.find(_LEADING_ZERO) is None]
    names = [parse_number(column.name.replace(decimal, ".")) for column in numbers]
    values = [name for name in names if name is not None]
    if not values or len(values) < len(numbers):
        return
    n_in_range = sum(
        column.has_in_range(name, decimal) for column, name in zip(numbers, values, strict=True)
    )
    steps = np.diff(values)
    is_in_order = bool(np.all(steps > 0) or np.all(steps < 0))
    are_whole = all(name == round(name) for name in values)
    has_label = any(column.has_value(column.name) for column in known if column not in numbers)
    if 2 * n_in_range >= len(numbers) and (has_label or not (is_in_order or are_whole)):
        shown = ", ".join(f"{name!r:.40}" for name in first[:3])
        raise SourceError(
            f"line 1 must hold the names of the columns, got values such as {shown}; write a line "
            "of names before it",
            place,
        )


def _has_spaced_numbers(text: str) -> bool:
    import_arrow("reading delimited text")
    import pyarrow.compute as pc

    # Its regular expressions are many times as fast as those of Python.
    return bool(pc.match_substring_regex(text, r"[0-9][ '\x{a0}\x{202f}][0-9]{3}").as_py())


def _choose_decimal(columns: list[_Column], separator: str, like: str | None, place: str) -> str:
    by_mark = {mark: next((c for c in columns if c.shows(mark)), None) for mark in _OTHER}
    comma, point = by_mark[","], by_mark["."]
    if comma is not None and point is not None:
        raise SourceError(
            f"{comma.describe(',')} has {_NAMES[',']} and {point.describe('.')} {_NAMES['.']}; "
            "the option decimal says which are meant, ',' or '.'",
            place,
        )
    if comma is not None or point is not None:
        return "," if comma is not None else "."
    # What is left has three digits behind each mark: 1,234 or 1.234.
    for mark in _OTHER:
        column = next((c for c in columns if c.has(mark)), None)
        # Programs that write other separators than semicolons write decimal points.
        if column is not None and like is None and (mark == "," or separator == ";"):
            example = column.example(mark)
            raise SourceError(
                f"column {column.name!r} holds {example!r}, which may have thousands or decimals "
                f"behind the {'comma' if mark == ',' else 'point'}; the option decimal says which, "
                "',' or '.'",
                place,
            )
    return like or "."


@dataclass(frozen=True, eq=False)
class _Column:
    """The known texts of a column, and its name."""

    name: str
    texts: Any

    @cached_property
    def is_numeric(self) -> bool:
        import pyarrow.compute as pc

        return bool(len(self.texts)) and bool(
            pc.all(pc.match_substring_regex(self.texts, _ANY)).as_py()
        )

    def has(self, mark: str) -> bool:
        return self.find(re.escape(mark)) is not None

    def has_value(self, text: str) -> bool:
        import pyarrow.compute as pc

        return bool(pc.index(self.texts, text).as_py() >= 0)

    def has_in_range(self, number: float, decimal: str) -> bool:
        """Return whether a number is between the least and the largest one of the column."""
        texts = [text.replace(decimal, ".") for text in self.texts.to_pylist()]
        numbers = [value for value in map(parse_number, texts) if value is not None]
        return bool(numbers) and min(numbers) <= number <= max(numbers)

    def find(self, pattern: str) -> str | None:
        """Return a text that has a pattern, None if none has."""
        import pyarrow.compute as pc

        found = pc.index(pc.match_substring_regex(self.texts, pattern), True).as_py()
        return None if found < 0 else str(self.texts[found].as_py())

    def example(self, mark: str) -> str | None:
        return self._show(mark) or self.find(re.escape(mark))

    def describe(self, mark: str) -> str:
        return f"column {self.name!r} ({self.example(mark)!r})"

    def shows(self, mark: str) -> bool:
        """Return whether a number shows that this mark stands before decimals."""
        return self._show(mark) is not None

    def _show(self, mark: str) -> str | None:
        m, o = re.escape(mark), re.escape(_OTHER[mark])
        body = r"^ *[+-]?"
        # Other than three digits behind it, none or more than three before it, or a leading zero.
        alone = rf"{body}([0-9 ']*{m}([0-9]{{0,2}}|[0-9]{{4,}})|0[0-9]*{m}[0-9]*|{m}[0-9]+"
        alone += rf"|[0-9]{{4,}}{m}[0-9]*|[0-9]*{m}[0-9]*[eE].*) *$"
        # The other mark stands before it, or several times.
        grouped = rf"{body}[0-9]{{1,3}}({o}[0-9]{{3}})+{m}[0-9]*"
        several = rf"{body}[0-9]{{1,3}}({o}[0-9]{{3}}){{2,}} *$"
        found = self.find(rf"({alone})|({grouped})|({several})")
        if found is None and self.has(mark) and not self.has(_OTHER[mark]):
            # Thousands would have the mark in each number of four digits.
            ungrouped = self.find(rf"{body}[0-9]{{4,}} *$")
            return None if ungrouped is None else self.find(m)
        return found


def _read_columns(text: str, separator: str, marks: Sequence[str], is_whole: bool) -> list[_Column]:
    """Return the columns of the beginning of a text."""
    arrow = import_arrow("reading delimited text")
    from pyarrow import csv as arrow_csv

    if len(text) > _SAMPLE_CHARACTERS or not is_whole:
        text = text[: text.rfind("\n", 0, _SAMPLE_CHARACTERS) + 1]
    content = text.encode(errors="replace")
    if not content.strip():
        return []
    parse = arrow_csv.ParseOptions(
        delimiter=separator, newlines_in_values=True, invalid_row_handler=lambda _: "skip"
    )
    read = arrow_csv.ReadOptions(use_threads=False, block_size=len(content) + 1)
    try:
        with arrow_csv.open_csv(io_of(arrow, content), read, parse) as reader:
            names = reader.schema.names
        places = [f"{i}" for i in range(len(names))]
        read.column_names = places
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(places, arrow.string()),
            null_values=list(marks),
            strings_can_be_null=True,
        )
        table = arrow_csv.read_csv(io_of(arrow, content), read, parse, convert)
    except (arrow.ArrowException, UnicodeError):
        return []  # reading says what is wrong
    return [_Column(name, table.column(i).slice(1).drop_null()) for i, name in enumerate(names)]


def io_of(arrow: Any, content: bytes) -> Any:
    """Return bytes as a file of Arrow."""
    return arrow.BufferReader(arrow.py_buffer(content))
