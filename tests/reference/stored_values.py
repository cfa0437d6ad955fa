"""The slow twin of `_core.read_values`: JSON is read by Python, and then turned into values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from priorwise.common.stored.arrays import size_of, widen, width_of
from priorwise.common.stored.values import MAX_DEPTH, StateTypes, make_other


def read_value(text: bytes, arrays: Mapping[str, NDArray[Any]], states: StateTypes) -> Any:
    """Return the value that JSON stands for."""
    reader = ValueReader(arrays, states)
    value = reader.decode(json.loads(text))
    reader.check_used()
    return value


class ArrayReader:
    """Gives back arrays by their places, in the order in which they were written."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], most: float) -> None:
        self._arrays, self._n_left = dict(arrays), most
        self._next = dict.fromkeys(arrays, 0)

    def take(self, place: Any, *, narrow: bool = False) -> NDArray[Any]:
        """Return the next array, if `narrow` in the type in which it is stored."""
        name, shape = place[0], place[1]
        if name not in self._arrays:
            raise ValueError(f"there is no array of type {name!s:.20}")
        shape = [shape] if type(shape) is int else shape
        start = self._next[name]
        end = self._next[name] = start + size_of(shape)
        if end > len(self._arrays[name]):
            raise ValueError("an array has more entries than the file")
        part = self._arrays[name][start:end]
        if len(place) > 2:
            self._n_left -= len(part) * width_of(place[2])
            if self._n_left < 0:
                raise ValueError("arrays take too much memory once they are widened")
            if not narrow or len(place) > 3:
                part = widen(part, *place[2:])
        return part.reshape(shape)

    def check_used(self) -> None:
        """Raise a ValueError if there are entries that were not taken."""
        for name, array in self._arrays.items():
            if self._next[name] < len(array):
                raise ValueError(f"entries of type {name} belong to no value")


class ValueReader:
    """Turns JSON back into values."""

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], states: StateTypes, *, most: float = math.inf
    ) -> None:
        self._arrays, self._states = ArrayReader(arrays, most), states
        self._shared: list[Any] = []
        self.check_used = self._arrays.check_used

    def decode(self, stored: Any, depth: int = 0) -> Any:
        """Return the value that JSON stands for; raises some exception if it stands for none."""
        if depth > MAX_DEPTH:
            raise ValueError(f"there are more than {MAX_DEPTH} levels of values inside values")
        depth += 1
        if type(stored) is list:
            return [self.decode(item, depth) for item in stored]
        if type(stored) is not dict:
            return stored
        ((what, content),) = stored.items()
        if what == "record":
            return {name: self.decode(item, depth) for name, item in content.items()}
        if what == "dict":
            pairs = [[self.decode(one, depth) for one in pair] for pair in content]
            if len(dict(pairs)) < len(pairs):
                raise ValueError("a dictionary has a key twice")
            return dict(pairs)
        if what == "shared":
            if content < 0:
                raise ValueError("a value that was read before must have a number")
            return self._shared[content]
        if what == "arrays":
            return [self._arrays.take(place) for place in content]
        value = self._decode_kept(what, content, depth)
        is_kept = what in ("array", "state", "objects", "text", "times")
        if what == "tuple":
            is_kept = len(value) > 1 and all(type(item) is str for item in value)
        if is_kept:
            self._shared.append(value)
        return value

    def _decode_kept(self, what: str, content: Any, depth: int) -> Any:
        if what == "array":
            return self._arrays.take(content)
        if what == "state":
            state = self._states[content[0]]
            if state.takes_narrow and type(content[1]) is dict and "arrays" in content[1]:
                places = content[1]["arrays"]
                return state.from_fields([self._arrays.take(one, narrow=True) for one in places])
            return state.from_fields(self.decode(content[1], depth))
        if what == "tuple":
            return tuple(self.decode(item, depth) for item in content)
        if what in ("text", "scalar", "scalars", "bytes"):
            return make_other(what, self._arrays.take(content))
        if what == "times":
            return make_other(what, (content[0], self._arrays.take(content[1])))
        if what == "objects":
            items = [self.decode(item, depth) for item in content[1]]
            return make_other(what, (content[0], items))
        return make_other(what, self.decode(content, depth))
