"""The one way to learn from data that need not fit in memory."""

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

from priorwise.common.runtime import resolve_limit, warn_user
from priorwise.common.validation import check_number
from priorwise.data.cuts.names import WholeRange
from priorwise.data.encoding import TableEncoder
from priorwise.data.tables import Columns
from priorwise.models.memory import TableSize, write_bytes
from priorwise.models.training_table import TrainingTable
from priorwise.streaming.fit import StreamedModel, StreamNeeds, StreamOptions, learn_in_passes
from priorwise.streaming.passes import ColumnsBatch, Pass
from priorwise.streaming.row_stream import RowStream

MIN_ROWS_OF_CLASS = 20
"""Least rows of a class in a sample, if the table has as many."""
SPARE_DEVIATIONS = 6.0
"""Standard deviations of the number of rows drawn by which more rows are kept than asked for, until
the last one is read."""

KeptBatch = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
"""Places in the stream, class codes, codes of labels and numbers of the rows kept of a batch."""


@dataclass(frozen=True, eq=False)
class RowSample:
    """Codes of labels and numbers of rows, in the order of the stream.

    `first` are the places of the rows that were drawn first, `weight` their weights, None if all
    of them count the same. `places` are the places of all rows in the stream.
    """

    nominal_codes: NDArray[np.int32]
    values: NDArray[np.float64]
    y: NDArray[np.int32]
    first: NDArray[np.intp]
    weight: NDArray[np.float64] | None
    places: NDArray[np.int64]


