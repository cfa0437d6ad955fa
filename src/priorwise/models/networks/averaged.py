"""Averages over a family of networks: AODE and KDF."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from priorwise import _core
from priorwise.common.docstrings import describe
from priorwise.common.validation import check_number
from priorwise.data.tables import Columns
from priorwise.models.explanation import Explanation
from priorwise.models.memory.plan import AVERAGED_ONE_PARENT, NETWORK_FAMILY
from priorwise.models.networks.base import MAX_CONTEXTS, BaseNetworkClassifier
from priorwise.models.networks.contributions import explain_mean, explain_mean_joint
from priorwise.models.networks.network_model import NetworkModel, prior_spread
from priorwise.models.networks.spread import MeanSpread
from priorwise.models.table_reader import ROWS
from priorwise.smoothing import Smoother
from priorwise.structure.networks import (
    Network,
    NetworkCounts,
    TrainingRows,
    kdf_networks,
    superparent_networks,
)

MAX_TABLES = 250_000


class NetworkFamilyClassifier(BaseNetworkClassifier):
    """Networks learnt from the same rows, one for each feature, averaged.

    Parameters
    ----------
    max_tables : int
        Largest number of count tables. There is a table for each pair of features, so the default
        allows 500 features; more raise a ValueError before anything is counted.

    Attributes
    ----------
    estimators_ : list of NetworkModel
        The networks with their probabilities, and their counts if `keep_counts`, one for each
        feature.
    structures_ : list of Network
        Order of the features and parents of each, of every network.
    """

    max_tables: int
    estimators_: list[NetworkModel]

    @property
    def structures_(self) -> list[Network]:
        """Order of the features and parents of each, of every network."""
        return [model.network for model in self.estimators_]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("max_tables", self.max_tables, least=1)

    def _check_tables(self, n_features: int) -> None:
        if n_features**2 > self.max_tables:
            raise ValueError(
                f"max_tables of {type(self).__name__} must be at least the number of features "
                f"squared, got {self.max_tables} for {n_features} features: select features "
                "first, allow more tables (each takes some 10 kB and 0.1 ms), or use a "
                "KDBClassifier"
            )

    def _name_models(
        self, models: list[NetworkModel], counts: list[NetworkCounts]
    ) -> dict[str, Any]:
        return {"estimators_": models}

    @property
    def _models(self) -> list[NetworkModel]:
        return self.estimators_


class AODEClassifier(NetworkFamilyClassifier):
    """Averaged one-dependence estimators.

    The mean of p(y, x) over the networks in which all features depend on one of them, the
    superparent (Webb et al. 2005)::

        p(y, x) ~ sum over i with count(x_i) >= min_frequency of
                  p(y) p(x_i | y) prod_j p(x_j | y, x_i)

    A row none of whose values is frequent enough is answered by naive Bayes. Each factor is
    smoothed on its own; Weka smooths the joint p(y, x_i) instead, so its probabilities differ where
    rows are few.

    Parameters
    ----------
    min_frequency : float
        Number of rows that a value needs for its feature to be a superparent.

    Attributes
    ----------
    value_counts_ : list of arrays
        Number of rows with each value, for each feature.

    Examples
    --------
    >>> rows = [[a, b] for a in "xy" for b in "pq"] * 5
    >>> model = AODEClassifier().fit(rows, [(a == "x") == (b == "p") for a, b in rows])
    >>> model.predict([["x", "q"]])
    array([False])
    """

    memory_family = AVERAGED_ONE_PARENT

    def __init__(
        self,
        min_frequency: float = 1,
        *,
        max_tables: int = MAX_TABLES,
        smoothing: str | Smoother = "hdp",
        discretizer: Any = "mdlp",
        categorical_features: Any = "from_dtype",
        numeric_features: Any = None,
        ordinal_features: Any = "from_dtype",
        missing_values: Any = "usual",
        class_weight: Any = None,
        missing: str = "value",
        unseen: str = "backoff",
        declared: str = "ignore",
        max_contexts: int = MAX_CONTEXTS,
        keep_counts: bool = True,
        memory_limit: int | float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            numeric_features=numeric_features,
            ordinal_features=ordinal_features,
            missing_values=missing_values,
            class_weight=class_weight,
            missing=missing, unseen=unseen, declared=declared, max_contexts=max_contexts,
            keep_counts=keep_counts, memory_limit=memory_limit, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.min_frequency = min_frequency
        self.max_tables = max_tables

    def predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        joint = self._log_joint(self.encoder_.encode(columns))
        return _core.normalise_joint(joint, self.estimators_[0].log_prior)

    def spread_columns(self, columns: Columns) -> NDArray[np.float64]:
        codes = self.encoder_.encode(columns)
        spread = MeanSpread(columns.n_rows, len(self.classes_))
        models, used = self._list_answering(codes)
        total = logsumexp(self._log_joint(codes), axis=1, keepdims=True)
        total[np.isneginf(total)] = 0.0
        for model, is_used in zip(models, used, strict=True):
            rows = np.flatnonzero(is_used)
            own = _take(codes, is_used)
            joint = model.log_joint(own, self._n_threads)
            spread.add(model, own, self._n_threads, rows=rows, log_weight=joint - total[rows])
        return prior_spread(self.class_count_) + spread.total()

    @describe(ROWS)
    def explain_columns(self, columns: Columns) -> Explanation:
        """Explain the predictions for rows that `encoder_` has read.

        What a feature adds to the probability of a class in each network is summed.

        Returns
        -------
        Explanation
            Contributions of all features for all rows and classes.
        """
        codes, proba = self.encoder_.encode(columns), self.predict_columns(columns)
        models, used = self._list_answering(codes)
        return explain_mean_joint(
            models, used, codes, self.classes_, self.feature_labels_, proba, self._n_threads
        )

    def _name_models(
        self, models: list[NetworkModel], counts: list[NetworkCounts]
    ) -> dict[str, Any]:
        superparents = [one.feature_trees[0] for one in counts]
        frequencies = [tree.count_rows([0])[0] for tree in superparents]
        return {**super()._name_models(models, counts), "value_counts_": frequencies}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("min_frequency", self.min_frequency, least=0)

    def _learn_structures(self, rows: TrainingRows) -> tuple[list[Network], dict[str, Any]]:
        self._check_tables(rows.n_features)
        return superparent_networks(rows.n_features, rows.feature_names), {}

    def _log_joint(self, codes: NDArray[np.int32]) -> NDArray[np.float64]:
        total = np.full((codes.shape[1], len(self.classes_)), -np.inf)
        is_used = self._find_superparents(codes)
        for model, used in zip(self.estimators_, is_used, strict=True):
            if used.any():
                joint = model.log_joint(_take(codes, used), self._n_threads)
                total[used] = np.logaddexp(total[used], joint)
        n_used = is_used.sum(axis=0, dtype=np.float64)
        if not n_used.all():
            left = n_used == 0
            total[left] = _core.predict_joint(
                self._naive_product(), _take(codes, left), False, self._n_threads
            )
            n_used[left] = 1
        return total - np.log(n_used)[:, None]

    def _find_superparents(self, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return whether each network answers for each row, of shape (n_networks, n_rows)."""
        used = []
        for model, frequency in zip(self.estimators_, self.value_counts_, strict=True):
            value = codes[model.network.order[0]]
            used.append((value >= 0) & (frequency[value] >= self.min_frequency))
        return np.array(used)

    def _list_answering(
        self, codes: NDArray[np.int32]
    ) -> tuple[list[NetworkModel], NDArray[np.bool_]]:
        """Return the networks and whether each answers for each row; naive Bayes for the rest."""
        models, used = self.estimators_, self._find_superparents(codes)
        if used.any(axis=0).all():
            return models, used
        naive = NetworkModel(Network.naive(len(codes)), self._naive_product())
        return [*models, naive], np.vstack([used, ~used.any(axis=0)])

    def _naive_product(self) -> _core.FactorProduct:
        # The superparent's own factor, p(x_i | y), is naive Bayes' factor of that feature.
        factors = [_core.take_factor(model.product, 0) for model in self.estimators_]
        return _core.join_products(factors, self.estimators_[0].log_prior)


