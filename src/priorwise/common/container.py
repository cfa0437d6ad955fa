"""The library's one file format: nested values and arrays, read without running any code.

A container is a safetensors file (https://github.com/huggingface/safetensors). Its metadata hold
one entry, ``priorwise``: a JSON object with

========  =====================================================================
format    number of this format, `FORMAT`
version   version of the library that wrote the file
kind      what the file is, such as ``"checkpoint"``
digest    SHA-256 of the three entries above and of every array
========  =====================================================================

The array ``structure`` holds JSON text (UTF-8) that describes the stored value, in the way that
`priorwise.common.stored_values` tells; the other arrays are the ones that this text names.

Nothing in a file can name a class or a function: a reader builds the types above and the classes
in the registry that its caller passes, and no other. Sizes, types, offsets and the digest are
checked before anything is built. Every array is used exactly once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import safetensors
from numpy.typing import NDArray
from safetensors.numpy import save

from priorwise.common.stored_values import StateTypes, ValueReader, ValueWriter, little_endian

FORMAT = 1
_STRUCTURE = "structure"
_METADATA = "priorwise"
_DTYPES = {
    "BOOL": "|b1",
    **{f"I{8 * n}": f"<i{n}" for n in (1, 2, 4, 8)},
    **{f"U{8 * n}": f"<u{n}" for n in (1, 2, 4, 8)},
    **{f"F{8 * n}": f"<f{n}" for n in (2, 4, 8)},
}


class ContainerError(ValueError):
    """A file that is no undamaged container of the expected kind; the message names it."""

    def __init__(self, problem: str, source: str) -> None:
        self.problem, self.source = problem, source
        super().__init__(f"{source}: {problem}")

    def __reduce__(self) -> tuple[type[ContainerError], tuple[str, str]]:
        return type(self), (self.problem, self.source)


def to_bytes(value: Any, *, kind: str, states: StateTypes | None = None) -> bytes:
    """Store a value, made of the types above and of the classes in `states`, as a container file.

    >>> content = to_bytes({"counts": np.arange(3)}, kind="example")
    >>> from_bytes(content, kind="example")
    {'counts': array([0, 1, 2])}
    """
    writer = ValueWriter(states or {})
    structure = json.dumps(writer.encode(value), allow_nan=False, separators=(",", ":"))
    arrays = writer.arrays
    arrays[_STRUCTURE] = np.frombuffer(structure.encode(), dtype=np.uint8)
    header = {"format": FORMAT, "version": version("priorwise"), "kind": kind}
    header["digest"] = _digest(header, arrays)
    return save(arrays, metadata={_METADATA: json.dumps(header)})


def from_bytes(
    content: bytes, *, kind: str, states: StateTypes | None = None, source: str = "container"
) -> Any:
    """Read the value of a container file; its arrays can be written to.

    Whatever is wrong with the content, the error is a ContainerError that names `source`.
    """
    try:
        header, arrays = _unpack(content)
        if header.get("format") != FORMAT:
            raise ValueError(f"its format must be {FORMAT}, got {header.get('format')!r:.40}")
        digest = header.pop("digest", None)
        if digest != _digest(header, arrays):
            raise ValueError("it is damaged: the digest does not match the content")
        if header.get("kind") != kind:
            raise ValueError(f"it must hold a {kind}, got a {header.get('kind')!s:.40}")
        structure = json.loads(arrays.pop(_STRUCTURE).tobytes(), parse_constant=_refuse_constant)
        reader = ValueReader(arrays, states or {})
        value = reader.decode(structure)
        if reader.arrays:
            raise ValueError(f"{len(reader.arrays)} arrays belong to no value")
    except MemoryError:
        raise
    except Exception as error:
        # Whatever error a damaged or forged file leads to, the reader gets a ContainerError.
        problem = f"the file cannot be used ({type(error).__name__}: {error!s:.200})"
        raise ContainerError(problem, source) from error
    return value


def _unpack(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The header and the arrays, checked for sizes and types but not yet for the digest."""
    # Checks the lengths of the header and the offsets of the arrays against the content.
    stored = safetensors.deserialize(content)
    arrays = {}
    for name, layout in stored:
        if layout["dtype"] not in _DTYPES:
            raise ValueError(f"an array has the unknown type {layout['dtype']!s:.20}")
        array = np.frombuffer(layout["data"], dtype=_DTYPES[layout["dtype"]])
        if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:
            raise ValueError("an array of booleans holds another byte than 0 and 1")
        arrays[name] = array.reshape(layout["shape"]).astype(
            array.dtype.newbyteorder("="), copy=False
        )
    length = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + length])["__metadata__"]
    header = json.loads(metadata[_METADATA])
    if not isinstance(header, dict) or _STRUCTURE not in arrays:
        raise ValueError("it was not written by this library")
    return header, arrays


def _digest(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str[1:], list(array.shape)]).encode())
        digest.update(np.ascontiguousarray(little_endian(array)).data)
    return digest.hexdigest()


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")
