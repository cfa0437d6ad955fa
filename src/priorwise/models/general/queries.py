"""What a fitted Bayesian network answers: probabilities, samples, intervals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.common.validation import check_number
from priorwise.models.general.graph import NetworkGraph
from priorwise.models.general.inference import Inference, keep_inference
from priorwise.models.general.structures import CodedFrame, find_variable
from priorwise.models.general.tables import (
    LearntTable,
    list_contexts,
)
from priorwise.models.given_columns import as_array, read_table
from priorwise.smoothing import HDP, Smoother
from priorwise.structure.networks.distribution import Distribution


class NetworkQueries(NetworkGraph):
    """The methods of `BayesianNetwork` that ask a fitted network."""

    smoothing_: Smoother
    seed_: int
    n_jobs: int

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
                joint, scale = self._inference().joint(codes, [], len(rows))
                with np.errstate(divide="ignore"):
                    result[rows] = np.log(joint) + scale
        result[coded.strange] = -np.inf
        return result

    def sample(
        self,
        n_samples: int = 1,
        evidence: Mapping[Any, Any] | None = None,
        *,
        random_state: Any = None,
        backend: str | None = None,
    ) -> Any:
        """Draw rows from the network, or from its distribution given values of some variables.

        Draws given evidence are exact: no row is rejected or weighted.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        evidence : mapping, optional
            Values of variables by name, which all rows then have.
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
        if evidence:
            uniform = generator.random_sample((n_rows, len(self.variables_)))
            drawn = self._inference().draw(self._code_evidence(evidence), uniform)
            if (drawn < 0).all():
                raise _impossible(evidence)
            codes = {i: drawn[:, i] for i in np.flatnonzero(drawn[0] >= 0).tolist()}
        for i in self.structure_.order:
            if i in codes:
                continue
            parents = [codes[parent] for parent in self.structure_.parents[i]]
            upper = np.cumsum(self.tables_[i].rows(parents, n_rows), axis=1)
            below = generator.random_sample(n_rows) * upper[:, -1]
            codes[i] = (below[:, None] >= upper[:, :-1]).sum(axis=1).astype(np.int32)
        return self._make_frame(codes, backend)

    def query(
        self,
        variables: Hashable | Sequence[Hashable],
        evidence: Mapping[Any, Any] | None = None,
        *,
        joint: bool = True,
    ) -> Any:
        """Return the distribution of variables given values of others, by exact inference.

        Parameters
        ----------
        variables : str, int or list
            The variable, or several.
        evidence : mapping, optional
            Values of other variables by name, any of them.
        joint : bool, default=True
            Whether several variables have one joint distribution, or each has its own.

        Returns
        -------
        Distribution, or dict of Distribution
            The joint distribution: a mapping from states, or tuples of states, to probabilities,
            with `to_frame` and `to_series`. With ``joint=False`` the distribution of each variable
            by its name, all of which take little longer than one.

        Examples
        --------
        >>> from priorwise import BayesianNetwork
        >>> rows = [["rain", "wet"], ["rain", "wet"], ["sun", "dry"], ["sun", "wet"]]
        >>> network = BayesianNetwork([(0, 1)], smoothing="laplace").fit(rows)
        >>> network.query(0, {1: "wet"})
        0     probability
        rain        0.600
        sun         0.400
        """
        check_is_fitted(self)
        places = self._find_targets(variables, evidence)
        known = self._code_evidence(evidence or {})
        inference = self._inference()
        if not joint:
            each = inference.marginals(known, places)
            if not each[0].any():
                raise _impossible(evidence)
            return {
                self.variables_[i]: self._label([i], p[0], evidence)
                for i, p in zip(places, each, strict=True)
            }
        table = inference.joint(known, places)[0][0]
        total = table.sum()
        if not total > 0.0:
            raise _impossible(evidence)
        return self._label(places, table / total, evidence)

    def map_query(
        self,
        variables: Hashable | Sequence[Hashable] | None = None,
        evidence: Mapping[Any, Any] | None = None,
    ) -> dict[Hashable, Any]:
        """Return the values of variables that are most probable together, given others.

        Variables that are neither asked for nor known are summed out.

        Parameters
        ----------
        variables : str, int or list, optional
            The variable, or several. By default all that are not known.
        evidence : mapping, optional
            Values of other variables by name, any of them.

        Returns
        -------
        dict
            A value for each variable.
        """
        check_is_fitted(self)
        known = self._code_evidence(evidence or {})
        if variables is None:
            places = [i for i in range(len(self.variables_)) if i not in known]
        else:
            places = self._find_targets(variables, evidence)
        best = self._inference().best(known, places)[0]
        if (best < 0).any():
            raise _impossible(evidence)
        return {
            self.variables_[i]: self._labels(i)[code] for i, code in zip(places, best, strict=True)
        }

    def predict(self, frame: Any, target: Hashable | Sequence[Hashable]) -> Any:
        """Return the most probable value of variables given the other values of each row.

        Inference is exact. What is not known of a row is as in `predict_proba`. Of several
        variables each has the value that is most probable by itself, which errs least often;
        `map_query` has those that are most probable together.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, or list of lists
            The rows.
        target : str, int or list
            The variable, or several, whose columns are not used.

        Returns
        -------
        array of shape (n_rows,), or pandas, polars or Arrow table
            The values; of a list of variables a table with a column for each.
        """
        coded = self._code(frame)
        places = self._find_targets(target, None)
        proba = self._predict(coded, places)
        codes = {
            i: np.argmax(p, axis=1).astype(np.int32) for i, p in zip(places, proba, strict=True)
        }
        if isinstance(target, list):
            return self._make_frame(codes, None)
        return as_array(self.categories_[places[0]].labels)[codes[places[0]]]

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
        return self._predict(coded, [find_variable(self.variables_, target, "target")])[0]

    def _predict(self, coded: CodedFrame, places: Sequence[int]) -> list[NDArray[np.float64]]:
        """Return the distributions of some variables given the other values of each row."""
        for place in places:
            coded.codes.pop(place, None)
        n_rows = len(coded.strange)
        result = [np.empty((n_rows, self.tables_[place].n_states)) for place in places]
        for known, rows in coded.patterns():
            codes = {i: coded.codes[i][rows] for i in known}
            if len(places) == 1:
                each = [self._inference().joint(codes, places, len(rows))[0]]
            else:
                each = self._inference().marginals(codes, places, len(rows))
            for one, joint in zip(result, each, strict=True):
                total = joint.sum(axis=1, keepdims=True)
                if not total.all():
                    row = rows[int(np.argmin(total[:, 0]))]
                    raise ValueError(f"row {row} must have a probability above zero")
                one[rows] = joint / total
        return result

    def interval(
        self,
        variable: Hashable,
        given: Mapping[Any, Any] | None = None,
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
            contexts = [self._code_value(i, given[self.variables_[i]], "given") for i in parents]
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

    def _code_evidence(self, evidence: Mapping[Any, Any]) -> dict[int, NDArray[np.int32]]:
        """Return the codes of known values by the places of their variables."""
        if not isinstance(evidence, Mapping):
            raise TypeError(f"evidence must map variables to values, got {evidence!r:.80}")
        places = (find_variable(self.variables_, name, "evidence") for name in evidence)
        return {
            i: self._code_value(i, value, "evidence")
            for i, value in zip(places, evidence.values(), strict=True)
        }

    def _find_targets(
        self, variables: Hashable | Sequence[Hashable], evidence: Mapping[Any, Any] | None
    ) -> list[int]:
        """Return the places of the variables that are asked for."""
        names = list(variables) if isinstance(variables, list | tuple) else [variables]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"variables must name each variable once, got {variables!r:.80}")
        for name in names:
            if evidence and name in evidence:
                raise ValueError(f"evidence must not name variables asked for, got {name!r}")
        return [find_variable(self.variables_, name, "variables") for name in names]

    def _label(
        self, places: Sequence[int], probabilities: NDArray[np.float64], evidence: Any
    ) -> Distribution:
        states = {self.variables_[i]: self._labels(i) for i in places}
        backend = self.library_ or "pandas"
        return Distribution(states, probabilities, backend=backend, evidence=evidence)

    def _make_frame(self, codes: Mapping[int, NDArray[np.int32]], backend: str | None) -> Any:
        """Return a table of the variables that have codes, in their order."""
        columns = {
            str(self.variables_[i]): as_array(self.categories_[i].labels)[codes[i]].tolist()
            for i in sorted(codes)
        }
        chosen: Any = backend or self.library_ or "pandas"
        return nw.from_dict(columns, backend=chosen).to_native()

    def _inference(self) -> Inference:
        return keep_inference(self)


def _impossible(evidence: Mapping[Any, Any] | None) -> ValueError:
    return ValueError(
        f"evidence must have a probability above zero, got {dict(evidence or {})!r:.200}"
    )
