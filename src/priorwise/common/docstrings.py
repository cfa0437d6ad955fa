"""Docstrings that describe inherited parameters and attributes too."""

from __future__ import annotations

import inspect
import re
from typing import Any

_HEADER = re.compile(r"^(\w[\w ]*)\n-{3,}\n", flags=re.M)


class DocumentedMixin:
    """Completes the docstring of each subclass from the docstrings of its base classes.

    A subclass describes in numpydoc style what is its own. Parameters of its `__init__` that it
    does not describe, and attributes of its base classes, are added with the text of the nearest
    base class that describes them, so that `help` of any subclass is complete. A method without a
    docstring takes that of the method it overrides.

    Examples
    --------
    >>> class Tree(DocumentedMixin):
    ...     '''A tree.
    ...
    ...     Parameters
    ...     ----------
    ...     depth : int
    ...         Number of levels.
    ...     '''
    >>> class Oak(Tree):
    ...     '''An oak.'''
    ...
    ...     def __init__(self, depth=3):
    ...         self.depth = depth
    >>> print(Oak.__doc__)
    An oak.
    <BLANKLINE>
    Parameters
    ----------
    depth : int
        Number of levels.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, method in vars(cls).items():
            if inspect.isfunction(method) and not method.__doc__:
                method.__doc__ = getattr(getattr(super(cls, cls), name, None), "__doc__", None)
        if not cls.__doc__:
            return
        sections = _split(cls.__doc__)
        bases = [_split(base.__doc__) for base in cls.__mro__[1:] if _is_documented(base)]
        for title in ("Parameters", "Attributes"):
            own, entries = _entries(sections.get(title, "")), {}
            for text in reversed(bases):
                entries.update(_entries(text.get(title, "")))
            if title == "Parameters":
                signature = inspect.signature(cls).parameters
                known = {**entries, **own}
                entries = {name: known[name] for name in signature if name in known}
            sections[title] = "\n".join(dict.fromkeys({**entries, **own}.values()))
        cls.__doc__ = _join(sections)


def _is_documented(cls: type) -> bool:
    return issubclass(cls, DocumentedMixin) and cls is not DocumentedMixin and bool(cls.__doc__)


def _split(doc: str | None) -> dict[str, str]:
    """Sections of a docstring by title; the text before the first has the title ''."""
    parts = _HEADER.split(inspect.cleandoc(doc or ""))
    return {
        title: text.strip("\n") for title, text in zip(["", *parts[1::2]], parts[::2], strict=True)
    }


def _entries(section: str) -> dict[str, str]:
    """Entries of a section of parameters or attributes by name."""
    entries = re.split(r"\n(?=\S)", section) if section else []
    return {name: entry for entry in entries for name in re.split(r", ", entry.split(" :")[0])}


def _join(sections: dict[str, str]) -> str:
    """The docstring, with parameters and attributes before all other sections."""
    titles = dict.fromkeys(["", "Parameters", "Attributes", *sections])
    return "\n\n".join(
        f"{title}\n{'-' * len(title)}\n{sections[title]}" if title else sections[title]
        for title in titles
        if sections.get(title)
    )
