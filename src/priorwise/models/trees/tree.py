"""One decision tree with smoothed class probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe, hook
from priorwise.common.numeric import draw_seed
from priorwise.common.validation import check_choice, check_number
from priorwise.models.base import TableClassifier
from priorwise.models.descriptions import ROWS
from priorwise.models.memory import LARGER_LEAVES, TableSize
from priorwise.models.training_table import TrainingTable, read_directions
from priorwise.models.trees.imitation import (
    estimate_imitation,
    grow_forest,
    imitate,
    out_of_bag_error,
)
from priorwise.models.trees.tree_growth import (
    CRITERIA,
    TreeGrowth,
    bandwidths,
    choose_setting,
    feature_scale,
    smooth_nodes,
)
from priorwise.models.trees.tree_step import make_step
from priorwise.smoothing import Smoother
from priorwise.smoothing.base import as_smoother, check_smoothing
from priorwise.steps.trees import Trees
from priorwise.structure.trees import C45, DecisionTree

SOFTNESS_CANDIDATES = (0.0, 0.05, 0.2)
NOMINAL_SPLITS = ("values", "one-value")
PRUNING = (None, "reduced-error", "cost-complexity")
TEACHERS = ("auto", "forest", None)
MAX_IMITATED_ROWS = 20_000
"""Most rows of a table whose tree imitates a forest unless it is asked to."""


class ProbabilityTreeClassifier(TableClassifier):
    """A C4.5 tree with smoothed class probabilities at every node.

    The fitted tree is a tree of counts and its splits, so every smoother of the library works
    on it. What is left to "cv" is chosen together by k folds: trees are grown and smoothed on
    k - 1 folds and judged by squared error on the other; the best setting is used with all rows.
    Missing values have a branch of their own. A row whose value has no branch stops at the node
    and gets the node's probabilities; of smoothers whose inner nodes are priors of those below,
    such as "hdp", the mean of the leaves below, weighed by their rows.

    Parameters
    ----------
    smoothing : str or Smoother
        "best" (default) chooses among strengths of hierarchical shrinkage and rates of the
        average over prunings; or any other smoother of the library, by name or as an object.
    criterion : {"cv", "gain-ratio", "gain", "release-8"}
        What splits are chosen by; "cv" (default) tries gain ratio and gain. "release-8" is the gain
        ratio by the rules of the code of C4.5 Release 8, which give the trees of Weka's J48 before
        pruning and collapsing (without missing values, and with `nominal_splits` "values").
    nominal_splits : {"cv", "values", "one-value"}
        Nominal features split into all their values, as in C4.5, or into the best value and the
        rest. "cv" (default) tries both, the second with "gain" only if the criterion is "cv" too.
    min_samples_leaf : float
        At least two branches of a split, and both sides of a threshold, have this many rows.
    max_depth : int or None
        Most levels below the root.
    max_leaf_nodes : int or None
        Most leaves; splits of large gain come first.
    mdl_correction : bool
        Whether the gain of a threshold, or of one value among many, is reduced by the cost of
        its choice, as in C4.5 Release 8.
    soft_thresholds : "cv", float or None
        With softness h a number x passes a threshold t with probability Phi((x - t) / (h s)),
        s the feature's standard deviation, and probabilities are averaged over all paths
        (Quinlan 1993, section 8.4; Geurts and Wehenkel 2005), which takes longer. With None
        (default) rows take one path. "cv" chooses among 0, 0.05 and 0.2.
    pruning : {None, "reduced-error", "cost-complexity"}
        Unpruned by default: smoothing does better (Provost and Domingos 2003).
    curtailment : float or None
        A node of fewer rows has the probabilities of its nearest ancestor with as many (Zadrozny
        and Elkan 2001).
    honest : float from 0 to 0.9
        Share of the rows that count at the nodes but choose no split.
    n_folds : int
        Number of folds for "cv".
    teacher : {"auto", "forest", None}
        With "forest" the tree imitates a forest of 100 extremely randomised trees (Breiman and
        Shang 1996): it grows by gain on the training rows and on rows put together from their
        values, with the probabilities that the forest gives. A node has the mean of these;
        `min_samples_leaf` counts such rows, and what says how trees are softened, pruned and
        smoothed has no effect. "auto" (default) does so in tables of up to 20,000 rows if the
        forest has a smaller squared error out of bag than the tree has by folds, and only if all
        parameters of growth, pruning and smoothing have their default values.
    monotonic_cst : array-like of shape (n_features,) or dict of str to int, optional
        Directions of features, as in scikit-learn: with 1 the probability of the second class never
        falls when the feature rises, with -1 it never rises, with 0 it is free; by feature name in
        a dict, others are free. For numbers and ordered categories, and two classes.
        Thresholds are not softened then.

    Attributes
    ----------
    tree_ : DecisionTree
        Splits and counts.
    smoothing_ : Smoother
        The smoother used.
    criterion_ : str
        The criterion used.
    nominal_splits_ : str
        The nominal splits used.
    teacher_ : "forest" or None
        What the tree imitates.
    softness_ : float
        The softness of thresholds used; 0 if rows take one path.
    bandwidth_ : array of shape (n_nodes,)
        Bandwidth of every threshold.
    probabilities_ : array
        One probability for each cell of `tree_.counts`.
    node_proba_ : array of shape (n_nodes, n_classes)
        Class probabilities of each node.

    Examples
    --------
    >>> X = [["sun", 30.0], ["sun", 25.0], ["rain", 12.0], ["rain", 14.0]]
    >>> tree = ProbabilityTreeClassifier(smoothing="laplace", criterion="gain")
    >>> tree.fit(X, ["out", "out", "in", "in"]).predict_proba([["sun", 28.0]])
    array([[0.25, 0.75]])
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **TableClassifier.learnt,
        "tree_": DecisionTree,
        "smoothing_": Smoother,
        "criterion_": str,
        "nominal_splits_": str,
        "teacher_": (str, type(None)),
        "softness_": float,
        "probabilities_": np.ndarray,
    }
    min_classes = 1
    reductions = LARGER_LEAVES
    step_: Trees
    tree_: DecisionTree

    def __init__(
        self,
        smoothing: str | Smoother = "best",
        *,
        criterion: str = "cv",
        nominal_splits: str = "cv",
        min_samples_leaf: float = 2,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        mdl_correction: bool = True,
        soft_thresholds: str | float | None = None,
        pruning: str | None = None,
        curtailment: float | None = None,
        honest: float = 0.0,
        n_folds: int = 5,
        teacher: str | None = "auto",
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        numeric_features: Any = None,
        ordinal_features: Any = "from_dtype",
        date_features: Any = "from_dtype",
        text_features: Any = "from_dtype",
        missing_values: Any = "usual",
        min_rows_per_label: int = 1,
        class_weight: Any = None,
        missing: str = "value",
        unseen: str = "backoff",
        memory_limit: int | float | str | None = None,
        declared: str = "ignore",
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
        self.teacher = teacher
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.ordinal_features = ordinal_features
        self.date_features = date_features
        self.text_features = text_features
        self.missing_values = missing_values
        self.min_rows_per_label = min_rows_per_label
        self.class_weight = class_weight
        self.missing = missing
        self.unseen = unseen
        self.memory_limit = memory_limit
        self.declared = declared
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def node_proba_(self) -> NDArray[np.float64]:
        """Class probabilities of each node."""
        proba: NDArray[np.float64] = self._find_step().rows[self.tree_.first]
        return proba

    @property
    def bandwidth_(self) -> NDArray[np.float64]:
        """Bandwidth of every threshold."""
        bandwidth: NDArray[np.float64] = self._find_step().bandwidth
        return bandwidth[self.tree_.first] if len(bandwidth) else np.zeros(self.tree_.n_nodes)

    @describe(ROWS)
    def apply(self, X: Any) -> NDArray[np.int32]:
        """Find the deepest node that each row reaches.

        Returns
        -------
        int32 array of shape (n_rows,)
            Node numbers; with soft thresholds, of the node that the row would reach without.
        """
        columns = self.read_rows(X)
        features = columns.in_feature_order()
        return self.tree_.find(features, columns.n_rows, self.n_threads)

    @describe(ROWS)
    def decision_path(self, X: Any) -> csr_matrix:
        """Find the nodes on the path of each row.

        Returns
        -------
        csr_matrix of shape (n_rows, n_nodes)
            One where the node is on the row's path, zero elsewhere.
        """
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
        """Share of each feature in the information that the splits gain."""
        check_is_fitted(self)
        return self.tree_.feature_shares(len(self.encoder_.is_nominal_))

    def get_depth(self) -> int:
        """Return the number of levels below the root.

        Returns
        -------
        int
            Zero for a tree without splits.
        """
        check_is_fitted(self)
        return self.tree_.counts.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
            One for a tree without splits.
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @hook
    def estimate_bytes(self, size: TableSize) -> float:
        n_nodes = 1.5 * size.n_rows / max(1.0, float(self.min_samples_leaf))
        per_node = 200.0 + 100.0 * size.n_classes
        alone = size.table_bytes + 20.0 * size.n_rows * size.n_features + n_nodes * per_node
        is_small = self.min_samples_leaf <= 2 and size.n_rows <= MAX_IMITATED_ROWS
        if self.teacher == "forest" or (self.teacher == "auto" and is_small):
            return max(alone, estimate_imitation(size))
        return alone

    def check_parameters(self) -> None:
        check_smoothing(self.smoothing)
        check_choice("criterion", self.criterion, ("cv", *CRITERIA, "release-8"))
        check_choice("nominal_splits", self.nominal_splits, ("cv", *NOMINAL_SPLITS))
        check_number("min_samples_leaf", self.min_samples_leaf, above=0.0)
        for name in ("max_depth", "max_leaf_nodes", "curtailment"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), least=1)
        check_number("n_folds", self.n_folds, least=2)
        check_choice("teacher", self.teacher, TEACHERS)  # type: ignore[arg-type]
        check_choice("pruning", self.pruning, PRUNING)  # type: ignore[arg-type]
        if not 0.0 <= check_number("honest", self.honest, least=0.0) <= 0.9:
            raise ValueError(f"honest must be a number from 0 to 0.9, got {self.honest!r}")
        self._softness()

    def _learn(self, table: TrainingTable) -> dict[str, Any]:
        seed = draw_seed(self.random_state)
        nominal = table.encoder.is_nominal_
        monotone = read_directions(self.monotonic_cst, table.encoder, table.n_classes)
        shape = self._growth("gain", "one-value", monotone).rules
        if self.teacher == "forest":
            return imitate(grow_forest(table, seed), table, shape, seed)
        setting = choose_setting(
            self._growths(any_nominal=bool(nominal.any()), monotone=monotone),
            (0.0,) if nominal.all() or monotone else self._softness(),
            as_smoother(self.smoothing).candidates(),
            table, n_folds=self.n_folds, curtailment=self.curtailment, seed=seed,
        )  # fmt: skip
        if self._may_imitate(table) and not monotone:
            forest = grow_forest(table, seed)
            if out_of_bag_error(forest, table) < setting.error:
                return imitate(forest, table, shape, seed)
        tree = setting.growth.grow(table, table.weights, seed)
        cells, node_proba = smooth_nodes(tree, setting.smoother, self.curtailment, seed, monotone)
        bandwidth = bandwidths(tree, setting.softness, feature_scale(table))
        return {
            "step_": make_step(
                tree,
                node_proba,
                bandwidth * (setting.softness > 0.0),
                inner_is_prior=setting.smoother.inner_is_prior,
            ),
            "tree_": tree,
            "smoothing_": setting.smoother,
            "criterion_": setting.growth.rules.criterion,
            "nominal_splits_": setting.growth.rules.nominal_splits,
            "teacher_": None,
            "softness_": setting.softness,
            "probabilities_": cells,
        }

    def _may_imitate(self, table: TrainingTable) -> bool:
        """Return whether the tree may imitate a forest, as `teacher` "auto" allows."""
        ways = (self.teacher, self.smoothing, self.criterion, self.nominal_splits)
        limits = (self.max_depth, self.max_leaf_nodes, self.pruning, self.curtailment)
        shaped = limits != (None,) * 4 or self.min_samples_leaf > 2 or self.honest > 0.0
        return (
            ways == ("auto", "best", "cv", "cv")
            and not shaped
            and table.n_rows <= MAX_IMITATED_ROWS
        )

    def _growths(self, any_nominal: bool, monotone: tuple[int, ...]) -> list[TreeGrowth]:
        """Return the ways to grow a tree that are to be tried."""
        criteria = CRITERIA if self.criterion == "cv" else (self.criterion,)
        splits = NOMINAL_SPLITS if self.nominal_splits == "cv" else (self.nominal_splits,)
        pairs = [(criterion, split) for split in splits for criterion in criteria]
        if len(pairs) == 4:
            pairs.remove(("gain-ratio", "one-value"))
        if not any_nominal:
            # Nominal splits make no difference.
            pairs = pairs[: len(criteria)]
        return [self._growth(*pair, monotone) for pair in pairs]

    def _growth(self, criterion: str, nominal_splits: str, monotone: tuple[int, ...]) -> TreeGrowth:
        rules = C45(
            criterion=criterion,
            release8=criterion == "release-8",
            nominal_splits=nominal_splits,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
            mdl_correction=self.mdl_correction,
            monotone=monotone,
        )
        return TreeGrowth(rules, self.pruning, self.honest, self.n_folds)

    def _softness(self) -> tuple[float, ...]:
        """Return the softnesses of thresholds that are to be tried."""
        if self.soft_thresholds is None:
            return (0.0,)
        if isinstance(self.soft_thresholds, str):
            check_choice("soft_thresholds", self.soft_thresholds, ("cv",))
            return SOFTNESS_CANDIDATES
        return (float(check_number("soft_thresholds", self.soft_thresholds, least=0.0)),)
