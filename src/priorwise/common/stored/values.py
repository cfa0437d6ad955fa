"""Values as JSON and arrays: what a container file may hold, and nothing else.

In the JSON, None, booleans, integers, finite floats, strings and lists stand for themselves.
Everything else is an object with one key:

=======================================  ======================================
``{"float": "nan"}``                   a float that is not finite
``{"tuple": [...]}``                   a tuple
``{"record": {...}}``                    a dictionary whose keys are texts
``{"dict": [[key, value], ...]}``      a dictionary
``{"date": "..."}``                    a date; ``"datetime"`` a date and time
``{"decimal": "..."}``                 a Decimal; likewise the other types in `_AS_TEXT`
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
``{"state": [name, fields]}``          an object of a class that the caller registered
``{"shared": n}``                      the n-th array, state or tuple of texts that was read before
=======================================  ======================================

A place says where an array is, as `priorwise.common.stored.arrays` tells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from priorwise.common.stored.arrays import TYPES, ArrayWriter, size_of, widen

MAX_DEPTH = 64
"""Levels of values inside values."""
_PLAIN = frozenset({type(None), bool, int, str})
"""Types that JSON gives back as they are."""
_PLAIN_JSON = _PLAIN | {float}
_SHARED_ARRAYS = ("objects", "text", "times")
_MAX_CODE_POINT = 0x10FFFF


@dataclass(frozen=True)
class StateType:
    """How objects of one class (no derived ones) are stored: as the value that `to_fields` makes.

    `from_fields` must check what it is given: any exception that it raises makes the file invalid.
    """

    type: type
    to_fields: Callable[[Any], Any]
    from_fields: Callable[[Any], Any]


StateTypes = Mapping[str, StateType]
"""The classes that a container may hold, by the name that stands in the file."""


def dataclass_state(
    cls: Any, check: Callable[[Any], object] | None = None, /, **types: Any
) -> StateType:
    """Store a dataclass as the dictionary of its fields.

    When read, each field in `types` must be an instance of that type, and `check` raises if the
    fields of the object do not fit together. Fields with a default may be missing.
    """
    names = [field.name for field in fields(cls)]
    known = set(names)
    needed = {field.name for field in fields(cls) if field.default is MISSING}

    def to_fields(state: Any) -> dict[str, Any]:
        return {name: getattr(state, name) for name in names}

    def from_fields(stored: Any) -> Any:
        if not isinstance(stored, dict) or not needed <= stored.keys() <= known:
            raise ValueError(f"the fields must be {names}")
        for name, expected in types.items():
            if name in stored and not isinstance(stored[name], expected):
                raise TypeError(f"{name} must not be of type {type(stored[name]).__name__}")
        state = cls(**stored)
        if check is not None:
            check(state)
        return state

    return StateType(cls, to_fields, from_fields)


_AS_TEXT: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "date": (date, date.isoformat, date.fromisoformat),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "decimal": (Decimal, str, Decimal),
    "uuid": (UUID, str, UUID),
}
"""Types that are stored as text, and how."""
_TEXT_NAMES = {row[0]: name for name, row in _AS_TEXT.items()}
_PANDAS = ("Timestamp", "Timedelta", "Interval")
_TIMES = re.compile(r"[mM]8(\[\d{0,6}[a-zA-Z]{1,2}\])?")


class UnstorableError(TypeError):
    """A value that a container cannot hold; `path` leads to it from the value given."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        self.path: list[str] = []
        super().__init__(problem)

    def __str__(self) -> str:
        path = "".join(self.path).lstrip(".")
        return f"{path}: {self.problem}" if path else self.problem


