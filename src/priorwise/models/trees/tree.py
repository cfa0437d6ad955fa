"""One decision tree with smoothed class probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.common.validation import check_choice, check_number
from priorwise.models.row_groups import RowGroups
from priorwise.models.training_table import TrainingTable
from priorwise.models.trees.tree_choice import (
    TreeSetting,
    bandwidths,
    choose_setting,
    feature_scale,
    smooth_nodes,
)
from priorwise.models.trees.tree_growth import TreeGrowth
from priorwise.models.trees.tree_rows import BaseTreeClassifier, TreeRows
from priorwise.smoothing import Smoother
from priorwise.smoothing.names import as_smoother
from priorwise.structure.trees import C45

SOFTNESS_CANDIDATES = (0.0, 0.05, 0.1, 0.2, 0.4)
CRITERIA = ("gain-ratio", "gain")
NOMINAL_SPLITS = ("values", "one-value")


class ProbabilityTreeClassifier(BaseTreeClassifier):
    """A C4.5 tree whose every node answers with smoothed class probabilities.

    The fitted tree is a tree of counts and its splits, so every smoother of the library works
    on it. What is left to "cv" is chosen together by k folds: trees are grown and smoothed on
    k - 1 folds and judged by squared error on the other; the winner is refitted on all rows.
    Missing is a branch of its own. A row whose value has no branch stops at the node and gets
    the node's smoothed row.

    Parameters
    ----------
    smoothing : str or Smoother
        "best" (default) chooses among strengths of hierarchical shrinkage and rates of the
        average over prunings; or any other smoother of the library, by name or as an object.
    criterion : "cv", "gain-ratio" or "gain"
        What splits are chosen by; "cv" (default) tries both.
    nominal_splits : "cv", "values" or "one-value"
        Nominal features split into all their values, as in C4.5, or into the best value and the
        rest. "cv" (default) tries both, the second with "gain" only if the criterion is "cv" too.
    min_samples_leaf : float
        At least two branches of a split, and both sides of a threshold, hold that many rows.
    max_depth, max_leaf_nodes : int or None
    mdl_correction : bool
        C4.5 Release 8: splits at a threshold, or by one value, pay for the choice of it.
    soft_thresholds : "cv", float or None
        With softness h a number x passes a threshold t with probability Phi((x - t) / (h s)),
        s the feature's standard deviation, and the answer is the average over all paths
        (Quinlan 1993, section 8.4; Geurts and Wehenkel 2005). None: rows take one path. "cv"
        (default) chooses among 0, 0.05, 0.1, 0.2 and 0.4.
    pruning : None, "reduced-error" or "cost-complexity"
        Unpruned by default: smoothing does better (Provost and Domingos 2003).
    curtailment : float or None
        Nodes of fewer rows answer with their nearest ancestor that has as many (Zadrozny and
        Elkan 2001).
    honest : float from 0 to 0.9
        Share of the rows that give counts but choose no split.
    n_folds : int
        Folds of "cv".
    categorical_features : "from_dtype", mask, indices or names
        Numeric columns to take as nominal.
    missing : "value" or "impute"
    unseen : "backoff" or "error"
    n_jobs : int or None
        Threads; -1 for all processors. The result does not depend on it.
    random_state : int, RandomState or None
        Folds, and rows held for honesty and pruning.

    Attributes
    ----------
    tree_ : DecisionTree
        Splits and counts.
    smoothing_, criterion_, nominal_splits_, softness_ : the choices made
    probabilities_ : array, one probability per cell of `tree_.counts`
    node_proba_ : array of shape (n_nodes, n_classes)
        What each node answers.
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> X = [["sun", 30.0], ["sun", 25.0], ["rain", 12.0], ["rain", 14.0]]
    >>> tree = ProbabilityTreeClassifier(smoothing="laplace", criterion="gain")
    >>> tree.fit(X, ["out", "out", "in", "in"]).predict_proba([["sun", 28.0]])
    array([[0.25, 0.75]])
    """

    def __init__(
        self,
        smoothing: str | Smoother = "best",
        criterion: str = "cv",
        nominal_splits: str = "cv",
        min_samples_leaf: float = 2,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        mdl_correction: bool = True,
        soft_thresholds: str | float | None = "cv",
        pruning: str | None = None,
        curtailment: float | None = None,
        honest: float = 0.0,
        n_folds: int = 5,
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.smoothing = smoothing
        self.criterion = criterion
        self.nominal_splits = nominal_splits
        self.min_samples_leaf = min_samples_leaf
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.mdl_correction = mdl_correction
        self.soft_thresholds = soft_thresholds
        self.pruning = pruning
        self.curtailment = curtailment
        self.honest = honest
        self.n_folds = n_folds
        self.categorical_features = categorical_features
        self.missing = missing
        self.unseen = unseen
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X with class labels y."""
        growths, softness, smoothers = self._candidates()
        rows = self._adopt_table(TrainingTable.read_uncut(self, X, y, sample_weight, min_classes=1))
        seed = int(check_random_state(self.random_state).randint(2**31))
        groups = RowGroups.find(rows.columns, rows.y, rows.weight)
        nominal = self.encoder_.is_nominal_
        if not nominal.any():
            # Then nominal splits are all the same.
            growths = list({growth.rules.criterion: growth for growth in growths}.values())
        setting = choose_setting(
            growths, (0.0,) if nominal.all() else softness, smoothers, rows, groups,
            n_folds=self.n_folds, curtailment=self.curtailment, seed=seed,
        )  # fmt: skip
        return self._fit_setting(setting, rows, groups, seed)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities; columns as in `classes_`."""
        columns = self._read(X)
        n_rows = len(columns[0])
        if self.softness_ == 0.0:
            return self.node_proba_[self.tree_.find(columns, n_rows, self._n_threads)]
        return self.tree_.blend(columns, n_rows, self.node_proba_, self.bandwidth_, self._n_threads)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The deepest node each row reaches; with soft thresholds, the one it would reach."""
        columns = self._read(X)
        return self.tree_.find(columns, len(columns[0]), self._n_threads)

    def decision_path(self, X: Any) -> csr_matrix:
        """Nodes on the path of each row, as a sparse 0-1 matrix of shape (n_rows, n_nodes)."""
        node, counts = self.apply(X), self.tree_.counts
        length = counts.level[node].astype(np.intp) + 1
        start = np.append(0, np.cumsum(length))
        path = np.empty(start[-1], dtype=np.intp)
        rows = np.arange(len(node))
        while len(rows):
            path[start[rows] + counts.level[node]] = node
            inner = node > 0
            rows, node = rows[inner], counts.parent[node[inner]]
        ones = np.ones(len(path), dtype=np.int64)
        return csr_matrix((ones, path, start), shape=(len(length), counts.n_nodes))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the information the splits gain."""
        check_is_fitted(self)
        return importances(self.tree_.feature, self.tree_.gain, self.n_features_in_)

    def get_depth(self) -> int:
        """Levels below the root."""
        check_is_fitted(self)
        return self.tree_.counts.depth

    def get_n_leaves(self) -> int:
        """Leaves of the tree."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def _candidates(self) -> tuple[list[TreeGrowth], tuple[float, ...], list[Smoother]]:
        smoothers = as_smoother(self.smoothing).candidates()
        check_choice("criterion", self.criterion, ("cv", *CRITERIA))
        check_choice("nominal_splits", self.nominal_splits, ("cv", *NOMINAL_SPLITS))
        check_number("min_samples_leaf", self.min_samples_leaf, above=0.0)
        for name in ("max_depth", "max_leaf_nodes", "curtailment"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), least=1)
        check_number("n_folds", self.n_folds, least=2)
        check_choice("pruning", self.pruning, (None, "reduced-error", "cost-complexity"))  # type: ignore[arg-type]
        if not 0.0 <= check_number("honest", self.honest, least=0.0) <= 0.9:
            raise ValueError(f"honest must be a number from 0 to 0.9, got {self.honest!r}")
        return [self._growth(*pair) for pair in self._growth_pairs()], self._softness(), smoothers

    def _growth_pairs(self) -> list[tuple[str, str]]:
        """Criteria and nominal splits to try."""
        criteria = CRITERIA if self.criterion == "cv" else (self.criterion,)
        splits = NOMINAL_SPLITS if self.nominal_splits == "cv" else (self.nominal_splits,)
        pairs = [(criterion, split) for split in splits for criterion in criteria]
        if len(pairs) == 4:
            pairs.remove(("gain-ratio", "one-value"))
        return pairs

    def _growth(self, criterion: str, nominal_splits: str) -> TreeGrowth:
        rules = C45(
            criterion=criterion,
            nominal_splits=nominal_splits,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            mdl_correction=self.mdl_correction,
        )
        return TreeGrowth(rules, self.pruning, self.honest, self.n_folds)

    def _softness(self) -> tuple[float, ...]:
        if self.soft_thresholds is None:
            return (0.0,)
        if isinstance(self.soft_thresholds, str):
            check_choice("soft_thresholds", self.soft_thresholds, ("cv",))
            return SOFTNESS_CANDIDATES
        return (float(check_number("soft_thresholds", self.soft_thresholds, least=0.0)),)

    def _fit_setting(
        self, setting: TreeSetting, rows: TreeRows, groups: RowGroups, seed: int
    ) -> Self:
        self.smoothing_, self.softness_ = setting.smoother, setting.softness
        self.criterion_ = setting.growth.rules.criterion
        self.nominal_splits_ = setting.growth.rules.nominal_splits
        self.tree_ = setting.growth.grow(rows, groups, rows.weight, seed)
        self.probabilities_, self.node_proba_ = smooth_nodes(
            self.tree_, self.smoothing_, self.curtailment, seed
        )
        self.bandwidth_ = bandwidths(self.tree_, self.softness_, feature_scale(rows))
        return self


def importances(
    feature: NDArray[np.int32], gain: NDArray[np.float64], n_features: int
) -> NDArray[np.float64]:
    """Gains summed by feature, as shares; all zero for a tree without splits."""
    inner = feature >= 0
    sums = np.zeros(n_features)
    np.add.at(sums, feature[inner], gain[inner])
    return sums / sums.sum() if sums.sum() > 0.0 else sums
