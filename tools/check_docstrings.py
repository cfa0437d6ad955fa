"""Check the docstrings of every public name with numpydoc's validation.

Public names are the `__all__` of the packages below; for a class its public methods and properties
count too, also inherited ones that this library wrote in Python, but not those that only the
library calls (`priorwise.common.docstrings.hook`). The rules are listed in pyproject.toml under
`tool.numpydoc_validation`.
"""

import importlib
import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from numpydoc.validate import validate

from priorwise.common.docstrings import is_hook

PACKAGES = (
    "priorwise",
    "priorwise.data",
    "priorwise.datasets",
    "priorwise.evaluation",
    "priorwise.explain",
    "priorwise.export",
    "priorwise.smoothing",
    "priorwise.structure",
)

SELF_NAMES = ("model", "estimator")
"""First parameters of functions that are methods too, which describe them no more than `self`."""


def public_names() -> list[str]:
    """Names of all public classes and functions, and of the methods and properties of classes."""
    names: dict[str, None] = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for item in (getattr(module, name) for name in module.__all__):
            if inspect.isroutine(item) or inspect.isclass(item):
                names[f"{item.__module__}.{item.__qualname__}"] = None
            if inspect.isclass(item):
                names |= dict.fromkeys(member_names(item))
    return list(names)


def member_names(cls: type) -> Iterator[str]:
    """Names of the public methods and properties of a class that this library defines."""
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), object)
        member = vars(owner).get(name)
        documented = inspect.isroutine(member) or isinstance(member, property)
        ours = owner.__module__.startswith("priorwise") and owner.__module__ != "priorwise._core"
        if not name.startswith("_") and ours and documented and not is_hook(cls, name):
            yield f"{owner.__module__}.{owner.__qualname__}.{name}"


def check_docstrings(names: list[str], checks: set[str]) -> list[str]:
    """One line per broken rule: where the docstring stands, the rule's code and its message."""
    errors = []
    for name in names:
        result = validate(name)
        allowed = {f"Parameters {{'{one}'}} not documented" for one in SELF_NAMES}
        errors += [
            f"{result['file']}:{result['file_line']}: {name}: {code} {message}"
            for code, message in result["errors"]
            if code in checks and message not in allowed
        ]
    return errors


if __name__ == "__main__":
    config = tomllib.loads(Path("pyproject.toml").read_text())
    names = public_names()
    errors = check_docstrings(names, set(config["tool"]["numpydoc_validation"]["checks"]))
    print("\n".join(errors) or f"The docstrings of {len(names)} public names are complete.")
    sys.exit(bool(errors))
