"""Predictions for the rows of a source, batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from priorwise.common.registered import of_one_fit
from priorwise.common.runtime import Progress
from priorwise.common.validation import check_number
from priorwise.data.sources import (
    Batch,
    PredictionSink,
    Source,
    SourceError,
    open_sink,
    open_source,
    prefetch,
)
from priorwise.models.decisions import expected_costs


@dataclass(frozen=True)
class PredictionBatches:
    """A fitted classifier and the rows that it predicts.

    `texts` are columns of files to read as text, whatever their first values are.
    """

    model: Any
    rows: Source
    texts: frozenset[str]
    features: list[str]
    keep: list[str]
    has_names: bool

    @classmethod
    def open(
        cls,
        model: Any,
        source: Any,
        *,
        keep: Sequence[str],
        target: str | None,
        batch_rows: int | None,
    ) -> PredictionBatches:
        """Open a source; see `predict_dataset` for the parameters."""
        if isinstance(keep, str):
            raise TypeError(f"keep must be a list of columns, got {keep!r}")
        names = getattr(model, "feature_names_in_", None)
        reading = {"batch_rows": batch_rows, "missing_values": model.missing_values}
        # Where a file leaves it open, its numbers are written as those of training.
        source = open_source(
            source, target=None, like=getattr(model, "decimal_mark_", None), **reading
        )
        if names is None:
            # The target may be missing here, so it is not read at all.
            left_out = {target, *keep}
            features = [name for name in source.feature_names if name not in left_out]
        else:
            features = [str(name) for name in names]
        added = [name for name in keep if name not in features]
        texts = frozenset({*added, *_text_features(model, features)})
        rows = open_source(
            source, target=None, features=[*features, *added], texts=texts, **reading
        )
        return cls(model, rows, texts, features, list(keep), names is not None)

    def read(self) -> Iterator[Batch]:
        """The batches of rows.

        Where a file has a text in a column of numbers, the column is read as text from there on:
        the model says what such a value is.
        """
        rows, texts, n_read = self.rows, self.texts, 0
        while True:
            try:
                for batch in rows.read(n_read):
                    yield batch
                    n_read += 1
                return
            except SourceError as error:
                if error.column is None or error.column in texts:
                    raise
                texts |= {error.column}
                marks = self.model.missing_values
                rows = open_source(
                    rows, target=None, texts=texts, batch_rows=rows.batch_rows, missing_values=marks
                )

    def write(
        self,
        opened: AbstractContextManager[PredictionSink],
        *,
        interval: float | None,
        verbose: int,
    ) -> int:
        """Write the predictions for all rows, with intervals of a level; return their number."""
        progress = Progress(self.rows.n_rows, verbose > 0, unit="rows")
        n_rows = 0
        with opened as sink:
            for batch in prefetch(self.read()):
                frame = nw.from_native(batch.X, eager_only=True)
                table = frame.select(self.features)
                X = table.to_native() if self.has_names else table.to_numpy()
                try:
                    proba = self.model.predict_proba(X)
                    ends = () if interval is None else self.model.predict_interval(X, interval)
                except (TypeError, ValueError) as error:
                    raise SourceError(str(error), batch.place) from error
                kept = frame.select(self.keep).to_native() if self.keep else None
                codes = expected_costs(proba, None, self.model.classes_).argmin(axis=1)
                sink.write(codes, np.hstack([proba, *ends]) if ends else proba, kept)
                n_rows += len(proba)
                progress.step(count=len(proba))
        progress.close()
        return n_rows


def _text_features(model: Any, features: list[str]) -> list[str]:
    """Features whose labels are texts; a CSV file may begin with labels that look like numbers."""
    schemas = dict(zip(features, model.feature_schema_, strict=False))
    return [
        name
        for name, schema in schemas.items()
        if any(isinstance(label, str) for label in schema.labels or ())
    ]


@of_one_fit
def predict_dataset(
    model: Any,
    source: Any,
    out: str | os.PathLike[str] | IO[bytes],
    *,
    keep: Sequence[str] = (),
    overwrite: bool = False,
    target: str | None = None,
    interval: float | None = None,
    batch_rows: int | None = None,
    verbose: int = 0,
) -> int:
    """Write the predictions for every row of a source to a file, batch by batch.

    Parameters
    ----------
    source : path, list of paths, frame, pyarrow Dataset or callable
        Anything that :func:`priorwise.data.open_source` can open. It must have the columns of
        training, by name; others are not read. A model that was fitted without names takes the
        columns in their order.
    out : path or binary file
        A ".parquet", ".csv" or ".csv.gz" file with one row for each row of `source`, in its
        order: the columns `keep`, the most probable class as "prediction", and one column
        ``p(class)`` for each class. It is written under a hidden name and renamed at the end,
        so an incomplete file never stands under that name. To an open file rows are written
        as CSV, batch after batch.
    keep : sequence of str
        Columns of `source` to copy, such as a key. Those of a CSV file that are no features are
        copied as text, so that "007" stays what it is.
    overwrite : bool
        Whether to replace a file that exists; otherwise it is an error.
    target : str, optional
        A column to leave out if the model was fitted without names.
    interval : float, optional
        Level of intervals (`predict_interval`), whose ends are then written for each class as
        ``low(class)`` and ``high(class)``.
    batch_rows : int, optional
        Most rows in memory at a time.
    verbose : int
        Above 0, rows and the time left are reported on the error stream.

    Returns
    -------
    int
        Number of rows written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> from priorwise import NaiveBayesClassifier
    >>> X = pd.DataFrame({"sky": ["sun", "rain"] * 10})
    >>> model = NaiveBayesClassifier().fit(X, ["out", "in"] * 10)
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "predictions.csv"
    >>> model.predict_dataset(X, out, keep=["sky"])
    20
    >>> out.read_text().splitlines()[0]
    'sky,prediction,p(in),p(out)'
    """
    check_is_fitted(model)
    if interval is not None:
        check_number("interval", interval, above=0.0, below=1.0)
    sink = open_sink(
        out,
        model.classes_.tolist(),
        kept=keep,
        overwrite=overwrite,
        has_intervals=interval is not None,
    )
    batches = PredictionBatches.open(model, source, keep=keep, target=target, batch_rows=batch_rows)
    if isinstance(out, str | os.PathLike) and batches.rows.reads_file(out):
        raise ValueError(f"out must not be a file that source reads, got {str(out)!r}")
    return batches.write(sink, interval=interval, verbose=verbose)
