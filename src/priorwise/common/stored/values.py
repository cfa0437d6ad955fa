"""Values as JSON and arrays: what a container file may hold, and nothing else.

In the JSON, None, booleans, integers, finite floats, strings and lists stand for themselves.
Everything else is an object with one key:

=======================================  ======================================
``{"float": "nan"}``                   a float that is not finite
``{"tuple": [...]}``                   a tuple
``{"record": {...}}``                    a dictionary of several values whose keys are texts
``{"dict": [[key, value], ...]}``      a dictionary
``{"date": "..."}``                    a date; ``"datetime"`` a date and time
``{"decimal": "..."}``                 a Decimal; likewise the other types in `AS_TEXT`
``{"pandas": [class, ...]}``              a time or an interval of pandas
``{"timedelta": [...]}``                 days, seconds and microseconds
``{"frozenset": [...]}``                 a set
``{"array": place}``                   an array of booleans or numbers
``{"scalar": place}``                  a NumPy scalar
``{"scalars": place}``                 a list of NumPy scalars of one type
``{"bytes": place}``                   bytes
``{"text": place}``                    an array of fixed-width text (code points)
``{"times": [dtype, place]}``          an array of datetime64 or timedelta64
``{"objects": [shape, [...]]}``        an array of Python objects, such as labels
``{"arrays": [place, ...]}``             a list of arrays
``{"narrow": [place, ...]}``             the same, where a state widens its arrays itself
``{"state": [name, fields]}``          an object of a class that the caller registered
``{"shared": n}``                      the n-th array, state or tuple of texts that was read before
=======================================  ======================================

A place says where an array is, as `priorwise.common.stored.arrays` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

MAX_DEPTH = 64
"""Levels of values inside values."""
PLAIN = frozenset({type(None), bool, int, str})
"""Types that JSON gives back as they are."""
PANDAS = ("Timestamp", "Timedelta", "Interval")
"""Classes of pandas that a file may hold."""


@dataclass(frozen=True)
class StateType:
    """How objects of one class (no derived ones) are stored: as the value that `to_fields` makes.

    `from_fields` must check what it is given: any exception that it raises makes the file invalid.
    If it `widens`, the fields are a list of arrays, and those that a file holds in a narrower type
    are given to it as pairs of the narrow array and the name of the type.
    """

    type: type
    to_fields: Callable[[Any], Any]
    from_fields: Callable[[Any], Any]
    widens: bool = False


StateTypes = Mapping[str, StateType]
"""The classes that a container may hold, by the name that stands in the file."""


def dataclass_state(
    cls: Any, check: Callable[[Any], object] | None = None, /, **types: Any
) -> StateType:
    """Store a dataclass as the dictionary of its fields.

    When read, each field in `types` must be an instance of that type, and `check` raises if the
    fields of the object do not fit together.
    """
    names = [field.name for field in fields(cls)]

    def to_fields(state: Any) -> dict[str, Any]:
        return {name: getattr(state, name) for name in names}

    def from_fields(stored: Any) -> Any:
        if not isinstance(stored, dict) or stored.keys() != set(names):
            raise ValueError(f"the fields must be {names}")
        for name, expected in types.items():
            if not isinstance(stored[name], expected):
                raise TypeError(f"{name} must not be of type {type(stored[name]).__name__}")
        state = cls(**stored)
        if check is not None:
            check(state)
        return state

    return StateType(cls, to_fields, from_fields)


AS_TEXT: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "date": (date, date.isoformat, date.fromisoformat),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "decimal": (Decimal, str, Decimal),
    "uuid": (UUID, str, UUID),
}
"""Types that are stored as text, and how."""


class UnstorableError(TypeError):
    """A value that a container cannot hold; `path` leads to it from the value given."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.path: list[str] = []
        super().__init__(problem)

    def __str__(self) -> str:
        path = "".join(self.path).lstrip(".")
        return f"{path}: {self.problem}" if path else self.problem


def is_shared_tuple(value: tuple[Any, ...]) -> bool:
    """Return whether a tuple is stored once: one of several texts, such as names."""
    return len(value) > 1 and set(map(type, value)) == {str}
