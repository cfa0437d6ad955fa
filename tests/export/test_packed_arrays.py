"""Arrays of JSON are read by JavaScript as they were."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess

import numpy as np
import pytest

from priorwise.export import javascript_evaluator
from priorwise.export.packed_arrays import MIN_BITS_APART, pack_array

MAIN = """
const fs = require("fs"), priorwise = require("./evaluator.js");
const packed = JSON.parse(fs.readFileSync("arrays.json", "utf-8"));
console.log(JSON.stringify(packed.map((one) => {
  const array = priorwise.unpack(one);
  const same = one.type === "int" ? Int32Array.from(array) : array;
  return Buffer.from(same.buffer, same.byteOffset, same.byteLength).toString("base64");
})));
"""


def make_arrays():
    """Arrays for every way of packing."""
    rng = np.random.default_rng(0)
    many = MIN_BITS_APART + 5
    few_bits = rng.integers(0, 20, many)
    few_bits[[3, 77_777]] = -2_000_000_000, 2_000_000_000
    starts = np.concatenate([np.cumsum(rng.integers(0, 3, many // 4)) for _ in range(4)])
    p = rng.random(50).astype(np.float32)
    table = np.array([np.nan, -0.0, 0.0, np.inf, 1.5])
    return [
        np.zeros(0, dtype=np.int32),
        np.arange(5, 300),
        np.array([-1, 0, 7, 3]),
        np.array([70_000, -5, 2**31 - 1, -(2**31)]),
        rng.integers(0, 60_000, 99),
        few_bits,
        rng.integers(0, 1 << 17, many),
        starts,
        np.column_stack([p, (1.0 - p.astype(float)).astype(np.float32)]),
        np.array([[0.25, 0.5]], dtype=np.float32),
        np.column_stack([p, -p]),
        np.where(rng.random(many) < 0.5, rng.integers(0, 9, many), rng.normal(size=many)),
        np.resize([0.0, -0.0, 3.0, -7.0, 2.5], many),
        np.where(np.arange(400) % 50, rng.integers(0, 99, 400), -1),
        rng.normal(size=9),
        table[rng.integers(0, 5, 200)],
        rng.normal(size=3).astype(np.float32)[rng.integers(0, 3, 200)],
    ]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node (node)")
def test_javascript_reads_the_same_bits(tmp_path):
    arrays = [a.astype(np.int32) if a.dtype.kind == "i" else a for a in make_arrays()]
    (tmp_path / "arrays.json").write_text(json.dumps([pack_array(array) for array in arrays]))
    (tmp_path / "evaluator.js").write_text(javascript_evaluator(), encoding="utf-8")
    (tmp_path / "main.js").write_text(MAIN)
    ran = subprocess.run(["node", "main.js"], cwd=tmp_path, capture_output=True, check=True)
    for array, data in zip(arrays, json.loads(ran.stdout), strict=True):
        assert base64.b64decode(data) == array.tobytes()


def test_numbers_take_few_bits():
    n = MIN_BITS_APART
    numbers = np.random.default_rng(0).integers(0, 8, n)
    heavy = np.where(np.arange(n) % 100, numbers % 3, 1_000 + numbers)
    sizes = {"steps of one": 1 + np.arange(n), "three bits": numbers, "with escapes": heavy}
    found = {name: len(base64.b64decode(pack_array(a)["data"])) for name, a in sizes.items()}
    assert found == {"steps of one": 0, "three bits": 3 * n // 8, "with escapes": 2 * n // 8}
