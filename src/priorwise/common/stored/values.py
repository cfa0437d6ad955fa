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

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from priorwise.common.registered import full_name
from priorwise.common.stored.arrays import TYPES, ArrayWriter

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


_TEXT_NAMES = {row[0]: name for name, row in AS_TEXT.items()}


class ValueWriter:
    """Turns values into JSON, and collects the arrays that it names.

    An array, a state or a tuple of texts that occurs again is stored once.
    """

    def __init__(self, states: StateTypes, *, pack: bool = False) -> None:
        # By full names: a class that was defined again, as in a notebook, is the same.
        self._names = {full_name(state.type): name for name, state in states.items()}
        self._states = states
        self.arrays = ArrayWriter(pack)
        self._numbers: dict[Any, int] = {}
        self._kept_alive: list[Any] = []

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Return the JSON that stands for a value; UnstorableError for objects of other types."""
        if depth > MAX_DEPTH:
            raise TypeError(f"a value must have at most {MAX_DEPTH} levels of values inside values")
        depth += 1
        cls = type(value)
        if cls in PLAIN:
            return value
        if cls is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if cls is list:
            return self._encode_list(value, depth)
        if cls is dict:
            # A record of one field could be taken for another kind of value.
            if len(value) != 1 and set(map(type, value)) <= {str}:
                items = value.items()
                return {"record": {k: self._encode_item(v, f".{k}", depth) for k, v in items}}
            return {"dict": [self._encode_pair(k, v, depth) for k, v in value.items()]}
        if cls is frozenset:
            return {"frozenset": [self.encode(item, depth) for item in sorted(value, key=repr)]}
        if cls is bytes:
            return {"bytes": self.arrays.add(np.frombuffer(value, dtype=np.uint8))}
        if cls in _TEXT_NAMES:
            return {_TEXT_NAMES[cls]: AS_TEXT[_TEXT_NAMES[cls]][1](value)}
        if cls is timedelta:
            return {"timedelta": [value.days, value.seconds, value.microseconds]}
        if isinstance(value, np.generic) and value.dtype.str[1:] in TYPES:
            return {"scalar": self.arrays.add(np.asarray(value))}
        if cls.__module__.split(".")[0] == "pandas" and cls.__name__ in PANDAS:
            return self._encode_pandas(value, depth)
        return self._encode_once(value, cls, depth)

    def _encode_once(self, value: Any, cls: type, depth: int) -> Any:
        """Encode a value that is stored once, or refer to where it occurred before."""
        is_text = cls is tuple and is_shared_tuple(value)
        key = value if is_text else id(value)
        if key in self._numbers:
            return {"shared": self._numbers[key]}
        if cls is tuple:
            stored: Any = {"tuple": [self.encode(item, depth) for item in value]}
            if not is_text:
                return stored
        elif cls is np.ndarray:
            stored = self._encode_array(value, depth)
        elif full_name(cls) in self._names:
            name = self._names[full_name(cls)]
            fields = self._states[name].to_fields(value)
            if self._states[name].widens:
                stored = {"state": [name, {"narrow": list(map(self.arrays.add, fields))}]}
            else:
                stored = {"state": [name, self.encode(fields, depth)]}
        else:
            raise UnstorableError(f"a value of type {full_name(cls)} cannot be stored")
        self._kept_alive.append(value)  # so that no other value gets its id
        self._numbers[key] = len(self._numbers)
        return stored

    def _encode_list(self, value: list[Any], depth: int) -> Any:
        types = set(map(type, value))
        if PLAIN.issuperset(types):
            return value
        if types == {np.ndarray} and all(array.dtype.str[1:] in TYPES for array in value):
            # None of them occurs elsewhere.
            return {"arrays": [self.arrays.add(array) for array in value]}
        if len(types) == 1 and len(value) > 1 and issubclass(next(iter(types)), np.generic):
            array = np.array(value)
            if array.dtype.str[1:] in TYPES and array.dtype.type in types and array.ndim == 1:
                return {"scalars": self.arrays.add(array)}
        return [self._encode_item(item, _name_step(item, i), depth) for i, item in enumerate(value)]

    def _encode_pair(self, key: Any, value: Any, depth: int) -> Any:
        return [
            self.encode(key, depth),
            self._encode_item(value, f".{key}" if type(key) is str else f"[{key!r}]", depth),
        ]

    def _encode_item(self, value: Any, step: str, depth: int) -> Any:
        try:
            return self.encode(value, depth)
        except UnstorableError as error:
            error.path.insert(0, step)
            raise

    def _encode_array(self, array: NDArray[Any], depth: int) -> Any:
        kind = array.dtype.kind
        if kind == "O":
            return {"objects": [list(array.shape), self.encode(array.ravel().tolist(), depth)]}
        if kind == "U":
            width = max(array.dtype.itemsize // 4, 1)
            wide = np.ascontiguousarray(array, dtype=f"=U{width}")
            return {"text": self.arrays.add(wide.view("=u4").reshape(*array.shape, width))}
        if kind in "mM":
            return {"times": [array.dtype.str[1:], self.arrays.add(array.astype("=i8"))]}
        if array.dtype.str[1:] in TYPES:
            return {"array": self.arrays.add(array)}
        raise UnstorableError(f"an array of type {array.dtype} cannot be stored")

    def _encode_pandas(self, value: Any, depth: int) -> Any:
        name = type(value).__name__
        if name != "Interval":
            return {"pandas": [name, value.isoformat()]}
        parts = [value.left, value.right, value.closed]
        return {"pandas": [name, *(self.encode(part, depth) for part in parts)]}


def _name_step(item: Any, place: int) -> str:
    """Return how an item of a list is named in errors: pairs of a name and a value by the name."""
    is_named = type(item) is tuple and len(item) == 2 and type(item[0]) is str
    return f"[{item[0]!r}]" if is_named else f"[{place}]"
