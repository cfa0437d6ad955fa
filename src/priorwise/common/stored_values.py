"""Values as JSON and arrays: what a container file may hold, and nothing else.

In the JSON, None, booleans, integers, finite floats, strings and lists stand for themselves.
Everything else is an object with one key:

=====================================  ========================================
``{"float": "nan"}``                   a float that is not finite
``{"tuple": [...]}``                   a tuple
``{"dict": [[key, value], ...]}``      a dictionary
``{"date": "..."}``                    a date; ``"datetime"`` a date and time
``{"array": name}``                    an array of booleans or numbers
``{"scalar": name}``                   a NumPy scalar
``{"bytes": name}``                    bytes
``{"text": name}``                     an array of fixed-width text (code points)
``{"times": [dtype, name]}``           an array of datetime64 or timedelta64
``{"objects": [shape, [...]]}``        an array of Python objects, such as labels
``{"state": [name, fields]}``          an object of a class that the caller registered
=====================================  ========================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_DEPTH = 64
"""Levels of values inside values."""
_PLAIN = frozenset({type(None), bool, int, str})
"""Types that JSON gives back as they are."""
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
    fields of the object do not fit together.
    """
    names = [field.name for field in fields(cls)]

    def to_fields(state: Any) -> dict[str, Any]:
        return {name: getattr(state, name) for name in names}

    def from_fields(stored: Any) -> Any:
        if not isinstance(stored, dict) or sorted(stored) != sorted(names):
            raise ValueError(f"the fields must be {names}")
        for name, expected in types.items():
            if not isinstance(stored[name], expected):
                raise TypeError(f"{name} must not be of type {type(stored[name]).__name__}")
        state = cls(**stored)
        if check is not None:
            check(state)
        return state

    return StateType(cls, to_fields, from_fields)


