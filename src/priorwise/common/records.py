"""Records whose fields declare what they may hold, and one check for all of them.

A model in a file is a tree of records. Nothing that was read is used before `Record.check` has
found that every field is what its class declares, so kernels need no checks of their own::

    @dataclass(frozen=True, eq=False)
    class Line(Record):
        slope: Floats = numbers("n_features", "n_classes", most=LARGEST)
        unit: float = number(least=0.0)

Lengths that are given by a name must agree wherever the name occurs in a record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

from priorwise import _core
from priorwise.common.docstrings import hook
from priorwise.common.documents import describe_fields
from priorwise.common.registered import register, stored_name

Length = int | str | None
"""Of an axis: a number, a name that stands for one, or any."""


@dataclass(frozen=True)
class Numbers:
    """An array of finite numbers of a type within limits."""

    dtype: np.dtype[Any]
    shape: tuple[Length, ...]
    least: float
    most: float
    optional: bool

    def check(self, name: str, value: Any, lengths: dict[str, int]) -> None:
        """Raise ValueError, which names the field, unless a value is such an array."""
        if value is None and self.optional:
            return
        if not isinstance(value, np.ndarray) or value.dtype != self.dtype:
            raise ValueError(f"{name} must be an array of {self.dtype}")
        if value.ndim != len(self.shape):
            raise ValueError(f"{name} must have {len(self.shape)} dimensions, got {value.ndim}")
        for length, expected in zip(value.shape, self.shape, strict=True):
            if isinstance(expected, str):
                expected = lengths.setdefault(expected, length)
            if expected is not None and length != expected:
                raise ValueError(f"{name} must have the shape {self.shape}, got {value.shape}")
        if not _core.are_within(value.reshape(-1), self.least, self.most):
            raise ValueError(f"{name} must be finite numbers from {self.least} to {self.most}")


@dataclass(frozen=True)
class Number:
    """One finite number within limits."""

    kind: type[float] | type[int]
    least: float
    most: float

    def check(self, name: str, value: Any, lengths: dict[str, int]) -> None:
        """Raise ValueError, which names the field, unless a value is such a number."""
        is_number = isinstance(value, int | float) and type(value) is self.kind
        if not is_number or not math.isfinite(value) or not self.least <= value <= self.most:
            raise ValueError(
                f"{name} must be a {self.kind.__name__} from {self.least} to {self.most}, "
                f"got {value!r:.40}"
            )


@dataclass(frozen=True)
class Parts:
    """An object of some class, or a tuple of such objects."""

    kind: Any
    several: bool
    optional: bool

    def check(self, name: str, value: Any, lengths: dict[str, int]) -> None:
        """Raise TypeError, which names the field, unless a value is of the class."""
        if value is None and self.optional:
            return
        if self.several and not isinstance(value, tuple | list):
            raise TypeError(f"{name} must be several, got a {type(value).__name__}")
        for one in value if self.several else (value,):
            if not isinstance(one, self.kind):
                raise TypeError(f"{name} must not be of type {type(one).__name__}")


def numbers(
    *shape: Length,
    dtype: Any = np.float64,
    least: float = -np.inf,
    most: float = np.inf,
    optional: bool = False,
    **options: Any,
) -> Any:
    """Declare a field that holds an array of numbers."""
    bounds = Numbers(np.dtype(dtype), shape, least, most, optional)
    return field(metadata={"bounds": bounds}, **options)


def number(
    kind: type[float] | type[int] = float,
    *,
    least: float = -np.inf,
    most: float = np.inf,
    **options: Any,
) -> Any:
    """Declare a field that holds one number."""
    return field(metadata={"bounds": Number(kind, least, most)}, **options)


def part(kind: Any, *, several: bool = False, optional: bool = False, **options: Any) -> Any:
    """Declare a field that holds an object, or several, of a class."""
    return field(metadata={"bounds": Parts(kind, several, optional)}, **options)


@dataclass(frozen=True, eq=False)
class Record:
    """A frozen part of a fitted model. Its subclasses are what a file may hold."""

    kinds: ClassVar[dict[str, type[Record]]] = {}
    """All records, by their names in files."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        register(Record.kinds, stored_name(cls), cls, what="name of a record")
        if "__repr__" not in vars(cls):
            # A dataclass writes one of its own, with all numbers, unless the class has one.
            cls.__repr__ = describe_fields  # type: ignore[method-assign]

    @classmethod
    @cache
    def list_bounds(cls) -> dict[str, Numbers | Number | Parts]:
        """Return what each field may hold, by its name."""
        return {one.name: one.metadata["bounds"] for one in fields(cls)}

    @property
    def lengths(self) -> dict[str, int]:
        """The lengths that have a name, by name."""
        lengths: dict[str, int] = {}
        for field_name, bounds in self.list_bounds().items():
            value = getattr(self, field_name)
            if isinstance(bounds, Numbers) and value is not None:
                pairs = zip(bounds.shape, value.shape, strict=True)
                lengths |= {name: length for name, length in pairs if isinstance(name, str)}
        return lengths

    def check(self) -> None:
        """Raise ValueError or TypeError unless every field holds what it declares."""
        lengths: dict[str, int] = {}
        for name, bounds in self.list_bounds().items():
            bounds.check(name, getattr(self, name), lengths)
        self.check_rules()

    def check_rules(self) -> None:
        """Raise ValueError unless the fields agree in what their bounds cannot say."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the fields, and not what was computed from them."""
        return {name: getattr(self, name) for name in self.list_bounds()}

    @hook
    def to_stored(self) -> Any:
        """Return what a file holds of the record: its fields by name."""
        return self.__getstate__()

    @classmethod
    @hook
    def from_stored(cls, stored: Any) -> Self:
        """Return the record that a file holds; raise some exception unless it is right."""
        known = cls.list_bounds().keys()
        if not isinstance(stored, dict) or stored.keys() != known:
            raise ValueError(f"the fields of a {cls.__name__} must be {sorted(known)}")
        record = cls.__new__(cls)
        vars(record).update(stored)
        record.check()
        return record
