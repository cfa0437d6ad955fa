"""Averages over a family of networks: AODE and KDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.validation import check_number
from priorwise.data.encoding import TableEncoder
from priorwise.models.memory import take_one
from priorwise.models.networks.base import MAX_CONTEXTS, BaseNetworkClassifier
from priorwise.models.networks.network_model import NetworkModel
from priorwise.smoothing import Smoother
from priorwise.steps.networks.networks import Networks
from priorwise.structure.networks import Network, NetworkCounts, kdf_networks, superparent_networks
from priorwise.structure.networks.rows import Measure, Rows

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

    @property
    def structures_(self) -> list[Network]:
        """Order of the features and parents of each, of every network."""
        return [model.network for model in self.estimators_]

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("max_tables", self.max_tables, least=1)

    def _check_tables(self, n_features: int) -> None:
        if n_features**2 > self.max_tables:
            raise ValueError(
                f"max_tables of {type(self).__name__} must be at least the number of features "
                f"squared, got {self.max_tables} for {n_features} features: select features "
                "first, allow more tables (each takes some 10 kB and 0.1 ms), or use a "
                "KDBClassifier"
            )

    @property
    def estimators_(self) -> list[NetworkModel]:
        """The networks with their probabilities, and their counts if they were kept."""
        return self._list_models()


class AODEClassifier(NetworkFamilyClassifier):
    """Averaged one-dependence estimators.

    The mean of p(y, x) over the networks in which all features depend on one of them, the
    superparent (Webb et al. 2005)::

        p(y, x) ~ sum over i with count(x_i) >= min_frequency of
                  p(y) p(x_i | y) prod_j p(x_j | y, x_i)

    The joint probabilities are added and then divided by their sum over the classes, as Webb et al.
    do it; He Zhang's thesis (2020) averages the p(y | x) of the networks instead.

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

    learnt: ClassVar[Mapping[str, Any]] = {
        **NetworkFamilyClassifier.learnt,
        "value_counts_": list,
    }
    most_parents, is_family = 1, True

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
        date_features: Any = "from_dtype",
        text_features: Any = "from_dtype",
        missing_values: Any = "usual",
        min_rows_per_label: int = 1,
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
            date_features=date_features,
            text_features=text_features,
            missing_values=missing_values, min_rows_per_label=min_rows_per_label,
            class_weight=class_weight,
            missing=missing, unseen=unseen, declared=declared, max_contexts=max_contexts,
            keep_counts=keep_counts, memory_limit=memory_limit, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.min_frequency = min_frequency
        self.max_tables = max_tables

    def _make_step(
        self,
        encoder: TableEncoder,
        products: list[_core.FactorProduct],
        counts: list[NetworkCounts],
        guards: Sequence[NDArray[np.bool_]] = (),
    ) -> Networks:
        frequent = [count >= self.min_frequency for count in count_superparents(counts)]
        # The superparent's factor, p(x_i | y), is naive Bayes' factor of that feature.
        naive = _core.join_products(
            [_core.take_factor(product, 0) for product in products], products[0].log_prior
        )
        return super()._make_step(encoder, [*products, naive], counts, frequent)

    def _smooth(
        self, encoder: TableEncoder, counts: list[NetworkCounts], *arguments: Any, **options: Any
    ) -> dict[str, Any]:
        fitted = super()._smooth(encoder, counts, *arguments, **options)
        return {**fitted, "value_counts_": count_superparents(counts)}

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("min_frequency", self.min_frequency, least=0)

    def _learn_structures(self, rows: Rows) -> tuple[list[Network], dict[str, Any]]:
        self._check_tables(rows.n_features)
        return superparent_networks(rows.n_features, rows.feature_names), {}


def count_superparents(counts: list[NetworkCounts]) -> list[NDArray[np.float64]]:
    """Return the rows with each value of the first feature of each network."""
    return [one.feature_trees[0].count_rows([0])[0] for one in counts]


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

    reductions: ClassVar[Mapping[str, Any]] = {"max_parents": take_one(1)}
    is_family = True
    has_joint = False

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
        date_features: Any = "from_dtype",
        text_features: Any = "from_dtype",
        missing_values: Any = "usual",
        min_rows_per_label: int = 1,
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
            date_features=date_features,
            text_features=text_features,
            missing_values=missing_values, min_rows_per_label=min_rows_per_label,
            class_weight=class_weight,
            missing=missing, unseen=unseen, declared=declared, max_contexts=max_contexts,
            keep_counts=keep_counts, memory_limit=memory_limit, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        self.max_parents = max_parents
        self.max_tables = max_tables

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("max_parents", self.max_parents, least=1)

    def _needs_pairs(self) -> bool:
        return True

    def _learn_structures(self, rows: Rows) -> tuple[list[Network], dict[str, Any]]:
        self._check_tables(rows.n_features)
        information = rows.answer(Measure())
        # A feature that all rows miss starts no network, unless there is no other.
        known = np.flatnonzero(information.n_seen.any(axis=1)).tolist() or None
        networks = kdf_networks(
            information.conditional, self.max_parents, rows.feature_names, starts=known
        )
        return networks, {}
