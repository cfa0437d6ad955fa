"""Learning from a source whose rows, or a sample of them, are held in memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from priorwise.common.resources.memory import resolve_limit
from priorwise.common.warn import warn_user
from priorwise.data.cuts.whole_range import WholeRange
from priorwise.data.encoding import TableEncoder
from priorwise.data.tables import Columns
from priorwise.models.datasets.row_sample import SampledRows, SamplePass, SampleSizes
from priorwise.models.memory.limit import write_bytes
from priorwise.models.memory.plan import TableSize
from priorwise.models.training_table import TrainingTable
from priorwise.streaming.fit import StreamedModel, StreamNeeds
from priorwise.streaming.row_stream import RowStream

M = TypeVar("M", bound=Any)

LEARNING_SHARE = 0.8
"""Share of the memory limit that learning may take by the estimate; the rest is for reading."""


def count_affordable(model: Any, size: TableSize, encoder: TableEncoder, limit: float) -> int:
    """Return the largest number of rows, up to `size`, whose fit is estimated within a limit.

    It is found to a hundredth.
    """

    def is_within(n_rows: int) -> bool:
        return bool(model.estimate_memory(replace(size, n_rows=n_rows), encoder) <= limit)

    if limit == math.inf or is_within(size.n_rows):
        return size.n_rows
    least, above = 1, size.n_rows
    while above - least > max(1, least // 100):
        middle = (least + above) // 2
        least, above = (middle, above) if is_within(middle) else (least, middle)
    return least


@dataclass(frozen=True, eq=False)
class SampledModel(StreamedModel):
    """A classifier that learns from rows held in memory; `max_rows` limits their number."""

    max_rows: int | None

    def describe(self) -> list[Any]:
        """Return the model's name and parameters."""
        return [*super().describe(), self.max_rows]

    def needs(self) -> StreamNeeds:
        """Return what learning needs of the stream."""
        return StreamNeeds(n_jobs=int(effective_n_jobs(self.model.n_jobs)), later_passes=False)

    def make_encoder(self, feature_names: list[str]) -> TableEncoder:
        """Return an encoder that is not fitted."""
        return TableEncoder.for_model(self.model, WholeRange())

    def learn(
        self, rows: RowStream, seed: int
    ) -> tuple[TableEncoder, NDArray[Any], NDArray[np.float64], dict[str, Any]]:
        """Return the encoder, the classes, their numbers of rows and the fitted attributes."""
        sizes = self._choose_sizes(rows)
        work = SamplePass(rows.class_count, sizes.n_learnt, seed, sizes.n_judges)
        drawn = rows.run_uncut(work)
        n_given, first = len(drawn.y), drawn.first
        columns = Columns(drawn.nominal_codes, drawn.values, rows.encoder.is_nominal_)
        sample = TrainingTable(
            rows.encoder, columns, drawn.y, rows.classes, None, np.arange(n_given), n_given,
            self.needs().n_jobs, X=None,
        )  # fmt: skip
        table = sample
        if len(first) < n_given:
            table = replace(sample.take(first), given=np.arange(len(first)), n_given=len(first))
        table = replace(table, weight=drawn.weight).as_draws()
        limit = resolve_limit(self.model.memory_limit)
        share = (sizes.n_learnt + sizes.n_judges + sizes.n_boosted) / rows.n_rows
        sampled = SampledRows(rows, sample, first, drawn.places, share, seed)
        fitted = self.model.learn_sample(table, limit, sampled)
        fitted = {"n_sampled_": n_given, **fitted}
        return rows.encoder, rows.classes, rows.class_count, fitted

    def _choose_sizes(self, rows: RowStream) -> SampleSizes:
        """Return the numbers of rows to learn from (see `TableClassifier.plan_sample`).

        Their fit takes no more than its share of the limit by the estimate. A warning says if they
        are fewer than all for want of memory.
        """
        most = rows.n_rows if self.max_rows is None else min(rows.n_rows, self.max_rows)
        limit = resolve_limit(self.model.memory_limit)
        n_labels = tuple(len(categories.labels) for categories in rows.encoder.categories_)
        n_numeric = rows.n_features - len(n_labels)

        size = TableSize(most, n_numeric, n_labels, rows.n_classes)
        sizes: SampleSizes = self.model.plan_sample(size, rows.encoder, LEARNING_SHARE * limit)
        if sizes.n_learnt < most:
            n_more = sizes.n_judges + sizes.n_boosted
            later = f", and weights and boosting of the pool from {n_more} more" * (n_more > 0)
            warn_user(
                f"memory_limit of {write_bytes(limit)} allows to learn from about "
                f"{sizes.n_learnt} of {rows.n_rows} rows, drawn at random, the same share of every "
                f"class{later}"
            )
        return sizes