@dataclass(frozen=True)
class SampleSizes:
    """Numbers of rows: those to learn from, and of pools others to judge and to boost."""

    n_learnt: int
    n_judges: int = 0
    n_boosted: int = 0


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The rows of a stream that are held in memory, and how to find others.

    `sample` is the table of all rows held, `first` the places among them of those that members
    learn from, and `places` those of all of them in the stream. Rows whose hashes by the `seed` are
    at most `share` may be read besides.
    """

    stream: RowStream
    sample: TrainingTable
    first: NDArray[np.intp]
    places: NDArray[np.int64]
    share: float
    seed: int


class SamplePass(Pass[ColumnsBatch, list[KeptBatch], RowSample]):
    """Draw at most `max_rows` rows, the same share of every class, and `n_more` rows after them.

    A row is drawn by a hash of its place in the stream and the seed: batches, threads and
    interruptions do not matter. Classes that would have fewer than `MIN_ROWS_OF_CLASS` rows have
    more, which count less.
    """

    title = "rows to learn from"

    def __init__(
        self, class_count: NDArray[np.float64], max_rows: int, seed: int, n_more: int = 0
    ) -> None:
        self.seed = seed
        self.first_quota = share_rows(class_count, max_rows)
        self.quota = np.maximum(self.first_quota, share_rows(class_count, max_rows + n_more))
        share = min(1.0, max_rows / class_count.sum())
        self.weight_of_class = np.minimum(
            1.0, share * class_count / np.maximum(self.first_quota, 1)
        )
        # The share of each class to keep at first, as a bound on hashes.
        rate = self.quota / np.maximum(class_count, 1.0)
        spare = SPARE_DEVIATIONS * np.sqrt(rate * (1.0 - rate) / np.maximum(class_count, 1.0))
        self.bound = np.minimum(rate + spare, 1.0)

    def map(self, batch: ColumnsBatch) -> list[KeptBatch]:
        """Keep the rows of one batch whose hashes are small."""
        row = np.arange(batch.first_row, batch.first_row + batch.n_rows)
        kept = np.flatnonzero(hash_places(row, self.seed) <= self.bound[batch.y])
        columns = batch.columns.take(kept)
        return [(row[kept], batch.y[kept], columns.nominal_codes, columns.values)]

    def merge(self, a: list[KeptBatch], b: list[KeptBatch]) -> list[KeptBatch]:
        """Join two lists of batches."""
        return a + b

    def finish(self, state: list[KeptBatch]) -> RowSample:
        """Keep as many rows of each class as were asked for, those of the smallest hashes."""
        batches = sorted((b for b in state if len(b[0])), key=lambda batch: int(batch[0][0]))
        row, y = (np.concatenate([batch[i] for batch in batches]) for i in (0, 1))
        order = np.lexsort((hash_places(row, self.seed), y))
        starts = np.searchsorted(y[order], np.arange(len(self.quota)))
        rank = np.empty(len(y), dtype=np.int64)
        rank[order] = np.arange(len(y)) - starts[y[order]]
        kept = np.flatnonzero(rank < self.quota[y])
        # One feature at a time, so that the rows are not in memory twice.
        places = np.split(kept, np.searchsorted(kept, np.cumsum([len(b[0]) for b in batches])[:-1]))
        first = np.cumsum([0, *(len(batch[0]) for batch in batches[:-1])])
        columns = []
        for part in (2, 3):
            joined = np.empty((len(batches[0][part]), len(kept)), dtype=batches[0][part].dtype)
            for i, feature in enumerate(joined):
                np.concatenate(
                    [
                        batch[part][i, own - start]
                        for batch, own, start in zip(batches, places, first, strict=True)
                    ],
                    out=feature,
                )
            columns.append(joined)
        first = np.flatnonzero(rank[kept] < self.first_quota[y[kept]])
        weight = self.weight_of_class[y[kept][first]]
        weight_or_none = None if (weight == 1.0).all() else weight
        nominal_codes, values = columns
        return RowSample(nominal_codes, values, y[kept], first, weight_or_none, row[kept])


def share_rows(class_count: NDArray[np.float64], n_rows: int) -> NDArray[np.int64]:
    """Return how many of `n_rows` rows each class has; rare classes have more than their share.

    >>> share_rows(np.array([900.0, 80.0, 5.0]), 197)
    array([180,  20,   5])
    """
    share = min(1.0, n_rows / class_count.sum())
    if share == 1.0:
        return class_count.astype(np.int64)
    wanted = np.floor(share * class_count)
    return np.maximum(wanted, np.minimum(class_count, MIN_ROWS_OF_CLASS)).astype(np.int64)


def hash_places(row: NDArray[np.int64], seed: int) -> NDArray[np.float64]:
    """Return a random number from 0 to 1 for each place: the mixer of splitmix64."""
    with np.errstate(over="ignore"):
        z = row.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed % 2**64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).astype(np.float64) / 2.0**64


M = TypeVar("M", bound=Any)

LEARNING_SHARE = 0.8
"""Share of the memory limit that learning may take by the estimate; the rest is for reading."""


def count_affordable(model: Any, size: TableSize, limit: float) -> int:
    """Return the largest number of rows, up to `size`, whose fit is estimated within a limit.

    It is found to a hundredth.
    """

    def is_within(n_rows: int) -> bool:
        return bool(model.estimate_bytes(replace(size, n_rows=n_rows)) <= limit)

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
        sizes: SampleSizes = self.model.plan_sample(size, LEARNING_SHARE * limit)
        if sizes.n_learnt < most:
            n_more = sizes.n_judges + sizes.n_boosted
            later = f", and weights and boosting of the pool from {n_more} more" * (n_more > 0)
            warn_user(
                f"memory_limit of {write_bytes(limit)} allows to learn from about "
                f"{sizes.n_learnt} of {rows.n_rows} rows, drawn at random, the same share of every "
                f"class{later}"
            )
        return sizes


def fit_dataset(
    model: M,
    source: Any,
    target: str | None = None,
    *,
    features: Sequence[str] | None = None,
    categorical_features: Any = None,
    batch_rows: int | None = None,
    memory_limit: int | float | str | None = None,
    on_limit: str = "error",
    max_rows: int | None = None,
    cache: str = "auto",
    scratch: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    verbose: int = 0,
) -> M:
    """Learn from data that need not fit in memory.

    Rows are read in passes, and the first one surveys the columns. Models that learn by counting
    (networks, ESKDB, `BayesianNetwork`) count all rows: the model is the one that `fit` gives on
    them. Naive Bayes takes one pass, networks that learn their arcs two, selective kDB three; one
    more if numeric features have to be cut, and one more if the parameters of the smoother are
    chosen from data. Cut points are those of `fit` as long as the distinct values of numeric
    features fit in a quarter of the memory limit; beyond that neighbouring values are taken as one
    and `has_exact_cuts_` is False.

    Models that look at rows again and again (trees, forests, boosting, splines, kernels, Gaussians,
    pools) hold rows in memory, which a second pass reads. If the memory limit allows all of them,
    the model is the one that `fit` gives. Otherwise it is learnt from as many as the limit allows,
    drawn at random, the same share of every class, and a warning says how many; out-of-fold
    probabilities are those of these rows. Weights of the flagship then learn from further rows,
    which members have not seen, and its boosting from all other rows, which are read once more and
    held as one byte a value, or from as many as the limit allows.

    Parameters
    ----------
    source : path, list of paths, frame, pyarrow Dataset or callable
        Anything that `priorwise.data.open_source` can open.
    target : str
        Column of the class labels. A `BayesianNetwork` has none.
    features : sequence of str, optional
        Columns to learn from; all but the target by default.
    categorical_features : mask, indices or names, optional
        Numeric columns to take as nominal, instead of the parameter of that name.
    batch_rows : int, optional
        Largest number of rows of a batch; the model does not depend on it.
    memory_limit : int or str, optional
        Bytes, or a text such as ``"1GB"``, that learning may take, instead of the parameter of
        that name; by default half of the memory available. Models that count keep it by the size
        of batches and a limit on contexts, others by the number of rows that they hold.
    on_limit : "error" or "merge"
        What models that count do beyond the limit on contexts, of the memory limit or
        `max_contexts`: raise an error, or count the rarest contexts as one. Rows of a context
        merged away back off to its parent.
    max_rows : int, optional
        Largest number of rows to learn from, for models that hold rows in memory; by default only
        the memory limits it.
    cache : "auto", "on" or "off"
        Whether a compact copy of the coded rows is written for later passes; "auto" does so for
        models that count, unless the disk is nearly full. It is removed at the end, also after an
        error.
    scratch : path, optional
        Folder for that copy; the system's folder for temporary files by default.
    checkpoint : path, optional
        Folder to save on the way what was read. The same call resumes interrupted work and gives
        the same model; the folder is empty at the end.
    verbose : int
        Above 0, passes, rows and the time left are reported on the error stream.

    Returns
    -------
    Self
        The fitted model.

    Examples
    --------
    >>> import pandas as pd
    >>> from priorwise import NaiveBayesClassifier
    >>> rain = pd.DataFrame({"sky": ["grey", "blue"] * 4, "rain": ["yes", "no"] * 4})
    >>> model = NaiveBayesClassifier().fit_dataset(lambda: iter([rain, rain]), target="rain")
    >>> model.predict(pd.DataFrame({"sky": ["blue"]})).tolist(), model.n_passes_, model.n_sampled_
    (['no'], 1, 16)
    """
    if max_rows is not None:
        check_number("max_rows", max_rows, least=1)
    learner = copy(model)
    if categorical_features is not None:
        learner.categorical_features = categorical_features
    if memory_limit is not None:
        learner.memory_limit = memory_limit
    options = StreamOptions(
        batch_rows=batch_rows,
        memory_limit=learner.memory_limit,
        on_limit=on_limit,
        cache=cache,
        scratch=scratch,
        checkpoint=checkpoint,
        verbose=verbose,
    )
    streamed = learner.as_streamed(target, max_rows)
    learnt, passes = learn_in_passes(
        streamed, source, target=target, features=features, options=options
    )
    fitted: M = model.adopt_learnt(learnt, passes)
    return fitted
