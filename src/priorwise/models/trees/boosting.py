"""Boosted trees that know what they predict for rows they have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.deadline import Deadline
from priorwise.common.docstrings import describe
from priorwise.common.numeric import draw_seed
from priorwise.common.validation import check_choice, check_number
from priorwise.data.tables import Columns
from priorwise.models.base import TableClassifier
from priorwise.models.explanation import Explanation
from priorwise.models.intervals import combine_parts
from priorwise.models.memory.plan import BOOSTING, MAX_LEAVES
from priorwise.models.monotone import read_directions
from priorwise.models.table_reader import ROWS
from priorwise.models.training_table import TrainingTable
from priorwise.models.trees.offset_boosting import BoostingPlan, OffsetBoosting
from priorwise.models.trees.spread import BOOSTING_FACTORS, BOOSTING_TAILS

WHOLE_SHARE, MAX_WHOLE_ROWS = 0.5, 10_000
"""Share of the booster of all rows: it is better where classes are nearly certain,
and the mean of the other boosters is better elsewhere. Larger tables have no such booster, since
the rows of one fold matter less there."""

LEAF_ROWS, MIN_LEAVES = 300, 8
"""A tree has one leaf for every `LEAF_ROWS` rows of the table, but at least `MIN_LEAVES`."""


def count_leaves(max_leaf_nodes: int | str | None, n_rows: int) -> int:
    """Return the most leaves of a tree, 0 for any number."""
    if max_leaf_nodes == "auto":
        return min(MAX_LEAVES, max(MIN_LEAVES, n_rows // LEAF_ROWS))
    return int(max_leaf_nodes or 0)


class BoostingClassifier(TableClassifier):
    """Gradient boosting with honest out-of-fold probabilities, which say when to stop.

    Scores start from the shares of the classes, and each tree adds a Newton step on the log-loss
    (Friedman 2001)::

        p(y | x) proportional to exp(log share_y + F_y(x) / 2 + mean over folds b of F_by(x) / 2)

    F is the sum of the trees of a booster of all rows, F_b that of a booster of all rows but those
    of fold b; with more than 10,000 rows, there is no booster of all rows, and the mean of the
    others is not halved. All boosters have the number of trees with the least log-loss of the rows
    that they have not seen. Trees are shared by all classes; numbers are put in at most 64 bins
    (255 up to 10,000 rows), missing ones in a bin of their own; nominal features are split into one
    label and the rest.

    Parameters
    ----------
    max_rounds : int
        Most trees of a booster.
    learning_rate : float
        Share of a Newton step that a tree takes.
    max_depth : int
        Most levels of a tree below its root.
    max_leaf_nodes : "auto", int or None
        Most leaves of a tree, which grows at the leaf where the gain is largest. "auto" is one leaf
        for every 300 rows of the table, but at least 8 and at most 63. With None a tree grows level
        by level and has as many leaves as `max_depth` allows.
    n_folds : int
        Number of boosters that each leave one fold out; at least 2.
    max_samples, max_features : float above 0 and at most 1
        Shares of the rows and of the features that a tree is grown from, drawn for each tree.
    monotonic_cst : array-like of shape (n_features,) or dict of str to int, optional
        Directions of features, as in scikit-learn: with 1 the probability of the second class never
        falls when the feature rises, with -1 it never rises, with 0 it is free; by feature name in
        a dict, others are free. For numbers and ordered categories, and two classes.

    Attributes
    ----------
    boosting_ : OffsetBoosting or None
        The trees of the boosters; None if no tree lowers the loss of rows not seen.
    n_rounds_ : int
        Number of trees of each booster.
    prior_ : array of shape (n_classes,)
        Shares of the classes that scores start from.
    oof_proba_ : array of shape (n_rows, n_classes)
        Probabilities of each training row by the booster that has not seen it; NaN for rows of
        weight zero.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BoostingClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    """

    memory_family = BOOSTING
    tails = BOOSTING_TAILS
    boosting_: OffsetBoosting | None
    n_rounds_: int
    prior_: NDArray[np.float64]
    oof_proba_: NDArray[np.float64]

    def __init__(
        self,
        max_rounds: int = 300,
        *,
        learning_rate: float = 0.1,
        max_depth: int = 12,
        max_leaf_nodes: int | str | None = "auto",
        n_folds: int = 5,
        max_samples: float = 1.0,
        max_features: float = 1.0,
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        numeric_features: Any = None,
        ordinal_features: Any = "from_dtype",
        missing_values: Any = "usual",
        class_weight: Any = None,
        missing: str = "value",
        unseen: str = "backoff",
        memory_limit: int | float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_rounds = max_rounds
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.n_folds = n_folds
        self.max_samples = max_samples
        self.max_features = max_features
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.ordinal_features = ordinal_features
        self.missing_values = missing_values
        self.class_weight = class_weight
        self.missing = missing
        self.unseen = unseen
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        prior = np.tile(self.prior_, (columns.n_rows, 1))
        if self.boosting_ is None:
            return prior
        features = self.encoder_.in_feature_order(columns)
        return self.boosting_.predict_proba(features, prior, self._n_threads)

    @describe(ROWS)
    def explain_columns(self, columns: Columns) -> Explanation:
        """Explain the predictions for rows that have been read.

        Returns
        -------
        Explanation
            A step from a node to its child changes the scores; the change is the split feature's.
        """
        bias = np.log(self.prior_)
        parts = np.zeros((columns.n_rows, self.n_features_in_, len(self.classes_)))
        if self.boosting_ is not None:
            features = self.encoder_.in_feature_order(columns)
            added, parts = self.boosting_.split(features, columns.n_rows, self._n_threads)
            bias += added
        return Explanation.from_sums(self.classes_, self.feature_labels_, bias, parts)

    def spread_columns(self, columns: Columns) -> NDArray[np.float64]:
        proba, parts = self.predict_columns(columns), self.spread_parts(columns)
        return combine_parts(proba, parts, float(self.class_count_.sum()), BOOSTING_FACTORS)

    def spread_parts(self, columns: Columns) -> dict[str, NDArray[np.float64]]:
        if self.boosting_ is None:
            return {"between": np.zeros((columns.n_rows, len(self.classes_)))}
        features = self.encoder_.in_feature_order(columns)
        return {"between": self.boosting_.spread(features, columns.n_rows, self._n_threads)}

    def _check_parameters(self) -> None:
        check_number("max_rounds", self.max_rounds, least=1, most=100_000, whole=True)
        check_number("learning_rate", self.learning_rate, above=0.0, most=1.0)
        check_number("max_depth", self.max_depth, least=1, most=30, whole=True)
        if isinstance(self.max_leaf_nodes, str):
            check_choice("max_leaf_nodes", self.max_leaf_nodes, ("auto",))
        elif self.max_leaf_nodes is not None:
            check_number("max_leaf_nodes", self.max_leaf_nodes, least=2, most=2**30, whole=True)
        check_number("n_folds", self.n_folds, least=2, most=100, whole=True)
        check_number("max_samples", self.max_samples, above=0.0, most=1.0)
        check_number("max_features", self.max_features, above=0.0, most=1.0)

    def _learn(self, table: TrainingTable) -> dict[str, Any]:
        prior = (table.class_count + 1.0) / (table.class_count + 1.0).sum()
        n_folds = min(int(self.n_folds), table.n_rows)
        plan = BoostingPlan(
            (int(self.max_depth),), float(self.learning_rate), int(self.max_rounds), n_folds,
            n_folds, scales=(1.0,), row_share=float(self.max_samples),
            column_share=float(self.max_features),
            whole_share=WHOLE_SHARE if table.n_rows <= MAX_WHOLE_ROWS else 0.0,
            max_leaves=count_leaves(self.max_leaf_nodes, table.n_rows),
        )  # fmt: skip
        start = np.tile(prior, (table.n_rows, 1))
        boosting, boosted = OffsetBoosting.fit(
            table.feature_columns, table.y, table.weight, start, plan,
            seed=draw_seed(self.random_state), n_threads=self._n_threads,
            deadline=Deadline.after(None),
            monotone=read_directions(self.monotonic_cst, table.encoder, table.n_classes),
        )  # fmt: skip
        return {
            "boosting_": boosting,
            "n_rounds_": 0 if boosting is None else boosting.n_rounds,
            "prior_": prior,
            "oof_proba_": start if boosting is None else boosted,
        }
