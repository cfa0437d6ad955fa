"""Values that are almost right: changed, replaced or damaged arguments of a call."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

INTS = (
    -1, 0, 1, 2, 3, 5, 7, 64, 255, 1000, -2, 2**15, 2**16 + 1, 2**24, 2**30, 2**31 - 2, 2**31 - 1,
    2**31, 2**32 - 1, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30,
    -(2**31), -(2**31) - 1, -(2**63), -(2**63) - 1,
)  # fmt: skip
FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-9, 1e-300, 5e-324, 1e9, 1e15, 2.0**53, 2.0**53 + 2, 1e300,
    1.7e308, -1e300, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
TEXTS = (
    "", "\0", "log", "squared", "mdl", "random_mdl", "tree", "pruned_tree", "gain", "gain-ratio",
    "cll", "accuracy", "auc", "fastest", "bits", "dense", "grouped", "portable", "é", "x" * 10_000,
    "\ud800",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**31, 1.5, float("nan"), "text", b"bytes", (), [], {}, [None], [[]],
    object(), int, np.int32(3), np.float64(2.5), np.zeros(0), np.zeros((0, 3)), np.zeros((3, 0)),
    np.zeros(0, np.int32), np.array(1), np.array([None]), np.array(["a"]), np.array([1j]),
    np.zeros(2, "datetime64[s]"), np.zeros(3, [("a", "i4"), ("b", "f8")]), memoryview(b"12345678"),
)  # fmt: skip
DTYPES = ("i4", "i8", "f8", "f4", "u1", "u8", "i2", "?", "f2", ">i4", ">f8", "O", "c16", "U3")
MAX_SIZE = 5_000
"""No array grows beyond this many elements."""


class Mutator:
    """Draws changes of values.

    Parameters
    ----------
    rng : random.Random
        Draws all that is random.
    relatives : function of (value)
        Returns values of the same kind from other calls.
    rebuild : function of (value, function)
        Returns a structure of the core whose arguments the function has changed; None for values
        that are no structures.
    """

    def __init__(
        self,
        rng: random.Random,
        relatives: Callable[[Any], list[Any]],
        rebuild: Callable[[Any, Callable[[list[Any]], None]], Any],
    ) -> None:
        self.rng, self.relatives, self.rebuild = rng, relatives, rebuild

    def change(self, value: Any, depth: int = 0) -> Any:
        """A changed copy of a value; the value itself stays as it is."""
        rng = self.rng
        if rng.random() < 0.03:
            return rng.choice(OTHERS)
        if isinstance(value, bool):
            return not value if rng.random() < 0.9 else rng.choice(OTHERS)
        if isinstance(value, np.ndarray):
            return self._change_array(value)
        if isinstance(value, int | np.integer):
            return int(value) + rng.choice((-1, 1)) if rng.random() < 0.2 else rng.choice(INTS)
        if isinstance(value, float):
            return rng.choice(FLOATS) if rng.random() < 0.8 else value * rng.choice((-1.0, 1e3))
        if isinstance(value, str):
            return rng.choice(TEXTS)
        if isinstance(value, list | tuple):
            return self._change_list(value, depth)
        others = self.relatives(value)
        way = rng.random()
        if way < 0.5 and depth < 2:
            changed = self.rebuild(value, lambda arguments: self._change_one(arguments, depth))
            if changed is not None:
                return changed
        return rng.choice(others) if others and way < 0.9 else rng.choice(OTHERS)

    def _change_one(self, arguments: list[Any], depth: int) -> None:
        place = self.rng.randrange(len(arguments))
        arguments[place] = self.change(arguments[place], depth + 1)

    def _change_list(self, value: list[Any] | tuple[Any, ...], depth: int) -> Any:
        rng, entries = self.rng, list(value)
        way = rng.randrange(8)
        if way == 0 or not entries:
            entries.append(entries[-1] if entries else rng.choice(OTHERS))
        elif way == 1:
            entries.pop(rng.randrange(len(entries)))
        elif way == 2:
            entries.clear()
        elif way == 3:
            rng.shuffle(entries)
        elif way == 4:
            others = self.relatives(value)
            entries = list(rng.choice(others)) if others else entries * 2
        elif depth < 3:
            self._change_one(entries, depth)
        return tuple(entries) if rng.random() < 0.1 else entries

    def _change_array(self, value: np.ndarray) -> Any:
        if value.ndim == 0:
            return self.rng.choice(OTHERS)
        way = self.rng.random()
        if way < 0.1:
            others = self.relatives(value)
            return self.rng.choice(others).copy() if others else value.copy()
        if way < 0.6:
            return self._change_elements(value)
        if way < 0.8:
            return self._change_shape(value)
        return self._change_layout(value)

    def _change_elements(self, value: np.ndarray) -> np.ndarray:
        rng, array = self.rng, value.copy()
        if array.size == 0 or array.dtype.kind not in "iuf":
            return array
        flat = array.reshape(-1)
        way = rng.randrange(6)
        if way == 0:
            rng_order = np.array(rng.sample(range(flat.size), flat.size))
            flat[:] = flat[rng_order]
        elif way == 1:
            flat[:] = flat[::-1].copy()
        elif way == 2:
            flat[:] = self._element(array)
        elif way == 3 and array.dtype.kind in "iu":
            flat[:] = [rng.randrange(8) for _ in range(flat.size)]
        else:
            for _ in range(rng.choice((1, 1, 2, 5))):
                flat[rng.randrange(flat.size)] = self._element(array)
        return array

    def _element(self, array: np.ndarray) -> Any:
        if array.dtype.kind == "f":
            largest = float(np.finfo(array.dtype).max)
            number = self.rng.choice(FLOATS)
            return max(-largest, min(largest, number)) if np.isfinite(number) else number
        info = np.iinfo(array.dtype)
        near = [int(array.max()) + 1, int(array.min()) - 1, array.size, *array.shape]
        return max(info.min, min(info.max, self.rng.choice([*INTS, *near, *near])))

    def _change_shape(self, value: np.ndarray) -> np.ndarray:
        rng = self.rng
        way = rng.randrange(9)
        if way == 0:
            return value[:-1].copy()
        if way == 1:
            return value[1:].copy()
        if way == 2 and value.size < MAX_SIZE:
            return np.concatenate([value, value[-1:]])
        if way == 3 and value.size < MAX_SIZE:
            return np.concatenate([value, value])
        if way == 4:
            return value[:0].copy()
        if way == 5:
            return value.reshape(-1)
        if way == 6:
            return value[..., :-1].copy()
        if way == 7:
            return value.T.copy()
        return value[None].copy()

    def _change_layout(self, value: np.ndarray) -> Any:
        rng = self.rng
        way = rng.randrange(8)
        if way == 0 and value.size:
            return np.repeat(value, 2, axis=-1)[..., ::2]
        if way == 1 and value.size:
            return value[::-1]
        if way == 2:
            array = value.copy()
            array.flags.writeable = False
            return array
        if way == 3 and value.dtype.kind in "iuf":
            memory = np.zeros(value.nbytes + 1, np.uint8)[1:]
            array = memory.view(value.dtype).reshape(value.shape)
            array[...] = value
            return array
        if way == 4 and value.ndim == 2:
            return np.asfortranarray(value)
        if way == 5:
            return value.tolist()
        if way == 6:
            return np.broadcast_to(value[:1], value.shape) if value.size else value.copy()
        with np.errstate(all="ignore"):
            try:
                return value.astype(rng.choice(DTYPES))
            except (TypeError, ValueError, RuntimeError):
                return value.copy()
