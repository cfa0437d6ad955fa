"""Arrays of booleans and numbers one behind the other, a long array for each type.

A place is what JSON says of one array: ``[type, shape]`` are the next entries of that type, where
the shape of an array of one dimension is its length,
``[type, shape, wide]`` are to be read as the type `wide`, and ``[type, shape, wide, "sum"]`` are
differences of a sequence that does not fall. The last two take less room; the writer uses them
where they give the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = ("b1", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8")
"""Types of arrays, by NumPy's names without the order of bytes."""
_DTYPES = {name: np.dtype(name) for name in TYPES}
MIN_SAVED = 512
"""Fewest bytes that a narrower type must save."""
_NARROW_INTS = ("u1", "i1", "u2", "i2", "u4", "i4")
_MAX_DIMENSIONS = 32


class ArrayWriter:
    """Collects arrays, and returns a place for each; with `pack`, in the narrowest exact type."""

    def __init__(self, pack: bool) -> None:
        self._pack = pack
        self._parts: dict[str, list[NDArray[Any]]] = {}
        self.n_widened = 0
        """Bytes that narrowed arrays take once they are widened."""

    def add(self, array: NDArray[Any]) -> list[Any]:
        """Add an array of one of the `TYPES`; it must not change before `join`."""
        wide = array.dtype.str[1:]
        shape = array.shape[0] if array.ndim == 1 else list(array.shape)
        flat = np.asarray(array, order="C").reshape(-1)
        place: list[Any] = [wide, shape]
        if self._pack and flat.itemsize > 1 and flat.nbytes > MIN_SAVED:
            flat, how = _narrow(flat)
            if flat.dtype.str[1:] != wide:
                place = [flat.dtype.str[1:], shape, wide, *how]
                self.n_widened += array.nbytes
        self._parts.setdefault(place[0], []).append(flat)
        return place

    def join(self) -> dict[str, NDArray[Any]]:
        """Return one long array for each type, in the byte order of files."""
        return {
            name: np.concatenate(parts).astype(f"<{name}", copy=False)
            for name, parts in sorted(self._parts.items())
        }


def _narrow(flat: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """Return the same numbers in the narrowest type, and ["sum"] if they are differences."""
    kind, most = flat.dtype.kind, flat.nbytes - MIN_SAVED
    if kind == "f":
        for name in (*_NARROW_INTS[: 4 if flat.itemsize == 4 else 6], "f4"):
            if len(flat) * int(name[1]) > most:
                continue
            with np.errstate(invalid="ignore", over="ignore"):
                narrow = flat.astype(name)
            # Bits are compared: minus zero and the payload of NaN are kept.
            bits = f"i{flat.itemsize}"
            if np.array_equal(narrow.astype(flat.dtype).view(bits), flat.view(bits)):
                return narrow, []
        return flat, []
    if kind in "iu":
        best, how = _narrowest(flat), list[str]()
        if best.itemsize > 1 and flat[0] >= 0 and (flat[1:] >= flat[:-1]).all():
            steps = _narrowest(np.diff(flat, prepend=flat.dtype.type(0)))
            if steps.itemsize < best.itemsize:
                best, how = steps, ["sum"]
        if best.nbytes <= most:
            return best, how
    return flat, []


def _narrowest(flat: NDArray[Any]) -> NDArray[Any]:
    least, largest = int(flat.min()), int(flat.max())
    for name in _NARROW_INTS:
        limits = np.iinfo(name)
        if limits.min <= least and largest <= limits.max and limits.bits < 8 * flat.itemsize:
            return flat.astype(name)
    return flat


def width_of(wide: Any) -> int:
    """Return the bytes of a number of a type."""
    if wide not in _DTYPES:
        raise ValueError("an array cannot be read as the type that it states")
    return _DTYPES[wide].itemsize


def widen(part: NDArray[Any], wide: Any, how: Any = None) -> NDArray[Any]:
    """Return numbers in the type `wide`; those of "sum", as `how`, are differences."""
    if width_of(wide) < part.itemsize or part.dtype.kind == "b":
        raise ValueError("an array cannot be read as the type that it states")
    if how is None:
        return part.astype(_DTYPES[wide])
    if how != "sum" or wide[0] not in "iu" or part.dtype.kind not in "iu":
        raise ValueError("an array of differences must hold whole numbers")
    return np.cumsum(part, dtype=wide)


def size_of(shape: Any) -> int:
    """Return the number of entries of a shape; ValueError if it is none."""
    if len(shape) > _MAX_DIMENSIONS:
        raise ValueError("an array has too many dimensions")
    size = 1
    for length in shape:
        if type(length) is not int or length < 0:
            raise ValueError("the shape of an array is wrong")
        size *= length
    return size
