"""Arrays as JSON: as few bits for each number as keep all of them, in base64."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BITS = 24
"""Whole numbers that need more bits are stored in 32."""

MIN_BITS_APART = 1 << 18
"""Arrays of fewer whole numbers are stored in whole bytes, which browsers read without a loop."""

EXCEPTION_BITS = 48
"""About what a number costs that is stored apart from the others."""


def pack_array(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array of int32, float32 or float64 for JSON; arrays.js has the reverse."""
    packed: dict[str, Any] = {"shape": list(array.shape)}
    if array.dtype.kind == "f":
        return packed | _pack_floats(np.ascontiguousarray(array))
    return packed | _pack_integers(array.ravel().astype(np.int64))


def _pack_floats(array: NDArray[Any]) -> dict[str, Any]:
    """Return numbers as they are, or as places in a table of different ones, or as pairs."""
    kind = f"f{array.dtype.itemsize}"
    pairs = _pack_pairs(array)
    if pairs:
        return pairs
    # As whole numbers, so that NaN equals itself and -0 differs from 0.
    bits = array.ravel().view(f"i{array.dtype.itemsize}")
    different, place = np.unique(bits, return_inverse=True)
    n_bits = 8 * array.dtype.itemsize
    if len(different) * n_bits + len(bits) * len(different).bit_length() < 0.6 * n_bits * len(bits):
        data = _encode(different, f"<i{array.dtype.itemsize}")
        return {"type": kind, "places": pack_array(place), "data": data}
    return {"type": kind, "data": _encode(array, f"<{kind}")}


def _pack_pairs(array: NDArray[Any]) -> dict[str, Any]:
    """Return rows of two float32 that add up to one as their smaller number; {} if they do not.

    The larger number is one less the smaller one, or the float before or after it. A code has which
    of the two is larger, times three, and which of these three floats it is.
    """
    if array.dtype != np.float32 or array.ndim != 2 or array.shape[1] != 2 or not len(array):
        return {}
    smaller, larger = array.min(axis=1), array.max(axis=1)
    if not (smaller >= 0.0).all():
        return {}
    nearest = (1.0 - smaller.astype(np.float64)).astype(np.float32)
    gap = larger.view(np.int32).astype(np.int64) - nearest.view(np.int32)
    if not (np.abs(gap) <= 1).all():
        return {}
    codes = 3 * (array[:, 1] > array[:, 0]) + gap + 1
    return {"type": "pairs", "codes": pack_array(codes), "data": _encode(smaller, "<f4")}


def _pack_integers(numbers: NDArray[np.int64]) -> dict[str, Any]:
    """Return numbers above a low one in few bits, and those that need more bits apart.

    Instead of the numbers, the steps between them are stored if these take less.
    """
    if not len(numbers):
        return {"type": "int", "low": 0, "bits": 0, "data": ""}
    steps = np.diff(numbers, prepend=0)
    widths = range(MAX_BITS + 1) if len(numbers) >= MIN_BITS_APART else (0, 8, 16)
    choices = []
    for is_step, values in ((False, numbers), (True, steps)):
        for low in {int(values.min()), int(np.median(values)), 0}:
            # Bits of each number: bit_length by the exponent of a float; 63 for those below `low`.
            above = values - low
            length = np.where(above < 0, 63, np.frexp(above.astype(np.float64))[1])
            n_longer = len(values) - np.cumsum(np.bincount(length, minlength=64))
            choices += [
                (len(values) * bits + EXCEPTION_BITS * int(n_longer[bits]), is_step, low, bits)
                for bits in widths
            ]
    cost, is_step, low, bits = min(choices)
    if cost >= 32 * len(numbers):
        return {"type": "int", "low": 0, "bits": 32, "data": _encode(numbers, "<i4")}
    above = (steps if is_step else numbers) - low
    apart = (above < 0) | (above >= 1 << bits)
    packed: dict[str, Any] = {"type": "int", "low": low, "bits": bits}
    if is_step:
        packed["steps"] = True
    if apart.any():
        packed["apart"] = pack_array(np.flatnonzero(apart))
        packed["values"] = pack_array((above + low)[apart])
        above[apart] = 0
    places = (above[:, None] >> np.arange(bits)) & 1
    packed["data"] = _encode(np.packbits(places.astype(np.bool_), bitorder="little"), "u1")
    return packed


def _encode(values: NDArray[Any], kind: str) -> str:
    return b64encode(values.astype(kind).tobytes()).decode("ascii")
