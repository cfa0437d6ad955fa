"""How names and columns are written for each kind of database."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_FAMILY_OF_TYPE = (
    (r"u?(tiny|small|big)?int(eger)?\d*$", "whole"),
    (r"(u?hugeint|real|float\d?|double|double precision|decimal.*|numeric.*)$", "number"),
    (r"bool(ean)?$", "boolean"),
    (
        r"(varchar|text|char|\"char\"|character|character varying|bpchar|name|uuid|jsonb?|string)$",
        "text",
    ),
    (r"enum.*", "category"),
    (r"date$|timestamp.*", "date"),
    (r"interval$|time$|time .*", "duration"),
    (r"\"?null\"?$", "unknown"),
)


@dataclass(frozen=True)
class Dialect:
    """A kind of database: "duckdb", "postgresql" or "sqlite".

    `number`, `seconds` and `text` are expressions of a column ``{}`` as a double, of a time or
    interval as seconds, and of a text that is sorted byte by byte.
    """

    name: str
    type_function: str  # the name of a value's type
    number: str
    seconds: str
    text: str

    def family_of(self, type_name: str) -> str:
        """Return what a type holds, as `column_families` calls it, or "whole" for integers.

        A type that cannot be read is returned as it is.
        """
        name = type_name.strip().lower()
        for pattern, family in _FAMILY_OF_TYPE:
            if re.match(pattern, name):
                return family
        return type_name

    def read(self, name: str, family: str) -> str:
        """Return the expression that reads a column of some family; TypeError if none can."""
        column = quote_name(name)
        if family in ("whole", "boolean", "category", "date"):
            return column
        expressions = {"number": self.number, "duration": self.seconds}
        expressions |= dict.fromkeys(("text", "object", "unknown"), self.text)
        if family not in expressions:
            raise TypeError(
                f"column {name!r} has type {family}; use numbers, dates, strings, booleans or "
                "enumerations"
            )
        return expressions[family].format(column)


DIALECTS = {
    "duckdb": Dialect(
        "duckdb", "typeof", "CAST({} AS DOUBLE)", "epoch_us({}) / 1e6", "CAST({} AS VARCHAR)"
    ),
    "postgresql": Dialect(
        "postgresql",
        "pg_typeof",
        "CAST({} AS DOUBLE PRECISION)",
        "CAST(EXTRACT(EPOCH FROM {}) AS DOUBLE PRECISION)",
        'CAST({} AS VARCHAR) COLLATE "C"',
    ),
    # SQLite has no type of times.
    "sqlite": Dialect("sqlite", "typeof", "CAST({} AS REAL)", "{}", "{} COLLATE BINARY"),
}

_MODULES = {
    "duckdb": "duckdb",
    "_duckdb": "duckdb",
    "sqlite3": "sqlite",
    "psycopg": "postgresql",
    "psycopg2": "postgresql",
    "pg8000": "postgresql",
}


def find_dialect(connection: Any, name: str | None) -> Dialect:
    """Return the dialect of a connection, or that of a name; ValueError if it is not known."""
    kind = type(connection)
    known = _MODULES.get(kind.__module__.split(".")[0])
    if known is None and hasattr(connection, "adbc_get_info"):
        vendor = str(connection.adbc_get_info().get("vendor_name", "")).lower()
        known = next((dialect for dialect in DIALECTS if dialect in vendor), None)
    name = known if name is None else name
    if name not in DIALECTS or known not in (None, name):
        expected = f"one of {list(DIALECTS)}" if known is None else repr(known)
        raise ValueError(
            f"dialect must be {expected} for a connection of type "
            f"{kind.__module__}.{kind.__qualname__}, got {name!r}"
        )
    return DIALECTS[name]


def quote_name(name: str) -> str:
    """Return a name that is taken as it is, whatever its characters.

    >>> quote_name('size "in" cm')
    '"size ""in"" cm"'
    """
    if "\0" in name:
        raise ValueError(f"a name in a database must not have the character 0, got {name!r}")
    return '"' + name.replace('"', '""') + '"'
