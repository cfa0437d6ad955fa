"""One row of the data section of an ARFF file: its text to values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from priorwise.data.arff.syntax import (
    ArffError,
    Attribute,
    Value,
    scan_braces,
    scan_row,
    scan_value,
)

MISSING_CODE = -1
Cells = list[tuple[int, Any]]
"""Positions of attributes and their values; in a sparse row those that it gives."""


def parse_row(
    text: str,
    attributes: Sequence[Attribute],
    codes: Sequence[dict[str, int]],
    required: Sequence[int],
) -> tuple[Cells, float]:
    """Parse one row, dense or sparse, into (attribute, value) pairs and the weight of the row.

    `codes` are those of `code_categories`; `required` are the attributes that a sparse row must
    give: those of text. Of a sparse row only the values that it gives are returned.
    """
    if text[0] == "{":
        return _parse_sparse_row(text, attributes, codes, required)
    weight = 1.0
    values = scan_row(text)
    if len(values) == len(attributes) + 1 and not values[-1].quoted and values[-1].text[:1] == "{":
        weight = _parse_weight(values.pop().text)
    if len(values) != len(attributes):
        raise ArffError(f"expected {len(attributes)} values, got {len(values)}")
    triples = zip(values, attributes, codes, strict=True)
    cells = [_parse_cell(value, attribute, known) for value, attribute, known in triples]
    return list(enumerate(cells)), weight


def _parse_sparse_row(
    text: str,
    attributes: Sequence[Attribute],
    codes: Sequence[dict[str, int]],
    required: Sequence[int],
) -> tuple[Cells, float]:
    pieces, end = _scan_sparse(text)
    rest = text[end:].strip().removeprefix(",").strip()
    weight = _parse_weight(rest) if rest and rest[0] != "%" else 1.0
    cells: dict[int, Any] = {}
    for index_word, value in pieces:
        if not (index_word.isascii() and index_word.isdigit() and len(index_word) < 10):
            raise ArffError(f"a sparse row needs 'index value' pairs, got index {index_word!r}")
        index = int(index_word)
        if index >= len(attributes):
            raise ArffError(f"index {index} is too large for {len(attributes)} attributes")
        if index in cells:
            raise ArffError(f"index {index} is given twice")
        cells[index] = _parse_cell(value, attributes[index], codes[index])
    for index in required:
        if index not in cells:
            raise ArffError(f"a sparse row must give the text {attributes[index].name!r}")
    return list(cells.items()), weight


def _scan_sparse(text: str) -> tuple[list[tuple[str, Value]], int]:
    """Pairs of index and value; the index is cut off before the value is read."""
    pieces: list[tuple[str, Value]] = []
    position = 1
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        if text[position : position + 1] == "}":
            return pieces, position + 1
        start = position
        while position < len(text) and not text[position].isspace() and text[position] not in ",}":
            position += 1
        # The brace reader takes the value up to its comma or brace, quotes respected.
        values, end = _scan_one(text, position)
        pieces.append((text[start:position], values))
        if text[end] == "}":
            return pieces, end + 1
        position = end + 1


def _scan_one(text: str, position: int) -> tuple[Value, int]:
    value, end = scan_value(text, position, ",}")
    if end >= len(text):
        raise ArffError("the brace { is not closed")
    return value, end


def may_be_left_out(attribute: Attribute) -> bool:
    """Whether a sparse row need not give a value: zero or the first category is meant then."""
    return attribute.kind == "numeric" or bool(attribute.kind == "nominal" and attribute.categories)


def _parse_weight(word: str) -> float:
    if not word.startswith("{"):
        raise ArffError(f"unexpected {word[:60]!r} at the end of the row")
    values, end = scan_braces(word, 0)
    if len(values) != 1 or word[end:].strip():
        raise ArffError(f"a row's weight must be one number in braces, got {word[:60]!r}")
    weight = _parse_number(values[0].text, "the row's weight")
    if not weight >= 0:
        raise ArffError(f"the row's weight must not be negative, got {word[:60]}")
    return weight


def _parse_cell(value: Value, attribute: Attribute, codes: dict[str, int]) -> Any:
    if value.missing:
        return {"numeric": math.nan, "nominal": MISSING_CODE}.get(attribute.kind)
    if value.text == "" and not value.quoted:
        raise ArffError(f"the value of {attribute.name!r} is empty; a missing value is written ?")
    if attribute.kind == "numeric":
        return _parse_number(value.text, f"the value of {attribute.name!r}")
    if attribute.kind != "nominal":
        return value.text
    if value.text == "?" and "?" in (attribute.categories or ()):
        return (attribute.categories or ()).index("?")
    if value.text not in codes or value.text == "?":
        raise ArffError(
            f"{value.text[:60]!r} is not among the declared values of {attribute.name!r}"
        )
    return codes[value.text]


def _parse_number(word: str, what: str) -> float:
    try:
        number = float(word)
    except ValueError:
        raise ArffError(f"{what} must be a number, got {word[:60]!r}") from None
    if "_" in word or math.isinf(number):
        raise ArffError(f"{what} must be a finite number, got {word[:60]!r}")
    return number


def code_categories(attribute: Attribute) -> dict[str, int]:
    """Return the code of each declared category and of a missing value."""
    codes = {category: code for code, category in enumerate(attribute.categories or ())}
    # The mark of a missing value shadows a category of that name, which must be quoted.
    return {**codes, "?": MISSING_CODE}