def _take(codes: NDArray[np.int32], rows: NDArray[np.bool_]) -> NDArray[np.int32]:
    return codes if rows.all() else np.ascontiguousarray(codes[:, rows])


class KDFClassifier(NetworkFamilyClassifier):
    """KDB forest: the mean probability of k-dependence networks that start with each feature.

    See `priorwise.structure.networks.kdf_networks` (Duan and Wang 2017; thesis Algorithms 6-7).

    Parameters
    ----------
    max_parents : int
        Largest number of parents of a feature besides the class, at least 1.

    Examples
    --------
    >>> rows = [[a, b] for a in "xy" for b in "pq"] * 5
    >>> model = KDFClassifier().fit(rows, [(a == "x") == (b == "p") for a, b in rows])
    >>> model.predict([["x", "q"]])
    array([False])
    """

    memory_family = NETWORK_FAMILY

    def __init__(
        self,
        max_parents: int = 2,
        *,
        max_tables: int = MAX_TABLES,
        smoothing: str | Smoother = "hdp",
        discretizer: Any = "mdlp",
        categorical_features: Any = "from_dtype",
        numeric_features: Any = None,
        ordinal_features: Any = "from_dtype",
        missing_values: Any = "usual",
        class_weight: Any = None,
        missing: str = "value",
        unseen: str = "backoff",
        declared: str = "ignore",
        max_contexts: int = MAX_CONTEXTS,
        keep_counts: bool = True,
        memory_limit: int | float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            smoothing, discretizer=discretizer, categorical_features=categorical_features,
            numeric_features=numeric_features,
            ordinal_features=ordinal_features,
            missing_values=missing_values,
            class_weight=class_weight,
            missing=missing, unseen=unseen, declared=declared, max_contexts=max_contexts,
            keep_counts=keep_counts, memory_limit=memory_limit, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.max_parents = max_parents
        self.max_tables = max_tables

    def predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        codes = self.encoder_.encode(columns)
        total = np.zeros((columns.n_rows, len(self.classes_)))
        for model in self.estimators_:
            total += model.proba(codes, self._n_threads)
        return total / len(self.estimators_)

    def spread_columns(self, columns: Columns) -> NDArray[np.float64]:
        codes = self.encoder_.encode(columns)
        spread = MeanSpread(columns.n_rows, len(self.classes_))
        for model in self.estimators_:
            spread.add(model, codes, self._n_threads, rows=np.arange(columns.n_rows))
        return prior_spread(self.class_count_) + spread.total()

    @describe(ROWS)
    def explain_columns(self, columns: Columns) -> Explanation:
        """Explain the predictions for rows that `encoder_` has read.

        What a feature adds to the probability of each network is averaged.

        Returns
        -------
        Explanation
            Contributions of all features for all rows and classes.
        """
        codes, proba = self.encoder_.encode(columns), self.predict_columns(columns)
        members = ((model, codes) for model in self.estimators_)
        return explain_mean(members, self.classes_, self.feature_labels_, proba, self._n_threads)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("max_parents", self.max_parents, least=1)

    def _needs_pairs(self) -> bool:
        return True

    def _learn_structures(self, rows: TrainingRows) -> tuple[list[Network], dict[str, Any]]:
        self._check_tables(rows.n_features)
        information = rows.measure()
        # A feature that all rows miss starts no network, unless there is no other.
        known = np.flatnonzero(information.n_seen.any(axis=1)).tolist() or None
        networks = kdf_networks(
            information.conditional, self.max_parents, rows.feature_names, starts=known
        )
        return networks, {}
