"""JSON and arrays turned back into values, as `priorwise.common.stored.values` describes them."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.stored.arrays import find_wide, size_of
from priorwise.common.stored.values import (
    AS_TEXT,
    PANDAS,
    StateTypes,
    is_shared_tuple,
)

_SHARED = frozenset({"array", "objects", "state", "text", "times"})
"""Kinds of values that a later one may refer to."""
_TIMES = re.compile(r"[mM]8(\[\d{0,6}[a-zA-Z]{1,2}\])?")
_NO_KIND = "an object must have one key, a kind of value"


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
        self._fields: dict[str, Any] | None = None
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "array": self._take,
            "arrays": lambda places: [self._take(place) for place in places],
            "narrow": lambda places: [self._take(place, narrow=True) for place in places],
            "bytes": lambda place: _of_type(self._take(place), np.uint8).tobytes(),
            "scalar": lambda place: self._take(place).reshape(())[()],
            "scalars": lambda place: list(self._take(place)),
            "shared": self._find_shared,
            "state": self._read_state,
            "text": lambda place: _make_text(self._take(place)),
            "times": lambda content: _make_times(content[0], self._take(content[1])),
            **OTHER,
        }

    def read(self, text: str) -> Any:
        """Return the value that stands in a JSON text, to which all parts of the arrays belong."""
        decoder = json.JSONDecoder(object_hook=self._read_object, parse_constant=refuse_constant)
        value = decoder.decode(text)
        if self._fields is not None:
            raise ValueError(_NO_KIND)
        if any(self._ends[name] != len(array) for name, array in self._arrays.items()):
            raise ValueError("it holds arrays that belong to no value")
        return value

    def _read_object(self, stored: dict[str, Any]) -> Any:
        """Return the value of an object of which all objects inside have been read.

        One that names no kind of value must be the content of the next, a record.
        """
        fields = self._fields
        if fields is not None:
            self._fields = None
            if len(stored) != 1 or stored.get("record") is not fields:
                raise ValueError(_NO_KIND)
            return fields
        if len(stored) == 1:
            [what] = stored
            make = self._kinds.get(what)
            if make:
                value = make(stored[what])
                if what in _SHARED or (what == "tuple" and is_shared_tuple(value)):
                    self._shared.append(value)
                return value
        self._fields = stored
        return stored

    def _read_state(self, content: Any) -> Any:
        name, fields = content
        if name not in self._states:
            raise ValueError(
                f"it holds a state {name!r:.80}, which is not expected here: a class of your own "
                "must be imported before a file with it is loaded"
            )
        return self._states[name].from_fields(fields)

    def _find_shared(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self._shared):
            raise ValueError("a value that was read before must have a number")
        return self._shared[number]

    def _take(self, place: Any, *, narrow: bool = False) -> Any:
        """Return the next array of a type, as its place says.

        With `narrow`, one that is to be widened is a pair with the name of the type.
        """
        name, shape, *wide = place
        array = self._arrays.get(name)
        if array is None:
            raise ValueError(f"there is no array of type {name!r:.40}")
        start = self._ends[name]
        end = self._ends[name] = start + size_of(shape)
        if end > len(array):
            raise ValueError("an array has more entries than the file")
        part = array[start:end]
        if wide:
            dtype = find_wide(part, *wide, most=self._n_left)
            self._n_left -= part.size * dtype.itemsize
            if narrow:
                return part, *wide
            part = part.astype(dtype)
        return part if type(shape) is int else part.reshape(shape)


def _make_float(word: Any) -> float:
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[_checked(word, str)]


def _make_pandas(content: Any) -> Any:
    name, *parts = _checked(content, list)
    if _checked(name, str) not in PANDAS:
        raise ValueError(f"{name!r:.40} is no type of pandas that a file may hold")
    return getattr(import_module("pandas"), name)(*parts)


def _make_from_text(what: str, text: Any) -> Any:
    return AS_TEXT[what][2](_checked(text, str))


def refuse_constant(word: str) -> None:
    """Raise ValueError for a number that is not finite, which JSON does not know."""
    raise ValueError(f"{word} is no number")


def _make_dict(pairs: Any) -> dict[Any, Any]:
    value = dict(_checked(pairs, list))
    if len(value) != len(pairs):
        raise ValueError("a dictionary has a key twice")
    return value


def _make_objects(shape: Any, items: Any) -> NDArray[Any]:
    if size_of(shape) != len(_checked(items, list)):
        raise ValueError("the shape of an array does not fit its values")
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array.reshape(shape)


def _make_text(points: NDArray[Any]) -> NDArray[Any]:
    points = _of_type(points, np.uint32)
    if points.ndim == 0 or points.shape[-1] == 0 or points.max(initial=0) > sys.maxunicode:
        raise ValueError("an array of text holds something that is no text")
    return points.view(f"=U{points.shape[-1]}").reshape(points.shape[:-1])


def _make_times(type_name: Any, numbers: NDArray[Any]) -> NDArray[Any]:
    if not _TIMES.fullmatch(_checked(type_name, str)):
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


OTHER: dict[str, Callable[[Any], Any]] = {
    "dict": _make_dict,
    "float": _make_float,
    "frozenset": lambda items: frozenset(_checked(items, list)),
    "objects": lambda content: _make_objects(*content),
    "pandas": _make_pandas,
    "timedelta": lambda parts: timedelta(*parts),
    "tuple": lambda items: tuple(_checked(items, list)),
    **{what: partial(_make_from_text, what) for what in AS_TEXT},
}
"""How values of the kinds that name no array, and none that was read before, are made."""
