"""How names, constants and conversions are written for each kind of database."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

_WHOLE_TYPES = re.compile(
    r"u?(tiny|small|big|huge)?int(eger)?\d*|integer|real integer|u?int\d+", re.IGNORECASE
)
_FAMILY_OF_TYPE = (
    (r"(real|float\d?|double|double precision|decimal.*|numeric.*)$", "number"),
    (r"bool(ean)?$", "boolean"),
    (
        r"(varchar|text|char|character|character varying|bpchar|name|uuid|json|jsonb|string)$",
        "text",
    ),
    (r"\"char\"$", "text"),
    (r"enum.*", "category"),
    (r"date$|timestamp.*", "date"),
    (r"interval$|time$|time .*", "duration"),
    (r"\"?null\"?$", "unknown"),
)


@dataclass(frozen=True)
class Dialect:
    """A kind of database: "duckdb", "postgresql" or "sqlite"."""

    name: str
    type_function: str  # the name of a value's type
    number_type: str
    has_grouping_sets: bool
    ordering: str = ""  # a suffix after which texts are compared byte by byte
    is_columnar: bool = False  # whether single columns are quick to read, fetch and keep

    def family_of(self, type_name: str) -> str:
        """Return what a type holds, as `column_families` calls it, or "whole" for integers.

        A type that cannot be read is returned as it is.
        """
        name = type_name.strip().lower()
        if _WHOLE_TYPES.fullmatch(name):
            return "whole"
        for pattern, family in _FAMILY_OF_TYPE:
            if re.match(pattern, name):
                return family
        return type_name

    def to_number(self, expression: str, family: str) -> str:
        """Return the expression of a column as a number; NaN, which databases order, is NULL."""
        if family in ("date", "duration"):
            if self.name == "duckdb":
                return f"epoch_us({expression}) / 1e6"
            return f"CAST(EXTRACT(EPOCH FROM {expression}) AS {self.number_type})"
        number = f"CAST({expression} AS {self.number_type})"
        if family == "number" and self.name != "sqlite":  # SQLite stores NaN as NULL
            return f"NULLIF({number}, CAST('NaN' AS {self.number_type}))"
        return number

    def to_text(self, expression: str, family: str) -> str:
        """Return the expression of a column of texts."""
        if self.name == "sqlite":
            return f"{expression} COLLATE BINARY"  # a column may be compared without case
        return expression if family == "object" else f"CAST({expression} AS VARCHAR)"

    def constant(self, value: Hashable) -> str:
        """Return a text or a number as an expression that has exactly this value."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, (bool, np.bool_, int, np.integer)):
            return str(int(value))
        return self._float(float(value))  # type: ignore[arg-type]

    def _text(self, text: str) -> str:
        pieces = ["'" + piece.replace("'", "''") + "'" for piece in text.split("\0")]
        character = "char(0)" if self.name == "sqlite" else "chr(0)"
        return f" || {character} || ".join(pieces)

    def _float(self, value: float) -> str:
        if self.name != "sqlite":
            return f"CAST('{value!r}' AS {self.number_type})"
        # SQLite rounds what it reads, but whole numbers and quotients of powers of two are exact.
        top, bottom = value.as_integer_ratio()
        exponent = max(0, top.bit_length() - 62)
        terms = [f"CAST({top >> exponent} AS REAL)"]
        for sign, power in (("*", exponent), ("/", bottom.bit_length() - 1)):
            while power > 0:
                terms += [sign, f"CAST({1 << min(power, 62)} AS REAL)"]
                power -= 62
        return f"({' '.join(terms)})"


DIALECTS = {
    "duckdb": Dialect("duckdb", "typeof", "DOUBLE", True, is_columnar=True),
    "postgresql": Dialect("postgresql", "pg_typeof", "DOUBLE PRECISION", True),
    "sqlite": Dialect("sqlite", "typeof", "REAL", False),
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
