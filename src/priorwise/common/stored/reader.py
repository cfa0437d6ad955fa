"""JSON and arrays turned back into values, as `priorwise.common.stored.values` describes them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.stored.arrays import size_of, widen
from priorwise.common.stored.values import (
    AS_TEXT,
    MAX_DEPTH,
    PANDAS,
    PLAIN,
    StateTypes,
    is_shared_tuple,
)

_PLAIN_JSON = PLAIN | {float}
_SHARED = ("array", "objects", "state", "text", "times")
"""Kinds of values that a later one may refer to."""
_TIMES = re.compile(r"[mM]8(\[\d{0,6}[a-zA-Z]{1,2}\])?")
_MAX_CODE_POINT = 0x10FFFF


class ValueReader:
    """Turns JSON back into values; raises some exception if it stands for none.

    The arrays that the JSON names must lie in `arrays`, by their type; each part of them belongs to
    one value, in the order in which the JSON names them. Arrays that are to be read as a wider type
    may take `max_widened` bytes.
    """

    def __init__(
        self,
        arrays: Mapping[str, NDArray[Any]],
        states: StateTypes,
        max_widened: float = math.inf,
    ) -> None:
        self._arrays = arrays
        self._states = states
        self._n_left = max_widened
        self._ends = dict.fromkeys(arrays, 0)
        self._shared: list[Any] = []
        self._kinds: dict[str, Callable[[Any, int], Any]] = {
            "array": lambda place, depth: self._take(place),
            "arrays": lambda places, depth: [self._take(place) for place in _checked(places, list)],
            "bytes": lambda place, depth: _of_type(self._take(place), np.uint8).tobytes(),
            "dict": self._read_dict,
            "objects": self._read_objects,
            "record": self._read_record,
            "scalar": lambda place, depth: self._take(place).reshape(())[()],
            "scalars": lambda place, depth: list(self._take(place)),
            "shared": lambda number, depth: self._find_shared(number),
            "state": self._read_state,
            "text": lambda place, depth: _make_text(self._take(place)),
            "times": self._read_times,
            "tuple": self._read_tuple,
        }

    def decode(self, stored: Any, depth: int = 0) -> Any:
        """Return the value that stands in the JSON."""
        if depth > MAX_DEPTH:
            raise ValueError(f"there are more than {MAX_DEPTH} levels of values inside values")
        depth += 1
        if type(stored) is list:
            if _PLAIN_JSON.issuperset(map(type, stored)):
                return stored
            return [self.decode(item, depth) for item in stored]
        if type(stored) is not dict:
            return stored
        if len(stored) != 1:
            raise ValueError("an object must have one key")
        ((what, content),) = stored.items()
        if what not in self._kinds:
            return make_other(what, self.decode(content, depth))
        value = self._kinds[what](content, depth)
        if what in _SHARED or (what == "tuple" and is_shared_tuple(value)):
            self._shared.append(value)
        return value

    def check_used(self) -> None:
        """Raise ValueError unless every part of the arrays has belonged to a value."""
        if any(self._ends[name] != len(array) for name, array in self._arrays.items()):
            raise ValueError("it holds arrays that belong to no value")

    def _read_record(self, content: Any, depth: int) -> dict[str, Any]:
        return {name: self.decode(item, depth) for name, item in _checked(content, dict).items()}

    def _read_dict(self, content: Any, depth: int) -> dict[Any, Any]:
        pairs = [self.decode(pair, depth) for pair in _checked(content, list)]
        value = dict(pairs)
        if len(value) != len(pairs):
            raise ValueError("a dictionary has a key twice")
        return value

    def _read_tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        return tuple(self.decode(item, depth) for item in _checked(content, list))

    def _read_state(self, content: Any, depth: int) -> Any:
        name, stored = content
        if name not in self._states:
            raise ValueError(f"it holds a state {name!r:.40}, which is not expected here")
        return self._states[name].from_fields(self.decode(stored, depth))

    def _read_objects(self, content: Any, depth: int) -> NDArray[Any]:
        shape, items = content
        return _make_objects(shape, _checked(self.decode(items, depth), list))

    def _read_times(self, content: Any, depth: int) -> NDArray[Any]:
        type_name, place = content
        return _make_times(_checked(type_name, str), self._take(place))

    def _find_shared(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self._shared):
            raise ValueError("a value that was read before must have a number")
        return self._shared[number]

    def _take(self, place: Any) -> NDArray[Any]:
        """Return the next array of a type, as its place says."""
        name, shape, *wide = _checked(place, list)
        if name not in self._arrays:
            raise ValueError(f"there is no array of type {name!r:.40}")
        start = self._ends[name]
        end = self._ends[name] = start + size_of(shape)
        if end > len(self._arrays[name]):
            raise ValueError("an array has more entries than the file")
        part = self._arrays[name][start:end]
        if wide:
            part = widen(part, *wide, most=self._n_left)
            self._n_left -= part.nbytes
        return part if type(shape) is int else part.reshape(shape)


def make_other(what: str, content: Any) -> Any:
    """Return a value of one of the rarer kinds, which hold no array."""
    if what == "float":
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[_checked(content, str)]
    if what == "frozenset":
        return frozenset(_checked(content, list))
    if what in AS_TEXT:
        return AS_TEXT[what][2](_checked(content, str))
    if what == "timedelta":
        return timedelta(*content)
    if what == "pandas":
        name, *parts = _checked(content, list)
        if _checked(name, str) not in PANDAS:
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


def _checked(value: Any, expected: type) -> Any:
    if not isinstance(value, expected):
        raise TypeError(f"expected a {expected.__name__}, got a {type(value).__name__}")
    return value


def _of_type(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    if array.dtype != dtype:
        raise ValueError(f"an array must be of type {np.dtype(dtype)}, got {array.dtype}")
    return array
