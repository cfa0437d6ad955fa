"""What a fitted Bayesian network answers: probabilities, samples, intervals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.common.validation import check_number
from priorwise.data.tables import Categories
from priorwise.models.general.inference import query
from priorwise.models.general.structures import CodedFrame, find_variable
from priorwise.models.general.tables import (
    LearntTable,
    VariableTable,
    list_contexts,
    spread_table,
)
from priorwise.models.given_columns import as_array, read_table
from priorwise.smoothing import HDP, Smoother
from priorwise.structure.networks import Network


class NetworkQueries:
    """The methods of `BayesianNetwork` that ask a fitted network."""

    variables_: list[Hashable]
    structure_: Network
    tables_: list[VariableTable]
    categories_: list[Categories]
    smoothing_: Smoother
    library_: str | None
    seed_: int

    @property
    def states_(self) -> dict[Hashable, list[Hashable]]:
        """The states of each variable; None is missing."""
        check_is_fitted(self)
        return {
            name: list(one.labels)
            for name, one in zip(self.variables_, self.categories_, strict=True)
        }

    def table(self, variable: Hashable) -> NDArray[np.float64]:
        """Return the distribution of a variable in every context of its parents.

        Parameters
        ----------
        variable : str or int
            Its name.

        Returns
        -------
        array
            One axis for each parent, in the order of `structure_`, then one for the states.
        """
        check_is_fitted(self)
        return self._spread(find_variable(self.variables_, variable, "variable"))

    def log_prob(self, frame: Any) -> NDArray[np.float64]:
        """Return the log probability of each row.

        Missing values, and variables that the table has no column of, are summed out. A value that
        is no state of its variable has the probability zero.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, or list of lists
            The rows.

        Returns
        -------
        array of shape (n_rows,)
            Natural logarithms.
        """
        coded = self._code(frame)
        result = np.zeros(len(coded.strange))
        for known, rows in coded.patterns():
            codes = {i: coded.codes[i][rows] for i in known}
            if len(known) == len(self.variables_):
                for i, table in enumerate(self.tables_):
                    parents = [codes[parent] for parent in self.structure_.parents[i]]
                    proba = table.rows(parents, len(rows))[np.arange(len(rows)), codes[i]]
                    with np.errstate(divide="ignore"):
                        result[rows] += np.log(proba)
            else:
                joint, scale = self._query(codes, None, len(rows))
                with np.errstate(divide="ignore"):
                    result[rows] = np.log(joint[:, 0]) + scale
        result[coded.strange] = -np.inf
        return result

    def sample(
        self, n_samples: int = 1, *, random_state: Any = None, backend: str | None = None
    ) -> Any:
        """Draw rows from the network.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the table. By default that of the table given to `fit`, or pandas.

        Returns
        -------
        pandas, polars or Arrow table
            One column for each variable.
        """
        check_is_fitted(self)
        n_rows = int(check_number("n_samples", n_samples, least=1, whole=True))
        generator = check_random_state(random_state)
        codes: dict[int, NDArray[np.int32]] = {}
        for i in self.structure_.order:
            parents = [codes[parent] for parent in self.structure_.parents[i]]
            upper = np.cumsum(self.tables_[i].rows(parents, n_rows), axis=1)
            below = generator.random_sample(n_rows) * upper[:, -1]
            codes[i] = (below[:, None] >= upper[:, :-1]).sum(axis=1).astype(np.int32)
        columns = {
            str(name): as_array(self.categories_[i].labels)[codes[i]].tolist()
            for i, name in enumerate(self.variables_)
        }
        chosen: Any = backend or self.library_ or "pandas"
        return nw.from_dict(columns, backend=chosen).to_native()

    def conditional(
        self, target: Hashable, given: Mapping[Hashable, Any] | None = None
    ) -> dict[Any, float]:
        """Return the distribution of a variable given values of others, by exact inference.

        Parameters
        ----------
        target : str or int
            The variable.
        given : mapping, optional
            Values of other variables by name, any of them.

        Returns
        -------
        dict
            The probability of each state.
        """
        check_is_fitted(self)
        place = find_variable(self.variables_, target, "target")
        evidence = {}
        for name, value in (given or {}).items():
            i = find_variable(self.variables_, name, "given")
            if i == place:
                raise ValueError(f"given must not name the target, got {name!r}")
            evidence[i] = self._code_value(i, value)
        joint, _ = self._query(evidence, place, 1)
        if not joint.any():
            raise ValueError(f"given must have a probability above zero, got {dict(given or {})!r}")
        labels = as_array(self.categories_[place].labels).tolist()
        return dict(zip(labels, (joint[0] / joint.sum()).tolist(), strict=True))

    def predict_proba(self, frame: Any, target: Hashable) -> NDArray[np.float64]:
        """Return the distribution of a variable given the other values of each row.

        Inference is exact. Missing values, values that are no states, and variables that the table
        has no column of are unknown; the column of the target is not used.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, or list of lists
            The rows.
        target : str or int
            The variable.

        Returns
        -------
        array of shape (n_rows, n_states)
            Probabilities; columns as in ``states_[target]``.
        """
        coded = self._code(frame)
        place = find_variable(self.variables_, target, "target")
        coded.codes.pop(place, None)
        result = np.empty((len(coded.strange), self.tables_[place].n_states))
        for known, rows in coded.patterns():
            codes = {i: coded.codes[i][rows] for i in known}
            joint, _ = self._query(codes, place, len(rows))
            total = joint.sum(axis=1, keepdims=True)
            if not total.all():
                row = rows[int(np.argmin(total[:, 0]))]
                raise ValueError(f"row {row} must have a probability above zero")
            result[rows] = joint / total
        return result

    def interval(
        self,
        variable: Hashable,
        given: Mapping[Hashable, Any] | None = None,
        *,
        level: float = 0.9,
        n_samples: int = 1000,
    ) -> Any:
        """Return the central credible interval of the parameters of a variable.

        The smoother must draw from a posterior, as "hdp" and "pitman-yor" do, and the counts must
        be whole numbers.

        Parameters
        ----------
        variable : str or int
            Its name.
        given : mapping, optional
            The values of all its parents, for one context.
        level : float, default=0.9
            Posterior probability of the interval, between 0 and 1.
        n_samples : int, default=1000
            Number of posterior draws.

        Returns
        -------
        tuple of two arrays, or dict
            The lower and the upper ends, each of the shape of `table`. With `given`, a dict with
            the lower and the upper end for each state.
        """
        check_is_fitted(self)
        if not 0.0 < level < 1.0:
            raise ValueError(f"level must lie between 0 and 1, got {level!r}")
        place = find_variable(self.variables_, variable, "variable")
        table, parents = self.tables_[place], self.structure_.parents[place]
        if not isinstance(table, LearntTable) or not isinstance(self.smoothing_, HDP):
            raise ValueError(
                "interval needs a network learnt with a smoother that draws from a posterior, such "
                f"as 'hdp', got {self.smoothing_!r}"
            )
        if any(np.mod(order.tree.counts, 1.0).any() for order in table.orders):
            raise ValueError("interval needs whole numbers as sample_weight of fit")
        arities = [len(self.categories_[parent].labels) for parent in parents]
        if given is None:
            contexts = list_contexts(arities)
        else:
            names = [self.variables_[parent] for parent in parents]
            if {*given} != {*names}:
                raise ValueError(f"given must name the parents {names!r}, got {list(given)!r}")
            contexts = [self._code_value(i, given[self.variables_[i]]) for i in parents]
        n_rows = 1 if given is not None or not parents else len(contexts[0])
        draws = table.draw(
            self.smoothing_, contexts, n_rows, n_samples=n_samples, seed=self.seed_ + place
        )
        lower, upper = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        if given is not None:
            labels = as_array(self.categories_[place].labels).tolist()
            ends = zip(lower[0].tolist(), upper[0].tolist(), strict=True)
            return dict(zip(labels, ends, strict=True))
        shape = (*arities, table.n_states)
        return lower.reshape(shape), upper.reshape(shape)

    def _code(self, frame: Any) -> CodedFrame:
        check_is_fitted(self)
        return CodedFrame.read(read_table(frame), self.variables_, self.categories_)

    def _code_value(self, place: int, value: Any) -> NDArray[np.int32]:
        """Return the code of one value as an array, for one row."""
        code, labels = self.categories_[place].code(value), self.categories_[place].labels
        if code < 0:
            states = ", ".join(repr(label) for label in as_array(labels).tolist()[:20])
            raise ValueError(
                f"given must have states of {self.variables_[place]!r} ({states}), got {value!r}"
            )
        return np.array([code], dtype=np.int32)

    def _spread(self, place: int) -> NDArray[np.float64]:
        arities = [len(self.categories_[i].labels) for i in self.structure_.parents[place]]
        return spread_table(self.tables_[place], arities, self.variables_[place])

    def _query(
        self, evidence: dict[int, NDArray[np.int32]], target: int | None, n_rows: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        arities = [table.n_states for table in self.tables_]
        return query(self.structure_.parents, arities, self._spread, evidence, target, n_rows)