class ValueWriter:
    """Turns values into JSON, and collects the contiguous, little-endian arrays that it names."""

    def __init__(self, states: StateTypes) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._names = {state.type: name for name, state in states.items()}
        self._states = states

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Return the JSON that stands for a value; TypeError if it contains an object of other
        types.
        """
        if depth > MAX_DEPTH:
            raise TypeError(f"a value must have at most {MAX_DEPTH} levels of values inside values")
        depth += 1
        cls = type(value)
        if cls in _PLAIN:
            return value
        if cls is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if cls is list:
            if _PLAIN.issuperset(map(type, value)):
                return value
            return [self.encode(item, depth) for item in value]
        if cls is tuple:
            return {"tuple": [self.encode(item, depth) for item in value]}
        if cls is dict:
            pairs = value.items()
            return {"dict": [[self.encode(k, depth), self.encode(v, depth)] for k, v in pairs]}
        if cls is bytes:
            return {"bytes": self._store(np.frombuffer(value, dtype=np.uint8))}
        if cls in (date, datetime):
            return {cls.__name__: value.isoformat()}
        if cls is np.ndarray:
            return self._encode_array(value, depth)
        if cls in self._names:
            name = self._names[cls]
            return {"state": [name, self.encode(self._states[name].to_fields(value), depth)]}
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            return {"scalar": self._store(np.asarray(value))}
        raise TypeError(f"a value of type {cls.__module__}.{cls.__qualname__} cannot be stored")

    def _encode_array(self, array: NDArray[Any], depth: int) -> Any:
        kind = array.dtype.kind
        if kind == "O":
            return {"objects": [list(array.shape), self.encode(array.ravel().tolist(), depth)]}
        if kind == "U":
            width = max(array.dtype.itemsize // 4, 1)
            wide = np.ascontiguousarray(array, dtype=f"<U{width}")
            return {"text": self._store(wide.view("<u4").reshape(*array.shape, width))}
        if kind in "mM":
            return {"times": [array.dtype.str[1:], self._store(array.astype("<i8"))]}
        if kind in "biuf" and array.dtype.itemsize <= 8:
            return {"array": self._store(array)}
        raise TypeError(f"an array of type {array.dtype} cannot be stored")

    def _store(self, array: NDArray[Any]) -> str:
        name = str(len(self.arrays))
        # The writer of safetensors takes the memory as it lies there.
        self.arrays[name] = np.asarray(little_endian(array), order="C")
        return name


class ValueReader:
    """Turns JSON back into values; each array that it names is taken out of `arrays`."""

    def __init__(self, arrays: dict[str, NDArray[Any]], states: StateTypes) -> None:
        self.arrays = arrays
        self._states = states

    def decode(self, stored: Any, depth: int = 0) -> Any:
        """Return the value that JSON stands for; raises some exception if it stands for none."""
        if depth > MAX_DEPTH:
            raise ValueError(f"there are more than {MAX_DEPTH} levels of values inside values")
        depth += 1
        if isinstance(stored, list):
            if _PLAIN.issuperset(map(type, stored)):
                return stored
            return [self.decode(item, depth) for item in stored]
        if not isinstance(stored, dict):
            return stored
        ((what, content),) = stored.items()
        if what == "float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]
        if what == "tuple":
            return tuple(self.decode(_checked(content, list), depth))
        if what == "dict":
            pairs = [self._decode_pair(pair, depth) for pair in _checked(content, list)]
            value = dict(pairs)
            if len(value) < len(pairs):
                raise ValueError("a dictionary has a key twice")
            return value
        if what == "date":
            return date.fromisoformat(content)
        if what == "datetime":
            return datetime.fromisoformat(content)
        if what == "objects":
            return self._decode_objects(content, depth)
        if what == "state":
            name, stored_fields = content
            if name not in self._states:
                raise ValueError(f"it holds a state {name!r:.40}, which is not expected here")
            return self._states[name].from_fields(self.decode(stored_fields, depth))
        return self._decode_array(what, content)

    def _decode_pair(self, pair: Any, depth: int) -> tuple[Any, Any]:
        key, value = pair
        return self.decode(key, depth), self.decode(value, depth)

    def _decode_objects(self, content: Any, depth: int) -> NDArray[Any]:
        shape, items = content
        if not all(type(n) is int and n >= 0 for n in shape) or len(shape) > 32:
            raise ValueError("the shape of an array is wrong")
        if math.prod(shape) != len(_checked(items, list)):
            raise ValueError("the shape of an array does not fit its values")
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(self.decode(items, depth)):
            array[i] = item
        return array.reshape(shape)

    def _decode_array(self, what: str, content: Any) -> Any:
        if what == "array":
            return self._take(content)
        if what == "scalar":
            return self._take(content).reshape(())[()]
        if what == "bytes":
            return self._take(content, np.uint8).tobytes()
        if what == "text":
            points = self._take(content, np.uint32)
            if points.ndim == 0 or points.shape[-1] == 0 or points.max(initial=0) > _MAX_CODE_POINT:
                raise ValueError("an array of text holds something that is no text")
            return points.view(f"=U{points.shape[-1]}").reshape(points.shape[:-1])
        if what == "times":
            dtype = np.dtype(_checked(content[0], str))
            if dtype.kind not in "mM":
                raise ValueError("the type of an array of times is wrong")
            return self._take(content[1], np.int64).view(dtype.newbyteorder("="))
        raise ValueError(f"{what!r:.40} is no kind of value")

    def _take(self, name: Any, dtype: Any = None) -> NDArray[Any]:
        array = self.arrays.pop(_checked(name, str))
        if dtype is not None and array.dtype != dtype:
            raise ValueError(f"an array must be of type {np.dtype(dtype)}, got {array.dtype}")
        return array


def _checked(value: Any, expected: type) -> Any:
    if not isinstance(value, expected):
        raise TypeError(f"expected a {expected.__name__}, got a {type(value).__name__}")
    return value


def little_endian(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of booleans or numbers in the byte order of files."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
