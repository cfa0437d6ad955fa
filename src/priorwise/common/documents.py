"""Long texts and records whose bare values, in a notebook or at the prompt, stay short."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Self

import numpy as np

from priorwise.common.texts import LINE_WIDTH, MANY, SEVERAL, count

MAX_FIELD = 60
"""Most characters of a field of a record."""


class Document(str):
    """A text that is long: its bare value is its beginning and its size, `print` shows it all.

    `path` is the file that it has been written to, or None. Markdown is drawn in notebooks.

    >>> Document("a\\nb\\n" * 20)[:3]
    'a\\nb'
    >>> Document("select 1 " * 20)
    select 1 select 1 select 1 select 1 select 1 select 1 select 1 select 1 select 1 select 1 select 1 s...
    (180 characters, 1 line; print shows all)
    """  # noqa: E501

    path: Any
    is_markdown: bool

    def __new__(cls, text: str, path: Any = None, *, is_markdown: bool = False) -> Self:
        document = super().__new__(cls, text)
        document.path, document.is_markdown = path, is_markdown
        return document

    def __getnewargs_ex__(self) -> Any:
        return (str(self), self.path), {"is_markdown": self.is_markdown}

    def __repr__(self) -> str:
        lines = self.splitlines()
        shown = [
            line if len(line) <= LINE_WIDTH else line[:LINE_WIDTH] + "..." for line in lines[:MANY]
        ]
        size = f"{count(len(self), 'character')}, {count(len(lines), 'line')}"
        if self.path is not None:
            size += f", written to {self.path}"
        is_cut = shown != lines
        if is_cut or self.path is not None:
            shown.append(f"({size}{'; print shows all' if is_cut else ''})")
        return "\n".join(shown)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        return bundle | ({"text/markdown": str(self)} if self.is_markdown else {})


class Description(dict[str, Any]):
    """A model as values of JSON: its bare value says what it holds instead of showing arrays."""

    def __init__(self, *values: Any, path: Any = None, **more: Any) -> None:
        super().__init__(*values, **more)
        self.path = path

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}: {describe_value(value)}" for name, value in self.items())
        end = "" if self.path is None else f", written to {self.path}"
        return f"<JSON with {parts}{end}>"


class Collection(dict[str, Any]):
    """Values by name, of which the bare value shows the first.

    >>> Collection({"iris": 61, "values": list(range(99))})
    {'iris': 61, 'values': 99 values}
    """

    def __repr__(self) -> str:
        return _show_pairs(self)


class Listing(list[str]):
    """Many names, of which the bare value shows the first.

    >>> Listing("abcdefghijkl")
    ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', ... 4 more]
    """

    def __repr__(self) -> str:
        return f"[{_join_first([repr(one) for one in self])}]"


class Catalogue(Mapping[str, Any]):
    """Values by name that cannot be changed, of which the bare value shows the first.

    >>> Catalogue({"small": Catalogue({"iris": 61, "zoo": 62})})
    {'small': 2 values}
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return _show_pairs(self)


def _show_pairs(values: Mapping[str, Any]) -> str:
    pairs = [f"{name!r}: {describe_value(value)}" for name, value in values.items()]
    return f"{{{_join_first(pairs)}}}"


def _join_first(texts: list[str]) -> str:
    more = len(texts) - SEVERAL
    return ", ".join([*texts[:SEVERAL], *([f"... {more} more"] if more > 0 else [])])


def describe_value(value: Any) -> str:
    """Return a value of a field as short text: of arrays the shape, of parts how many there are.

    >>> describe_value(np.zeros((3, 2))), describe_value([0.5, "a"]), describe_value(list("abc" * 40))
    ('array (3, 2)', "[0.5, 'a']", '120 values')
    """  # noqa: E501
    if isinstance(value, np.ndarray):
        return f"array {value.shape}"
    if isinstance(value, Catalogue):
        return count(len(value), "value")
    if isinstance(value, dict | list | tuple):
        # Large ones are not spelt out, which would take long.
        text = repr(value) if len(value) <= MAX_FIELD else ""
        return text if text and len(text) <= MAX_FIELD else count(len(value), "value")
    text = repr(value)
    return text if len(text) <= MAX_FIELD else f"{type(value).__name__}(...)"


def describe_fields(record: Any) -> str:
    """Return the class of a dataclass and its fields as one short text."""
    parts = (f"{one.name}={describe_value(getattr(record, one.name))}" for one in fields(record))
    return f"{type(record).__name__}({', '.join(parts)})"
