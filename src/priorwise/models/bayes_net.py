"""Single Bayesian network classifiers: naive Bayes, TAN, kDB and selective kDB."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from priorwise.counts import CountTree, Information, measure_information
from priorwise.data import encode_labels
from priorwise.models.network_classifier import MAX_CONTEXTS, BaseNetworkClassifier
from priorwise.models.network_model import CodedRows, NetworkCounts, NetworkModel
from priorwise.smoothing import Smoother
from priorwise.structure import Network, learn_kdb, learn_tan, naive_bayes, select_submodel


class SingleNetworkClassifier(BaseNetworkClassifier):
    """One network: a factor p(feature | class, parents) for each feature it uses.

    Attributes
    ----------
    structure_ : Network
        Order of the features and parents of each.
    count_trees_ : list of CountTree
        One for each feature in the order of the structure; levels are the class, then parents.
    class_tree_ : CountTree
    smoothing_ : Smoother
        The smoother used, its parameters chosen.
    """

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(class, features); columns as in `classes_`."""
        columns = self._encode(X)
        return self.model_.log_joint(columns, self._n_threads)

    @property
    def structure_(self) -> Network:
        return self.model_.counts.network

    @property
    def count_trees_(self) -> list[CountTree]:
        return self.model_.counts.feature_trees

    @property
    def class_tree_(self) -> CountTree:
        return self.model_.counts.class_tree

    def _fit_rows(self, rows: CodedRows, seed: int) -> None:
        network = self._learn_structure(rows)
        smoother = self._choose_smoother(network, rows, seed)
        counts = self._select(self._count(network, rows), rows, smoother)
        self._finish(counts, smoother, seed)

    def _finish(self, counts: NetworkCounts, smoother: Smoother, seed: int) -> None:
        self.smoothing_ = smoother
        self.model_ = NetworkModel.smooth(counts, smoother, seed=seed, n_jobs=self._n_threads)

    def _predict_rows(self, columns: Sequence[NDArray[np.int32]]) -> NDArray[np.float64]:
        return self.model_.proba(columns, self._n_threads)

    def _learn_structure(self, rows: CodedRows) -> Network:
        raise NotImplementedError

    def _select(self, counts: NetworkCounts, rows: CodedRows, smoother: Smoother) -> NetworkCounts:
        """The part of the network to keep; all of it by default."""
        return counts

    def _measure(self, rows: CodedRows) -> Information:
        return measure_information(
            np.asarray(rows.columns), rows.y, rows.arities, rows.n_classes, rows.weight,
            n_threads=self._n_threads,
        )  # fmt: skip
