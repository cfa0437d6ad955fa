"""Averages over a family of networks: AODE and KDF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.validation import check_number
from priorwise.models.networks.base import MAX_CONTEXTS, BaseNetworkClassifier
from priorwise.models.networks.network_model import NetworkModel
from priorwise.smoothing import Smoother
from priorwise.structure.networks import (
    Network,
    NetworkCounts,
    TrainingRows,
    kdf_networks,
    superparent_networks,
)


class NetworkFamilyClassifier(BaseNetworkClassifier):
    """Networks learnt from the same rows, averaged.

    Attributes
    ----------
    structures_ : list of Network
    models_ : list of NetworkModel
    smoothing_ : Smoother
    """

    def _fit_rows(self, rows: TrainingRows, seed: int) -> None:
        self.structures_ = self._learn_structures(rows)
        counts, self.smoothing_ = self._count_and_choose(self.structures_, rows, seed)
        self._smooth(counts, seed)

    def _smooth(self, counts: list[NetworkCounts], seed: int) -> None:
        seeds = np.random.SeedSequence(seed).generate_state(len(counts))
        self.models_ = [
            NetworkModel.smooth(of_network, self.smoothing_, seed=int(s), n_jobs=self._n_threads)
            for of_network, s in zip(counts, seeds, strict=True)
        ]

    def _learn_structures(self, rows: TrainingRows) -> list[Network]:
        raise NotImplementedError


class AODEClassifier(NetworkFamilyClassifier):
    """Averaged one-dependence estimators.

    The mean of p(y, x) over the networks in which all features depend on one of them, the
    superparent (Webb et al. 2005)::

        p(y, x) ~ sum over i with count(x_i) >= min_frequency of
                  p(y) p(x_i | y) prod_j p(x_j | y, x_i)

    A row none of whose values is frequent enough is answered by naive Bayes.

    Parameters
    ----------
    min_frequency : float
        Rows a value needs for its feature to be a superparent.
    """

    def __init__(
        self,
        min_frequency: float = 1,
        *,
        smoothing: str | Smoother = "hdp",
        discretizer: Any = "mdlp",
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        max_contexts: int = MAX_CONTEXTS,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            missing=missing, unseen=unseen, max_contexts=max_contexts, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.min_frequency = min_frequency

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log p(class, features); columns as in `classes_`."""
        return self._log_joint(self._encode(X))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count one more batch of rows.

        The first batch fixes `classes` and the cut points of numeric features; later batches
        may bring new values of nominal features. Smoothing is done anew after every batch.
        """
        first = not hasattr(self, "models_")
        rows = self._in_memory(self._encode_batch(X, y, classes, sample_weight, first=first))
        seed = self._draw_seed()
        if first:
            self._fit_rows(rows, seed)
        else:
            batch = rows.count(self.structures_, None, self.max_contexts).counts
            known = [model.counts for model in self.models_]
            self._smooth([a.merge(b) for a, b in zip(known, batch, strict=True)], seed)
        return self

    def _learn_structures(self, rows: TrainingRows) -> list[Network]:
        check_number("min_frequency", self.min_frequency, least=0)
        return superparent_networks(rows.n_features, self._feature_names())

    def _predict_rows(self, columns: Sequence[NDArray[np.int32]]) -> NDArray[np.float64]:
        return _core.normalise_joint(self._log_joint(columns), self.models_[0].log_prior)

    def _log_joint(self, columns: Sequence[NDArray[np.int32]]) -> NDArray[np.float64]:
        total = np.full((len(columns[0]), len(self.classes_)), -np.inf)
        n_used = np.zeros(len(columns[0]))
        for model in self.models_:
            superparent = model.factors[0]
            frequency = superparent.tree.rows(superparent.tree.counts, [0])[0]
            value = columns[superparent.column]
            used = (value >= 0) & (frequency[value] >= self.min_frequency)
            if used.any():
                joint = model.log_joint([column[used] for column in columns], self._n_threads)
                total[used] = np.logaddexp(total[used], joint)
                n_used += used
        if not n_used.all():
            left = n_used == 0
            total[left] = self._naive_log_joint([column[left] for column in columns])
            n_used[left] = 1
        return total - np.log(n_used)[:, None]

    def _naive_log_joint(self, columns: Sequence[NDArray[np.int32]]) -> NDArray[np.float64]:
        # The superparent's own factor, p(x_i | y), is naive Bayes' factor of that feature.
        joint = np.tile(self.models_[0].log_prior, (len(columns[0]), 1))
        for model in self.models_:
            alone = NetworkModel(model.counts, [], np.zeros(len(self.classes_)), model.factors[:1])
            joint += alone.log_joint(columns, self._n_threads)
        return joint


class KDFClassifier(NetworkFamilyClassifier):
    """KDB forest: the mean probability of k-dependence networks that start with each feature.

    See `priorwise.structure.kdf_networks` (Duan and Wang 2017; thesis Algorithms 6-7).

    Parameters
    ----------
    max_parents : int
        Largest number of parents of a feature besides the class.
    """

    def __init__(
        self,
        max_parents: int = 2,
        *,
        smoothing: str | Smoother = "hdp",
        discretizer: Any = "mdlp",
        categorical_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        max_contexts: int = MAX_CONTEXTS,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            missing=missing, unseen=unseen, max_contexts=max_contexts, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.max_parents = max_parents

    def _needs_pairs(self) -> bool:
        return True

    def _learn_structures(self, rows: TrainingRows) -> list[Network]:
        return kdf_networks(rows.measure().conditional, self.max_parents, self._feature_names())

    def _predict_rows(self, columns: Sequence[NDArray[np.int32]]) -> NDArray[np.float64]:
        return np.mean([model.proba(columns, self._n_threads) for model in self.models_], axis=0)
