"""A Bayesian network of any graph: learnt, read, queried and handed over."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import hook
from priorwise.common.estimator import Estimator
from priorwise.common.numeric import draw_seed
from priorwise.common.registered import with_registered_methods
from priorwise.common.stored.checks import check_fitted, require
from priorwise.common.validation import check_choice, check_n_jobs, check_number, check_weight
from priorwise.counts import count_trees
from priorwise.data.bif import read_bif_variables, write_bif_variables
from priorwise.data.tables import Categories
from priorwise.models.datasets.fitting import fit_dataset
from priorwise.models.general.hand_over import as_pgmpy, as_pyagrum, list_variables
from priorwise.models.general.queries import NetworkQueries
from priorwise.models.general.structures import (
    StreamedGraph,
    find_states,
    learn_structure,
    read_structure,
    survey_states,
)
from priorwise.models.general.tables import (
    GivenTable,
    LearntTable,
    family_columns,
    learn_tables,
    plan_families,
)
from priorwise.models.given_columns import read_table
from priorwise.smoothing import HDP, Smoother
from priorwise.smoothing.base import as_smoother
from priorwise.structure.networks import Network


@with_registered_methods
class BayesianNetwork(NetworkQueries, Estimator):
    """A Bayesian network whose tables back off to contexts of fewer parents.

    Every column of a table is a variable; numbers count as labels, and a column of more than 64
    different numbers is refused, unless its type declares them as categories. The table of a
    variable, its distribution given its parents, is a tree of counts, smoothed as in
    `ConditionalTable`: a context with few rows borrows from the contexts that leave out the last
    parents. Parents are
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
    >>> {state: round(p, 3) for state, p in network.query(0, {1: "wet"}).items()}
    {'rain': 0.6, 'sun': 0.4}
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        "variables_": list,
        "structure_": Network,
        "tables_": list,
        "categories_": list,
        "smoothing_": Smoother,
        "library_": (str, type(None)),
        "seed_": int,
    }

    fit_dataset = fit_dataset
    # What `fit_dataset` asks every model for.
    memory_limit: Any = None
    categorical_features: Any = None

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

    def check_learnt(self) -> None:
        check_fitted(self, *self.learnt)
        n_variables = self.structure_.n_features
        for values in (self.variables_, self.tables_, self.categories_):
            require(len(values) == n_variables, "every variable needs a name, states and a table")
        require(len(set(self.variables_)) == n_variables, "names must differ")
        # Names of columns are texts or places; a table of both could not be read.
        kinds = {type(name) for name in self.variables_}
        require(kinds <= {str} or kinds == {int}, "names must be texts, or all of them places")
        require(len(self.structure_.order) == n_variables, "no variable may be left out")
        require(0 <= self.seed_ < 2**31, "seed_ must be a seed")
        require(all(isinstance(own, Categories) for own in self.categories_), "states are missing")
        arities = [len(own.labels) for own in self.categories_]
        for i, table in enumerate(self.tables_):
            shape = (*(arities[parent] for parent in self.structure_.parents[i]), arities[i])
            if isinstance(table, GivenTable):
                require(table.array.shape == shape, "a table must have all contexts")
            elif isinstance(table, LearntTable):
                require(table.n_states == arities[i], "a table must have all states")
                n_levels = {len(one.path) for one in table.orders}
                require(n_levels == {len(shape) - 1}, "each parent must have a level")
            else:
                raise TypeError("a variable has no table")

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
        smoother = self.check_parameters()
        given = read_structure(self.structure)
        table = read_table(frame)
        names = table.names
        network = None if given is None else given.to_network(names)
        weight = check_weight(sample_weight, table.n_rows)
        states = {} if given is None else given.states
        survey = survey_states(table, weight, self.missing, self.declared)
        categories = find_states(survey, names, states, self.missing)
        columns = [one.encode(table.nominal(place)) for place, one in enumerate(categories)]
        if weight is not None:
            columns, weight = [one[weight > 0.0] for one in columns], weight[weight > 0.0]
        arities = [len(one.labels) for one in categories]
        if network is None:
            network = learn_structure(columns, arities, weight, names, self)
        plan = plan_families(network, arities)
        families = count_trees(
            family_columns(columns, arities), plan.arities, plan.targets, plan.paths,
            weight=weight, n_jobs=self.n_jobs,
        )  # fmt: skip
        return self._learn(names, categories, network, families, smoother, table.library)

    @hook
    def as_streamed(self, target: str | None, max_rows: int | None) -> StreamedGraph:
        """Return the network as `fit_dataset` lets it learn, which counts all rows."""
        self.check_parameters()
        chosen = self.categorical_features
        refused = {"target": target, "max_rows": max_rows, "categorical_features": chosen}
        for name, value in refused.items():
            if value is not None:
                raise ValueError(f"{name} must be None for a BayesianNetwork, got {value!r}")
        return StreamedGraph(self, read_structure(self.structure))

    @hook
    def adopt_learnt(self, learnt: Any, passes: Mapping[str, Any]) -> BayesianNetwork:
        """Adopt what `fit_dataset` has learnt."""
        names, categories, network, families, seed = learnt
        smoother = self.check_parameters()
        return self._learn(list(names), categories, network, families, smoother, None, seed)

    def _learn(
        self,
        names: list[Hashable],
        categories: list[Categories],
        network: Network,
        families: Any,
        smoother: Smoother,
        library: str | None,
        seed: int | None = None,
    ) -> BayesianNetwork:
        seed = draw_seed(self.random_state) if seed is None else seed
        arities = [len(one.labels) for one in categories]
        tables, ranked = learn_tables(
            network, families, arities, smoother,
            n_orders=self.n_orders, seed=seed, n_jobs=self.n_jobs,
        )  # fmt: skip
        self.__dict__ = {
            **vars(self), "variables_": list(names), "categories_": categories,
            "library_": library, "structure_": ranked, "tables_": list(tables),
            "smoothing_": smoother, "seed_": seed,
        }  # fmt: skip
        return self

    def to_bif(self, path: str | os.PathLike[str]) -> None:
        """Write the network to a file in the Bayesian Network Interchange Format.

        Parameters
        ----------
        path : path
            The file; one that is there is replaced.
        """
        check_is_fitted(self)
        write_bif_variables(list_variables(self, self._spread), path)

    def to_pyagrum(self) -> Any:
        """Return the network as a ``pyagrum.BayesNet``, for inference there.

        Returns
        -------
        pyagrum.BayesNet
            The network; names and states are texts.
        """
        check_is_fitted(self)
        return as_pyagrum(list_variables(self, self._spread))

    def to_pgmpy(self) -> Any:
        """Return the network as a model of pgmpy, for inference there.

        Returns
        -------
        pgmpy.models.DiscreteBayesianNetwork
            The network; names and states are texts.
        """
        check_is_fitted(self)
        return as_pgmpy(list_variables(self, self._spread))

    @hook
    def check_parameters(self) -> Smoother:
        """Return the smoother; raise an error if the value of a parameter is wrong."""
        check_choice("missing", self.missing, ("ignore", "value"))
        check_choice("declared", self.declared, ("count", "ignore"))
        check_n_jobs(self.n_jobs)
        check_number("max_parents", self.max_parents, least=0, whole=True)
        if self.n_orders is not None:
            check_number("n_orders", self.n_orders, least=1, whole=True)
        smoother = as_smoother(self.smoothing)
        if isinstance(self.smoothing, str) and isinstance(smoother, HDP):
            smoother.set_params(prior="network")
        if len(smoother.candidates()) > 1:
            raise ValueError(
                "smoothing must have no parameter that is 'cv', which holds rows out of learning, "
                f"got {smoother!r}: give it numbers, or HGS the mode 'optimised'"
            )
        return smoother


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
    network.smoothing_, network.library_, network.seed_ = network.check_parameters(), None, 0
    return network
