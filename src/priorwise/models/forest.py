"""A forest of decision trees with smoothed class probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.models.candidates import squared_error
from priorwise.models.row_groups import RowGroups
from priorwise.models.tree import CRITERIA, importances
from priorwise.models.tree_choice import smooth_nodes
from priorwise.models.tree_rows import BaseTreeClassifier, TreeRows
from priorwise.smoothing import Smoother, as_smoother, check_choice, check_number
from priorwise.structure import C45, DecisionTree, RandomSplits

HELD_SHARE = 0.2


class ProbabilityForestClassifier(BaseTreeClassifier):
    """The average of many randomised trees, each smoothed or not.

    Each tree grows on a bootstrap of the rows, with random features to choose from at every
    node. Rows of equal content are drawn together, as often as a Poisson of their number says,
    so that a row of weight two is the same as two rows. A smoother with candidates is chosen by
    the squared error of the out-of-bag rows; without a bootstrap, of a fifth of the rows, held
    back once.

    Parameters
    ----------
    n_estimators : int
    smoothing : str, Smoother or None
        "shrinkage" (default) shrinks each node towards its parent, all trees with one strength.
        None, the same as "mle", leaves frequencies.
    splitter : "best" or "random"
        The best split of each feature drawn, or the best of `n_random_splits` random ones
        (extremely randomised trees, Geurts et al. 2006).
    criterion : "gain" or "gain-ratio"
        For the best split.
    max_features : "sqrt", "log2", int, float or None
        Features examined at a node: their number, a share of all, or all.
    bootstrap : bool
        Whether trees see a bootstrap of the rows or all of them.
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
        Probabilities of the training rows by the trees that have not seen them, NaN for rows that
        every tree has seen. Only with a bootstrap.
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
        smoothing: str | Smoother | None = "shrinkage",
        splitter: str = "best",
        criterion: str = "gain",
        max_features: str | float | None = "sqrt",
        bootstrap: bool = True,
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
        smoothers = self._check_parameters()
        rows = self._read_training(X, y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31))
        states = np.random.SeedSequence(seed).generate_state(int(self.n_estimators), np.uint64)
        seeds = [int(state) for state in states]
        groups = RowGroups.find(rows.columns, rows.y, rows.weight)
        place, rows = groups.group, _distinct_rows(rows, groups)
        self.trees_, unseen_by = self._grow(rows, groups, rows.weight, seeds)
        if len(smoothers) > 1 and not self.bootstrap:
            self.smoothing_ = self._choose_on_held_rows(rows, groups, smoothers, seeds)
        elif len(smoothers) > 1:
            self.smoothing_ = self._choose_out_of_bag(rows, unseen_by, smoothers)
        else:
            self.smoothing_ = smoothers[0]
        self.node_proba_ = self._smooth(self.trees_, self.smoothing_)
        if self.bootstrap:
            found = self._out_of_bag(rows, unseen_by, self.node_proba_)
            self.oob_proba_ = np.where(place[:, None] < 0, np.nan, found[place])
        elif hasattr(self, "oob_proba_"):
            del self.oob_proba_
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities, the mean of the trees; columns as in `classes_`."""
        columns = self._read(X)
        return self._average(self.trees_, self.node_proba_, columns, len(columns[0]))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the information the splits gain, the mean of the trees."""
        check_is_fitted(self)
        shares = [importances(tree.feature, tree.gain, self.n_features_in_) for tree in self.trees_]
        return np.asarray(np.mean(shares, axis=0))

    def _check_parameters(self) -> list[Smoother]:
        check_number("n_estimators", self.n_estimators, least=1)
        check_choice("splitter", self.splitter, ("best", "random"))
        check_choice("criterion", self.criterion, CRITERIA)
        check_number("min_samples_leaf", self.min_samples_leaf, above=0.0)
        check_number("n_random_splits", self.n_random_splits, least=1)
        if self.max_depth is not None:
            check_number("max_depth", self.max_depth, least=1)
        smoothing = "mle" if self.smoothing is None else self.smoothing
        return as_smoother(smoothing).candidates()

    def _n_features_drawn(self) -> int:
        d, wanted = self.n_features_in_, self.max_features
        if wanted is None:
            return d
        if isinstance(wanted, str):
            check_choice("max_features", wanted, ("sqrt", "log2"))
            return max(1, int(np.sqrt(d) if wanted == "sqrt" else np.log2(d)))
        check_number("max_features", wanted, above=0.0)
        if isinstance(wanted, int | np.integer):
            return min(d, int(wanted))
        if wanted > 1.0:
            raise ValueError(f"max_features as a share must be at most 1, got {wanted!r}")
        return max(1, int(wanted * d))

    def _grow(
        self,
        rows: TreeRows,
        groups: RowGroups,
        weight: NDArray[np.float64] | None,
        seeds: list[int],
    ) -> tuple[list[DecisionTree], list[NDArray[np.intp]]]:
        """The trees, and for each the rows it has not seen."""
        n_drawn = self._n_features_drawn()
        best = C45(
            criterion=self.criterion,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            mdl_correction=False,
            numeric_min_share=0.0,
            max_features=n_drawn,
        )
        random = RandomSplits(n_drawn, self.n_random_splits, self.min_samples_leaf, self.max_depth)
        table = rows.table if self.splitter == "best" else None

        def grow_one(seed: int) -> tuple[DecisionTree, NDArray[np.intp]]:
            drawn, unseen = weight, np.empty(0, dtype=np.intp)
            if self.bootstrap:
                drawn = groups.bootstrap(seed)
                unseen = np.flatnonzero(drawn == 0.0)
                if not drawn.any():
                    drawn, unseen = weight, np.empty(0, dtype=np.intp)
            if table is None:
                tree, _ = random.grow(
                    rows.columns, rows.y, rows.n_classes, grow_weight=drawn, seed=seed
                )
            else:
                tree, _ = best.grow(table, rows.y, rows.n_classes, grow_weight=drawn, seed=seed)
            return tree, unseen

        with ThreadPoolExecutor(self._n_threads) as pool:
            grown = list(pool.map(grow_one, seeds))
        return [tree for tree, _ in grown], [unseen for _, unseen in grown]

    def _smooth(self, trees: list[DecisionTree], smoother: Smoother) -> list[NDArray[np.float64]]:
        with ThreadPoolExecutor(self._n_threads) as pool:
            return list(pool.map(lambda tree: smooth_nodes(tree, smoother, None)[1], trees))

    def _average(
        self,
        trees: list[DecisionTree],
        node_proba: list[NDArray[np.float64]],
        columns: list[NDArray[Any]],
        n_rows: int,
    ) -> NDArray[np.float64]:
        total = np.zeros((n_rows, len(self.classes_)))
        # Trees are added in their order, so threads change no bit.
        for tree, proba in zip(trees, node_proba, strict=True):
            total += proba[tree.find(columns, n_rows, self._n_threads)]
        return total / len(trees)

    def _out_of_bag(
        self,
        rows: TreeRows,
        unseen_by: list[NDArray[np.intp]],
        node_proba: list[NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        total, n_trees = np.zeros((rows.n_rows, rows.n_classes)), np.zeros(rows.n_rows)
        nodes = self._unseen_nodes(rows, unseen_by)
        for (unseen, node), proba in zip(nodes, node_proba, strict=True):
            total[unseen] += proba[node]
            n_trees[unseen] += 1
        return np.divide(
            total, n_trees[:, None], out=np.full(total.shape, np.nan), where=n_trees[:, None] > 0
        )

    def _unseen_nodes(
        self, rows: TreeRows, unseen_by: list[NDArray[np.intp]]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int32]]]:
        for tree, unseen in zip(self.trees_, unseen_by, strict=True):
            columns = [column[unseen] for column in rows.columns]
            yield unseen, tree.find(columns, len(unseen), self._n_threads)

    def _choose_out_of_bag(
        self, rows: TreeRows, unseen_by: list[NDArray[np.intp]], smoothers: list[Smoother]
    ) -> Smoother:
        losses = []
        for smoother in smoothers:
            proba = self._out_of_bag(rows, unseen_by, self._smooth(self.trees_, smoother))
            known = ~np.isnan(proba[:, 0])
            error = squared_error(proba[known], rows.y[known])
            losses.append(float(rows.weights[known] @ error))
        return smoothers[int(np.argmin(losses))]

    def _choose_on_held_rows(
        self,
        rows: TreeRows,
        groups: RowGroups,
        smoothers: list[Smoother],
        seeds: list[int],
    ) -> Smoother:
        held = np.random.default_rng(seeds[0]).random(rows.n_rows) < HELD_SHARE
        weight = rows.weights * ~held
        if not held.any() or not weight.any():
            return smoothers[-1]
        trees, _ = self._grow(rows, groups, weight, seeds)
        columns = [column[held] for column in rows.columns]
        losses = []
        for smoother in smoothers:
            proba = self._average(trees, self._smooth(trees, smoother), columns, int(held.sum()))
            losses.append(float(rows.weights[held] @ squared_error(proba, rows.y[held])))
        return smoothers[int(np.argmin(losses))]


def _distinct_rows(rows: TreeRows, groups: RowGroups) -> TreeRows:
    """One row for each group, in the groups' order, with the weight of all its rows."""
    columns = [np.ascontiguousarray(column[groups.first_row]) for column in rows.columns]
    unit = bool((groups.weight == 1.0).all())
    weight = None if unit else groups.weight
    return TreeRows(columns, groups.outcome, rows.n_classes, weight, rows.n_jobs)
