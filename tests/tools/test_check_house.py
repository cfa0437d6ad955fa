"""The check of the house finds each fault it knows, and nothing in a small tidy house."""

from pathlib import Path

import pytest

from check_house import MAX_FILES, MAX_LINES, MAX_NAMING_FILES, check_house


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A checkout without faults."""
    write(tmp_path, "README.md", "See [the guide](docs/guide.md), `src/priorwise/counts/tree.py`.")
    write(tmp_path, "docs/guide.md", "`counts/tree.py`, `data/rows.csv`, [top](../README.md).")
    write(tmp_path, "src/priorwise/counts/tree.py", "class Tree:\n    _depth = 1\n")
    write(
        tmp_path,
        "src/priorwise/counts/walk.py",
        "from priorwise.counts.tree import Tree\nprint(Tree().depth, (1)._replace)\n",
    )
    write(
        tmp_path,
        "src/priorwise/models/base.py",
        "from priorwise import _core\n\n\nclass Base:\n    def f(self):\n"
        "        return self._g(), super()._g(), _core.h()\n",
    )
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def test_a_tidy_house_has_no_faults(house: Path) -> None:
    assert check_house(house) == []


@pytest.mark.parametrize("name", ["src/core/trees/grow.cpp", "tests/test_x.py", "src/a/b.py"])
def test_a_file_may_have_max_lines_and_no_more(house: Path, name: str) -> None:
    write(house, name, "\n" * MAX_LINES)
    assert check_house(house) == []
    write(house, name, "\n" * (MAX_LINES + 1))
    assert check_house(house) == [f"{name}: 401 lines, at most 400 are allowed"]


def test_a_folder_may_have_max_files_and_no_more(house: Path) -> None:
    write(house, "tests/counts/__init__.py", "")
    for i in range(MAX_FILES):
        write(house, f"tests/counts/test_{i}.py", "")
    assert check_house(house) == []
    write(house, "tests/counts/test_one_more.py", "")
    assert check_house(house) == ["tests/counts: 15 files, at most 14 are allowed"]


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("def f(tree):\n    return tree._depth", "2: uses tree._depth"),
        ("def f(tree):\n    tree._depth = 2", "2: uses tree._depth"),
        ("def f(self):\n    return self.tree._depth", "2: uses self.tree._depth"),
        ("from priorwise.counts.tree import _grow", "1: imports priorwise.counts.tree._grow"),
        ("from priorwise.counts import _tree", "1: imports priorwise.counts._tree"),
        ("import priorwise.counts._tree", "1: imports priorwise.counts._tree"),
        ("from priorwise.count._tree import x", "1: imports priorwise.count._tree.x"),
    ],
)
def test_private_names_of_another_file_are_faults(house: Path, code: str, fault: str) -> None:
    write(house, "src/priorwise/models/use.py", code)
    expected = f"src/priorwise/models/use.py:{fault}, a private name of another file"
    assert check_house(house) == [expected]


def test_private_names_of_the_same_file_are_allowed(house: Path) -> None:
    code = (
        "class Tree:\n    _depth = 1\n\n    def join(self, other):\n        return other._depth\n"
    )
    write(house, "src/priorwise/counts/use.py", code)
    assert check_house(house) == []


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (
            "from importlib import import_module\nimport_module('priorwise.models')",
            "priorwise.models",
        ),
        ("import importlib\nimportlib.import_module(f'priorwise.models.{1}')", "priorwise.models."),
        ("import os\nfrom priorwise import KDBClassifier", "priorwise.KDBClassifier"),
        ("import os\nimport priorwise", "priorwise"),
    ],
)
def test_imports_that_contracts_do_not_see_are_faults(house: Path, code: str, name: str) -> None:
    write(house, "src/priorwise/counts/use.py", code)
    place = "src/priorwise/counts/use.py:2"
    assert check_house(house) == [f"{place}: imports {name} upwards or by a name in a string"]


def test_modules_above_the_layers_may_import_public_names(house: Path) -> None:
    write(house, "src/priorwise/cli/use.py", "from priorwise import load\n")
    write(house, "src/priorwise/demo.py", "from priorwise import load\n")
    write(house, "src/priorwise/counts/plot.py", "from importlib import import_module\n"
          "import_module('pandas')\n")  # fmt: skip
    assert check_house(house) == []


def test_a_kind_of_model_is_named_in_few_files_outside_of_its_folders(house: Path) -> None:
    for i in range(MAX_NAMING_FILES + 1):
        write(house, f"src/priorwise/models/linear/use_{i}.py", "class KernelClassifier: ...\n")
        write(house, f"src/priorwise/data/use_{i}.py", '"""Calls a kernel."""\n# A kernel.\n')
    for i in range(MAX_NAMING_FILES):
        write(house, f"src/priorwise/export/use_{i}.py", "def kernel_score(): ...\n")
    assert check_house(house) == []
    write(house, "src/priorwise/report/assets/use.js", "const KernelScore = 1; // why\n")
    (fault,) = check_house(house)
    assert fault.startswith("kernel: 6 files outside of its folders name it, at most 5 may")
    assert "report/assets/use.js" in fault


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[guide](docs/gone.md)", "docs/gone.md"),
        ("`src/core/bind.cpp`", "src/core/bind.cpp"),
        ("`models/pool/`", "models/pool/"),
        ("`check_house.py`", "check_house.py"),
    ],
)
def test_documents_name_only_what_exists(house: Path, text: str, path: str) -> None:
    write(house, "CONTRIBUTING.md", f"Look at {text}.")
    assert check_house(house) == [f"CONTRIBUTING.md: names {path}, which does not exist"]
