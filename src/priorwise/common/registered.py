"""Classes that are known by a name, methods from layers above, and what methods read of a fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

REGISTERED: dict[str, dict[str, Callable[..., Any]]] = {}
"""Methods of convenience by the name of their class and their own. What saves, describes and draws
a model are functions that take one; the package registers some of them here when it is imported, so
that no layer has to import one above it."""

C = TypeVar("C", bound=type)
M = TypeVar("M")
P = ParamSpec("P")
R = TypeVar("R")


def with_registered_methods(cls: C) -> C:
    """Decorate a class: give it the methods that are registered for it."""
    for name, method in REGISTERED.get(cls.__name__, {}).items():
        setattr(cls, name, method)
    return cls


def is_of_library(cls: type) -> bool:
    """Return whether a class is one of this library."""
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def full_name(cls: type) -> str:
    """Return the module and the name of a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def stored_name(cls: type) -> str:
    """Return the name that a class has in a file: its full name.

    A class of this library has its own name alone, so that it can move to another module.
    """
    return cls.__name__ if is_of_library(cls) else full_name(cls)


def register(classes: dict[str, C], name: str, cls: C, what: str) -> None:
    """Add a class to a registry under a name; ValueError if another class has it.

    A class that is defined again, as by a cell of a notebook that runs twice, replaces itself.

    >>> register({"float": float}, "float", int, what="type")
    Traceback (most recent call last):
    ...
    ValueError: the type 'float' is taken by builtins.float, builtins.int needs another name
    """
    first = classes.get(name, cls)
    if full_name(first) != full_name(cls):
        raise ValueError(
            f"the {what} {name!r} is taken by {full_name(first)}, "
            f"{full_name(cls)} needs another name"
        )
    classes[name] = cls


def of_one_fit(method: Callable[Concatenate[M, P], R]) -> Callable[Concatenate[M, P], R]:
    """Decorate a function of a fitted model: all that it reads of the model is of one fit.

    `fit` replaces the attributes of a model by one assignment. The function is given a model with
    the attributes of the moment of the call, so that it does not matter to it whether another
    thread fits the model meanwhile.
    """

    @wraps(method)
    def call(model: M, /, *args: P.args, **kwargs: P.kwargs) -> R:
        of_now = object.__new__(type(model))
        of_now.__dict__ = model.__dict__
        return method(of_now, *args, **kwargs)

    return call
