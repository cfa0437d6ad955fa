"""The words of an ARFF file: errors, values, attribute declarations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

_QUOTED = {
    "'": re.compile(r"'((?:[^'\\]|\\.)*)'"),
    '"': re.compile(r'"((?:[^"\\]|\\.)*)"'),
}
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_COMMENT = re.compile(r"(?:^|\s)%")
_UNTIL = {",": re.compile(r"[^,]*"), ",}": re.compile(r"[^,}]*")}
_BARE_NAME = re.compile(r"[^\s,{]+")
_NUMERIC_WORDS = frozenset({"numeric", "real", "integer"})


class ArffError(ValueError):
    """A file that is not ARFF; the message names the file, the line and the error.

    Parameters
    ----------
    problem : str
        What is wrong.
    source : str
        Name of the file.
    line : int or None
        Number of the line, from 1.

    Examples
    --------
    >>> raise ArffError("a value is missing", "iris.arff", 7)
    Traceback (most recent call last):
        ...
    priorwise.data.arff.syntax.ArffError: iris.arff:7: a value is missing
    """

    def __init__(self, problem: str, source: str = "", line: int | None = None):
        self.problem, self.source, self.line = problem, source, line
        place = ":".join([source or "<arff>"] + ([str(line)] if line is not None else []))
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[type[ArffError], tuple[str, str, int | None]]:
        return type(self), (self.problem, self.source, self.line)


@dataclass(frozen=True)
class Attribute:
    """One declared column. ``kind`` is "numeric", "nominal", "string" or "date"."""

    name: str
    kind: str
    categories: tuple[str, ...] | None = None


class Value(NamedTuple):
    """A value as written: the category '?' is quoted, a missing value is not."""

    text: str
    quoted: bool

    @property
    def missing(self) -> bool:
        return self.text == "?" and not self.quoted


def scan_value(text: str, start: int, stops: str) -> tuple[Value, int]:
    """Read the value at ``start`` and return it with the position of the stop that ended it.

    ``stops`` is "," for a row and ",}" inside braces. The position is ``len(text)`` at the end.
    """
    position = skip_blanks(text, start)
    quote = text[position : position + 1]
    if quote in _QUOTED:
        match = _QUOTED[quote].match(text, position)
        if match is None:
            raise ArffError(f"the quote {quote} is not closed")
        end = skip_blanks(text, match.end())
        if end < len(text) and text[end] not in stops:
            if text[end] != "%":
                raise ArffError(f"a comma is missing after {_shorten(match.group())}")
            end = len(text)
        return Value(_unescape(match.group(1)), True), end
    match = _UNTIL[stops].match(text, position)
    assert match is not None  # the pattern also matches nothing
    end, word = match.end(), match.group()
    comment = _COMMENT.search(word) if "%" in word else None
    if comment:
        return Value(word[: comment.start()].strip(), False), len(text)
    return Value(word.strip(), False), end


def skip_blanks(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def scan_row(text: str) -> list[Value]:
    """Values of a dense row. A comma at the end of the row closes it and adds no value."""
    values, position = [], 0
    while True:
        value, position = scan_value(text, position, ",")
        values.append(value)
        if position >= len(text):
            break
        position += 1
    if len(values) > 1 and values[-1] == ("", False):
        values.pop()
    return values


def scan_braces(text: str, start: int) -> tuple[list[Value], int]:
    """Values between the brace at ``start`` and its partner; returns the position after it."""
    values, position = [], start + 1
    while True:
        value, position = scan_value(text, position, ",}")
        values.append(value)
        if position >= len(text):
            raise ArffError("the brace { is not closed")
        if text[position] == "}":
            break
        position += 1
    if values[-1] == ("", False):
        values.pop()
    return values, position + 1


def parse_attribute(declaration: str) -> Attribute:
    """Parse what follows ``@attribute``: a name, perhaps quoted, and a type."""
    name, position = _scan_name(declaration)
    # Some files put a comma between the name and the type.
    while position < len(declaration) and (
        declaration[position].isspace() or declaration[position] == ","
    ):
        position += 1
    if position >= len(declaration):
        raise ArffError(f"attribute {_shorten(name)} has no type")
    if declaration[position] == "{":
        return Attribute(name, "nominal", _parse_categories(name, declaration, position))
    word = re.split(r"[\s\[%]", declaration[position:], maxsplit=1)[0]
    if word.lower() in _NUMERIC_WORDS:
        return Attribute(name, "numeric")
    if word.lower() in ("string", "date"):
        return Attribute(name, word.lower())
    raise ArffError(
        f"attribute {_shorten(name)} has the unknown type {_shorten(word)}: "
        "expected numeric, real, integer, string, date or {values}"
    )


def _scan_name(declaration: str) -> tuple[str, int]:
    position = skip_blanks(declaration, 0)
    quote = declaration[position : position + 1]
    pattern = _QUOTED.get(quote, _BARE_NAME)
    match = pattern.match(declaration, position)
    if match is None:
        raise ArffError("an attribute needs a name, with its quotes closed, and a type")
    name = _unescape(match.group(1)) if quote in _QUOTED else match.group()
    return name, match.end()


def _parse_categories(name: str, declaration: str, position: int) -> tuple[str, ...]:
    values, end = scan_braces(declaration, position)
    rest = declaration[end:].strip()
    if rest and not rest.startswith("%"):
        raise ArffError(f"unexpected {_shorten(rest)} after the values of {_shorten(name)}")
    if ("", False) in values:
        raise ArffError(f"attribute {_shorten(name)} declares an empty value without quotes")
    categories: dict[str, None] = {}
    for value in values:
        if value.text in categories:
            raise ArffError(f"attribute {_shorten(name)} declares {_shorten(value.text)} twice")
        categories[value.text] = None
    return tuple(categories)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match.group(1), match.group(1)), text)


def _shorten(text: str, width: int = 60) -> str:
    return repr(text if len(text) <= width else text[: width - 3] + "...")
