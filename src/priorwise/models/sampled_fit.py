"""Learning from a source whose rows, or a sample of them, are held in memory."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from priorwise.common.docstrings import describe
from priorwise.common.numeric import draw_seed
from priorwise.common.resources.memory import resolve_limit
from priorwise.common.validation import check_number
from priorwise.common.warn import warn_user
from priorwise.data.cuts.whole_range import WholeRange
from priorwise.data.tables import Columns, TableEncoder
from priorwise.models.datasets.parameters import DATASET
from priorwise.models.datasets.row_sample import SampledRows, SamplePass, SampleSizes
from priorwise.models.memory.limit import write_bytes
from priorwise.models.memory.plan import TableSize
from priorwise.models.training_table import TrainingTable
from priorwise.streaming.fit import StreamNeeds, StreamOptions
from priorwise.streaming.fit import fit_dataset as stream_dataset
from priorwise.streaming.joint_pass import ColumnsCoder
from priorwise.streaming.row_stream import RowStream

M = TypeVar("M", bound=Any)

LEARNING_SHARE = 0.8
"""Share of the memory limit that learning may take by the estimate; the rest is for reading."""


@describe(DATASET)
def fit_dataset(
    model: M,
    source: Any,
    target: str,
    *,
    features: Sequence[str] | None = None,
    categorical_features: Any = None,
    batch_rows: int | None = None,
    memory_limit: int | float | str | None = None,
    max_rows: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: int = 0,
) -> M:
    """Learn from data that need not fit in memory.

    Rows are read twice: for the labels and ranges of all columns, and for the rows to learn
    from. If the memory limit allows all of them, the model is the one that `fit` gives.
    Otherwise it is learnt from as many as the limit allows, drawn at random, the same share of
    every class, and a warning says how many; out-of-fold probabilities are those of these rows.
    Weights of the flagship then learn from further rows, which members have not seen, and its
    boosting from all other rows, which are read once more and held as one byte a value, or
    from as many as the limit allows.

    Parameters
    ----------
    memory_limit : int or str, optional
        Bytes, or a text such as ``"1GB"``, that learning may take, instead of the parameter of
        that name; by default half of the memory available.
    max_rows : int, optional
        Largest number of rows to learn from; by default only the memory limits it.
    checkpoint : path, optional
        Folder to save on the way what was read. The same call resumes interrupted work and
        gives the same model; the folder is empty at the end.

    Examples
    --------
    >>> import pandas as pd
    >>> from priorwise import ProbabilityForestClassifier
    >>> rain = pd.DataFrame({"sky": ["grey", "blue"] * 20, "rain": ["yes", "no"] * 20})
    >>> model = ProbabilityForestClassifier(10, random_state=0)
    >>> model = model.fit_dataset(lambda: iter([rain, rain]), target="rain")
    >>> model.predict(pd.DataFrame({"sky": ["blue"]})).tolist(), model.n_sampled_
    (['no'], 80)
    """
    model.check_settings()
    model.check_parameters()
    for name, allowed in (("class_weight", None), ("declared", "ignore")):
        if getattr(model, name) != allowed:
            raise ValueError(
                f"{name} must be {allowed!r} for fit_dataset, which sees a part of the rows at "
                f"a time, got {getattr(model, name)!r}"
            )
    if max_rows is not None:
        check_number("max_rows", max_rows, least=1)
    limit = model.memory_limit if memory_limit is None else memory_limit
    learner = copy(model)
    if categorical_features is not None:
        learner.categorical_features = categorical_features
    result = stream_dataset(
        SampledModel(learner, limit, max_rows),
        source,
        target=target,
        features=features,
        options=StreamOptions(
            batch_rows=batch_rows,
            memory_limit=limit,
            cache="off",
            checkpoint=checkpoint,
            verbose=verbose,
        ),
    )
    table, class_count, fitted = result.learnt
    fitted = {"n_sampled_": table.n_given, **fitted, "n_passes_": result.n_passes}
    adopted: M = model.adopt(table.encoder, table.classes, class_count, fitted)
    return adopted


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
class SampledModel:
    """A classifier as `priorwise.streaming` sees it (see `StreamedModel`); it is not changed."""

    model: Any
    memory_limit: Any
    max_rows: int | None

    def describe(self) -> list[Any]:
        """Return the model's name and parameters."""
        parameters = sorted(self.model.get_params(deep=True).items())
        return [type(self.model).__name__, parameters, self.max_rows]

    def needs(self) -> StreamNeeds:
        """Return what learning needs of the stream."""
        n_jobs = int(effective_n_jobs(self.model.n_jobs))
        return StreamNeeds(n_jobs=n_jobs, pairs=False, later_passes=True)

    def make_encoder(self) -> TableEncoder:
        """Return an encoder that is not fitted."""
        return TableEncoder.for_model(self.model, WholeRange())

    def draw_seed(self) -> int:
        """Return the seed of all random numbers."""
        return draw_seed(self.model.random_state)

    def learn(
        self, rows: RowStream, seed: int
    ) -> tuple[TrainingTable, NDArray[np.float64], dict[str, Any]]:
        """Return the table learnt from, the numbers of rows of all classes, fitted attributes."""
        rows.runner.use_codes(ColumnsCoder(rows.encoder, rows.classes))
        sizes = self._choose_sizes(rows)
        work = SamplePass(rows.class_count, sizes.n_learnt, seed, sizes.n_judges)
        drawn = rows.runner.run(work)
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
        limit = resolve_limit(self.memory_limit)
        share = (sizes.n_learnt + sizes.n_judges + sizes.n_boosted) / rows.n_rows
        sampled = SampledRows(rows, sample, first, drawn.places, share, seed)
        fitted = self.model.learn_sample(table, limit, sampled)
        return sample, rows.class_count, fitted

    def _choose_sizes(self, rows: RowStream) -> SampleSizes:
        """Return the numbers of rows to learn from (see `TableClassifier.plan_sample`).

        Their fit takes no more than its share of the limit by the estimate. A warning says if they
        are fewer than all for want of memory.
        """
        most = rows.n_rows if self.max_rows is None else min(rows.n_rows, self.max_rows)
        limit = resolve_limit(self.memory_limit)
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
