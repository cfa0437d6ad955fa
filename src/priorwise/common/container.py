"""The library's one file format: nested values and arrays, read without running any code.

A container is a safetensors file (https://github.com/huggingface/safetensors). Its metadata hold
one entry, ``priorwise``: a JSON object with

========  =====================================================================
format    number of this format, `FORMAT`
version   version of the library that wrote the file
kind      what the file is, such as ``"checkpoint"``
digest    XXH3 (64 bits) of the bytes before the arrays, in which the digest stands
          as `_NO_DIGEST`, and of the bytes of all arrays
========  =====================================================================

The array ``structure`` holds JSON text (UTF-8) that describes the stored value, in the way that
`priorwise.common.stored.values` tells; the other arrays, one for each type of numbers, hold the
arrays that this text names.

A compressed container has ``packed``, the name of the method, and ``size``, the number of bytes of
the container that its only array holds.

Nothing in a file can name a class or a function: a reader builds the types above and the classes
in the registry that its caller passes, and no other. Sizes, types, offsets and the digest are
checked before a value is returned. Every part of an array is used exactly once.

Format 2 is the same but for the digest, SHA-256 of the other entries and of all arrays.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from priorwise import _core
from priorwise.common.stored.arrays import TYPES, size_of
from priorwise.common.stored.values import StateTypes, ValueReader, ValueWriter

FORMAT = 3
MAX_GROWTH, MAX_SMALL_SIZE = 16, 1 << 25
"""A compressed container has at most `MAX_SMALL_SIZE` bytes or `MAX_GROWTH` times its file."""
MAX_WINDOW_BITS = 25
"""Binary logarithm of the bytes that zstandard may look back by, for which it takes memory."""
MAX_HEADER = 1 << 20
"""Largest number of bytes of a header that `read_entries` reads."""
_NO_DIGEST = f"xxh3-{0:032x}"
_STRUCTURE, _CONTENT, _METADATA = "structure", "content", "priorwise"
_TENSOR_TYPES = {
    "BOOL": "b1",
    **{f"{kind.upper()}{8 * n}": f"{kind}{n}" for kind in "iu" for n in (1, 2, 4, 8)},
    **{f"F{8 * n}": f"f{n}" for n in (2, 4, 8)},
}


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
    about: Mapping[str, str] | None = None,
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
    structure = json.dumps(writer.encode(value), allow_nan=False, separators=(",", ":"))
    arrays = writer.join_arrays()
    arrays[_STRUCTURE] = np.frombuffer(structure.encode(), dtype=np.uint8)
    header = {"format": FORMAT, "version": version("priorwise"), "kind": kind, **(about or {})}
    content = _pack(header, arrays)
    return _compress(content, header) if compress else content


def from_bytes(
    content: Any,
    *,
    kind: str,
    states: StateTypes | None = None,
    source: str = "container",
) -> Any:
    """Read the value of a container file, bytes or a map of a file.

    If the content may be written to, the arrays are views of it; otherwise of a copy. Whatever is
    wrong with the content, the error is a ContainerError that names `source`.
    """
    try:
        header, arrays = _unpack(content)
        if "packed" in header:
            header, arrays = _unpack(_decompress(header, arrays))
        value = _decode(header, arrays, kind, states or {})
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


def _decode(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]], kind: str, states: StateTypes
) -> Any:
    if header.get("kind") != kind:
        raise ValueError(f"it must hold a {kind}, got a {header.get('kind')!s:.40}")
    others = {name: array for name, array in arrays.items() if name != _STRUCTURE}
    reader = ValueReader(others, states)
    text = arrays[_STRUCTURE].tobytes().decode()
    value = reader.decode(_JSON.decode(text))
    reader.check_used()
    return value


def _pack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return a container; what the header says of a digest is replaced."""
    header["digest"] = _NO_DIGEST
    content = bytearray(save(arrays, metadata={_METADATA: json.dumps(header)}))
    end = 8 + int.from_bytes(content[:8], "little")
    digest = _hash(bytes(content[:end]), np.frombuffer(content, dtype=np.uint8)[end:])
    place = content.rindex(_NO_DIGEST.encode(), 0, end)
    # NumPy holds on to the buffer, so entries may be set but not exchanged for others.
    memoryview(content)[place : place + len(digest)] = digest.encode()
    return bytes(content)


