"""A table as codes of the states of a network's variables."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.data.tables import Categories, RawTable
from priorwise.data.tables.factorise import NominalColumn


@dataclass(frozen=True)
class CodedFrame:
    """The codes of some variables."""

    codes: dict[int, NDArray[np.int32]]  # by variable; -1 where the value is missing or no state
    strange: NDArray[np.bool_]  # rows with a value that is no state of its variable

    @classmethod
    def read(
        cls, table: RawTable, names: Sequence[Hashable], categories: Sequence[Categories]
    ) -> CodedFrame:
        """Code the columns of a table, all of which must be variables."""
        for name in table.names:
            if name not in names:
                known = ", ".join(repr(one) for one in names[:20])
                raise ValueError(
                    f"columns must be variables of the network ({known}), got {name!r}"
                )
        place = {name: i for i, name in enumerate(names)}
        codes: dict[int, NDArray[np.int32]] = {}
        strange = np.zeros(table.n_rows, dtype=bool)
        for column, name in enumerate(table.names):
            values = table.nominal(column)
            codes[place[name]] = categories[place[name]].encode(values)
            strange |= (codes[place[name]] < 0) & (values.codes >= 0)
        return cls(codes, strange)

    def patterns(self) -> list[tuple[list[int], NDArray[np.intp]]]:
        """Group the rows by the variables that they know: those variables, and the rows."""
        variables = sorted(self.codes)
        known = np.array([self.codes[i] >= 0 for i in variables]).reshape(len(variables), -1)
        if known.all():
            return [(variables, np.arange(len(self.strange)))]
        found, place = np.unique(known, axis=1, return_inverse=True)
        place = place.ravel()
        return [
            ([i for i, is_known in zip(variables, column, strict=True) if is_known],
             np.flatnonzero(place == group))
            for group, column in enumerate(found.T)
        ]  # fmt: skip


def learn_states(
    table: RawTable,
    weight: NDArray[np.float64] | None,
    *,
    states: Mapping[Hashable, Sequence[Hashable]],
    declared: bool,
    code_missing: bool,
) -> tuple[list[Categories], list[NDArray[np.int32]], NDArray[np.float64] | None]:
    """Learn the states of all columns; return them, the codes and the weights above zero.

    States that are given come first, and a value that is none of them is an error.
    """
    counted = None if weight is None or (weight > 0).all() else weight > 0.0
    if counted is not None and weight is not None:
        weight = weight[counted]
    categories, codes = [], []
    for place, name in enumerate(table.names):
        column = table.nominal(place)
        if counted is not None:
            column = NominalColumn(column.labels, column.codes[counted])
        own = Categories()
        declare_states(own, table, place, states, declared=declared)
        own.learn(column, weight, code_missing=code_missing)
        check_states(own, name, states)
        categories.append(own)
        codes.append(own.encode(column))
    return categories, codes, weight


def declare_states(
    own: Categories,
    table: RawTable,
    place: int,
    states: Mapping[Hashable, Sequence[Hashable]],
    *,
    declared: bool,
) -> None:
    """Declare the states of a column that are given, or else those that its type declares."""
    listed = states.get(table.names[place]) or (declared and table.declared_labels(place)) or ()
    own.declare(list(listed))


def check_states(
    own: Categories, name: Hashable, states: Mapping[Hashable, Sequence[Hashable]]
) -> None:
    """Raise ValueError if a column has no states, or others than those that are given."""
    if name in states and len(own.labels) > len(states[name]):
        label = own.labels[len(states[name])]
        raise ValueError(f"column {name!r} must have states of the structure, got {label!r}")
    if not own.labels:
        raise ValueError(f"column {name!r} must have a value that is not missing")


def find_variable(names: Sequence[Hashable], name: Hashable, role: str) -> int:
    """Return the place of a variable by its name."""
    if name not in names:
        known = ", ".join(repr(one) for one in names[:20])
        raise ValueError(f"{role} must be a variable of the network ({known}), got {name!r}")
    return list(names).index(name)
