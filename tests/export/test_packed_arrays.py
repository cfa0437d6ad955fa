"""Arrays of JSON are read by JavaScript as they were."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess

import numpy as np
import pytest

from priorwise.export import javascript_evaluator
from priorwise.export.json_file import pack_array

MAIN = """
const fs = require("fs"), priorwise = require("./evaluator.js");
const packed = JSON.parse(fs.readFileSync("arrays.json", "utf-8"));
console.log(JSON.stringify(packed.map((one) => {
  const array = priorwise.unpack(one);
  const same = one.type.startsWith("f") ? array : Int32Array.from(array);
  return Buffer.from(same.buffer, same.byteOffset, same.byteLength).toString("base64");
})));
"""


def make_arrays():
    """Arrays for every way of packing."""
    rng = np.random.default_rng(0)
    few_large = rng.integers(0, 20, 999)
    few_large[[3, 77]] = -2_000_000_000, 2_000_000_000
    table = np.array([np.nan, -0.0, 0.0, np.inf, 1.5])
    return [
        np.zeros(0, dtype=np.int32),
        np.arange(300),
        np.array([-1, 0, 7, 3]),
        np.array([70_000, -5, 2**31 - 1, -(2**31)]),
        rng.integers(0, 60_000, 99),
        few_large,
        np.where(np.arange(400) % 50, rng.integers(0, 9_999, 400), 65_535),
        rng.normal(size=9),
        rng.normal(size=(5, 2)).astype(np.float32).T,
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


def test_numbers_take_few_bytes():
    numbers = np.random.default_rng(0).integers(0, 8, 1_000)
    few_large = np.where(np.arange(1_000) % 100, numbers, 1_000_000)
    sizes = {"small": numbers, "few large": few_large, "middle": 300 + numbers}
    found = {name: len(base64.b64decode(pack_array(a)["data"])) for name, a in sizes.items()}
    assert found == {"small": 1_000, "few large": 1_000, "middle": 2_000}
