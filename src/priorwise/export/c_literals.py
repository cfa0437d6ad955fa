"""Values and names as C writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KEYWORDS = (
    # C
    " alignas alignof auto bool break case char const constexpr continue default do double else "
    "enum extern false float for goto if inline int long nullptr register restrict return short "
    "signed sizeof static static_assert struct switch thread_local true typedef typeof "
    "typeof_unqual union unsigned void volatile while "
    # C++
    "and and_eq asm bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield "
    "compl concept const_cast consteval constinit decltype delete dynamic_cast explicit export "
    "friend mutable namespace new noexcept not not_eq operator or or_eq private protected public "
    "reinterpret_cast requires static_cast template this throw try typeid typename using virtual "
    "wchar_t xor xor_eq "
    # Macros of headers and compilers with small letters
    "L_tmpnam P_tmpdir complex environ errno far fortran hppa huge i386 i486 i586 i686 imaginary "
    "interface kill_dependency linux m68k math_errhandling mips near noreturn ns32000 offsetof "
    "pascal pdp11 pixel setjmp sgi small sparc stderr stdin stdout sun u3b unix unreachable vax "
    "vector "
)
"""Names with small letters that C, C++ or their headers have taken."""


def name_fields(names: Iterable[str], prefix: str) -> list[str]:
    """Return C identifiers like the names of the features, all different.

    Other characters than ASCII letters and digits become underscores. A name begins with "x_" if it
    would begin with a digit, is a keyword, or has no small letter: such names are those of macros,
    which mean something else in any place of a file. `prefix` is that of the file's own names.
    """
    taken = {f"{prefix}_ROW", f"{prefix}_DECLARATIONS"}
    result: list[str] = []
    for name in names:
        field = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "feature"
        if field[0].isdigit() or f" {field} " in _KEYWORDS or field == field.upper():
            field = f"x_{field}"
        plain, n = field, 2
        while field in taken:
            field, n = f"{plain}_{n}", n + 1
        result.append(field)
        taken.add(field)
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
    return '"' + "".join(map(_escape, text)) + '"'


def write_characters(text: bytes) -> str:
    """Return a text as an array of characters, with the zero that ends it."""
    return join_items([f"'{_escape(byte)}'" for byte in (*text, 0)])


def _escape(byte: int) -> str:
    return chr(byte) if 32 <= byte < 127 and chr(byte) not in "\"'\\?" else f"\\{byte:03o}"


def write_comment(text: Any) -> str:
    return re.sub(r"[^ -~]", "?", str(text)).replace("*/", "* /").replace("/*", "/ *")