class ValueWriter:
    """Turns values into JSON, and collects the arrays that it names.

    An array, a state or a tuple of texts that occurs again is stored once.
    """

    def __init__(self, states: StateTypes, *, pack: bool = False) -> None:
        self._names = {state.type: name for name, state in states.items()}
        self._states = states
        self._arrays = ArrayWriter(pack)
        self._numbers: dict[Any, int] = {}
        self._kept_alive: list[Any] = []

    @property
    def n_widened(self) -> int:
        """Bytes that narrowed arrays take once they are widened."""
        return self._arrays.n_widened

    def join_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of all values, by their type."""
        return self._arrays.join()

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Return the JSON that stands for a value; UnstorableError for objects of other types."""
        if depth > MAX_DEPTH:
            raise TypeError(f"a value must have at most {MAX_DEPTH} levels of values inside values")
        depth += 1
        cls = type(value)
        if cls in _PLAIN:
            return value
        if cls is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if cls is list:
            return self._encode_list(value, depth)
        if cls is dict:
            if set(map(type, value)) <= {str}:
                items = value.items()
                return {"record": {k: self._encode_item(v, f".{k}", depth) for k, v in items}}
            return {"dict": [self._encode_pair(k, v, depth) for k, v in value.items()]}
        if cls is frozenset:
            return {"frozenset": [self.encode(item, depth) for item in sorted(value, key=repr)]}
        if cls is bytes:
            return {"bytes": self._arrays.add(np.frombuffer(value, dtype=np.uint8))}
        if cls in _TEXT_NAMES:
            return {_TEXT_NAMES[cls]: _AS_TEXT[_TEXT_NAMES[cls]][1](value)}
        if cls is timedelta:
            return {"timedelta": [value.days, value.seconds, value.microseconds]}
        if isinstance(value, np.generic) and value.dtype.str[1:] in TYPES:
            return {"scalar": self._arrays.add(np.asarray(value))}
        if cls.__module__.split(".")[0] == "pandas" and cls.__name__ in _PANDAS:
            return self._encode_pandas(value, depth)
        return self._encode_once(value, cls, depth)

    def _encode_once(self, value: Any, cls: type, depth: int) -> Any:
        """Encode a value that is stored once, or refer to where it occurred before."""
        is_text = cls is tuple and len(value) > 1 and all(type(item) is str for item in value)
        key = value if is_text else id(value)
        if key in self._numbers:
            return {"shared": self._numbers[key]}
        if cls is tuple:
            stored: Any = {"tuple": [self.encode(item, depth) for item in value]}
            if not is_text:
                return stored
        elif cls is np.ndarray:
            stored = self._encode_array(value, depth)
        elif cls in self._names:
            name = self._names[cls]
            stored = {"state": [name, self.encode(self._states[name].to_fields(value), depth)]}
        else:
            raise UnstorableError(
                f"a value of type {cls.__module__}.{cls.__qualname__} cannot be stored"
            )
        self._kept_alive.append(value)  # so that no other value gets its id
        self._numbers[key] = len(self._numbers)
        return stored

    def _encode_list(self, value: list[Any], depth: int) -> Any:
        types = set(map(type, value))
        if _PLAIN.issuperset(types):
            return value
        if types == {np.ndarray} and all(array.dtype.str[1:] in TYPES for array in value):
            return self._encode_arrays(value)
        if len(types) == 1 and len(value) > 1 and issubclass(next(iter(types)), np.generic):
            array = np.array(value)
            if array.dtype.str[1:] in TYPES and array.dtype.type in types and array.ndim == 1:
                return {"scalars": self._arrays.add(array)}
        return [self._encode_item(item, _name_step(item, i), depth) for i, item in enumerate(value)]

    def _encode_arrays(self, arrays: list[NDArray[Any]]) -> Any:
        """Encode a list of arrays that do not occur elsewhere."""
        return {"arrays": [self._arrays.add(array) for array in arrays]}

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
            return {"text": self._arrays.add(wide.view("=u4").reshape(*array.shape, width))}
        if kind in "mM":
            return {"times": [array.dtype.str[1:], self._arrays.add(array.astype("=i8"))]}
        if array.dtype.str[1:] in TYPES:
            return {"array": self._arrays.add(array)}
        raise UnstorableError(f"an array of type {array.dtype} cannot be stored")

    def _encode_pandas(self, value: Any, depth: int) -> Any:
        name = type(value).__name__
        if name != "Interval":
            return {"pandas": [name, value.isoformat()]}
        parts = [value.left, value.right, value.closed]
        return {"pandas": [name, *(self.encode(part, depth) for part in parts)]}


