"""The library's one file format: nested values and arrays, read without running any code.

A container is a safetensors file (https://github.com/huggingface/safetensors). Its metadata hold
one entry, ``priorwise``: a JSON object with

========  =====================================================================
format    number of this format, `FORMAT`
version   version of the library that wrote the file
kind      what the file is, such as ``"checkpoint"``
digest    XXH3 (64 bits) of the bytes before the arrays, in which the digest stands
          as `_NO_DIGEST`, and of the digests of blocks of the bytes of all arrays,
          each of `HASHED_BLOCK` bytes, the last of the rest
========  =====================================================================

The array ``structure`` holds JSON text (UTF-8) that describes the stored value, in the way that
`priorwise.common.stored.values` tells; the other arrays, one for each type of numbers, hold the
arrays that this text names.

The caller's entries, such as names of features, describe the value for people; a reader that knows
how to describe a value refuses a file whose entries tell something else.

A compressed container has ``packed``, the name of the method, and ``size``, the number of bytes of
the container that its only array holds.

Nothing in a file can name a class or a function: a reader builds the types above and the classes
in the registry that its caller passes, and no other. Sizes, types, offsets and the digest are
checked before a value is returned. Every part of an array is used exactly once.

Format 3 has no entries of the caller but ``class``, and the digest of all arrays is that of one
block. Format 2 is the same but for the digest, SHA-256 of the other entries and of all arrays.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
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
from priorwise.common.stored.values import StateTypes, ValueWriter, read_value

FORMAT = 4
FREE_BYTES = 1 << 26
"""What is read of a file may take this memory and twice the size of the file, by the estimate of
`_count_bytes`, beside the arrays of a file that is not compressed."""
CONTAINER_BYTES, VALUE_BYTES = 240, 64
"""Memory of a list or dictionary that JSON is read as, and of another value."""
MAX_WINDOW_BITS = 25
"""Binary logarithm of the bytes that zstandard may look back by, for which it takes memory."""
HASHED_BLOCK = 1 << 18
PIECE = 1 << 18
"""Bytes of a compressed file that are unpacked at a time."""
MAX_HEADER = 1 << 20
"""Largest number of bytes of a header that `read_entries` reads."""
_NO_DIGEST = f"xxh3-{0:032x}"
_OWN_ENTRIES = ("format", "version", "kind", "digest")
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
    text = json.dumps(writer.encode(value), allow_nan=False, separators=(",", ":"))
    structure = text.encode()
    arrays = writer.join_arrays()
    arrays[_STRUCTURE] = np.frombuffer(structure, dtype=np.uint8)
    header = {"format": FORMAT, "version": version("priorwise"), "kind": kind, **(about or {})}
    content = _pack(header, arrays)
    if not compress:
        return content
    packed = _compress(content, header)
    n_bytes = _count_bytes(structure, is_packed=True) + writer.n_widened + len(content)
    return packed if n_bytes <= FREE_BYTES + 2 * len(packed) else content


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
        most = FREE_BYTES + 2 * len(content)
        header, arrays, check_digest = _unpack(content)
        packed = header if "packed" in header else None
        if packed is not None:
            check_digest()
            header, arrays, check_digest = _unpack(_decompress(packed, arrays, most))
            if packed["format"] == FORMAT and any(
                packed.get(name) != header[name] for name in header if name != "digest"
            ):
                raise ValueError("the header of the compressed file tells something else")
        try:
            value = _decode(header, arrays, kind, states or {}, packed, most)
            if describe is not None:
                _check_entries(header, describe(value))
        finally:
            # If the file is damaged, that is the error.
            check_digest()
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
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    kind: str,
    states: StateTypes,
    packed: dict[str, Any] | None,
    most: int,
) -> Any:
    """Return the value of a container; `packed` is the header of the file if it is compressed."""
    if header.get("kind") != kind:
        raise ValueError(f"it must hold a {kind}, got a {header.get('kind')!s:.40}")
    text = arrays.pop(_STRUCTURE)
    n_left = most - _count_bytes(text.tobytes(), is_packed=packed is not None)
    if packed is not None:
        n_left -= packed["size"]
    if n_left < 0:
        raise ValueError("it describes values that take too much memory")
    return read_value(text, arrays, states, most=n_left if packed is not None else np.inf)


def _count_bytes(structure: bytes, *, is_packed: bool) -> int:
    """Return about how much memory the values of a JSON text take.

    Texts and numbers take at most some dozen times the memory of the JSON, which is as large as the
    file unless that is packed.
    """
    n_bytes = CONTAINER_BYTES * (structure.count(b"[") + structure.count(b"{"))
    return n_bytes + VALUE_BYTES * structure.count(b",") if is_packed else n_bytes


def _check_entries(header: dict[str, Any], entries: Mapping[str, Any]) -> None:
    """Refuse a header that says something else of the content than its reader finds.

    It may say less: parameters and entries that came with a later version are missing.
    """
    stated = {name: value for name, value in header.items() if name not in _OWN_ENTRIES}
    if header["format"] == FORMAT and not _agrees(stated, entries):
        raise ValueError("its header does not describe its content")


def _agrees(stated: Any, actual: Any) -> bool:
    if isinstance(stated, dict) and isinstance(actual, Mapping):
        return all(name in actual and _agrees(one, actual[name]) for name, one in stated.items())
    return bool(stated == actual)


def _pack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return a container; what the header says of a digest is replaced."""
    header["digest"] = _NO_DIGEST
    content = bytearray(save(arrays, metadata={_METADATA: json.dumps(header)}))
    end = 8 + int.from_bytes(content[:8], "little")
    data = np.frombuffer(content, dtype=np.uint8)[end:]
    digest = _join_hashes(bytes(content[:end]), _core.BlockHash(data, HASHED_BLOCK).digest())
    place = content.rindex(_NO_DIGEST.encode(), 0, end)
    # NumPy holds on to the buffer, so entries may be set but not exchanged for others.
    memoryview(content)[place : place + len(digest)] = digest.encode()
    return bytes(content)


