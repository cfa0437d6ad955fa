"""What a network asks of the rows it learns from, in memory or read in passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from priorwise.counts import CodedRows, Information, WideInformation, measure_rows
from priorwise.structure.networks.network import Network
from priorwise.structure.networks.network_counts import NetworkCounts, check_contexts
from priorwise.structure.networks.select import Selection, SubmodelScorer

MAX_PAIR_FEATURES = 20_000
"""Largest number of features of which pairs are measured: a table of 3.2 GB."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of networks over all rows, and what is needed to judge them on some of the rows.

    `training` are counts of the first network without the rows held back; `rows` are the rows held
    back, or those that were asked for. Both are None if there are none.
    """

    counts: list[NetworkCounts]
    training: NetworkCounts | None = None
    rows: CodedRows | None = None


class TrainingRows(Protocol):
    """Rows that can be measured, counted and scored; every answer is a sum over rows.

    Rows in memory (`MemoryRows`) and a stream of batches (`RowStream`) give the same answers, so
    a model is learnt by the same code from both.
    """

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def feature_names(self) -> Sequence[str]:
        """Names of the features; empty if they have none."""

    def measure(self) -> Information | WideInformation:
        """Return the mutual information of the features with the class and each other."""

    def count(
        self,
        networks: Sequence[Network],
        *,
        max_contexts: int | None = None,
        held_back_seed: int | None = None,
    ) -> Counted:
        """Count the contexts of networks, at most `max_contexts` in all.

        With a `held_back_seed` some rows are held back, as `CodedRows.hold_back` does.
        """

    def select(self, scorer: SubmodelScorer) -> Selection:
        """Return the sub-model with the least leave-one-out loss."""

    def collect(self) -> CodedRows:
        """Return all rows at once, for a model that cannot learn from sums."""


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """Coded rows in memory, as `TrainingRows`."""

    rows: CodedRows
    feature_names: Sequence[str] = ()
    n_jobs: int = 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.n_features

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.rows.n_classes

    def measure(self) -> Information | WideInformation:
        """Return the mutual information of the features with the class and each other."""
        rows = self.rows
        check_pairs(rows.n_features)
        return measure_rows(rows, rows.weight, n_threads=self.n_jobs)

    def count(
        self,
        networks: Sequence[Network],
        *,
        max_contexts: int | None = None,
        held_back_seed: int | None = None,
    ) -> Counted:
        """Count the contexts of networks (see `TrainingRows.count`)."""
        counts, n_contexts = [], 0
        for network in networks:
            counts.append(NetworkCounts.count(network, self.rows, n_jobs=self.n_jobs))
            n_contexts += counts[-1].n_contexts
            check_contexts(n_contexts, max_contexts)
        split = None if held_back_seed is None else self.rows.hold_back(held_back_seed)
        if split is None:
            return Counted(counts)
        training = NetworkCounts.count(networks[0], split[0], n_jobs=self.n_jobs)
        return Counted(counts, training, split[1])

    def select(self, scorer: SubmodelScorer) -> Selection:
        """Return the sub-model with the least leave-one-out loss."""
        rows = self.rows
        total = float(rows.n_rows if rows.weight is None else rows.weight.sum())
        return scorer.choose(scorer.score(rows.columns, rows.y, rows.weight, self.n_jobs), total)

    def collect(self) -> CodedRows:
        """Return all rows."""
        return self.rows


def check_pairs(n_features: int) -> None:
    """Raise if the table of all pairs of features would be too large."""
    if n_features > MAX_PAIR_FEATURES:
        raise ValueError(
            f"X must have at most {MAX_PAIR_FEATURES} features for a network that is learnt from "
            f"pairs of features, got {n_features}: select features first, or use a "
            "NaiveBayesClassifier"
        )
