"""One conditional probability table, learnt from rows: p(target | a, b, c)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, overload

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import hook
from priorwise.common.numeric import draw_seed, safe_log
from priorwise.common.registered import of_one_fit, with_registered_methods
from priorwise.common.stored.checks import check_fitted, require
from priorwise.common.validation import check_choice, check_number, check_weight
from priorwise.counts import CodedRows, CountTree, label_contexts
from priorwise.counts.tree import check_cells
from priorwise.data.survey import LabelCounts
from priorwise.data.tables import Categories
from priorwise.data.tables.label_keys import NominalColumn
from priorwise.models.candidates import choose_smoother, count_target, score_on_held
from priorwise.models.context_lookup import ContextLookup
from priorwise.models.given_columns import (
    as_array,
    check_given,
    check_target,
    find_column,
    read_table,
)
from priorwise.models.rows_behind import find_ends, log_odds_variance, split_steps
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import as_smoother, checked_smooth
from priorwise.steps.explanation import Explanation
from priorwise.steps.explanation.uncertainty import share_variance

N_DRAWS = 1000
"""Draws behind the ends of an interval."""


@with_registered_methods
class ConditionalTable(ContextLookup):
    """The distribution of one nominal column given others, smoothed.

    Contexts are counted in a tree whose levels are the `given` columns, most influential
    first; a smoother turns the counts into probabilities for every context seen and for every
    prefix of one. A context that is cut short, because a later column is not given or missing, has
    the distribution of its rows: of "hdp", "pitman-yor" and "m-branch" the mean of the contexts
    below, weighed by their rows. A context with a value or a combination that no row had has what
    the smoother expects of a new one below its longest seen prefix, or the uniform
    distribution if the smoother has ``backoff=False``, as in pgmpy and pyAgrum. All columns are
    nominal: numbers count as labels. Missing values are a value of their own in a column that had
    some in training.

    Parameters
    ----------
    smoothing : str or Smoother, default="hdp"
        "mle", "laplace", "m-estimate", "m-branch", "hdp", "hgs", or a smoother.
    declared : {"count", "ignore"}, default="count"
        Whether values of the target that its type declares but no row has count or are left out.
    random_state : int, RandomState instance or None, default=None
        Seed of smoothers that sample and of held-out rows.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The values of the target.
    count_tree_ : CountTree
        The rows of every context.
    smoothing_ : Smoother
        The smoother used, its parameters chosen.
    probabilities_ : array of shape (n_cells,)
        One probability per cell of `count_tree_`.
    target_ : str or int
        Name of the target.
    given_ : list
        Names of the columns conditioned on.

    Examples
    --------
    >>> rows = [["yes", "heavy"], ["no", "heavy"], ["yes", "heavy"], ["no", "light"]]
    >>> table = ConditionalTable("laplace").fit(rows, target=0, given=[1])
    >>> table.query({1: "heavy"})
    {'no': 0.4, 'yes': 0.6}
    """

    target_: Hashable
    library_: str | None
    seed_: int

    learnt: ClassVar[Mapping[str, Any]] = {
        "classes_": np.ndarray,
        "count_tree_": CountTree,
        "smoothing_": Smoother,
        "probabilities_": np.ndarray,
        "target_": (str, int),
        "given_": list,
        "categories_": list,
        "library_": (str, type(None)),
        "seed_": int,
    }

    def __init__(
        self, smoothing: str | Smoother = "hdp", *,
        declared: str = "count", random_state: Any = None,
    ) -> None:  # fmt: skip
        self.smoothing = smoothing
        self.declared = declared
        self.random_state = random_state

    def check_learnt(self) -> None:
        check_fitted(
            self, "classes_", "count_tree_", "smoothing_", "probabilities_", "target_", "given_",
            "categories_", "library_", "seed_",
        )  # fmt: skip
        tree, categories = self.count_tree_, self.categories_
        require(len(set(self.given_)) == len(self.given_), "columns must have different names")
        require(
            len(categories) == len(self.given_) + 1
            and all(isinstance(one, Categories) for one in categories),
            "every column needs labels",
        )
        require(tree.depth == len(self.given_), "the tree must have a level for each column")
        n_labels = max(1, len(categories[-1].labels))
        require(
            self.classes_.shape == (n_labels,) and tree.n_outcomes == n_labels,
            "the tree must have all values of the target",
        )
        check_cells(tree, self.probabilities_)

    def fit(
        self,
        frame: Any,
        *,
        target: Hashable,
        given: Sequence[Hashable],
        sample_weight: ArrayLike | None = None,
    ) -> ConditionalTable:
        """Learn p(target | given) from the rows of a table.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, or list of lists
            The rows.
        target : str or int
            Name of the column to predict; its place, for arrays and lists. Numbers must be whole,
            unless the type of the column declares them.
        given : list of str or int
            Names of the columns to condition on, the most influential first.
        sample_weight : array-like of shape (n_rows,), optional
            How many rows each row counts for.

        Returns
        -------
        ConditionalTable
            The table itself.
        """
        smoother = as_smoother(self.smoothing)
        check_choice("declared", self.declared, ("count", "ignore"))
        table = read_table(frame)
        places = [find_column(table, name, "given") for name in check_given(given, target)]
        places.append(find_column(table, target, "target"))
        weight = check_weight(sample_weight, table.n_rows)
        columns = [table.nominal(place) for place in places]
        if weight is not None:
            counted = weight > 0.0
            weight = weight[counted]
            columns = [NominalColumn(column.labels, column.codes[counted]) for column in columns]
        if (columns[-1].codes < 0).any():
            raise ValueError(f"target {target!r} must have no missing values")
        if table.declared_labels(places[-1]) is None:
            check_target(target, columns[-1])
        listed = self.declared == "count" and table.declared_labels(places[-1])
        declared = Categories()
        declared.declare(listed or [])
        known = [None] * (len(places) - 1) + [declared]
        categories = [
            LabelCounts.of(column, weight).to_categories(frozenset(), "value", first)[0]
            for column, first in zip(columns, known, strict=True)
        ]
        codes = [labels.encode(column) for labels, column in zip(categories, columns, strict=True)]
        arities = np.array([max(1, len(labels.labels)) for labels in categories], dtype=np.int32)
        rows = CodedRows(codes[:-1], arities[:-1], codes[-1], int(arities[-1]), weight)
        seed = draw_seed(self.random_state)
        smoother = choose_smoother(smoother, rows, score_on_held, seed=seed)
        tree = count_target(rows)
        probabilities = checked_smooth(smoother)(tree, seed)
        learnt = (
            as_array(categories[-1].labels), tree, smoother, probabilities, target, list(given),
            categories, table.library, seed,
        )  # fmt: skip
        self.__dict__ = {**vars(self), **dict(zip(self.learnt, learnt, strict=True))}
        return self

    @of_one_fit
    def query(
        self, context: Mapping[Hashable, Any] | None = None, /, **values: Any
    ) -> dict[Any, float]:
        """Return the distribution of the target in one context.

        Parameters
        ----------
        context : mapping, optional
            The values of some `given` columns by name. They must be the first ones: a prefix of
            `given`. Values never seen back off; a missing one, where training had none, leaves its
            column and those after it open.
        **values : object
            The same by keyword, for names that are Python identifiers.

        Returns
        -------
        dict
            The probability of each value of the target.
        """
        asked = dict(context or {}) | values
        return self._by_class(self._distribution(*self._find_context(asked))[0].tolist())

    @of_one_fit
    def predict_proba(self, frame: Any) -> NDArray[np.float64]:
        """Return the distribution of the target for the context of each row.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, or list of lists
            Rows with the `given` columns.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Probabilities; columns as in `classes_`.
        """
        return self._distribution(*self._find(frame))

    @of_one_fit
    def predict(self, frame: Any) -> NDArray[Any]:
        """Return the most probable value of the target for the context of each row.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, or list of lists
            Rows with the `given` columns.

        Returns
        -------
        array of shape (n_rows,)
            Values of the target.
        """
        return np.asarray(self.classes_[self.predict_proba(frame).argmax(axis=1)])

    @overload
    def predict_interval(
        self, frame: Mapping[Hashable, Any], level: float = 0.9
    ) -> dict[Any, tuple[float, float]]: ...

    @overload
    def predict_interval(
        self, frame: Any, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    @of_one_fit  # type: ignore[misc]  # its `self` cannot be a keyword
    def predict_interval(
        self, frame: Any, level: float = 0.9
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | dict[Any, tuple[float, float]]:
        """Return intervals that contain the true probabilities with a given chance.

        The ends are quantiles of 1,000 draws of `sample_proba`.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, list of lists, or mapping
            Rows with the `given` columns; or, as in `query`, the values of the first of them
            by name, for a single context.
        level : float, default=0.9
            Share of the true probabilities that are to lie in their intervals, between 0 and 1.

        Returns
        -------
        tuple of two arrays of shape (n_rows, n_classes), or dict
            The lower and the upper ends, columns as in `classes_`; the estimates lie between them.
            For a mapping, a dict with the lower and the upper end for each value of the target.
        """
        check_number("level", level, above=0.0, below=1.0)
        single = isinstance(frame, Mapping)
        contexts = self._find_context(dict(frame)) if single else self._find(frame)
        draws, place = self._draw(*contexts, N_DRAWS, self.seed_)
        lower, upper = find_ends(draws, place, self._distribution(*contexts), level)
        if single:
            return self._by_class(zip(lower[0].tolist(), upper[0].tolist(), strict=True))
        return lower, upper

    @of_one_fit
    def sample_proba(
        self, frame: Any, n_draws: int = 100, *, random_state: Any = None
    ) -> NDArray[np.float64]:
        """Draw distributions of the target that may be the true ones.

        The smoother "hdp" draws from its posterior, by Gibbs sampling; the estimates of others, and
        of counts that are no whole numbers, are taken as means of Dirichlet distributions of as
        many rows as the smoother has used. A context without rows differs from the one above as its
        siblings do.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, or list of lists
            Rows with the `given` columns. Rows of one context have the same draws.
        n_draws : int, default=100
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        array of shape (n_draws, n_rows, n_classes)
            Probabilities, which sum to one over the values of the target.
        """
        check_number("n_draws", n_draws, least=1, whole=True)
        seed = draw_seed(random_state)
        draws, place = self._draw(*self._find(frame), int(n_draws), seed)
        return draws[:, place]

    @of_one_fit
    def explain(self, frame: Any, reference: Any = None) -> Explanation:
        """Explain the distribution of each row: what each column adds to the log-odds.

        A column adds the change of the log probabilities from the context without it, and without
        those after it, to the context with it.

        Parameters
        ----------
        frame : pandas, polars or Arrow table, 2-d array, or list of lists
            Rows with the `given` columns.
        reference : class label, optional
            The value of the target that log-odds are taken against; by default the mean of others.

        Returns
        -------
        Explanation
            Its `support` is the number of rows of the context with the column. The variances of a
            row sum to that of the log-odds of 1,000 draws of `sample_proba`.
        """
        (codes, is_open), (node, n_known) = self._encode(frame), self._find(frame)
        proba = self._distribution(node, n_known)
        values = np.empty((len(node), len(self.given_)), dtype=object)
        for i, column in enumerate(codes):
            labels = as_array([*self.categories_[i].labels, "unseen", None])
            values[:, i] = labels[np.where(is_open[i], -1, np.where(column < 0, -2, column))]
        terms, support = split_steps(
            self.count_tree_, self._node_distribution, node, safe_log(proba)
        )
        bias = safe_log(self._node_distribution(np.zeros(1, dtype=np.int32)))[0]
        explanation = Explanation.from_sums(
            self.classes_, tuple(map(str, self.given_)), bias, terms, support=support, values=values
        )
        draws, place = self._draw(node, n_known, N_DRAWS, self.seed_)
        variance, n_rows = log_odds_variance(draws)[place], float(self.count_tree_.totals[0])
        interval = partial(find_ends, draws, place, proba)
        explanation = share_variance(explanation, proba, variance, n_rows, interval)
        return explanation if reference is None else explanation.against(reference)

    @of_one_fit
    def to_frame(self, backend: str | None = None) -> Any:
        """Return every context seen, with its rows and its probabilities, as a table.

        Prefixes of contexts have None in the columns they leave open, and answer as `query` does.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the table. By default that of the table given to `fit`, or pandas.

        Returns
        -------
        pandas, polars or Arrow table
            One row per context.
        """
        check_is_fitted(self)
        tree = self.count_tree_
        contexts = label_contexts(tree, [one.labels for one in self.categories_[:-1]])
        columns: dict[str, Any] = {
            str(name): labels for name, labels in zip(self.given_, contexts, strict=True)
        }
        columns["rows" if "rows" not in columns else "rows counted"] = tree.totals
        proba = self._node_distribution(np.arange(tree.n_nodes, dtype=np.int32))
        for value, p in zip(self.classes_.tolist(), proba.T, strict=True):
            columns[f"p({value})"] = p
        chosen: Any = backend or self.library_ or "pandas"
        return nw.from_dict(columns, backend=chosen).to_native()

    @hook
    @of_one_fit
    def describe_contexts(
        self, nodes: NDArray[np.int32]
    ) -> tuple[list[tuple[Any, ...]], NDArray[np.float64]]:
        """Return the values of contexts, given as nodes of `count_tree_`, and their rows."""
        labels = [one.labels for one in self.categories_[:-1]]
        columns = label_contexts(self.count_tree_, labels)
        values = [tuple(column[node] for column in columns) for node in nodes.tolist()]
        return values, self._node_distribution(nodes)