def _unpack(content: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]], Callable[[], None]]:
    """The header and the arrays of a container, checked for sizes and types, and a check.

    That check raises a ValueError if the file has another digest than its header states.
    """
    whole = np.frombuffer(content, dtype=np.uint8)
    length = int.from_bytes(whole[:8].tobytes(), "little")
    if len(whole) < 8 or length > len(whole) - 8 or length % 8:
        raise ValueError("it is no safetensors file: its header does not fit")
    head, data = whole[: 8 + length].tobytes(), whole[8 + length :]
    if not data.flags.writeable:
        data = data.copy()
    # Other threads hash the arrays while this one reads them.
    begun = _core.BlockHash(data, HASHED_BLOCK)
    tensors = _JSON.decode(head[8:].decode())
    header = _JSON.decode(tensors.pop("__metadata__")[_METADATA])
    if not isinstance(header, dict):
        raise ValueError("it was not written by this library")
    if header.get("format") not in (2, 3, FORMAT):
        raise ValueError(f"its format must be 2 to {FORMAT}, got {header.get('format')!r:.40}")
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

    def check_digest() -> None:
        stated = header.get("digest")
        if header["format"] == 2:
            entries = {name: value for name, value in header.items() if name != "digest"}
            digest = _hash_format_2([entries, tensors], data)
        else:
            bare = head.replace(str(stated).encode(), _NO_DIGEST.encode())
            second = begun.digest() if header["format"] == FORMAT else _core.hash_bytes(data)
            digest = _join_hashes(bare, second)
        if stated != digest:
            raise ValueError("it is damaged: the digest does not match the content")

    return header, arrays, check_digest


def _join_hashes(head: bytes, second: int) -> str:
    """Return the digest of a file from the bytes before its arrays and the hash of the arrays."""
    first = _core.hash_bytes(np.frombuffer(head, dtype=np.uint8))
    return f"xxh3-{first:016x}{second:016x}"


def _hash_format_2(entries: list[Any], data: NDArray[np.uint8]) -> str:
    hashed = hashlib.sha256(json.dumps(entries, sort_keys=True).encode())
    hashed.update(data.data)
    return hashed.hexdigest()


def _compress(content: bytes, header: dict[str, Any]) -> bytes:
    method = "zstd" if find_zstandard() else "zlib"
    packed = _METHODS[method][0](content)
    header = {**header, "packed": method, "size": len(content)}
    return _pack(header, {_CONTENT: np.frombuffer(packed, dtype=np.uint8)})


def _decompress(header: dict[str, Any], arrays: dict[str, NDArray[Any]], most: int) -> bytearray:
    method, size = header["packed"], header["size"]
    packed = arrays.pop(_CONTENT)
    if method not in _METHODS or type(size) is not int or arrays:
        raise ValueError(f"it is compressed by an unknown method, {method!r:.20}")
    if not 0 <= size <= most:
        raise ValueError(f"it states a size that is too large, {size}")
    content, end = bytearray(size), 0
    for piece in _METHODS[method][1](packed.data):
        if len(piece) > size - end:
            raise ValueError(f"its content must have {size} bytes, and has more")
        content[end : end + len(piece)] = piece
        end += len(piece)
    if end != size:
        raise ValueError(f"its content must have {size} bytes, got {end}")
    return content


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


_METHODS: dict[str, tuple[Callable[[bytes], bytes], Callable[[memoryview], Iterator[bytes]]]] = {
    "zlib": (lambda content: zlib.compress(content, 9), _unzip),
    "zstd": (_pack_zstandard, _unpack_zstandard),
}
"""Methods to compress, and to decompress in pieces of at most `PIECE` bytes."""


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant)
