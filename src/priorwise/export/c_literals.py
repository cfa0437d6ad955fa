"""Values and names as C writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KEYWORDS = (
    " auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while "
)


def name_fields(names: Iterable[str]) -> list[str]:
    """Return C identifiers like the names of the features, all different."""
    result: list[str] = []
    for name in names:
        field = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "feature"
        if field[0].isdigit() or f" {field} " in _KEYWORDS:
            field = f"x_{field}"
        plain, n = field, 2
        while field in result:
            field, n = f"{plain}_{n}", n + 1
        result.append(field)
    return result


def write_array(array: NDArray[Any], depth: int) -> str:
    """Return an array as an initialiser, with as many inner braces as `depth`."""
    if array.size == 0:
        return "{" * (depth + 1) + "0" + "}" * (depth + 1)
    if depth == 0:
        return join_items(_numbers(array.ravel()))
    rows = array.reshape(-1, *array.shape[-depth:])
    return join_items([write_array(row, depth - 1) for row in rows])


def _numbers(values: NDArray[Any]) -> list[str]:
    if values.dtype.kind == "i":
        return [str(value) for value in values.tolist()]
    if values.dtype == np.float32:
        return [_float(value) for value in values]
    return [write_double(value) for value in values.tolist()]


def write_structs(columns: Iterable[NDArray[Any]]) -> list[str]:
    """Return structures as initialisers, from an array for each member."""
    return ["{" + ",".join(row) + "}" for row in zip(*map(_numbers, columns), strict=True)]


def write_double(value: float) -> str:
    """The shortest decimal that is read as the same number."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0.0 else "-INFINITY"
    return repr(float(value))


def _float(value: np.float32) -> str:
    return f"{value}f" if np.isfinite(value) else write_double(float(value))


def join_items(items: list[str]) -> str:
    lines = [",".join(items[i : i + 12]) for i in range(0, len(items), 12)]
    return "{" + ",\n".join(lines) + "}"


def write_string(text: bytes) -> str:
    safe = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text)
    return '"' + "".join(safe) + '"'


def write_comment(text: Any) -> str:
    return re.sub(r"[^ -~]", "?", str(text)).replace("*/", "* /").replace("/*", "/ *")
