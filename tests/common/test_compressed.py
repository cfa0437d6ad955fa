"""Compressed containers: by zstandard where there is one, otherwise by zlib."""

from __future__ import annotations

import json
import sys
import zlib
from typing import Any

import numpy as np
import pytest

from priorwise.common import container
from priorwise.common.container import ContainerError, from_bytes, to_bytes
from priorwise.common.stored import arrays as stored

VALUE = {"counts": np.arange(1000) // 10, "name": "ä"}


NEWER_PYTHON = pytest.mark.skipif(
    sys.version_info < (3, 14), reason="only Python 3.14 and later have compression.zstd"
)


@pytest.fixture(
    params=[
        None,
        pytest.param("compression.zstd", marks=NEWER_PYTHON),
        "backports.zstd",
        "zstandard",
    ]
)
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the method where one module, or none, knows zstandard."""
    module = None if request.param is None else pytest.importorskip(request.param)
    monkeypatch.setattr(stored, "find_zstandard", lambda: module)
    return "zlib" if module is None else "zstd"


def read(content: bytes) -> Any:
    return from_bytes(content, kind="test")


def header_of(content: bytes) -> dict[str, Any]:
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(json.loads(content[8:end])["__metadata__"]["priorwise"])


def test_a_compressed_value_comes_back(method: str) -> None:
    plain, packed = (to_bytes(VALUE, kind="test", compress=one) for one in (False, True))
    header = header_of(packed)
    assert (header["packed"], header["size"]) == (method, len(plain))
    assert len(packed) < len(plain) / 2
    np.testing.assert_array_equal(read(packed)["counts"], VALUE["counts"])


def test_a_wrong_size_is_refused(method: str) -> None:
    packed = to_bytes(VALUE, kind="test", compress=True)
    header, arrays = container._unpack(packed)
    for size in (header["size"] - 1, header["size"] + 1, 1 << 60, -1, "x"):
        forged = container._pack({**header, "size": size}, dict(arrays))
        with pytest.raises(ContainerError, match=r"must have|too large|unknown method"):
            read(forged)
    forged = container._pack({**header}, {"content": arrays["content"][:-7]})
    with pytest.raises(ContainerError, match="cannot be used"):
        read(forged)


def test_zstandard_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    if stored.find_zstandard() is None:
        pytest.skip("needs zstandard")
    packed = to_bytes(VALUE, kind="test", compress=True)
    for name in ("compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ContainerError, match="compressed by zstandard, which is not installed"):
        read(packed)
    assert header_of(to_bytes(VALUE, kind="test", compress=True))["packed"] == "zlib"


def test_what_compresses_by_too_much_is_stored_as_it_is() -> None:
    zeros = np.zeros(container.FREE_PACKED_BYTES + (1 << 20), dtype=np.uint8)
    assert "packed" not in header_of(to_bytes(zeros, kind="test", compress=True))


def compress(structure: str, arrays: dict[str, Any]) -> bytes:
    """A compressed container of forged content."""
    arrays = {**arrays, "structure": np.frombuffer(structure.encode(), dtype=np.uint8)}
    header = {"format": container.FORMAT, "version": "0", "kind": "test"}
    content = container._pack(header, arrays)
    packed = np.frombuffer(zlib.compress(content, level=9), dtype=np.uint8)
    return container._pack({**header, "packed": "zlib", "size": len(content)}, {"content": packed})


def test_values_that_would_take_too_much_memory_are_refused() -> None:
    many = f"[{'[],' * 1_000_000}[]]"
    with pytest.raises(ContainerError, match="values that take too much memory"):
        read(compress(many, {}))
    n = 20_000_000
    with pytest.raises(ContainerError, match="too much memory once they are widened"):
        read(compress(f'{{"array": ["u1", {n}, "f8"]}}', {"u1": np.zeros(n, dtype=np.uint8)}))
    n = 200_000
    array = read(compress(f'{{"array": ["u1", {n}, "f8"]}}', {"u1": np.zeros(n, dtype=np.uint8)}))
    assert array.dtype == np.float64
