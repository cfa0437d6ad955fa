"""The lines of the page on exports run."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "export.md"


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    pytest.importorskip("onnx", reason="needs onnx")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S):
            exec(block, names)
    names["database"].close()
    assert {path.name for path in tmp_path.iterdir()} == {
        "model.c", "model.json", "evaluator.js", "model.onnx",
    }  # fmt: skip
    assert len(names["rows"]) == 100
    assert all(abs(p + q - 1.0) < 1e-12 for _, p, q in names["rows"])
    same = names["pd"].DataFrame({"sky": ["sun", None], "degrees": [21.5, None]})
    expected = names["pool"].predict_proba(same)
    np.testing.assert_allclose(names["proba"], expected, rtol=0, atol=1e-9)
