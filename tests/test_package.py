"""The package as a whole: versions agree and the stub describes the core."""

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import priorwise
from priorwise import _core


def test_version_matches_the_metadata() -> None:
    assert priorwise.__version__ == version("priorwise")


def read_stub() -> ast.Module:
    return ast.parse(Path(priorwise.__file__).with_name("_core.pyi").read_text())


def test_stub_lists_exactly_the_kernels_and_classes_of_the_core() -> None:
    listed = (ast.FunctionDef, ast.ClassDef)
    typed = {node.name for node in read_stub().body if isinstance(node, listed)}
    assert typed == {name for name in dir(_core) if not name.startswith("_")}


def test_stub_names_the_arguments_of_every_kernel_and_constructor() -> None:
    for node in read_stub().body:
        if isinstance(node, ast.ClassDef):
            method = node.body[0]
            assert isinstance(method, ast.FunctionDef)
            named = [argument.arg for argument in method.args.args[1:]]
            if method.args.kwonlyargs:
                named += ["*", *(argument.arg for argument in method.args.kwonlyargs)]
            document = getattr(_core, node.name).__init__.__doc__
        elif isinstance(node, ast.FunctionDef) and node.args.vararg is None:
            named = [argument.arg for argument in node.args.args]
            document = getattr(_core, node.name).__doc__
        else:
            continue
        assert document.endswith(f"\n{node.name}({', '.join(named)})")


def test_stub_lists_the_attributes_of_every_class() -> None:
    for node in read_stub().body:
        if isinstance(node, ast.ClassDef):
            typed = {entry.name for entry in node.body if isinstance(entry, ast.FunctionDef)}
            typed |= {
                ast.unparse(entry.target) for entry in node.body if isinstance(entry, ast.AnnAssign)
            }
            own = {name for name in vars(getattr(_core, node.name)) if not name.startswith("_")}
            assert {name for name in typed if not name.startswith("_")} == own


def test_stub_imports_nothing_from_the_layers_above() -> None:
    for node in ast.walk(read_stub()):
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert "priorwise" not in ast.unparse(node)


OPTIONAL = {
    "dask", "duckdb", "matplotlib", "networkx", "onnx", "pandas", "polars", "pyarrow", "shap",
}  # fmt: skip


def test_importing_the_package_loads_no_library_too_early_and_no_optional_one_at_all() -> None:
    code = (
        "import sys, priorwise\n"
        "assert not {'numpy', 'sklearn', 'narwhals'} & set(sys.modules), 'loaded too early'\n"
        "import sklearn.ensemble\n"  # loads pandas where there is one
        "before = set(sys.modules)\n"
        "from priorwise import *\n"
        "import priorwise.data, priorwise.evaluation, priorwise.explain, priorwise.export\n"
        f"optional = {OPTIONAL} & (set(sys.modules) - before)\n"
        "assert not optional, optional\n"
        "print(KDBClassifier.__name__, priorwise.smoothing.HDP.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "KDBClassifier HDP\n"


def test_a_name_that_the_package_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'priorwise' has no attribute 'nothing'"):
        _ = priorwise.nothing
    assert set(priorwise.__all__) <= set(dir(priorwise))
