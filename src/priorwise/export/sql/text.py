"""Tables of numbers, names and values as SQL writes them, in three dialects."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

DIALECTS = ("duckdb", "postgres", "sqlite")


def quote(name: str) -> str:
    """Return an identifier."""
    return '"' + name.replace('"', '""') + '"'


def write_text(text: str, dialect: str) -> str:
    """Return a text; no statement may have the character 0, so that a function writes it."""
    pieces = ["'" + piece.replace("'", "''") + "'" for piece in text.split("\0")]
    zero = "char(0)" if dialect == "sqlite" else "chr(0)"
    return f" || {zero} || ".join(pieces)


def write_number(value: float) -> str:
    """Return a number that is read as the same double; NULL stands for NaN."""
    if math.isnan(value):
        return "NULL"
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def write_table(name: str, columns: dict[str, Sequence[Any] | NDArray[Any]], dialect: str) -> str:
    """Return a common table expression of columns of whole numbers or of doubles.

    Databases read a text of numbers far faster than a list of rows.
    """
    arrays = [np.asarray(column) for column in columns.values()]
    kinds = ["BIGINT" if a.dtype.kind in "iub" else "DOUBLE PRECISION" for a in arrays]
    texts = [[_write_cell(value, dialect) for value in a.tolist()] for a in arrays]
    if dialect == "sqlite":
        rows = ",".join("[" + ",".join(row) + "]" for row in zip(*texts, strict=True))
        cells = ", ".join(f"json_extract(value, '$[{i}]')" for i in range(len(columns)))
        query = f"SELECT {cells} FROM json_each('[{rows}]')"
    elif dialect == "postgres":
        lists = (
            f"CAST('{{{','.join(text)}}}' AS {kind}[])"
            for text, kind in zip(texts, kinds, strict=True)
        )
        query = f"SELECT * FROM UNNEST({', '.join(lists)})"
    else:
        lists = (
            f"UNNEST(CAST('[{','.join(text)}]' AS {kind}[]))"
            for text, kind in zip(texts, kinds, strict=True)
        )
        query = f"SELECT {', '.join(lists)}"
    return f"{name}({', '.join(columns)}) AS MATERIALIZED ({query})"


def _write_cell(value: float, dialect: str) -> str:
    if dialect == "sqlite" and math.isinf(value):
        # JSON has no infinity.
        value = math.copysign(sys.float_info.max, value)
    return repr(value).replace("inf", "Infinity")


def softmax(scores: str, by: str) -> str:
    """Return a query of probabilities from one of scores with the columns `by`, class and s."""
    change = f"s - MAX(s) OVER (PARTITION BY {by})"
    return (
        f"SELECT {by}, class, e / SUM(e) OVER (PARTITION BY {by}) AS p FROM (\n"
        f"SELECT {by}, class, CASE WHEN d < -700 THEN 0.0e0 ELSE EXP(d) END AS e FROM (\n"
        f"SELECT {by}, class, {change} AS d FROM ({scores}) a) b) c"
    )


def union_all(queries: Iterable[str], most: int = 200) -> str:
    """Return the rows of many queries; SQLite joins at most 500 of them at once."""
    parts = list(queries)
    while len(parts) > most:
        groups = [parts[i : i + most] for i in range(0, len(parts), most)]
        parts = [f"SELECT * FROM ({' UNION ALL '.join(group)}) u" for group in groups]
    return "\nUNION ALL ".join(parts)


def normal_share(z: str) -> str:
    """Return Phi(z), the share of a normal distribution below z, to about 1e-13.

    With t = 2 / (2 + |z| / sqrt 2), erfc is t exp(-z^2 / 2 + f(t)) for a polynomial f.
    """
    degree = 26
    coefficients = np.polynomial.chebyshev.cheb2poly(
        np.polynomial.chebyshev.chebinterpolate(_log_scaled_erfc, degree)  # type: ignore[arg-type,type-var]
    )
    t = f"(2.0e0 / (2.0e0 + ABS({z}) / {math.sqrt(2.0)!r}e0))"
    # PostgreSQL refuses powers that underflow.
    u = f"(CASE WHEN ABS(2.0e0 * {t} - 1.0e0) < 1e-10 THEN 0.0e0 ELSE 2.0e0 * {t} - 1.0e0 END)"
    # A sum of powers, since SQLite refuses deeply nested expressions.
    powers = "".join(
        f" + {write_number(c)} * POWER({u}, {k})"
        for k, c in enumerate(coefficients.tolist())
        if k > 0
    )
    exponent = f"{write_number(float(coefficients[0]))}{powers} - {z} * {z} / 2.0e0"
    tail = f"CASE WHEN ABS({z}) > 37 THEN 0.0e0 ELSE 0.5e0 * {t} * EXP({exponent}) END"
    return f"(CASE WHEN {z} > 0 THEN 1.0e0 - {tail} ELSE {tail} END)"


def _log_scaled_erfc(u: NDArray[np.float64]) -> NDArray[np.float64]:
    t = 0.5 * (u + 1.0)
    x = 2.0 / t - 2.0
    return np.asarray(np.log(erfcx(x) / t))
