"""Check the rules of the house that no other linter knows.

- No source or test file has more than `MAX_LINES` lines.
- No folder of sources or tests has more than `MAX_FILES` files.
- No file uses a private name of another one: neither an attribute of an object nor an import.
- No layer imports another by a name in a string, or a public name of the package above it.
- A kind of model is named in at most `MAX_NAMING_FILES` files outside of its own folders.
- README, CONTRIBUTING and docs name no file or folder that does not exist.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

MAX_LINES = 400
MAX_FILES = 14
SOURCES = ("*.py", "*.pyi", "*.cpp", "*.hpp")
NOT_COUNTED = ("__init__.py", "conftest.py")
IMPORTING_CALLS = {"import_module", "__import__", "find_spec"}
MAX_NAMING_FILES = 5
NAMING_SUFFIXES = (".py", ".js", ".c", ".html")
KINDS = {
    "kernel": ("models/linear/", "steps/linear/"),
    "gaussian": ("models/linear/", "steps/linear/"),
    "boosting": (
        "models/trees/",
        "models/correction.py",
        "models/pool/unseen_rows.py",
        "steps/trees.py",
    ),
    "eskdb": ("models/networks/", "steps/networks/"),
}
"""Kinds of models by a part of their names, and their own folders."""
OTHER_LIBRARIES = re.compile("GaussianNB|[Gg]aussian_?[Pp]rocess|GradientBoosting")
"""Models of other libraries with such names."""
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


def _list_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and full name of all imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _private_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of imports of a private module or name of the library."""
    for line, name in _list_imports(tree):
        library, *parts = name.split(".")
        if library == "priorwise" and parts[:1] != ["_core"] and any(map(is_private, parts)):
            yield line, f"imports {name}"


def _private_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of private attributes of objects that the file itself does not define."""
    defined = set(_defined_names(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or _is_self(node.value):
            continue
        if is_private(node.attr) and node.attr not in defined:
            yield node.lineno, f"uses {ast.unparse(node)}"


def check_private_names(root: Path) -> Iterator[str]:
    """Uses of private names of another file."""
    for path in sorted((root / "src").rglob("*.py")):
        tree = ast.parse(path.read_text())
        for line, fault in sorted([*_private_imports(tree), *_private_uses(tree)]):
            yield f"{path.relative_to(root)}:{line}: {fault}, a private name of another file"


def _names_in_strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of strings that are names of modules, if the file imports by such names."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if not IMPORTING_CALLS & {ast.unparse(call).split(".")[-1] for call in calls}:
        return
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    for text in texts:
        if isinstance(text.value, str) and re.fullmatch(r"priorwise(\.\w*)+", text.value):
            yield text.lineno, text.value


def check_upward_imports(root: Path) -> Iterator[str]:
    """Imports that the contracts on layers cannot see.

    The command line is above everything, and modules beside the layers belong to none.
    """
    sources = root / "src" / "priorwise"
    for path in sorted(sources.rglob("*.py")):
        layer = path.relative_to(sources).parts[0]
        if layer == "cli" or path.parent == sources:
            continue
        tree = ast.parse(path.read_text())
        public = [
            (line, name)
            for line, name in _list_imports(tree)
            if re.fullmatch(r"priorwise(\.\w+)?", name) and name != "priorwise._core"
        ]
        for line, name in sorted([*public, *_names_in_strings(tree)]):
            place = f"{path.relative_to(root)}:{line}"
            yield f"{place}: imports {name} upwards or by a name in a string"


def _names_of(path: Path) -> Iterator[str]:
    """Names in the code of a file, and its strings of one word; not comments and docstrings."""
    text = path.read_text()
    if path.suffix != ".py":
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
        yield from re.findall(r"\w+", text)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME or (
            token.type == tokenize.STRING and re.fullmatch(r"\w?[\"'][\w-]+[\"']", token.string)
        ):
            yield token.string


def list_naming_files(root: Path, kind: str) -> list[str]:
    """Return the files outside of its own folders that name a kind of model."""
    sources = root / "src" / "priorwise"
    files = [path for suffix in NAMING_SUFFIXES for path in sources.rglob(f"*{suffix}")]
    paths = {path.relative_to(sources).as_posix(): path for path in files}
    return sorted(
        name
        for name, path in paths.items()
        if not name.startswith(KINDS[kind])
        and any(kind in one.lower() and not OTHER_LIBRARIES.search(one) for one in _names_of(path))
    )


def check_kinds(root: Path) -> Iterator[str]:
    """Kinds of models that too many files name."""
    for kind in KINDS:
        files = list_naming_files(root, kind)
        if len(files) > MAX_NAMING_FILES:
            yield (
                f"{kind}: {len(files)} files outside of its folders name it, at most "
                f"{MAX_NAMING_FILES} may: {', '.join(files)}"
            )


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
    return [
        *check_sizes(root),
        *check_private_names(root),
        *check_upward_imports(root),
        *check_kinds(root),
        *check_paths(root),
    ]


if __name__ == "__main__":
    faults = check_house(Path(__file__).parent.parent)
    print("\n".join(faults) or "The house is in order.")
    sys.exit(bool(faults))
