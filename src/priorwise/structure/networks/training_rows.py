"""What a network asks of the rows it learns from, in memory or read in passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CodedRows, Information
from priorwise.structure.networks import Network, NetworkCounts, Selection, SubmodelScorer


@dataclass(frozen=True)
class Counted:
    """Counts of networks over all rows, and what is needed to judge them on rows held back."""

    counts: list[NetworkCounts]
    training: NetworkCounts | None = None
    """Of the first network, without the rows held back."""
    held: CodedRows | None = None
    """The rows held back."""


class TrainingRows(Protocol):
    """Rows that can be measured, counted and scored; every answer is a sum over rows.

    One batch in memory (`MemoryRows`) and a stream of batches (`RowStream`) answer alike, so a
    model is learnt by the same code from both.
    """

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    def measure(self) -> Information:
        """Mutual information of the features with the class and each other, in nats."""

    def count(
        self,
        networks: Sequence[Network],
        held: NDArray[np.intp] | None = None,
        max_contexts: int | None = None,
    ) -> Counted:
        """The counts of networks; `held` are places of rows to hold back, ascending."""

    def select(self, scorer: SubmodelScorer) -> Selection:
        """The sub-model with the least leave-one-out loss."""

    def collect(self) -> CodedRows:
        """All rows at once, for a model that cannot learn from sums."""


@dataclass(frozen=True)
class MemoryRows:
    """Coded rows in memory: a stream of one batch."""

    rows: CodedRows
    n_jobs: int = 1

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    def measure(self) -> Information:
        return self.rows.measure(n_jobs=self.n_jobs)

    def count(
        self,
        networks: Sequence[Network],
        held: NDArray[np.intp] | None = None,
        max_contexts: int | None = None,
    ) -> Counted:
        def count(network: Network, rows: CodedRows) -> NetworkCounts:
            return NetworkCounts.count(network, rows, max_contexts=max_contexts, n_jobs=self.n_jobs)

        counts = [count(network, self.rows) for network in networks]
        if held is None:
            return Counted(counts)
        training = np.delete(np.arange(self.n_rows), held)
        return Counted(counts, count(networks[0], self.rows.take(training)), self.rows.take(held))

    def select(self, scorer: SubmodelScorer) -> Selection:
        rows = self.rows
        total = float(rows.n_rows if rows.weight is None else rows.weight.sum())
        return scorer.choose(scorer.score(rows.columns, rows.y, rows.weight, self.n_jobs), total)

    def collect(self) -> CodedRows:
        return self.rows
