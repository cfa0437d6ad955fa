"""A table as codes of the states of a network's variables."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from priorwise.data.survey import LabelCounts
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


@dataclass(frozen=True)
class StateSurvey:
    """The values of all columns of some rows, which become the states of variables.

    Surveys of batches merge. States that are given come first, and a value that is none of them is
    an error; so do those that the type of a column declares.
    """

    names: list[Hashable]
    labels: list[LabelCounts]
    listed: list[list[Hashable]]

    @classmethod
    def of(
        cls,
        table: RawTable,
        weight: NDArray[np.float64] | None = None,
        *,
        states: Mapping[Hashable, Sequence[Hashable]],
        declared: bool,
    ) -> StateSurvey:
        """Survey the rows of one batch."""
        names = table.names
        labels = [LabelCounts.of(table.nominal(i), weight) for i in range(len(names))]
        listed = [
            list(states.get(name) or (declared and table.declared_labels(i)) or ())
            for i, name in enumerate(names)
        ]
        return cls(names, labels, listed)

    def merge(self, other: StateSurvey) -> StateSurvey:
        """Return the survey of the rows of both; the types of the first batch declare states."""
        pairs = zip(self.labels, other.labels, strict=True)
        return replace(self, labels=[mine.merge(theirs) for mine, theirs in pairs])

    @property
    def n_missing(self) -> float:
        """Number of missing values, or their weight."""
        return sum(float(f.totals[f.labels.index(None)]) for f in self.labels)

    def to_categories(
        self, states: Mapping[Hashable, Sequence[Hashable]], *, code_missing: bool
    ) -> list[Categories]:
        """Return the states of each column.

        ValueError if a column has no states, or others than those that are given.
        """
        found, missing = [], "value" if code_missing else "ignore"
        for name, labels, listed in zip(self.names, self.labels, self.listed, strict=True):
            known = Categories()
            known.declare(listed)
            categories, _ = labels.to_categories(frozenset(), missing, known)
            if name in states and len(categories.labels) > len(states[name]):
                label = categories.labels[len(states[name])]
                raise ValueError(
                    f"column {name!r} must have states of the structure, got {label!r}"
                )
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
