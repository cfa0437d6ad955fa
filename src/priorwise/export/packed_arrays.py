"""Arrays as JSON: as few bits for each number as keep all of them, in base64."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BITS = 24
"""Whole numbers that need more bits are stored apart, or in 32."""

MIN_BITS_APART = 1 << 18
"""Arrays of fewer numbers are stored in whole bytes, which browsers read without a loop."""

STEP_BITS = 12
"""About what a browser's loop over the steps between a few numbers costs, in bits of a page."""

ESCAPE_BITS, ARRAY_BITS = 5, 800
"""About what a number stored apart costs more than others, and what an array costs at least."""


def pack_array(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array of int32, float32 or float64 for JSON; arrays.js has the reverse."""
    packed: dict[str, Any] = {"shape": list(array.shape)}
    if array.dtype.kind == "f":
        return packed | _pack_floats(np.ascontiguousarray(array))
    return packed | _pack_integers(array.ravel().astype(np.int64))


def _pack_floats(array: NDArray[Any]) -> dict[str, Any]:
    """Return numbers as they are, or in one of the ways that takes less."""
    kind = f"f{array.dtype.itemsize}"
    pairs = _pack_opposites(array) or _pack_pairs(array)
    if pairs:
        return pairs
    # As whole numbers, so that NaN equals itself and -0 differs from 0.
    bits = array.ravel().view(f"i{array.dtype.itemsize}")
    n_bits, n = 8 * array.dtype.itemsize, len(bits)
    is_whole = _find_whole(array.ravel())
    cost_apart = n + 8 * int(is_whole.sum()) + n_bits * int((~is_whole).sum()) + ARRAY_BITS
    if n < MIN_BITS_APART:
        cost_apart = n_bits * n
    different, place = np.unique(bits, return_inverse=True)
    cost_of_table = len(different) * n_bits + n * len(different).bit_length() + ARRAY_BITS
    if min(cost_of_table, cost_apart) > 0.8 * n_bits * n:
        return {"type": kind, "data": _encode(array, f"<{kind}")}
    if cost_apart < cost_of_table:
        return {
            "type": kind,
            "is_whole": pack_array(is_whole.astype(np.int64)),
            "whole": pack_array(array.ravel()[is_whole].astype(np.int64)),
            "data": _encode(array.ravel()[~is_whole], f"<{kind}"),
        }
    data = _encode(different, f"<i{array.dtype.itemsize}")
    return {"type": kind, "places": pack_array(place), "data": data}


def _find_whole(numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which numbers are small whole ones, such as codes of labels; -0 is none."""
    small = np.where(np.abs(numbers) < 2**16, numbers, 0.5)
    return np.asarray((small == np.round(small)) & ~((small == 0.0) & np.signbit(numbers)))


def _pack_opposites(array: NDArray[Any]) -> dict[str, Any]:
    """Return rows of a number and its negative as the first of them; {} if others are there."""
    if array.dtype != np.float32 or array.ndim != 2 or array.shape[1] != 2 or not len(array):
        return {}
    if not np.array_equal((-array[:, 0]).view(np.int32), array[:, 1].copy().view(np.int32)):
        return {}
    return {"type": "opposites", "data": _encode(array[:, 0], "<f4")}


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
    """Return numbers above a low one in few bits; those that need more follow in "more".

    All bits set stand for the next number of "more". Instead of the numbers, the steps between them
    are stored if these take less.
    """
    if not len(numbers):
        return {"type": "int", "low": 0, "bits": 0, "data": ""}
    is_small = len(numbers) < MIN_BITS_APART
    steps = np.diff(numbers, prepend=0)
    choices = []
    for is_step, values in ((False, numbers), (True, steps)):
        least, extra = int(values.min()), STEP_BITS * len(values) * (is_small and is_step)
        for low in {0} if is_small else {least, int(np.median(values)), 0}:
            # Bits of a number and one: bit_length by the exponent of a float; 63 if below `low`.
            above = values - low
            length = np.where(above < 0, 63, np.frexp(above + 1.0)[1])
            n_longer = len(values) - np.cumsum(np.bincount(length, minlength=64))
            choices += [
                (_cost(len(values), bits, int(n_longer[bits])) + extra, is_step, low, bits, True)
                for bits in ((8, 16) if is_small else range(1, MAX_BITS + 1))
                if n_longer[bits] < len(values) // 2
            ]
            bits = int(above.max()).bit_length()
            if is_small:
                bits = -8 * (-bits // 8)
            if least >= low and bits <= MAX_BITS - 8 * is_small:
                choices.append((len(values) * bits + extra, is_step, low, bits, False))
        if least == values.max():
            choices.append((extra, is_step, least, 0, False))
    cost, is_step, low, bits, has_more = min(choices, default=(np.inf, False, 0, 32, False))
    if cost >= 32 * len(numbers):
        return {"type": "int", "low": 0, "bits": 32, "data": _encode(numbers, "<i4")}
    values = steps if is_step else numbers
    above = values - low
    packed: dict[str, Any] = {"type": "int", "low": low, "bits": bits}
    if is_step:
        packed["steps"] = True
    if has_more:
        escape = (1 << bits) - 1
        apart = (above < 0) | (above >= escape)
        packed["more"] = pack_array(values[apart])
        above = np.where(apart, escape, above)
    places = (above[:, None] >> np.arange(bits)) & 1
    packed["data"] = _encode(np.packbits(places.astype(np.bool_), bitorder="little"), "u1")
    return packed


def _cost(n: int, bits: int, n_apart: int) -> int:
    return n * bits + n_apart * (bits + ESCAPE_BITS) + ARRAY_BITS


def _encode(values: NDArray[Any], kind: str) -> str:
    return b64encode(values.astype(kind).tobytes()).decode("ascii")
