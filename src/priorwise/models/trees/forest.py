"""A forest of decision trees with smoothed class probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.common.validation import check_choice, check_number
from priorwise.data.tables import Columns
from priorwise.models.row_groups import RowGroups
from priorwise.models.training_table import TrainingTable
from priorwise.models.trees.forest_growth import Forest, ForestGrowth, GrownForest
from priorwise.models.trees.tree import CRITERIA, importances
from priorwise.models.trees.tree_rows import BaseTreeClassifier, TreeRows
from priorwise.smoothing import ParentEstimate, Smoother
from priorwise.smoothing.names import as_smoother
from priorwise.structure.trees import C45, DecisionTree, RandomSplits


class ProbabilityForestClassifier(BaseTreeClassifier):
    """The average of many randomised trees, each smoothed or not.

    Each tree grows on a random part of the rows, with random features to choose from at every
    node. Rows of equal content are drawn together, so that a row of weight two is the same as
    two rows: with splitter "best" as often as a Poisson of their number says, with "random" each
    with probability `max_samples`.

    With splitter "random" each node is shrunk towards its parent with one weight c for the whole
    forest::

        p = (n + c p_parent) / (N + c)

    with c the best of 0.03, 0.25, 1, 3, 8 and 25 by the log-loss of the rows, each judged by the
    trees it did not grow. If all rows count in every tree, a row's own count is taken off every
    node on its path before it is judged.

    Other smoothers with candidates are chosen by the squared error of the rows that neither grew
    a tree nor count in it. Without a bootstrap a fifth of the rows is held back once to choose.

    Parameters
    ----------
    n_estimators : int
    smoothing : "auto", str, Smoother or None
        "auto" (default) is "parent" with splitter "random", as above, and "shrinkage" with
        "best"; or any smoother of the library. None, the same as "mle", leaves frequencies.
    splitter : "best" or "random"
        The best split of each feature drawn, or the best of `n_random_splits` random ones
        (extremely randomised trees, Geurts et al. 2006): numbers at a random point between two
        random values of the node, with missing to a random side; of a nominal feature one value
        against the rest, which values never seen go with.
    criterion : "gain" or "gain-ratio"
        For the best split.
    max_features : "auto", "sqrt", "log2", int, float or None
        Features examined at a node: their number, a share of all, or all. "auto" (default) is
        round(sqrt(d) + d / 3) of d with splitter "random", and "sqrt" with "best".
    bootstrap : bool
        Whether trees grow on a random part of the rows or on all of them.
    max_samples : float above 0 and below 1
        The share of the rows a tree of random splits grows on.
    counts : "grown" or "all"
        Which rows count at the nodes: those that grew the tree (default), or all. The latter is
        for splitter "random" with smoothing "parent", which alone can take a row off again.
    min_samples_leaf : float
    max_depth : int or None
    n_random_splits : int
    categorical_features, missing, unseen : as in `ProbabilityTreeClassifier`
    n_jobs : int or None
        Threads; -1 for all processors. The result does not depend on it.
    random_state : int, RandomState or None

    Attributes
    ----------
    trees_ : list of DecisionTree
    node_proba_ : list of arrays of shape (n_nodes, n_classes)
        What the nodes of each tree answer.
    smoothing_ : Smoother
    oob_proba_ : array of shape (n_rows, n_classes)
        Probabilities of the training rows by the trees they did not grow, NaN for rows that grew
        every tree; their own counts, if any, are taken off. Only with a bootstrap.
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ProbabilityForestClassifier(10, random_state=0).fit(X, y)
    >>> forest.predict_proba(X[:1]).argmax()
    np.int64(0)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        smoothing: str | Smoother | None = "auto",
        splitter: str = "best",
        criterion: str = "gain",
        max_features: str | float | None = "auto",
        bootstrap: bool = True,
        max_samples: float = 0.7,
        counts: str = "grown",
        min_samples_leaf: float = 1,
        max_depth: int | None = None,
        n_random_splits: int = 2,
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.smoothing = smoothing
        self.splitter = splitter
        self.criterion = criterion
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.counts = counts
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.n_random_splits = n_random_splits
        self.categorical_features = categorical_features
        self.missing = missing
        self.unseen = unseen
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X with class labels y."""
        self._check_parameters()
        return self._fit_table(TrainingTable.read_uncut(self, X, y, sample_weight, min_classes=1))

    def _fit_table(self, table: TrainingTable) -> Self:
        """`fit` to a table that has been read."""
        smoothers = self._check_parameters()
        rows = self._adopt_table(table)
        seed = int(check_random_state(self.random_state).randint(2**31))
        states = np.random.SeedSequence(seed).generate_state(int(self.n_estimators), np.uint64)
        seeds = states.astype(np.uint64)
        groups = RowGroups.find(rows.columns, rows.y, rows.weight)
        distinct = _distinct_rows(rows, groups)
        share = float(self.max_samples) if self.bootstrap else 1.0
        growth = ForestGrowth(self._rules(), share, self.counts)
        grown = growth.grow(distinct, groups, seeds)
        self.smoothing_ = smoothers[0]
        if len(smoothers) > 1:
            judged = grown if self.bootstrap else growth.grow_without_some(distinct, seeds)
            self.smoothing_ = judged.choose(smoothers, seed)
        self.forest_: Forest = grown.forest
        self._proba = grown.smooth(self.smoothing_)
        self._keep_out_of_bag(grown, groups)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, the mean of the trees; columns as in `classes_`."""
        return self._average(self._read(X))

    def _predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        """`predict_proba` of rows that the encoder has read."""
        return self._average(self._join(columns))

    def _average(self, columns: list[NDArray[Any]]) -> NDArray[np.float64]:
        return self.forest_.average(columns, len(columns[0]), self._proba, self._n_threads)

    def decision_contributions(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What each feature adds to the probabilities, on the paths of the rows down the trees.

        A step from a node to its child moves the probabilities from those of the node to those
        of the child; the step is the split feature's. The mean over the trees, summed by feature,
        and the bias, the mean of the roots, add up to `predict_proba`, exactly.

        Returns
        -------
        bias : array of shape (n_classes,)
        contributions : array of shape (n_rows, n_features, n_classes)

        Examples
        --------
        >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], [1, 1, 0, 0]
        >>> forest = ProbabilityForestClassifier(5, splitter="random", random_state=0).fit(X, y)
        >>> bias, contributions = forest.decision_contributions(X)
        >>> bool(np.allclose(bias + contributions.sum(axis=1), forest.predict_proba(X)))
        True
        """
        columns = self._read(X)
        bias = self._proba[self.forest_.tree_start[:-1]].mean(axis=0)
        return bias, self.forest_.contributions(
            columns, len(columns[0]), self._proba, self._n_threads
        )

    @property
    def trees_(self) -> list[DecisionTree]:
        """The trees one by one."""
        check_is_fitted(self)
        return self.forest_.trees

    @property
    def node_proba_(self) -> list[NDArray[np.float64]]:
        """What the nodes of each tree answer."""
        check_is_fitted(self)
        return np.split(self._proba, self.forest_.tree_start[1:-1])

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the information the splits gain, the mean of the trees."""
        shares = [importances(tree.feature, tree.gain, self.n_features_in_) for tree in self.trees_]
        return np.asarray(np.mean(shares, axis=0))

    def _check_parameters(self) -> list[Smoother]:  # type: ignore[override]
        check_number("n_estimators", self.n_estimators, least=1)
        check_choice("splitter", self.splitter, ("best", "random"))
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("counts", self.counts, ("grown", "all"))
        if not 0.0 < check_number("max_samples", self.max_samples, above=0.0) < 1.0:
            raise ValueError(
                f"max_samples must be a number above 0 and below 1, got {self.max_samples!r}"
            )
        check_number("min_samples_leaf", self.min_samples_leaf, above=0.0)
        check_number("n_random_splits", self.n_random_splits, least=1)
        if self.max_depth is not None:
            check_number("max_depth", self.max_depth, least=1)
        random = self.splitter == "random"
        smoothing = "mle" if self.smoothing is None else self.smoothing
        if isinstance(smoothing, str) and smoothing == "auto":
            smoothing = "parent" if random else "shrinkage"
        smoothers = as_smoother(smoothing).candidates()
        removable = random and all(isinstance(one, ParentEstimate) for one in smoothers)
        if self.counts == "all" and not removable:
            raise ValueError(
                "counts must be 'grown' unless splitter is 'random' and smoothing is 'parent', "
                f"got 'all' with {self.splitter!r} and {self.smoothing!r}"
            )
        return smoothers

    def _rules(self) -> C45 | RandomSplits:
        n_drawn = self._n_features_drawn()
        if self.splitter == "random":
            return RandomSplits(
                n_drawn, self.n_random_splits, self.min_samples_leaf, self.max_depth
            )
        return C45(
            criterion=self.criterion,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            mdl_correction=False,
            numeric_min_share=0.0,
            max_features=n_drawn,
        )

    def _n_features_drawn(self) -> int:
        d, wanted = self.n_features_in_, self.max_features
        if wanted is None:
            return d
        if isinstance(wanted, str):
            check_choice("max_features", wanted, ("auto", "sqrt", "log2"))
            if wanted == "auto" and self.splitter == "random":
                return min(d, round(np.sqrt(d) + d / 3))
            return max(1, int(np.log2(d) if wanted == "log2" else np.sqrt(d)))
        check_number("max_features", wanted, above=0.0)
        if isinstance(wanted, int | np.integer):
            return min(d, int(wanted))
        if wanted > 1.0:
            raise ValueError(f"max_features as a share must be at most 1, got {wanted!r}")
        return max(1, int(wanted * d))

    def _keep_out_of_bag(self, grown: GrownForest, groups: RowGroups) -> None:
        if self.bootstrap:
            found = grown.out_of_bag(self.smoothing_, self._proba)
            place = groups.group
            self.oob_proba_ = np.where(place[:, None] < 0, np.nan, found[place])
        elif hasattr(self, "oob_proba_"):
            del self.oob_proba_


def _distinct_rows(rows: TreeRows, groups: RowGroups) -> TreeRows:
    """One row for each group, in the groups' order, with the weight of all its rows."""
    columns = [np.ascontiguousarray(column[groups.first_row]) for column in rows.columns]
    unit = bool((groups.weight == 1.0).all())
    weight = None if unit else groups.weight
    return TreeRows(columns, groups.outcome, rows.n_classes, weight, rows.n_jobs)
