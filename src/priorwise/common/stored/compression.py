"""Compression of files, by zstandard where there is one."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

MAX_WINDOW_BITS = 25
"""Binary logarithm of the bytes that zstandard may look back by, for which it takes memory."""
PIECE = 1 << 18
"""Bytes that are unpacked at a time."""


@dataclass(frozen=True)
class Method:
    """How to compress bytes, and how to unpack them in pieces of at most `PIECE` bytes."""

    pack: Callable[[bytes], bytes]
    unpack: Callable[[memoryview], Iterator[bytes]]


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


def _pack_zstandard(content: bytes) -> bytes:
    zstandard: Any = find_zstandard()
    packed: bytes = zstandard.compress(content, level=15)
    return packed


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


METHODS = {
    "zlib": Method(partial(zlib.compress, level=9), _unzip),
    "zstd": Method(_pack_zstandard, _unpack_zstandard),
}
"""The methods by the name that stands in a file."""


def choose_method() -> str:
    """Return the name of the best method that there is."""
    return "zstd" if find_zstandard() else "zlib"
