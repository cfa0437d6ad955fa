"""Arrays of booleans and numbers one behind the other, a long array for each type.

A place is what JSON says of one array: ``[type, shape]`` are the next entries of that type, where
the shape of an array of one dimension is its length; ``[type, shape, wide]`` are to be read as the
type `wide`. The latter takes less room; the writer uses it where it gives the same bits.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import KIB

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
            flat = _narrow(flat)
            if flat.dtype.str[1:] != wide:
                place = [flat.dtype.str[1:], shape, wide]
                self.n_widened += array.nbytes
        self._parts.setdefault(place[0], []).append(flat)
        return place

    def join(self) -> dict[str, NDArray[Any]]:
        """Return one long array for each type, in the byte order of files."""
        return {
            name: np.concatenate(parts).astype(f"<{name}", copy=False)
            for name, parts in sorted(self._parts.items())
        }


def _narrow(flat: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in the narrowest type that saves `MIN_SAVED` bytes."""
    if flat.dtype.kind not in "fiu":
        return flat
    bits = f"i{flat.itemsize}"
    for name in _NARROW_INTS if flat.dtype.kind in "iu" else (*_NARROW_INTS, "f4"):
        if len(flat) * _DTYPES[name].itemsize > flat.nbytes - MIN_SAVED:
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = flat.astype(name)
        # Bits are compared: minus zero and the payload of NaN are kept.
        if np.array_equal(narrow.astype(flat.dtype).view(bits), flat.view(bits)):
            return narrow
    return flat


def find_wide(part: NDArray[Any], wide: Any, *, most: float = np.inf) -> np.dtype[Any]:
    """Return the type of which `wide` is the name, in which numbers may take `most` bytes."""
    if wide not in _DTYPES or part.dtype.kind == "b" or part.itemsize > _DTYPES[wide].itemsize:
        raise ValueError("an array cannot be read as the type that it states")
    if part.size * _DTYPES[wide].itemsize > most:
        raise ValueError("arrays take too much memory once they are widened")
    return _DTYPES[wide]


def size_of(shape: Any) -> int:
    """Return the number of entries of a shape or a length; ValueError if it is none."""
    if type(shape) is int and shape >= 0:
        return shape
    if not isinstance(shape, list) or len(shape) > _MAX_DIMENSIONS:
        raise ValueError("the shape of an array must be a list of lengths")
    if any(type(length) is not int or length < 0 for length in shape):
        raise ValueError("a length must be a whole number")
    return math.prod(shape)


MAX_WINDOW_BITS = 25
"""Binary logarithm of the bytes that zstandard may look back by, for which it takes memory."""
PIECE = 256 * KIB
"""Bytes that are unpacked at a time."""


def _unzip(packed: memoryview) -> Iterator[bytes]:
    unzip = zlib.decompressobj()
    for start in range(0, len(packed), PIECE):
        rest: Any = packed[start : start + PIECE]
        while True:
            piece = unzip.decompress(rest, PIECE)
            yield piece
            rest = unzip.unconsumed_tail
            if not rest and len(piece) < PIECE:
                break


def find_zstandard() -> ModuleType | None:
    """Return the module of Python (from 3.14 on) or the package that knows zstandard, or None."""
    for name in ("compression.zstd", "zstandard"):
        with suppress(ImportError):
            return import_module(name)
    return None


def pack_bytes(content: bytes) -> tuple[str, bytes]:
    """Return the name of the best method that there is, and the bytes that it makes."""
    zstandard: Any = find_zstandard()
    if zstandard is None:
        return "zlib", zlib.compress(content, level=9)
    return "zstd", zstandard.compress(content, level=15)


def _unpack_zstandard(packed: memoryview) -> Iterator[bytes]:
    zstandard: Any = find_zstandard()
    if zstandard is None:
        raise ValueError("it is compressed by zstandard, which is not installed")
    if hasattr(zstandard, "DecompressionParameter"):  # Python's own
        limits = {zstandard.DecompressionParameter.window_log_max: MAX_WINDOW_BITS}
        unpack = zstandard.ZstdDecompressor(options=limits)
        piece = unpack.decompress(packed, PIECE)
        while piece:
            yield piece
            piece = b"" if unpack.eof else unpack.decompress(b"", PIECE)
        return
    limit = 1 << MAX_WINDOW_BITS
    with zstandard.ZstdDecompressor(max_window_size=limit).stream_reader(packed) as stream:
        yield from iter(lambda: stream.read(PIECE), b"")


UNPACKERS: dict[str, Callable[[memoryview], Iterator[bytes]]] = {
    "zlib": _unzip,
    "zstd": _unpack_zstandard,
}
"""How bytes are unpacked, in pieces of at most `PIECE` bytes, by the name that stands in a file."""
