"""A forest of decision trees with smoothed class probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import hook
from priorwise.common.numeric import draw_seed
from priorwise.common.validation import check_choice, check_number
from priorwise.models.base import TableClassifier
from priorwise.models.fitted import from_step
from priorwise.models.memory import LARGER_LEAVES, TableSize, halve
from priorwise.models.training_table import TrainingTable, read_directions
from priorwise.models.trees.forest_growth import (
    BestGrowth,
    ForestChoice,
    RandomGrowth,
    hold_out_some,
)
from priorwise.models.trees.tree_growth import CRITERIA
from priorwise.smoothing import ParentEstimate, Smoother
from priorwise.smoothing.base import as_smoother
from priorwise.steps.trees import Trees
from priorwise.structure.trees import (
    C45,
    CountedTrees,
    DecisionTree,
    RandomSplits,
    expand_rows,
    split_trees,
)


class ProbabilityForestClassifier(TableClassifier):
    """The average of many randomised trees, each smoothed or not.

    Each tree grows on a random part of the rows, with random features to choose from at every
    node. With splitter "best" a tree grows on each row as often as a Poisson variable of mean
    one says, with "random" on each row with probability `max_samples`.

    With splitter "random" each node is shrunk towards its parent with one weight c for the whole
    forest::

        p = (n + c p_parent) / (N + c)

    with c the best of 0.1, 0.32, 1, 3.2, 10 and 31.6 by the log-loss of the rows, each judged by
    the trees it did not grow. From 5,000 rows on, nodes of less than 0, 4, 8, 16, 32, 64, 128 or
    256 rows are not split: the largest of these whose log-loss is within 0.1 % of the least. If
    all rows count in every tree, a row's own count is subtracted at every node on its path before
    it is judged.

    Other smoothers with candidates are chosen by the squared error of the rows, judged by the
    trees that they did not grow. Without a bootstrap a fifth of the rows is held out once to
    choose.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    smoothing : "auto", str, Smoother or None
        "auto" (default) is "parent" with splitter "random", as above, and "shrinkage" with
        "best"; or any smoother of the library. None, the same as "mle", leaves frequencies.
    splitter : {"best", "random"}
        The best split of each feature drawn, or the best of `n_random_splits` random ones
        (extremely randomised trees, Geurts et al. 2006): numbers at a random point between two
        random values of the node, with missing to a random side; a nominal feature by one value
        against the rest, values never seen among the rest.
    criterion : {"gain", "gain-ratio"}
        What the best split is chosen by.
    max_features : "auto", "sqrt", "log2", int, float or None
        Features examined at a node: their number, a share of all, or all. "auto" (default) is
        round(sqrt(d) + d / 3) of d with splitter "random", and "sqrt" with "best".
    bootstrap : bool
        Whether trees grow on a random part of the rows or on all of them.
    max_samples : float above 0 and below 1
        Share of the rows that a tree of random splits grows on.
    counts : {"grown", "all"}
        Which rows count at the nodes: those that grew the tree (default), or all. The latter
        needs splitter "random" with smoothing "parent".
    min_samples_leaf : float
        At least two branches of a split, and both sides of a threshold, have this many rows.
    max_depth : int or None
        Most levels below the root.
    n_random_splits : int
        Number of random splits of each feature drawn, with splitter "random"; at most 1000.

    Attributes
    ----------
    forest_ : PackedTrees
        The trees.
    smoothing_ : Smoother
        The smoother used.
    min_weight_ : float
        Least weight of the rows of a node that is split; 0 if it was not chosen.
    feature_importances_ : array of shape (n_features,)
        Share of each feature in the information that the splits gain, the mean of the trees.
    oof_proba_ : array of shape (n_rows, n_classes)
        Probabilities of the training rows by the trees they did not grow, NaN for rows that grew
        every tree. Only with a bootstrap.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ProbabilityForestClassifier(10, random_state=0).fit(X, y)
    >>> forest.predict_proba(X[:1]).argmax()
    np.int64(0)
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **TableClassifier.learnt,
        "smoothing_": Smoother,
        "min_weight_": float,
        "feature_importances_": np.ndarray,
        "_node_counts": (np.ndarray, type(None)),
        "_counted_trees": (CountedTrees, type(None)),
    }
    min_classes = 1
    reductions: ClassVar[Mapping[str, Any]] = {**LARGER_LEAVES, "n_estimators": halve(10)}
    step_: Trees
    min_weight_: float
    feature_importances_: NDArray[np.float64]
    _node_counts: NDArray[np.float64] | None
    _counted_trees: CountedTrees | None

    def __init__(
        self,
        n_estimators: int = 100,
        *,
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

    forest_ = from_step("trees", "The trees.")

    @property
    def estimators_(self) -> list[DecisionTree]:
        """The trees one by one; those of splitter "random" without gains."""
        check_is_fitted(self)
        if self._counted_trees is not None:
            return self._counted_trees.split(self.forest_)
        counts = self._node_counts
        if counts is None:
            counts = self.forest_.unsmooth(
                expand_rows(self.step_.rows), float(self.smoothing_.get_params()["m"])
            )
        return split_trees(self.forest_, counts)

    @property
    def node_proba_(self) -> list[NDArray[np.float32]]:
        """Class probabilities of the nodes of each tree, arrays of shape (n_nodes, n_classes)."""
        check_is_fitted(self)
        rows, counted = expand_rows(self.step_.rows), self._counted_trees
        if counted is not None:
            return np.split(rows[counted.first], counted.node_start[1:-1])
        return np.split(rows, self.forest_.tree_start[1:-1])

    @hook
    def estimate_bytes(self, size: TableSize) -> float:
        is_random, least = self.splitter == "random", float(self.min_samples_leaf)
        share = self.max_samples if is_random and self.bootstrap else 1.0
        n_nodes = 1.5 * share * size.n_rows / max(1.0, least)
        if self.max_depth is not None:
            n_nodes = min(n_nodes, 2.0 ** min(1 + self.max_depth, 60))
        # Trees are copied when they are pruned; from 5,000 rows on, few nodes are left then.
        n_copies = 1.0 if size.n_rows < 5_000 else 0.25
        per_node = 16.0 + n_copies * (16.0 + min(4.0 * size.n_classes, 140.0))
        # Rows that judge strengths of shrinkage, or columns sorted.
        besides = min(size.n_rows, 5_000) * (1152.0 if size.n_rows >= 5_000 else 144.0)
        if not is_random:
            per_node = 40.0 + 8.0 * size.n_classes
            besides = 8.0 * size.n_rows * size.n_features
        per_tree = 5.0 * size.n_rows + n_nodes * per_node
        return size.table_bytes + besides + self.n_estimators * per_tree

    def check_parameters(self) -> None:
        check_number("n_estimators", self.n_estimators, least=1, whole=True)
        check_choice("splitter", self.splitter, ("best", "random"))
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("counts", self.counts, ("grown", "all"))
        if not 0.0 < check_number("max_samples", self.max_samples, above=0.0) < 1.0:
            raise ValueError(
                f"max_samples must be a number above 0 and below 1, got {self.max_samples!r}"
            )
        check_number("min_samples_leaf", self.min_samples_leaf, above=0.0)
        check_number("n_random_splits", self.n_random_splits, least=1, most=1000)
        if self.max_depth is not None:
            check_number("max_depth", self.max_depth, least=1)
        self._n_features_drawn(1)
        removable = all(isinstance(one, ParentEstimate) for one in self._smoothers())
        if self.counts == "all" and not (self.splitter == "random" and removable):
            raise ValueError(
                "counts must be 'grown' unless splitter is 'random' and smoothing is 'parent', "
                f"got 'all' with {self.splitter!r} and {self.smoothing!r}"
            )

    def _learn(self, table: TrainingTable) -> dict[str, Any]:
        seed = draw_seed(self.random_state)
        states = np.random.SeedSequence(seed).generate_state(int(self.n_estimators), np.uint64)
        seeds = states.astype(np.uint64)
        monotone = read_directions(self.monotonic_cst, table.encoder, table.n_classes)
        growth = self._growth(len(table.feature_columns), monotone)
        grown = growth.grow(table, seeds)
        smoother, *others = self._smoothers()
        chosen = ForestChoice(smoother)
        if others:
            judged = grown
            if not self.bootstrap:
                judged = growth.grow(table, seeds, hold_out_some(table, int(seeds[0])))
            chosen = judged.choose([smoother, *others], seed)
            del judged
        grown, smoother = grown.prune(chosen.min_weight), chosen.smoother
        node_proba = grown.smooth(smoother)
        counted, empty = grown.counted, np.empty(0)
        totals = empty
        if counted is not None:
            totals = np.concatenate([tree.totals for tree in counted.counts])[counted.owner]
        fitted = {
            "step_": Trees(
                grown.forest,
                node_proba,
                1.0,
                True,
                np.empty(0, dtype=np.int32) if counted is None else counted.owner,
                empty,
                totals,
                find_strength(smoother) if counted is None and not monotone else 0.0,
            ),
            "smoothing_": smoother,
            "min_weight_": chosen.min_weight,
            "feature_importances_": grown.feature_shares(),
            "_node_counts": grown.counts_to_keep(smoother),
            "_counted_trees": grown.counted,
        }
        if self.bootstrap:
            fitted["oof_proba_"] = grown.out_of_bag(smoother, node_proba)
        return fitted

    def _smoothers(self) -> list[Smoother]:
        """Return the smoothers to choose from."""
        smoothing = "mle" if self.smoothing is None else self.smoothing
        if isinstance(smoothing, str) and smoothing == "auto":
            smoothing = "parent" if self.splitter == "random" else "shrinkage"
        return as_smoother(smoothing).candidates()

    def _growth(self, n_features: int, monotone: tuple[int, ...] = ()) -> RandomGrowth | BestGrowth:
        """Return how trees grow on a table with this number of features."""
        n_drawn = self._n_features_drawn(n_features)
        if self.splitter == "random":
            rules = RandomSplits(
                n_drawn, self.n_random_splits, self.min_samples_leaf, self.max_depth, monotone
            )
            share = float(self.max_samples) if self.bootstrap else 1.0
            return RandomGrowth(rules, share, self.counts)
        best = C45(
            criterion=self.criterion,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            mdl_correction=False,
            numeric_min_share=0.0,
            max_features=n_drawn,
            monotone=monotone,
        )
        return BestGrowth(best, self.bootstrap)

    def _n_features_drawn(self, n_features: int) -> int:
        """Return the number of features examined at a node."""
        d, wanted = n_features, self.max_features
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


def find_strength(smoother: Smoother) -> float:
    """Return how strongly nodes are drawn towards their parents; 0 if in another way."""
    return float(smoother.m) if isinstance(smoother, ParentEstimate) else 0.0
