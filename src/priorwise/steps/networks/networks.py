"""Bayesian networks: one, the mean of several, or the sum of AODE."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.records import Record, numbers, part
from priorwise.data.columns import Columns
from priorwise.steps.explanation import Explanation
from priorwise.steps.networks.contributions import (
    class_proba,
    explain_mean,
    explain_mean_joint,
    explain_rows,
    log_joint,
)
from priorwise.steps.step import Floats, Names, Step


@dataclass(frozen=True, eq=False)
class Cuts(Record):
    """Where numbers are cut: `n_points` of the `points` for each numeric feature, which rise."""

    points: Floats = numbers("n_all_points")
    n_points: NDArray[np.int32] = numbers("n_numeric", dtype=np.int32, least=0)

    @classmethod
    def join(cls, cut_points: list[Floats]) -> Cuts:
        """Return the cut points of all features one behind the other."""
        n_points = np.array([len(points) for points in cut_points], dtype=np.int32)
        return cls(np.concatenate([np.empty(0), *cut_points]), n_points)

    def check_rules(self) -> None:
        if self.n_points.sum() != len(self.points):
            raise ValueError("every cut point must belong to a feature")

    @cached_property
    def split(self) -> list[Floats]:
        """The cut points of each feature."""
        return np.split(self.points, np.cumsum(self.n_points)[:-1]) if len(self.n_points) else []


@dataclass(frozen=True, eq=False)
class Networks(Step):
    """Networks that are products of factors p(feature | class, parents); their mean probability.

    `cuts` are one set of cut points for all networks, or one for each. A number is read as how many
    points lie below it; a missing one as the number of points plus one, or as unknown unless
    `missing_seen`.

    If there are `guards`, they say for each network but the last whether each code of the feature
    of its first factor is frequent enough for the network to be used. The joint probabilities of
    those are added up; the last network answers where there are none.

    `levels` of weighted networks are the concentration and the weight of
    each level of each factor, with which exports turn scores into counts.
    """

    products: tuple[_core.FactorProduct, ...] = part(_core.FactorProduct, several=True)
    cuts: tuple[Cuts, ...] = part(Cuts, several=True)
    missing_seen: NDArray[np.int32] = numbers("n_numeric", dtype=np.int32, least=0, most=1)
    guards: tuple[NDArray[np.bool_], ...] = part(np.ndarray, several=True, default=())
    levels: tuple[Floats, ...] = part(np.ndarray, several=True, default=())

    def check_rules(self) -> None:
        n_networks = len(self.products)
        if n_networks == 0 or len({len(one.log_prior) for one in self.products}) > 1:
            raise ValueError("there must be a network, and all must have the same classes")
        if len(self.cuts) not in (1, n_networks):
            raise ValueError("there must be cut points for all networks, or for each of them")
        if len(self.guards) not in (0, n_networks - 1):
            raise ValueError("there must be guards for all networks but the last, or none")
        if any(guard.dtype != np.bool_ or guard.ndim != 1 for guard in self.guards):
            raise ValueError("guards must be booleans")
        if len(self.levels) not in (0, n_networks):
            raise ValueError("levels must be those of all networks")
        for product, levels in zip(self.products, self.levels, strict=False):
            n_levels = len(product.path) + 2 * len(product.column)
            if levels.dtype != np.float64 or levels.shape != (2, n_levels):
                raise ValueError("every level needs its weights")

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        n_features = len(is_nominal)
        if len(self.missing_seen) != n_features - len(n_labels):
            raise ValueError("networks must have the numeric features")
        arities = np.empty(n_features, dtype=np.int32)
        arities[is_nominal] = n_labels
        for place, product in enumerate(self.products):
            cuts = self.cuts[place % len(self.cuts)]
            if len(cuts.n_points) != len(self.missing_seen):
                raise ValueError("every numeric feature needs cut points")
            arities[~is_nominal] = cuts.n_points + 1 + self.missing_seen
            _core.check_network(product, np.maximum(arities, 1))
        for guard, product in zip(self.guards, self.products, strict=False):
            if len(product.column) == 0 or len(guard) != max(1, int(arities[product.column[0]])):
                raise ValueError("guards must have all codes of the superparent")

    @property
    def n_classes(self) -> int:
        return len(self.products[0].log_prior)

    @property
    def knows_shares(self) -> bool:
        """Whether the class is estimated as other features are, without an intercept or weights."""
        return not self.levels

    @cached_property
    def _cut_networks(self) -> list[_core.CutNetwork]:
        return [
            _core.CutNetwork(product, cuts.points, cuts.n_points)
            for product, cuts in zip(self.products, self.cuts, strict=True)
        ]

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        if self.guards:
            joint = self.predict_log_joint(columns, n_threads)
            return _core.normalise_joint(joint, self.products[0].log_prior)
        if len(self.cuts) == len(self.products) > 1:
            return self._average(self._cut_networks, columns, n_threads)
        codes = self.code(columns, n_threads)
        total = class_proba(self.products[0], codes, n_threads)
        for product in self.products[1:]:
            total += class_proba(product, codes, n_threads)
        return total / len(self.products) if len(self.products) > 1 else total

    def predict_log_joint(self, columns: Columns, n_threads: int = 1) -> Floats:
        """Return log p(class, features): of a single network, or the mean of those with guards."""
        codes = columns.cut(self.cuts[0].split, self.missing_seen, n_threads)
        if not self.guards:
            return log_joint(self.products[0], codes, n_threads)
        return self._mean_joint(codes, self._find_answering(codes), n_threads)

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """A single network is a product of factors, whose logarithms are the contributions.

        What a feature adds to the probability of each of several networks is averaged, or summed
        where joint probabilities are.
        """
        if len(self.products) == 1:
            return explain_rows(self.products[0], self.code(columns, n_threads), names, n_threads)
        proba = self.predict(columns, n_threads)
        if self.guards:
            codes = self.code(columns, n_threads)
            return explain_mean_joint(
                self.products, self._find_answering(codes), codes, names, proba, n_threads
            )
        return explain_mean(self._list_coded(columns, n_threads), names, proba, n_threads)

    def describe(self) -> str:
        n_contexts = sum(int(product.n_contexts.sum()) for product in self.products)
        n_networks = len(self.products) - bool(self.guards)
        if n_networks == 1:
            return f"a network with {n_contexts:,} contexts"
        return f"{n_networks} networks with {n_contexts:,} contexts"

    def code(self, columns: Columns, n_threads: int, network: int = 0) -> NDArray[np.int32]:
        """Return the codes of rows (n_features, n_rows) that a network reads."""
        cuts = self.cuts[network % len(self.cuts)]
        return columns.cut(cuts.split, self.missing_seen, n_threads)

    def _list_coded(self, columns: Columns, n_threads: int) -> list:
        """Return the networks, each with its codes of the rows."""
        shared = self.code(columns, n_threads) if len(self.cuts) == 1 else None
        return [
            (product, self.code(columns, n_threads, place) if shared is None else shared)
            for place, product in enumerate(self.products)
        ]

    def _average(
        self, networks: list[_core.CutNetwork], columns: Columns, n_threads: int
    ) -> Floats:
        places, codes = columns.lay_out()
        return _core.average_networks(
            networks, columns.values, self.missing_seen, places, codes, n_threads
        )

    def _find_answering(self, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return whether each network answers for each row, of shape (n_networks, n_rows)."""
        used = []
        for product, guard in zip(self.products, self.guards, strict=False):
            value = codes[product.column[0]]
            used.append((value >= 0) & guard[value])
        return np.array([*used, ~np.any(used, axis=0)])

    def _mean_joint(
        self, codes: NDArray[np.int32], is_used: NDArray[np.bool_], n_threads: int
    ) -> Floats:
        """Return the logarithm of the mean of p(class, features) of the networks that answer."""
        total = np.full((codes.shape[1], self.n_classes), -np.inf)
        for product, used in zip(self.products, is_used, strict=True):
            if used.any():
                joint = _core.predict_joint(product, _take(codes, used), False, n_threads)
                total[used] = np.logaddexp(total[used], joint)
        return total - np.log(is_used.sum(axis=0, dtype=np.float64))[:, None]


def _take(codes: NDArray[np.int32], rows: NDArray[np.bool_]) -> NDArray[np.int32]:
    return codes if rows.all() else np.ascontiguousarray(codes[:, rows])