def _unpack(content: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays of a container, checked for sizes, types and the digest."""
    whole = np.frombuffer(content, dtype=np.uint8)
    length = int.from_bytes(whole[:8].tobytes(), "little")
    if len(whole) < 8 or length > len(whole) - 8 or length % 8:
        raise ValueError("it is no safetensors file: its header does not fit")
    head, data = whole[: 8 + length].tobytes(), whole[8 + length :]
    tensors = _JSON.decode(head[8:].decode())
    header = _JSON.decode(tensors.pop("__metadata__")[_METADATA])
    if not isinstance(header, dict):
        raise ValueError("it was not written by this library")
    if not data.flags.writeable:
        data = data.copy()
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
        arrays[name] = array if sys.byteorder == "little" else array.byteswap()
    if end != len(data):
        raise ValueError("it was not written by this library")
    for name, array in arrays.items():
        own = name == array.dtype.str[1:] if name in TYPES else array.dtype == np.uint8
        if not own or array.ndim != 1 or name not in (*TYPES, _STRUCTURE, _CONTENT):
            raise ValueError(f"it holds an array {name!r:.40}, which is not expected here")
    _check_digest(header, tensors, head, data)
    return header, arrays


def _check_digest(
    header: dict[str, Any], tensors: dict[str, Any], head: bytes, data: NDArray[np.uint8]
) -> None:
    """Raise a ValueError if the header states another digest, or a format that is not known."""
    digest = header.get("digest")
    if header.get("format") == FORMAT:
        stated = str(digest).encode()
        is_right = len(stated) == len(_NO_DIGEST) and digest == _hash(
            head.replace(stated, _NO_DIGEST.encode()), data
        )
    elif header.get("format") == 2:
        stated_entries = {name: value for name, value in header.items() if name != "digest"}
        hashed = hashlib.sha256(json.dumps([stated_entries, tensors], sort_keys=True).encode())
        hashed.update(data.data)
        is_right = digest == hashed.hexdigest()
    else:
        raise ValueError(f"its format must be 2 or {FORMAT}, got {header.get('format')!r:.40}")
    if not is_right:
        raise ValueError("it is damaged: the digest does not match the content")


def _hash(head: bytes, data: NDArray[np.uint8]) -> str:
    """Return the digest of a file; `head` are the bytes before its arrays, without a digest."""
    first = _core.hash_bytes(np.frombuffer(head, dtype=np.uint8))
    return f"xxh3-{first:016x}{_core.hash_bytes(data):016x}"


def _compress(content: bytes, header: dict[str, Any]) -> bytes:
    """Return a compressed container, or the container itself if it would grow by too much."""
    method = "zstd" if find_zstandard() else "zlib"
    packed = _METHODS[method][0](content)
    if len(content) > max(MAX_SMALL_SIZE, MAX_GROWTH * len(packed)):
        return content
    header = {**header, "packed": method, "size": len(content)}
    return _pack(header, {_CONTENT: np.frombuffer(packed, dtype=np.uint8)})


def _decompress(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytearray:
    method, size = header["packed"], header["size"]
    packed = arrays.pop(_CONTENT)
    if method not in _METHODS or type(size) is not int or arrays:
        raise ValueError(f"it is compressed by an unknown method, {method!r:.20}")
    if not 0 <= size <= max(MAX_SMALL_SIZE, MAX_GROWTH * len(packed)):
        raise ValueError(f"it states a size that is too large, {size}")
    content = _METHODS[method][1](packed.tobytes(), size)
    if len(content) != size:
        raise ValueError(f"its content must have {size} bytes, got {len(content)}")
    return bytearray(content)


def _unzip(packed: bytes, size: int) -> bytes:
    return zlib.decompressobj().decompress(packed, size + 1)


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


def _unpack_zstandard(packed: bytes, size: int) -> bytes:
    zstandard: Any = find_zstandard()
    if zstandard is None:
        raise ValueError("it is compressed by zstandard, which is not installed")
    content: bytes
    if hasattr(zstandard, "DecompressionParameter"):  # Python's own
        limits = {zstandard.DecompressionParameter.window_log_max: MAX_WINDOW_BITS}
        content = zstandard.ZstdDecompressor(options=limits).decompress(packed, size + 1)
        return content
    limit = 1 << MAX_WINDOW_BITS
    with zstandard.ZstdDecompressor(max_window_size=limit).stream_reader(packed) as stream:
        content = stream.read(size + 1)
    return content


_METHODS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes, int], bytes]]] = {
    "zlib": (lambda content: zlib.compress(content, 9), _unzip),
    "zstd": (_pack_zstandard, _unpack_zstandard),
}
"""Methods to compress and to decompress to at most one byte more than a size."""


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)
