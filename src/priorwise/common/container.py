"""The library's one file format: nested values and arrays, read without running any code.

A container is a safetensors file (https://github.com/huggingface/safetensors). Its metadata hold
one entry, ``priorwise``: a JSON object with

========  =====================================================================
crc32     CRC-32 of the file, in which these eight digits stand as zeros
format    number of this format, `FORMAT`
version   version of the library that wrote the file
kind      what the file is, such as ``"checkpoint"``
========  =====================================================================

The array ``structure`` holds JSON text (UTF-8) that describes the stored value, in the way that
`priorwise.common.stored.values` tells; the other arrays, one for each type of numbers, hold the
arrays that this text names.

The caller's entries, such as names of features, describe the value for people; a reader that knows
how to describe a value refuses a file whose entries tell something else.

A compressed container has ``packed``, the name of the method, and ``size``, the number of bytes of
the container that its only array holds.

Nothing in a file can name a class or a function: a reader builds the types above and the classes
in the registry that its caller passes, and no other. Sizes, types, offsets and the checksum are
checked before a value is returned. Every part of an array is used exactly once. The checksum finds
damage, not forgery: classes check what is read into them.
"""

from __future__ import annotations

import json
import math
import sys
import zlib
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from priorwise import _core
from priorwise.common.files import FREE_PACKED_BYTES
from priorwise.common.runtime import MIB
from priorwise.common.stored.arrays import TYPES, UNPACKERS, pack_bytes, size_of
from priorwise.common.stored.reader import ValueReader, refuse_constant
from priorwise.common.stored.values import StateTypes, ValueWriter

FORMAT = 5
LIST_BYTES, ITEM_BYTES = 256, 64
"""Bytes that a list or an object of a JSON text, and a value in one, take in memory."""
MAX_HEADER = MIB
"""Largest number of bytes of a header that `read_entries` reads."""
_NO_CHECKSUM = b"00000000"
_OWN_ENTRIES = ("format", "version", "kind")
_STRUCTURE, _CONTENT, _METADATA = "structure", "content", "priorwise"
_TENSOR_TYPES = {
    "BOOL": "b1", "F16": "f2", "F32": "f4", "F64": "f8",
    "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8",
    "U8": "u1", "U16": "u2", "U32": "u4", "U64": "u8",
}  # fmt: skip
"""NumPy's names of the types of safetensors."""


class ContainerError(ValueError):
    """A file that is no undamaged container of the expected kind; the message names it."""

    def __init__(self, problem: str, source: str) -> None:
        self.problem, self.source = problem, source
        super().__init__(f"{source}: {problem}")

    def __reduce__(self) -> tuple[type[ContainerError], tuple[str, str]]:
        return type(self), (self.problem, self.source)


def to_bytes(
    value: Any,
    *,
    kind: str,
    states: StateTypes | None = None,
    about: Mapping[str, Any] | None = None,
    pack: bool = False,
    compress: bool = False,
) -> bytes:
    """Store a value, made of the types above and of the classes in `states`, as a container file.

    `about` are further entries of the header, for people. With `pack`, numbers are stored in the
    narrowest type that holds them exactly.

    >>> content = to_bytes({"counts": np.arange(3)}, kind="example")
    >>> from_bytes(content, kind="example")
    {'counts': array([0, 1, 2])}
    """
    writer = ValueWriter(states or {}, pack=pack)
    text = json.dumps(writer.encode(value), allow_nan=False, separators=(",", ":")).encode()
    arrays = writer.arrays.join()
    arrays[_STRUCTURE] = np.frombuffer(text, dtype=np.uint8)
    header = {"format": FORMAT, "version": version("priorwise"), "kind": kind, **(about or {})}
    content = _pack(header, arrays)
    if not compress:
        return content
    method, packed = pack_bytes(content)
    n_unpacked = len(content) + _count_bytes(text) + writer.arrays.n_widened
    if n_unpacked > FREE_PACKED_BYTES + 2 * len(packed):
        return content
    header = {**header, "packed": method, "size": len(content)}
    return _pack(header, {_CONTENT: np.frombuffer(packed, dtype=np.uint8)})


