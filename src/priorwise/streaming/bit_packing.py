"""Codes in as few bits as they need."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WIDTHS = (2, 4, 8, 16, 32)
"""Bits of a code."""
MAX_PER_UNIT = 8 // WIDTHS[0]
"""Most codes of a packed unit."""


def width_of(arity: int) -> int:
    """The fewest bits, of 2, 4, 8, 16 and 32, that hold codes below `arity`.

    >>> [width_of(arity) for arity in (2, 4, 5, 200, 1000)]
    [2, 2, 4, 8, 16]
    """
    return next(width for width in WIDTHS if arity <= 2**width)


def packed_size(n_rows: int, width: int) -> int:
    """Number of bytes that `n` codes take."""
    return -(-n_rows * width // 8)


def pack_codes(codes: NDArray[np.int32], width: int) -> bytes:
    """Put codes of 0 .. 2**width - 1 behind each other, the first in the lowest bits.

    >>> pack_codes(np.array([1, 2, 3, 0, 1], dtype=np.int32), width=2).hex()
    '3901'
    """
    if width >= 8:
        return codes.astype(f"<u{width // 8}").tobytes()
    per_byte = 8 // width
    padded = np.zeros(-(-len(codes) // per_byte) * per_byte, dtype=np.uint8)
    padded[: len(codes)] = codes
    # The codes of a unit are put side by side in the upper bits of one product.
    units = padded.view(f"<u{per_byte}")
    factor = sum(1 << ((per_byte - 1 - place) * (8 - width)) for place in range(per_byte))
    shift = (per_byte - 1) * (8 - width)
    products = units * units.dtype.type(factor)
    return (products >> units.dtype.type(shift)).astype(np.uint8).tobytes()


def unit_table(width: int, codes: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
    """The codes of each packed unit, one row per unit.

    A unit is a byte, or a code where it is wider. `codes` are other codes to put in place of
    0, 1, ...: unpacking with the table then recodes too.
    """
    if codes is None:
        codes = np.arange(2 ** min(width, 16), dtype=np.int32)
    if width > 8:
        return codes[:, None]
    full = np.zeros(2**width, dtype=np.int32)
    full[: len(codes)] = codes[: len(full)]
    if width == 8:
        return full[:, None]
    units = np.arange(256)
    places = [(units >> shift) & (2**width - 1) for shift in range(0, 8, width)]
    return np.ascontiguousarray(full[np.stack(places, axis=1)])


def unpack_codes(
    packed: bytes | memoryview,
    n_rows: int,
    width: int,
    table: NDArray[np.int32] | None = None,
    out: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """Codes that were packed, looked up in a table of `unit_table`.

    They are put in `out`, if given, of at least ``MAX_PER_UNIT - 1`` rows more.

    >>> packed = pack_codes(np.array([1, 2, 3, 0, 1], dtype=np.int32), width=2)
    >>> unpack_codes(packed, 5, 2, unit_table(2, np.array([7, 6, 5, 4], dtype=np.int32)))
    array([6, 5, 4, 7, 6], dtype=int32)
    """
    units = np.frombuffer(packed, dtype=f"<u{max(width, 8) // 8}")
    if out is None:
        out = np.empty(n_rows + MAX_PER_UNIT, dtype=np.int32)
    if table is None and width >= 8:
        out[:n_rows] = units
        return out[:n_rows]
    if table is None:
        table = unit_table(width)
    looked_up = out[: table[0].size * len(units)].reshape(-1, table[0].size)
    if width > 8 and len(units) and units.max() >= len(table):
        raise IndexError(f"codes must be below {len(table)}, got {units.max()}")
    # A way of NumPy that needs no copy; no unit is outside of the table.
    np.take(table, units, axis=0, out=looked_up, mode="clip")
    return out[:n_rows]
