"""A table as codes of the states of a network's variables."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.cuts.names import WholeRange
from priorwise.data.encoding import TableEncoder
from priorwise.data.survey import Survey
from priorwise.data.survey.batch import RawColumns
from priorwise.data.tables import Categories, RawTable


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
        codes: dict[int, NDArray[np.int32]] = {}
        strange = np.zeros(table.n_rows, dtype=bool)
        for column, name in enumerate(table.names):
            place, values = find_variable(names, name, "a column"), table.nominal(column)
            codes[place] = categories[place].encode(values)
            strange |= (codes[place] < 0) & (values.codes >= 0)
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


def survey_parameters(missing: str, declared: str) -> dict[str, Any]:
    """Return the parameters of an encoder that takes every value as a state."""
    return {
        "missing": missing, "declared": declared, "missing_values": [], "ordinal_features": None,
        "discretizer": WholeRange(),
    }  # fmt: skip


def survey_states(
    table: RawTable, weight: NDArray[np.float64] | None, missing: str, declared: str
) -> Survey:
    """Survey a table, all of whose columns are variables."""
    encoder = TableEncoder(**survey_parameters(missing, declared))
    return RawColumns.read(table, encoder, ["nominal"] * table.n_columns).survey(weight)


def find_states(
    survey: Survey,
    names: Sequence[Hashable],
    states: Mapping[Hashable, Sequence[Hashable]],
    missing: str,
) -> list[Categories]:
    """Return the states of each variable, with the weights of their rows.

    They are those that are given, or else those that the type of a column declares, in their order;
    else the values of the column, sorted. ValueError if a column has no value, or one that is none
    of the states given.
    """
    found = []
    for name, labels in zip(names, survey.label_counts(), strict=True):
        listed = states.get(name) or (labels.labels if labels.is_declared else ())
        first = [label for label in listed if label is not None]
        known = Categories.of(first, [0.0] * len(first), frozenset())
        categories, _ = labels.to_categories(frozenset(), missing, known)
        if name in states and len(categories.labels) > len(first):
            label = categories.labels[len(first)]
            raise ValueError(f"column {name!r} must have states of the structure, got {label!r}")
        if not categories.labels:
            raise ValueError(f"column {name!r} must have a value that is not missing")
        found.append(categories)
    return found


def find_variable(names: Sequence[Hashable], name: Hashable, role: str) -> int:
    """Return the place of a variable by its name."""
    if name not in names:
        known = ", ".join(repr(one) for one in names[:20])
        raise ValueError(f"{role} must be a variable of the network ({known}), got {name!r}")
    return list(names).index(name)
