"""Rows of a source that no member of a pool learns from, but its weights and boosting do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from priorwise.data.tables import TableEncoder
from priorwise.models.base import BLOCK_ROWS, TableClassifier
from priorwise.models.memory.plan import KEPT_SHARE, TableSize, estimate_unseen_row
from priorwise.models.training_table import TrainingTable
from priorwise.models.trees.offset_boosting import BoostingPlan

MEMBER_SHARE, MAX_MEMBER_ROWS, MAX_UNSEEN_ROWS = 0.8, 250_000, 2_000_000
"""If not all rows fit in memory, members learn from the rows of this share of the limit, and at
most so many; weights and boosting learn from at most so many further rows."""

MIN_WEIGHT_CHANGE = 0.01
"""Weights of classes that are all this near to one are left out."""


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """A sample of rows, and the places of those that members learn from."""

    sample: TrainingTable
    first: NDArray[np.intp]

    def predict(
        self,
        members: Mapping[str, Any],
        held_out: Mapping[str, NDArray[np.float64]],
        table: TrainingTable,
    ) -> tuple[dict[str, NDArray[np.float64]], TrainingTable]:
        """Return what members predict for all rows of the sample, and the table of these rows.

        For rows of `table`, which they have learnt from, that is `held_out`. The table has weights
        by which the classes have their shares.
        """
        sample, first = self.sample, self.first
        rest = np.delete(np.arange(sample.n_rows), first)
        result = {name: np.full((sample.n_rows, sample.n_classes), np.nan) for name in members}
        for name, known in held_out.items():
            result[name][first] = table.to_given_rows(known)
        for block in gen_batches(len(rest), BLOCK_ROWS):
            columns = sample.columns.take(rest[block])
            for name, member in members.items():
                result[name][rest[block]] = member.predict_columns(columns)
        is_known = np.all([np.isfinite(proba[:, 0]) for proba in result.values()], axis=0)
        n_known = np.bincount(sample.y[is_known], minlength=sample.n_classes)
        share = table.class_count / table.class_count.sum()
        of_class = share * n_known.sum() / np.maximum(n_known, 1)
        weight = None if np.abs(of_class - 1.0).max() < MIN_WEIGHT_CHANGE else of_class[sample.y]
        return result, replace(sample, weight=weight)


class SampledPool(TableClassifier):
    """What a pool has to learn from a sample of a source whose rows do not fit in memory."""

    def _list_members(self, size: TableSize) -> Sequence[tuple[str, Any]]:
        """Return names and classifiers to fit to a table of this size."""
        raise NotImplementedError

    def _plan_boosting(self, n_rows: int, n_classes: int) -> BoostingPlan | None:
        """Return the settings of boosting on so many rows and classes; None for none."""
        return None

    def _learn(self, table: TrainingTable, unseen: UnseenRows | None = None) -> dict[str, Any]:
        """Learn from a table; weights and boosting from further rows, if there are any."""
        raise NotImplementedError

    def _plan_sample(self, size: TableSize, encoder: TableEncoder, limit: float) -> tuple[int, int]:
        n_rows = self._count_affordable(size, encoder, limit)
        if n_rows == size.n_rows or self._plan_boosting(n_rows, size.n_classes) is None:
            return n_rows, 0
        n_rows = min(self._count_affordable(size, encoder, MEMBER_SHARE * limit), MAX_MEMBER_ROWS)
        smaller = replace(size, n_rows=n_rows)
        taken = self._estimate_memory(smaller, encoder)
        held, at_work = estimate_unseen_row(size, len(self._list_members(smaller)))
        n_more = int(min((limit - taken) / held, (limit - KEPT_SHARE * taken) / at_work))
        return n_rows, max(0, min(n_more, MAX_UNSEEN_ROWS, size.n_rows - n_rows))

    def _learn_sample(
        self, table: TrainingTable, limit: float, sample: TrainingTable, first: NDArray[np.intp]
    ) -> dict[str, Any]:
        if len(first) == sample.n_rows:
            return super()._learn_sample(table, limit, sample, first)
        fitted = self._keep_limit(limit, table)._learn(table, UnseenRows(sample, first))
        self._restore_rows(fitted, sample)
        return fitted
