"""Arrays as JSON: numbers in few bytes that browsers read fast, in base64."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

APART_BYTES, ARRAY_BYTES = 5, 100
"""About what a number stored apart takes more than others, and what an array takes at least."""

MAX_PART = 0.8
"""Numbers are replaced by places in a table of the different ones if both take at most this part
of the room that the numbers take."""


def pack_array(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array of int32, float32 or float64 for JSON; arrays.js has the reverse."""
    pack = _pack_floats if array.dtype.kind == "f" else _pack_integers
    return {"shape": list(array.shape), **pack(array.ravel())}


def _pack_floats(numbers: NDArray[Any]) -> dict[str, Any]:
    """Return numbers as they are, or as the "places" of numbers in a table of different ones."""
    size = numbers.dtype.itemsize
    # As whole numbers, so that NaN equals itself and -0 differs from 0.
    table, places = np.unique(np.ascontiguousarray(numbers).view(f"i{size}"), return_inverse=True)
    n_bytes = size * len(table) + len(places) * len(table).bit_length() / 8 + ARRAY_BYTES
    if n_bytes > MAX_PART * size * len(numbers):
        return {"type": f"f{size}", "data": _encode(numbers, f"f{size}")}
    return {"type": f"f{size}", "places": pack_array(places), "data": _encode(table, f"i{size}")}


def _pack_integers(numbers: NDArray[Any]) -> dict[str, Any]:
    """Return numbers in one or two bytes, or in four.

    All bits of these bytes set stand for the next number of "more".
    """
    best: dict[str, Any] = {"type": "i4", "data": _encode(numbers, "i4")}
    least = 4 * len(numbers)
    for size in (1, 2):
        escape = 256**size - 1
        apart = (numbers < 0) | (numbers >= escape)
        n_apart = int(apart.sum())
        n_bytes = size * len(numbers) + n_apart * (4 + APART_BYTES) + ARRAY_BYTES * (n_apart > 0)
        if n_bytes < least:
            data = _encode(np.where(apart, escape, numbers), f"u{size}")
            best, least = {"type": f"u{size}", "data": data}, n_bytes
            if n_apart:
                best["more"] = pack_array(numbers[apart])
    return best


def _encode(values: NDArray[Any], kind: str) -> str:
    return b64encode(values.astype(f"<{kind}").tobytes()).decode("ascii")
