"""Which labels are the same, whatever their type: 10115 and "10115", True and "True"."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

from priorwise.data.missing_marks import MISSING_MARKS

BOOLEANS = (bool, np.bool_)
NUMBERS = (Real, Decimal)
MISSING_TYPES = ("NoneType", "NAType", "NaTType", "MaskedConstant")

SPACES = "".join(
    map(
        chr,
        [*range(9, 14), *range(28, 33), 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]
        + [0x2028, 0x2029, 0x202F, 0x205F, 0x3000],
    )
)
"""Characters that are left out around a text: Python's white space. Exports have the same list."""
NUMBER_PATTERN = r"[+-]?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
"""How a text means a number. It has at most 15 digits and no leading zeros: longer ones and "007"
are identifiers."""
_NUMBER = re.compile(NUMBER_PATTERN)
# How Python writes a number: "1.0" and "1.5", but not "1.50", which may be a version.
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.(?:0|\d{0,14}[1-9]))?", flags=re.ASCII)
_BOOLEAN_WORDS = dict.fromkeys(["True", "true", "TRUE"], True)
_BOOLEAN_WORDS |= dict.fromkeys(["False", "false", "FALSE"], False)
# A text that begins otherwise is neither a number nor a boolean, nor has it a space in front.
_SPECIAL_STARTS = frozenset("-0123456789TtFf")


def is_missing(label: Any) -> bool:
    """Return whether a value means missing: None, NaN, NaT, NA or a masked cell."""
    if isinstance(label, Decimal):
        return label.is_nan()
    # NaN differs from itself; pandas' NA refuses to be compared.
    return type(label).__name__ in MISSING_TYPES or bool(label != label)


def is_number(label: Any) -> bool:
    """Return whether a value is a number and not a boolean."""
    return isinstance(label, NUMBERS) and not isinstance(label, BOOLEANS)


def as_float(number: Any) -> float:
    """Return a number as a float, infinite if it is too large for one.

    >>> as_float(-(10**400))
    -inf
    """
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def parse_number(label: Any) -> float | None:
    """Return the number that a value is or that a text means; None if there is none.

    >>> [parse_number(label) for label in (2, " 1e3", "-.5", "007", "1,5", "abc", True)]
    [2.0, 1000.0, -0.5, None, None, None, None]
    """
    if isinstance(label, str):
        text = label.strip(SPACES)
        if not _NUMBER.fullmatch(text):
            return None
        number = float(text)
        return number if math.isfinite(number) else None
    return as_float(label) if is_number(label) else None


def label_key(label: Hashable) -> Hashable:
    """Return what a label is looked up by.

    A number and the text that Python writes for it have the same key, a boolean and its text too.
    Spaces around a text are left out. True and 1 have two keys.

    >>> label_key("10115") == label_key(10115.0), label_key("true") == label_key(True)
    (True, True)
    >>> label_key(True) == label_key(1), label_key("1.10") == label_key("1.1")
    (False, False)
    """
    if isinstance(label, str):
        if label[:1].isalpha() and label[-1] not in SPACES and label[0] not in _SPECIAL_STARTS:
            return label
        text = label.strip(SPACES)
        if text[:1] in _SPECIAL_STARTS:
            if text in _BOOLEAN_WORDS:
                return bool, _BOOLEAN_WORDS[text]
            if _PLAIN_NUMBER.fullmatch(text):
                return float(text)
        return text
    return (bool, bool(label)) if isinstance(label, BOOLEANS) else label


def spell_label(label: Hashable) -> Hashable:
    """Return the spelling of a label that stands for all texts with the same key.

    >>> [spell_label(label) for label in (" a", "10115.0", "true", 2.0)]
    ['a', '10115', 'True', 2.0]
    """
    if not isinstance(label, str):
        return label
    key = label_key(label)
    if isinstance(key, float):
        return str(int(key)) if key.is_integer() else str(label).strip(SPACES)
    return str(key[1]) if isinstance(key, tuple) else key


def list_marks(missing_values: Any) -> tuple[str, ...]:
    """Return the texts that mean missing in a file; "usual" are those of `MISSING_MARKS`."""
    if isinstance(missing_values, str) and missing_values == "usual":
        return MISSING_MARKS
    mark_keys(missing_values)
    return tuple(str(mark) for mark in missing_values if not is_missing(mark))


def mark_keys(missing_values: Any) -> frozenset[Hashable]:
    """Return the keys of values that mean missing; "usual" are those of `MISSING_MARKS`.

    ValueError if they are no list of texts and numbers.
    """
    if isinstance(missing_values, str) and missing_values == "usual":
        return USUAL_MARKS
    is_list = isinstance(missing_values, Iterable) and not isinstance(missing_values, str)
    marks = [mark for mark in missing_values if not is_missing(mark)] if is_list else None
    if marks is None or not all(isinstance(mark, str | bool) or is_number(mark) for mark in marks):
        raise ValueError(
            f"missing_values must be 'usual' or a list of texts and numbers, got {missing_values!r}"
        )
    return MarkKeys(map(label_key, marks))


@lru_cache(16)
def list_numbers(keys: frozenset[Hashable]) -> list[Any]:
    """Return the keys that are numbers."""
    return [key for key in keys if is_number(key)]


class MarkKeys(frozenset[Hashable]):
    """Keys of values that mean missing; the same bytes in every process when they are saved."""

    def __reduce__(self) -> tuple[type[MarkKeys], tuple[list[Hashable]]]:
        return type(self), (sorted(self, key=repr),)


USUAL_MARKS: frozenset[Hashable] = MarkKeys(map(label_key, MISSING_MARKS))
"""Keys of the values that mean missing by default."""