class ValueReader:
    """Turns JSON back into values; raises some exception if it stands for none.

    The arrays that the JSON names must lie in `arrays`, by their type; each part of them belongs to
    one value, in the order in which the JSON names them.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], states: StateTypes) -> None:
        self._arrays = arrays
        self._states = states
        self._ends = dict.fromkeys(arrays, 0)
        self._shared: list[Any] = []

    def decode(self, stored: Any, depth: int = 0) -> Any:
        """Return the value that stands in the JSON."""
        if depth > MAX_DEPTH:
            raise ValueError("values lie too deep inside each other")
        depth += 1
        if type(stored) is list:
            if _PLAIN_JSON.issuperset(map(type, stored)):
                return stored
            return [self.decode(item, depth) for item in stored]
        if type(stored) is not dict:
            return stored
        ((what, content),) = stored.items()
        if what == "record":
            return {
                name: self.decode(item, depth) for name, item in _checked(content, dict).items()
            }
        if what == "arrays":
            return [self._take(place) for place in _checked(content, list)]
        if what == "shared":
            return self._find_shared(content)
        if what in ("array", "state", "tuple", *_SHARED_ARRAYS):
            return self._decode_once(what, content, depth)
        if what == "dict":
            pairs = [self.decode(pair, depth) for pair in _checked(content, list)]
            return dict(pairs)
        if what in ("scalar", "scalars", "bytes"):
            return make_other(what, self._take(content))
        return make_other(what, self.decode(content, depth))

    def check_used(self) -> None:
        """Raise ValueError unless every part of the arrays has belonged to a value."""
        if any(self._ends[name] != len(array) for name, array in self._arrays.items()):
            raise ValueError("it holds arrays that no value names")

    def _decode_once(self, what: str, content: Any, depth: int) -> Any:
        """Return a value that may be referred to later."""
        if what == "array":
            value: Any = self._take(content)
        elif what == "state":
            name, fields_ = content
            if name not in self._states:
                raise ValueError(f"{name!r:.40} is no class that the file may hold")
            value = self._states[name].from_fields(self.decode(fields_, depth))
        elif what == "tuple":
            value = tuple(self.decode(item, depth) for item in _checked(content, list))
            if len(value) < 2 or not all(type(item) is str for item in value):
                return value
        elif what == "objects":
            shape, items = content
            value = _make_objects(shape, self.decode(items, depth))
        elif what == "times":
            type_name, place = content
            value = _make_times(_checked(type_name, str), self._take(place))
        else:
            value = _make_text(self._take(content))
        self._shared.append(value)
        return value

    def _find_shared(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self._shared):
            raise ValueError("a value refers to one that was not read before")
        return self._shared[number]

    def _take(self, place: Any) -> NDArray[Any]:
        """Return the next array of a type, as its place says."""
        name, shape, *wide = _checked(place, list)
        shape = [shape] if type(shape) is int else _checked(shape, list)
        start = self._ends[name]
        end = start + size_of(shape)
        if end > len(self._arrays[name]):
            raise ValueError("an array does not lie in the file")
        self._ends[name] = end
        part = self._arrays[name][start:end]
        return (widen(part, *wide) if wide else part).reshape(shape)


def make_other(what: str, content: Any) -> Any:
    """Return a value of one of the rarer kinds; `content` has been read."""
    if what == "float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[_checked(content, str)]
    if what == "scalar":
        return content.reshape(())[()]
    if what == "scalars":
        return list(content)
    if what == "bytes":
        return _of_type(content, np.uint8).tobytes()
    if what == "frozenset":
        return frozenset(_checked(content, list))
    if what in _AS_TEXT:
        return _AS_TEXT[what][2](_checked(content, str))
    if what == "timedelta":
        return timedelta(*content)
    if what == "pandas":
        name, *parts = _checked(content, list)
        if _checked(name, str) not in _PANDAS:
            raise ValueError(f"{name!r:.40} is no type of pandas that a file may hold")
        return getattr(import_module("pandas"), name)(*parts)
    raise ValueError(f"{what!r:.40} is no kind of value")


def _make_objects(shape: list[int], items: list[Any]) -> NDArray[Any]:
    if size_of(shape) != len(items):
        raise ValueError("the shape of an array does not fit its values")
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array.reshape(shape)


def _make_text(points: NDArray[Any]) -> NDArray[Any]:
    points = _of_type(points, np.uint32)
    if points.ndim == 0 or points.shape[-1] == 0 or points.max(initial=0) > _MAX_CODE_POINT:
        raise ValueError("an array of text holds something that is no text")
    return points.view(f"=U{points.shape[-1]}").reshape(points.shape[:-1])


def _make_times(type_name: str, numbers: NDArray[Any]) -> NDArray[Any]:
    if not _TIMES.fullmatch(type_name):
        raise ValueError("the type of an array of times is wrong")
    dtype = np.dtype(type_name)
    return _of_type(numbers, np.int64).view(dtype.newbyteorder("="))


def _name_step(item: Any, place: int) -> str:
    """Return how an item of a list is named in errors: pairs of a name and a value by the name."""
    is_named = type(item) is tuple and len(item) == 2 and type(item[0]) is str
    return f"[{item[0]!r}]" if is_named else f"[{place}]"


def _checked(value: Any, expected: type) -> Any:
    if not isinstance(value, expected):
        raise TypeError(f"expected a {expected.__name__}, got a {type(value).__name__}")
    return value


def _of_type(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    if array.dtype != dtype:
        raise ValueError(f"an array must be of type {np.dtype(dtype)}, got {array.dtype}")
    return array