def from_bytes(
    content: Any,
    *,
    kind: str,
    states: StateTypes | None = None,
    source: str = "container",
    describe: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Any:
    """Read the value of a container file, bytes or a map of a file.

    If the content may be written to, the arrays are views of it; otherwise of a copy. Whatever is
    wrong with the content, the error is a ContainerError that names `source`. `describe` returns
    the entries of the header that must hold of a value.
    """
    try:
        header, arrays = _unpack(content)
        packed, n_left = header if "packed" in header else None, math.inf
        if packed is not None:
            n_left = FREE_PACKED_BYTES + 2 * len(content)
            header, arrays = _unpack(_decompress(packed, arrays, n_left))
            if any(packed.get(name) != header[name] for name in header):
                raise ValueError("the header of the compressed file tells something else")
        if header.get("kind") != kind:
            raise ValueError(f"it must hold a {kind}, got a {header.get('kind')!s:.40}")
        text = arrays.pop(_STRUCTURE).tobytes()
        if packed is not None:
            n_left -= packed["size"] + _count_bytes(text)
            if n_left < 0:
                raise ValueError("it describes values that take too much memory")
        reader = ValueReader(arrays, states or {}, n_left)
        value = reader.read(text.decode())
        if describe is not None:
            _check_entries(header, describe(value))
    except MemoryError:
        raise
    except Exception as error:
        # Whatever error a damaged or forged file leads to, the reader gets a ContainerError.
        raise ContainerError(_describe_problem(error), source) from error
    return value


def read_entries(file: BinaryIO, *, source: str) -> dict[str, Any]:
    """Read the entries of the header of a container file, and no more of the file.

    Whatever is wrong with them, the error is a ContainerError that names `source`.
    """
    try:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= MAX_HEADER:
            raise ValueError("it is no safetensors file: its header does not fit")
        header = _JSON.decode(_JSON.decode(file.read(length).decode())["__metadata__"][_METADATA])
        if not isinstance(header, dict):
            raise ValueError("it was not written by this library")
    except Exception as error:
        raise ContainerError(_describe_problem(error), source) from error
    return header


def _describe_problem(error: Exception) -> str:
    return f"the file cannot be used ({type(error).__name__}: {error!s:.200})"


def _count_bytes(text: bytes) -> int:
    """Return about how much memory the values of a JSON text take."""
    return LIST_BYTES * (text.count(b"[") + text.count(b"{")) + ITEM_BYTES * text.count(b",")


def _check_entries(header: dict[str, Any], entries: Mapping[str, Any]) -> None:
    """Refuse a header that says something else of the content than its reader finds.

    It may say less: parameters and entries that came with a later version are missing.
    """
    stated = {name: value for name, value in header.items() if name not in _OWN_ENTRIES}
    if not _agrees(stated, entries):
        raise ValueError("its header does not describe its content")


def _agrees(stated: Any, actual: Any) -> bool:
    if isinstance(stated, dict) and isinstance(actual, Mapping):
        return all(name in actual and _agrees(one, actual[name]) for name, one in stated.items())
    return bool(stated == actual)


def _pack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    # The checksum is the first entry, so it is where these digits first occur.
    header = {"crc32": _NO_CHECKSUM.decode(), **header}
    content = save(arrays, metadata={_METADATA: json.dumps(header)})
    return content.replace(_NO_CHECKSUM, b"%08x" % zlib.crc32(content), 1)


def _unpack(content: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a container whose checksum, sizes and types are right."""
    whole = np.frombuffer(content, dtype=np.uint8)
    length = int.from_bytes(whole[:8].tobytes(), "little")
    if len(whole) < 8 or length > len(whole) - 8 or length % 8:
        raise ValueError("it is no safetensors file: its header does not fit")
    head, data = whole[: 8 + length].tobytes(), whole[8 + length :]
    tensors = _JSON.decode(head[8:].decode())
    header = _JSON.decode(tensors.pop("__metadata__")[_METADATA])
    if not isinstance(header, dict):
        raise ValueError("it was not written by this library")
    if header.get("format") != FORMAT:
        raise ValueError(f"its format must be {FORMAT}, got {header.get('format')!r:.40}")
    stated = str(header.pop("crc32", None))
    checksum = zlib.crc32(head.replace(stated.encode(), _NO_CHECKSUM, 1))
    if stated != f"{zlib.crc32(*_core.fold_crc32(data, checksum)):08x}":
        raise ValueError("it is damaged: the checksum does not match the content")
    return header, _view_arrays(tensors, data if data.flags.writeable else data.copy())


def _view_arrays(tensors: dict[str, Any], data: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file as views of its data."""
    arrays, end = {}, 0
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1]["data_offsets"]):
        if tensor["dtype"] not in _TENSOR_TYPES:
            raise ValueError(f"an array has the unknown type {tensor['dtype']!s:.20}")
        dtype = np.dtype(_TENSOR_TYPES[tensor["dtype"]])
        start, size = end, size_of(tensor["shape"]) * dtype.itemsize
        end += size
        if tensor["data_offsets"] != [start, end] or end > len(data) or start % dtype.itemsize:
            raise ValueError("an array does not lie where it should")
        part = data[start:end]
        if dtype.kind == "b" and size and part.max() > 1:
            raise ValueError("an array of booleans holds another byte than 0 and 1")
        array = part.view(dtype).reshape(tensor["shape"])
        known = name == array.dtype.str[1:] if name in TYPES else array.dtype == np.uint8
        if not known or array.ndim != 1 or name not in (*TYPES, _STRUCTURE, _CONTENT):
            raise ValueError(f"it holds an array {name!r:.40}, which is not expected here")
        arrays[name] = array if sys.byteorder == "little" else array.byteswap()
    if end != len(data):
        raise ValueError("it was not written by this library")
    return arrays


def _decompress(header: dict[str, Any], arrays: dict[str, NDArray[Any]], most: int) -> bytearray:
    method, size = header["packed"], header["size"]
    packed = arrays.pop(_CONTENT)
    if method not in UNPACKERS or type(size) is not int or arrays:
        raise ValueError(f"it is compressed by an unknown method, {method!r:.20}")
    if not 0 <= size <= most:
        raise ValueError(f"it states a size that is too large, {size}")
    content, end = bytearray(size), 0
    for piece in UNPACKERS[method](packed.data):
        if len(piece) > size - end:
            raise ValueError(f"its content must have {size} bytes, and has more")
        content[end : end + len(piece)] = piece
        end += len(piece)
    if end != size:
        raise ValueError(f"its content must have {size} bytes, got {end}")
    return content


_JSON = json.JSONDecoder(parse_constant=refuse_constant)
