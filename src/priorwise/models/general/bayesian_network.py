"""A Bayesian network of any graph: learnt, read, queried and handed over."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import DocumentedMixin
from priorwise.common.numeric import draw_seed
from priorwise.common.stored.saved import SavedMixin
from priorwise.common.validation import check_choice, check_n_jobs, check_number, check_weight
from priorwise.counts import count_trees
from priorwise.data.bif import read_bif_variables, write_bif_variables
from priorwise.data.tables import Categories
from priorwise.models.general import hand_over
from priorwise.models.general.coded_frame import CodedFrame, find_variable, learn_states
from priorwise.models.general.elimination import query
from priorwise.models.general.families import family_columns, learn_tables, plan_families
from priorwise.models.general.search import SearchOptions, learn_structure
from priorwise.models.general.streamed import count_dataset
from priorwise.models.general.structures import read_structure
from priorwise.models.general.tables import (
    GivenTable,
    LearntTable,
    VariableTable,
    list_contexts,
    spread_table,
)
from priorwise.models.given_columns import as_array, read_table
from priorwise.smoothing import HDP, Smoother
from priorwise.smoothing.names import as_smoother
from priorwise.structure.networks import Network


class BayesianNetwork(SavedMixin, DocumentedMixin, BaseEstimator):
    """A Bayesian network whose tables back off to contexts of fewer parents.

    Every column of a table is a variable; numbers count as labels. The table of a variable, its
    distribution given its parents, is a tree of counts, smoothed as in `ConditionalTable`: a
    context with few rows borrows from the contexts that leave out the last parents. Parents are
    ordered by conditional mutual information, and estimates are averaged over orders that begin
    with different parents.

    Parameters
    ----------
    structure : str, path, arcs, graph or BayesianNetwork, default="hill-climb"
        The graph: a list of arcs (parent, child), a directed graph of networkx, a file ending in
        ".bif" or ".bif.gz", or another network, which also give the states. Or how to learn it:
        "hill-climb" (add, remove and reverse arcs while the score grows), "chow-liu" (the tree of
        largest mutual information) or "kdb" (a k-dependence network around `target`).
    smoothing : str or Smoother, default="hdp"
        "hdp" or "pitman-yor", here with ``prior="network"``, "mle", "laplace" and so on, or a
        smoother.
    target : str or int, optional
        The class of "kdb"; the root of "chow-liu".
    max_parents : int, default=4
        Largest number of parents that are learnt; for "kdb" besides the class.
    search_score : {"bic", "bdeu"}, default="bic"
        What "hill-climb" makes large.
    equivalent_sample_size : float, default=10.0
        Number of rows of the prior of "bdeu".
    n_tabu : int, default=10
        Number of last changes that "hill-climb" does not undo, and of steps that it goes on
        without a better score.
    n_orders : int, optional
        Largest number of orders of the parents that are averaged; by default one for each parent.
    missing : {"ignore", "value"}, default="ignore"
        Whether rows count where they are known, or missing is a state of its own. A row that lacks
        a parent counts in the contexts without that parent and those after it.
    declared : {"count", "ignore"}, default="count"
        Whether values that the type of a column declares but no row has are states.
    n_jobs : int, default=1
        Number of threads of `fit`; -1 is all processors.
    random_state : int, RandomState instance or None, default=None
        Seed of smoothers that sample.

    Attributes
    ----------
    variables_ : list
        Names of the variables.
    states_ : dict
        The states of each variable; None is missing.
    structure_ : Network
        The graph; parents are in order of influence. Its `class_name` is None.
    tables_ : list
        One table for each variable; `table` returns their numbers.
    smoothing_ : Smoother
        The smoother used.

    Examples
    --------
    >>> rows = [["rain", "wet"], ["rain", "wet"], ["sun", "dry"], ["sun", "wet"]]
    >>> network = BayesianNetwork([(0, 1)], smoothing="laplace").fit(rows)
    >>> {state: round(p, 3) for state, p in network.conditional(0, {1: "wet"}).items()}
    {'rain': 0.6, 'sun': 0.4}
    """

    variables_: list[Hashable]
    structure_: Network
    tables_: list[VariableTable]
    categories_: list[Categories]
    smoothing_: Smoother
    library_: str | None
    seed_: int

    def __init__(
        self,
        structure: Any = "hill-climb",
        *,
        smoothing: str | Smoother = "hdp",
        target: Hashable | None = None,
        max_parents: int = 4,
        search_score: str = "bic",
        equivalent_sample_size: float = 10.0,
        n_tabu: int = 10,
        n_orders: int | None = None,
        missing: str = "ignore",
        declared: str = "count",
        n_jobs: int = 1,
        random_state: Any = None,
    ) -> None:
        self.structure = structure
        self.smoothing = smoothing
        self.target = target
        self.max_parents = max_parents
        self.search_score = search_score
        self.equivalent_sample_size = equivalent_sample_size
        self.n_tabu = n_tabu
        self.n_orders = n_orders
        self.missing = missing
        self.declared = declared
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def states_(self) -> dict[Hashable, list[Hashable]]:
        """The states of each variable; None is missing."""
        check_is_fitted(self)
        return {
            name: list(one.labels)
            for name, one in zip(self.variables_, self.categories_, strict=True)
        }

    def fit(self, frame: Any, sample_weight: ArrayLike | None = None) -> BayesianNetwork:
        """Learn the network from the rows of a table.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, or list of lists
            The rows; every column is a variable.
        sample_weight : array-like of shape (n_rows,), optional
            How many rows each row counts for.

        Returns
        -------
        BayesianNetwork
            The network itself.
        """
        smoother = self._check_parameters()
        given = read_structure(self.structure)
        table = read_table(frame)
        names = table.names
        network = None if given is None else given.to_network(names)
        weight = check_weight(sample_weight, table.n_rows)
        categories, columns, weight = learn_states(
            table,
            weight,
            states={} if given is None else given.states,
            declared=self.declared == "count",
            code_missing=self.missing == "value",
        )
        arities = [len(one.labels) for one in categories]
        if network is None:
            network = learn_structure(columns, arities, weight, names, self._search_options())
        plan = plan_families(network, arities)
        families = count_trees(
            family_columns(columns, arities), plan.arities, plan.targets, plan.paths,
            weight=weight, n_jobs=self.n_jobs,
        )  # fmt: skip
        return self._learn(names, categories, network, families, smoother, table.library)

    def fit_dataset(
        self, source: Any, *, features: list[str] | None = None, batch_rows: int | None = None
    ) -> BayesianNetwork:
        """Learn the network from data that need not fit in memory, in passes over its rows.

        The first pass lists the states, one more counts the pairs of "chow-liu" and "kdb", the
        last counts the tables. "hill-climb" asks for too many counts: give it a sample of the rows
        in memory, and its graph to this method.

        Parameters
        ----------
        source : path, list of paths, folder, pyarrow Dataset, callable, polars LazyFrame
            The rows, as `priorwise.data.open_source` takes them.
        features : list of str, optional
            The columns that are variables; all by default.
        batch_rows : int, optional
            Number of rows that are in memory at a time.

        Returns
        -------
        BayesianNetwork
            The network itself.
        """
        smoother = self._check_parameters()
        given = read_structure(self.structure)
        names, categories, network, families = count_dataset(
            source, given, self._search_options(), features=features, batch_rows=batch_rows,
            code_missing=self.missing == "value",
        )  # fmt: skip
        return self._learn(list(names), categories, network, families, smoother, None)

    def _learn(
        self,
        names: list[Hashable],
        categories: list[Categories],
        network: Network,
        families: Any,
        smoother: Smoother,
        library: str | None,
    ) -> BayesianNetwork:
        seed = draw_seed(self.random_state)
        arities = [len(one.labels) for one in categories]
        tables, ranked = learn_tables(
            network, families, arities, smoother,
            n_orders=self.n_orders, seed=seed, n_jobs=self.n_jobs,
        )  # fmt: skip
        self.variables_, self.categories_, self.library_ = list(names), categories, library
        self.structure_, self.tables_ = ranked, list(tables)
        self.smoothing_, self.seed_ = smoother, seed
        return self

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
            code = self.categories_[i].code(value)
            if i == place or code < 0:
                rule = "not the target" if i == place else "a state of the variable"
                raise ValueError(f"given must name {rule}, got {value!r} of {name!r}")
            evidence[i] = np.array([code], dtype=np.int32)
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
        arities = [len(self.categories_[parent].labels) for parent in parents]
        if given is None:
            contexts = list_contexts(arities)
        else:
            names = [self.variables_[parent] for parent in parents]
            if {*given} != {*names}:
                raise ValueError(f"given must name the parents {names!r}, got {list(given)!r}")
            codes = [self.categories_[i].code(given[self.variables_[i]]) for i in parents]
            contexts = [np.array([code], dtype=np.int32) for code in codes]
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

    def to_bif(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a file in the Bayesian Network Interchange Format.

        Parameters
        ----------
        path : path
            The file; one that is there is replaced.
        """
        check_is_fitted(self)
        write_bif_variables(hand_over.to_variables(self, self._spread), path)

    def to_pyagrum(self) -> Any:
        """Return the network as a ``pyagrum.BayesNet``, for inference there.

        Returns
        -------
        pyagrum.BayesNet
            The network; names and states are texts.
        """
        check_is_fitted(self)
        return hand_over.to_pyagrum(hand_over.to_variables(self, self._spread))

    def to_pgmpy(self) -> Any:
        """Return the network as a model of pgmpy, for inference there.

        Returns
        -------
        pgmpy.models.DiscreteBayesianNetwork
            The network; names and states are texts.
        """
        check_is_fitted(self)
        return hand_over.to_pgmpy(hand_over.to_variables(self, self._spread))

    def _check_parameters(self) -> Smoother:
        check_choice("missing", self.missing, ("ignore", "value"))
        check_choice("declared", self.declared, ("count", "ignore"))
        check_n_jobs(self.n_jobs)
        if self.n_orders is not None:
            check_number("n_orders", self.n_orders, least=1, whole=True)
        smoother = as_smoother(self.smoothing)
        if isinstance(self.smoothing, str) and isinstance(smoother, HDP):
            smoother.set_params(prior="network")
        if len(smoother.candidates()) > 1:
            raise ValueError(f"smoothing must have numbers as parameters, got {smoother!r}")
        return smoother

    def _search_options(self) -> SearchOptions:
        return SearchOptions(
            method=self.structure if isinstance(self.structure, str) else "",
            target=self.target,
            max_parents=int(check_number("max_parents", self.max_parents, least=0, whole=True)),
            score=self.search_score,
            equivalent_sample_size=self.equivalent_sample_size,
            n_tabu=self.n_tabu,
            n_jobs=self.n_jobs,
        )

    def _code(self, frame: Any) -> CodedFrame:
        check_is_fitted(self)
        return CodedFrame.read(read_table(frame), self.variables_, self.categories_)

    def _spread(self, place: int) -> NDArray[np.float64]:
        arities = [len(self.categories_[i].labels) for i in self.structure_.parents[place]]
        return spread_table(self.tables_[place], arities, self.variables_[place])

    def _query(
        self, evidence: dict[int, NDArray[np.int32]], target: int | None, n_rows: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        arities = [table.n_states for table in self.tables_]
        return query(self.structure_.parents, arities, self._spread, evidence, target, n_rows)


def read_bif(path: str | os.PathLike[str]) -> BayesianNetwork:
    """Read a network from a file in the Bayesian Network Interchange Format.

    Parameters
    ----------
    path : path
        The file, which may be gzipped.

    Returns
    -------
    BayesianNetwork
        The network with the probabilities of the file; its `fit` learns others for its graph.

    Raises
    ------
    BifError
        If the file is no such network; the message names the line.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> rows = [["sun", "out"], ["sun", "out"], ["rain", "in"]]
    >>> model = BayesianNetwork([(0, 1)]).fit(rows)
    >>> with TemporaryDirectory() as folder:
    ...     model.to_bif(f"{folder}/days.bif")
    ...     sorted(read_bif(f"{folder}/days.bif").states_)
    ['0', '1']
    """
    variables = read_bif_variables(path)
    place = {one.name: i for i, one in enumerate(variables)}
    arcs = [(parent, one.name) for one in variables for parent in one.parents]
    parents = [[place[parent] for parent in one.parents] for one in variables]
    network = BayesianNetwork(arcs)
    network.variables_ = [one.name for one in variables]
    network.structure_ = Network.from_parents(parents, [*place], class_name=None)
    network.tables_ = [GivenTable(one.table) for one in variables]
    network.categories_ = []
    for one in variables:
        states = Categories()
        states.declare(list(one.states))
        network.categories_.append(states)
    network.smoothing_, network.library_, network.seed_ = network._check_parameters(), None, 0
    return network
