"""The package as a whole: versions agree and the stub describes the core."""

import ast
from importlib.metadata import version
from pathlib import Path

import priorwise
from priorwise import _core


def test_version_matches_the_metadata() -> None:
    assert priorwise.__version__ == version("priorwise")


def test_stub_lists_exactly_the_kernels_of_the_core() -> None:
    stub = Path(priorwise.__file__).with_name("_core.pyi").read_text()
    typed = {
        node.name
        for node in ast.parse(stub).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert typed == {name for name in dir(_core) if not name.startswith("_")}
