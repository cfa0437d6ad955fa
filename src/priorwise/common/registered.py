"""Methods that layers above an estimator give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

REGISTERED: dict[str, dict[str, Callable[..., Any]]] = {}
"""Methods of convenience by the name of their class and their own. What saves, describes and draws
a model are functions that take one; the package registers some of them here when it is imported, so
that no layer has to import one above it."""

C = TypeVar("C", bound=type)


def with_registered_methods(cls: C) -> C:
    """Decorate a class: give it the methods that are registered for it."""
    for name, method in REGISTERED.get(cls.__name__, {}).items():
        setattr(cls, name, method)
    return cls
