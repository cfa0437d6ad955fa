"""Probabilities with the names of their variables and states."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import hook
from priorwise.common.registered import with_registered_methods
from priorwise.common.texts import MANY, count, show_probability


@with_registered_methods
class Distribution(Mapping[Any, float]):
    """The probability of each state of a variable, or of each combination of states of several.

    It is a mapping: a key is a state or, of several variables, a tuple of states. NumPy takes it
    as an array with one axis for each variable.

    Parameters
    ----------
    states : mapping
        The states of each variable by its name.
    probabilities : array
        One axis for each variable, in the same order.
    backend : {"pandas", "polars", "pyarrow"}, default="pandas"
        Library of the tables that `to_frame` returns.

    Examples
    --------
    >>> rain = Distribution({"rain": ["yes", "no"]}, np.array([0.25, 0.75]))
    >>> rain["yes"]
    0.25
    >>> rain
    rain  probability
    yes         0.250
    no          0.750
    >>> rain.to_frame().shape
    (2, 2)
    """

    def __init__(
        self,
        states: Mapping[Hashable, Sequence[Hashable]],
        probabilities: NDArray[np.float64],
        *,
        backend: str = "pandas",
    ) -> None:
        self.states = {name: list(own) for name, own in states.items()}
        self.probabilities = probabilities
        self.backend = backend

    @property
    def variables(self) -> list[Hashable]:
        """Names of the variables."""
        return list(self.states)

    def __getitem__(self, state: Any) -> float:
        key = state if len(self.states) > 1 else (state,)
        if not isinstance(key, tuple) or len(key) != len(self.states):
            raise KeyError(f"a key must have a state of each of {self.variables!r}, got {state!r}")
        try:
            own = zip(self.states.values(), key, strict=True)
            place = tuple(states.index(one) for states, one in own)
        except ValueError:
            raise KeyError(f"a key must be among {self.states!r:.200}, got {state!r}") from None
        return float(self.probabilities[place])

    def __iter__(self) -> Iterator[Any]:
        if len(self.states) == 1:
            return iter(*self.states.values())
        return product(*self.states.values())

    def __len__(self) -> int:
        return int(self.probabilities.size)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.probabilities, dtype=dtype, copy=copy)

    def most_probable(self) -> Any:
        """Return the most probable state or combination of states, of equals the first.

        Returns
        -------
        object
            A key.
        """
        place = np.unravel_index(int(np.argmax(self.probabilities)), self.probabilities.shape)
        key = tuple(own[i] for own, i in zip(self.states.values(), place, strict=True))
        return key if len(key) > 1 else key[0]

    def marginal(self, variable: Hashable) -> Distribution:
        """Return the distribution of one of the variables.

        Parameters
        ----------
        variable : str or int
            Its name.

        Returns
        -------
        Distribution
            The distribution.
        """
        if variable not in self.states:
            raise ValueError(f"variable must be one of {self.variables!r}, got {variable!r}")
        place = self.variables.index(variable)
        others = tuple(axis for axis in range(len(self.states)) if axis != place)
        p = self.probabilities.sum(axis=others)
        return Distribution({variable: self.states[variable]}, p, backend=self.backend)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table of all combinations of states and their probabilities.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the table. By default that of the table given to `fit`, or pandas.

        Returns
        -------
        pandas, polars or Arrow table
            A column for each variable, and one that is called probability.
        """
        rows = zip(*product(*self.states.values()), strict=True)
        columns = {str(name): list(own) for name, own in zip(self.states, rows, strict=True)}
        columns["probability"] = self.probabilities.ravel().tolist()
        chosen: Any = backend or self.backend
        return nw.from_dict(columns, backend=chosen).to_native()

    def to_series(self) -> Any:
        """Return a series of pandas, whose index has the states.

        Returns
        -------
        pandas.Series
            The probabilities; the index has a level for each variable.
        """
        import pandas as pd

        levels = [list(own) for own in self.states.values()]
        if len(levels) == 1:
            index = pd.Index(levels[0], name=self.variables[0])
        else:
            index = pd.MultiIndex.from_product(levels, names=self.variables)
        return pd.Series(self.probabilities.ravel(), index=index, name="probability")

    @hook
    def lines(self, most: int) -> tuple[list[tuple[list[str], float]], int]:
        """Return states and probability of each line, the most probable ones if there are more.

        The second result is the number of lines that are left out.
        """
        order = np.arange(len(self))
        if len(self) > most:
            order = np.argsort(-self.probabilities.ravel(), kind="stable")[:most]
        lines = []
        for at in order:
            place = np.unravel_index(int(at), self.probabilities.shape)
            own = [str(s[i]) for s, i in zip(self.states.values(), place, strict=True)]
            lines.append((own, float(self.probabilities[place])))
        return lines, len(self) - len(order)

    def __repr__(self) -> str:
        lines, n_more = self.lines(MANY)
        rows = [[*map(str, self.states), "probability"]]
        rows += [[*states, show_probability(p)] for states, p in lines]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        texts = []
        for row in rows:
            first = zip(row[:-1], widths, strict=False)
            states = "  ".join(text.ljust(width) for text, width in first)
            texts.append(f"{states}  {row[-1].rjust(widths[-1])}")
        if n_more:
            texts.append(f"and {count(n_more, 'less probable line')}")
        return "\n".join(texts)
