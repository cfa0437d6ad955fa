"""Docstrings that share the descriptions of parameters and attributes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

_HEADER = re.compile(r"^(\w[\w ]*)\n-{3,}\n", flags=re.M)
_FIRST_SECTIONS = ("", "Parameters", "Attributes", "Returns")

Sections = dict[str, str]
"""Texts of a docstring by title; the text before the first title has the title ''."""

F = TypeVar("F", bound=Callable[..., Any])


def complete_docstrings(cls: type, root: type) -> None:
    """Complete the docstring of a class from those of its base classes that derive from `root`.

    A class describes in numpydoc style what is its own. Parameters of its `__init__` that it does
    not describe, and attributes of its base classes, are added with the text of the nearest base
    class that describes them. A method without a docstring takes that of the method it overrides.
    """
    for name, method in vars(cls).items():
        if inspect.isfunction(method) and not method.__doc__:
            method.__doc__ = getattr(getattr(super(cls, cls), name, None), "__doc__", None)
    if not cls.__doc__:
        return
    sections = _split(cls.__doc__)
    described = [one for one in cls.__mro__ if issubclass(one, root) and one is not root]
    for base in described[1:]:
        _add_parameters(sections, _split(base.__doc__), cls)
    inherited: dict[str, str] = {}
    for base in reversed(described):
        inherited |= _entries(_split(base.__doc__), "Attributes")
    sections["Attributes"] = "\n".join(inherited.values())
    cls.__doc__ = _join(sections)


def hook(method: F) -> F:
    """Decorate a method of a public class that only the library calls.

    It needs no sections in its docstring, nor do methods that override it, and the pages of the API
    leave it out.
    """
    method.is_hook = True  # type: ignore[attr-defined]
    return method


def is_hook(cls: type, name: str) -> bool:
    """Whether a method or property, or one that it overrides, is called by the library alone."""
    members = (vars(base).get(name) for base in cls.__mro__)
    functions = (getattr(one, "fget", getattr(one, "__func__", one)) for one in members)
    return any(hasattr(function, "is_hook") for function in functions)


def describe(shared: str) -> Callable[[F], F]:
    """Decorate a function: complete its docstring from a text in numpydoc style that several share.

    Parameters that the function has and does not describe are added, and sections that it lacks.
    """

    def complete(function: F) -> F:
        if function.__doc__:
            sections, others = _split(function.__doc__), _split(shared)
            _add_parameters(sections, others, function)
            function.__doc__ = _join({**others, **sections})
        return function

    return complete


def _add_parameters(sections: Sections, others: Sections, item: Callable[..., Any]) -> None:
    """Add the parameters of a function or class that it lacks, in the order of its signature."""
    own = _entries(sections, "Parameters")
    known = _entries(others, "Parameters") | own
    ordered = {name: known[name] for name in inspect.signature(item).parameters if name in known}
    sections["Parameters"] = "\n".join(dict.fromkeys((ordered | own).values()))


def _split(doc: str | None) -> Sections:
    parts = _HEADER.split(inspect.cleandoc(doc or ""))
    return {
        title: text.strip("\n") for title, text in zip(["", *parts[1::2]], parts[::2], strict=True)
    }


def _entries(sections: Sections, title: str) -> dict[str, str]:
    """Entries of a section of parameters or attributes by name."""
    section = sections.get(title, "")
    entries = re.split(r"\n(?=\S)", section) if section else []
    return {
        name.lstrip("*"): entry.rstrip()
        for entry in entries
        for name in entry.split(" :")[0].split(", ")
    }


def _join(sections: Sections) -> str:
    return "\n\n".join(
        f"{title}\n{'-' * len(title)}\n{sections[title]}" if title else sections[title]
        for title in dict.fromkeys([*_FIRST_SECTIONS, *sections])
        if sections.get(title)
    )
