"""Check the rules of the house that no other linter knows.

- No source or test file has more than `MAX_LINES` lines.
- No folder of sources or tests has more than `MAX_FILES` files.
- No private name of one package is used by another one: neither an attribute nor an import.
- README, CONTRIBUTING and docs name no file or folder that does not exist.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

MAX_LINES = 400
MAX_FILES = 14
SOURCES = ("*.py", "*.pyi", "*.cpp", "*.hpp")
NOT_COUNTED = ("__init__.py", "conftest.py")
NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}
"""Public methods of named tuples, in spite of their names."""


def source_files(root: Path) -> list[Path]:
    """Files of src and tests."""
    folders = [root / "src", root / "tests"]
    return sorted(path for at in folders for kind in SOURCES for path in at.rglob(kind))


def check_sizes(root: Path) -> Iterator[str]:
    """Files and folders that are too large."""
    folders: dict[Path, int] = {}
    for path in source_files(root):
        if path.name not in NOT_COUNTED:
            folders[path.parent] = folders.get(path.parent, 0) + 1
        n_lines = len(path.read_text().splitlines())
        if n_lines > MAX_LINES:
            yield f"{path.relative_to(root)}: {n_lines} lines, at most {MAX_LINES} are allowed"
    for folder, n_files in folders.items():
        if n_files > MAX_FILES:
            yield f"{folder.relative_to(root)}: {n_files} files, at most {MAX_FILES} are allowed"


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in NAMED_TUPLE


def _is_self(node: ast.expr) -> bool:
    return ast.unparse(node) in ("self", "cls", "super()")


def _defined_names(tree: ast.Module) -> Iterator[str]:
    """Names of functions, classes, variables and attributes that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and _is_self(node.value)
        ):
            yield node.attr


def _private_imports(tree: ast.Module, package: str) -> Iterator[tuple[int, str]]:
    """Line and name of imports of a private module or name of another package of the library."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            is_own = package in (".".join(parts[:-1]), ".".join(parts[:-2]))
            if parts[0] != "priorwise" or parts[1] == "_core" or is_own:
                continue
            if any(map(is_private, parts)):
                yield node.lineno, f"imports {name}"


def _private_uses(tree: ast.Module, own: set[str]) -> Iterator[tuple[int, str]]:
    """Line and name of private attributes of objects whose package does not define them."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not is_private(node.attr) or node.attr in own:
            continue
        if not _is_self(node.value):
            yield node.lineno, f"uses {ast.unparse(node)}"


def check_private_names(root: Path) -> Iterator[str]:
    """Uses of private names of another package; a package is a folder."""
    trees = {path: ast.parse(path.read_text()) for path in sorted((root / "src").rglob("*.py"))}
    defined: dict[Path, set[str]] = {}
    for path, tree in trees.items():
        defined.setdefault(path.parent, set()).update(_defined_names(tree))
    for path, tree in trees.items():
        package = ".".join(path.parent.relative_to(root / "src").parts)
        faults = [*_private_imports(tree, package), *_private_uses(tree, defined[path.parent])]
        for line, fault in sorted(faults):
            yield f"{path.relative_to(root)}:{line}: {fault}, a private name of another package"


def _named_paths(text: str) -> Iterator[str]:
    """Targets of links, and files and folders of this repository that are named in code marks."""
    yield from re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
    for span in re.findall(r"`([^`\n]+)`", text):
        yield from re.findall(r"^[\w.-]+(?:/[\w.-]+)*(?:/$|\.(?:py|pyi|[ch]pp|md|toml|cff)$)", span)


def check_paths(root: Path) -> Iterator[str]:
    """Paths in the documentation that lead nowhere.

    A path may start at the page, at the root, in src/priorwise or in src/core.
    """
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    for page in filter(Path.exists, pages):
        starts = [page.parent, root, root / "src" / "priorwise", root / "src" / "core"]
        for path in _named_paths(page.read_text()):
            if not any((start / path).exists() for start in starts):
                yield f"{page.relative_to(root)}: names {path}, which does not exist"


def check_house(root: Path) -> list[str]:
    """All faults of a checkout, one line each."""
    return [*check_sizes(root), *check_private_names(root), *check_paths(root)]


if __name__ == "__main__":
    faults = check_house(Path(__file__).parent.parent)
    print("\n".join(faults) or "The house is in order.")
    sys.exit(bool(faults))
