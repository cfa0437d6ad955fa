"""What a fitted Bayesian network says about its graph and its tables."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.texts import MANY, count
from priorwise.data.tables import Categories
from priorwise.models.general.structures import find_variable
from priorwise.models.general.tables import (
    GivenTable,
    VariableTable,
    list_contexts,
    spread_table,
)
from priorwise.models.given_columns import as_array
from priorwise.structure.networks import Network
from priorwise.structure.networks.equivalence import orient_compelled

Arc = tuple[Hashable, Hashable]


@dataclass(frozen=True, repr=False)
class EquivalenceClass:
    """All graphs that imply the same independences, between which no table of rows can choose.

    Parameters
    ----------
    arcs : list of tuple
        (parent, child) of each arc that all of them have.
    edges : list of tuple
        The two variables of each arc that has one direction in some and the other in others.

    Examples
    --------
    >>> EquivalenceClass([("rain", "wet"), ("sprinkler", "wet")], [("rain", "cloudy")])
    rain -> wet
    sprinkler -> wet
    rain -- cloudy
    """

    arcs: list[Arc]
    edges: list[Arc]

    def __repr__(self) -> str:
        lines = [f"{a} -> {b}" for a, b in self.arcs] + [f"{a} -- {b}" for a, b in self.edges]
        n_more = len(lines) - MANY
        more = [f"and {count(n_more, 'more line')}"] if n_more > 0 else []
        return "\n".join(lines[:MANY] + more) or "no arcs"


class NetworkGraph:
    """The methods of `BayesianNetwork` that show a fitted network."""

    variables_: list[Hashable]
    structure_: Network
    tables_: list[VariableTable]
    categories_: list[Categories]
    library_: str | None

    @property
    def states_(self) -> dict[Hashable, list[Hashable]]:
        """The states of each variable; None is missing."""
        check_is_fitted(self)
        return {
            name: list(one.labels)
            for name, one in zip(self.variables_, self.categories_, strict=True)
        }

    @property
    def arcs_(self) -> list[Arc]:
        """The arcs (parent, child), by the names of the variables."""
        check_is_fitted(self)
        return [(self.variables_[a], self.variables_[b]) for a, b in self.structure_.arcs()]

    def table(self, variable: Hashable, *, as_frame: bool = False) -> Any:
        """Return the distribution of a variable in every context of its parents.

        Parameters
        ----------
        variable : str or int
            Its name.
        as_frame : bool, default=False
            Whether to return a table with names: a row for each context, a column for each state.

        Returns
        -------
        array or frame
            One axis for each parent, in the order of `structure_`, then one for the states. As a
            frame of pandas, the values of the parents are the index; in other libraries, that of
            the table given to `fit`, they are columns.
        """
        check_is_fitted(self)
        place = find_variable(self.variables_, variable, "variable")
        array = self._spread(place)
        return self._name_table(place, array) if as_frame else array

    def markov_blanket(self, variable: Hashable) -> list[Hashable]:
        """Return the variables that make all others irrelevant for one, once they are known.

        Parameters
        ----------
        variable : str or int
            Its name.

        Returns
        -------
        list
            Its parents, its children and the other parents of these, in the order of `variables_`.
        """
        check_is_fitted(self)
        place, parents = (
            find_variable(self.variables_, variable, "variable"),
            self.structure_.parents,
        )
        blanket = set(parents[place])
        for child, own in enumerate(parents):
            if place in own:
                blanket |= {child, *own}
        return [self.variables_[i] for i in sorted(blanket - {place})]

    def do(self, values: Mapping[Any, Any]) -> Self:
        """Return the network after an intervention that sets variables to values.

        The variables no longer depend on their parents: the arcs into them are cut. Whatever is
        then asked, such as ``network.do({"smoke": "no"}).query("cancer")``, is the effect of the
        intervention, if the arcs are those of causes.

        Parameters
        ----------
        values : mapping
            The value of each variable by its name.

        Returns
        -------
        BayesianNetwork
            Another network; this one stays as it is.
        """
        check_is_fitted(self)
        if not isinstance(values, Mapping) or not values:
            raise ValueError(f"values must map variables to values, got {values!r:.80}")
        parents, tables = [*self.structure_.parents], [*self.tables_]
        for name, value in values.items():
            place = find_variable(self.variables_, name, "values")
            mass = np.zeros(self.tables_[place].n_states)
            mass[self._code_value(place, value, "values")] = 1.0
            parents[place], tables[place] = (), GivenTable(mass)
        changed = copy(self)
        graph = self.structure_
        changed.structure_ = Network(tuple(parents), graph.order, graph.feature_names, None)
        changed.tables_ = tables
        return changed

    def equivalence_class(self) -> EquivalenceClass:
        """Return the graphs that no rows can tell from this one (a CPDAG).

        "hill-climb" returns one of them; only the arcs that all of them have can be read as
        directions, and only if nothing outside of the table causes two of its variables.

        Returns
        -------
        EquivalenceClass
            `arcs`, which all of the graphs have, and `edges` without direction.
        """
        check_is_fitted(self)
        arcs, edges = orient_compelled(self.structure_.parents)
        names = self.variables_
        return EquivalenceClass(
            [(names[a], names[b]) for a, b in sorted(arcs)],
            [(names[a], names[b]) for a, b in sorted(edges)],
        )

    def _labels(self, place: int) -> list[Any]:
        """Return the states of a variable as a user sees them."""
        labels: list[Any] = as_array(self.categories_[place].labels).tolist()
        return labels

    def _code_value(self, place: int, value: Any, role: str) -> NDArray[np.int32]:
        """Return the code of one value as an array, for one row."""
        code = self.categories_[place].code(value)
        if code < 0:
            states = ", ".join(repr(label) for label in self._labels(place)[:20])
            raise ValueError(
                f"{role} must have states of {self.variables_[place]!r} ({states}), got {value!r}"
            )
        return np.array([code], dtype=np.int32)

    def _spread(self, place: int) -> NDArray[np.float64]:
        arities = [self.tables_[i].n_states for i in self.structure_.parents[place]]
        return spread_table(self.tables_[place], arities, self.variables_[place])

    def _name_table(self, place: int, array: NDArray[np.float64]) -> Any:
        parents = self.structure_.parents[place]
        contexts = list_contexts(array.shape[:-1])
        columns = {
            self.variables_[i]: as_array(self.categories_[i].labels)[codes].tolist()
            for i, codes in zip(parents, contexts, strict=True)
        }
        rows = array.reshape(-1, array.shape[-1])
        chosen: Any = self.library_ or "pandas"
        if chosen != "pandas":
            states = {
                str(label): rows[:, k].tolist() for k, label in enumerate(self._labels(place))
            }
            named = {str(name): values for name, values in columns.items()}
            return nw.from_dict({**named, **states}, backend=chosen).to_native()
        import pandas as pd

        states = pd.Index(self._labels(place), name=self.variables_[place])
        index = pd.MultiIndex.from_frame(pd.DataFrame(columns)) if columns else None
        return pd.DataFrame(rows, columns=states, index=index)
