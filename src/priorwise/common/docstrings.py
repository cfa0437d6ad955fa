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


def complete_signature(cls: type) -> None:
    """Name in the signature of `__init__` the parameters that it hands on as ``**shared``.

    They are those of the nearest base class with an `__init__`, all of them by name.
    """
    init = vars(cls).get("__init__")
    if init is None:
        return
    signature = inspect.signature(init)
    parameters = {
        name: one for name, one in signature.parameters.items() if one.kind is not one.VAR_KEYWORD
    }
    if len(parameters) == len(signature.parameters):
        return
    base = next(one for one in cls.__mro__[1:] if "__init__" in vars(one))
    for name, one in inspect.signature(base).parameters.items():
        parameters.setdefault(name, one.replace(kind=one.KEYWORD_ONLY))
    init.__signature__ = signature.replace(parameters=list(parameters.values()))


def hook(method: F) -> F:
    """Decorate a method of a public class that only the library calls.

    It needs no sections in its docstring, nor do methods that override it, and the pages of the API
    leave it out.
    """
    method.is_hook = True  # type: ignore[attr-defined]
    return method


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
