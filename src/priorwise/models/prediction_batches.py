"""Predictions for the rows of a source, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from priorwise.common.progress import Progress
from priorwise.data.sources import PredictionSink, Source, SourceError, open_source, prefetch
from priorwise.models.decisions import expected_costs


@dataclass(frozen=True)
class PredictionBatches:
    """A fitted classifier and the rows that it predicts."""

    model: Any
    rows: Source
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
        if names is None:
            opened = open_source(source, target=None, **reading)
            # The target may be missing here, so it is not read at all.
            left_out = {target, *keep}
            features = [name for name in opened.feature_names if name not in left_out]
            source = opened
        else:
            features = [str(name) for name in names]
        added = [name for name in keep if name not in features]
        texts = {*added, *_text_features(model, features)}
        rows = open_source(
            source, target=None, features=[*features, *added], texts=texts, **reading
        )
        return cls(model, rows, features, list(keep), names is not None)

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
            for batch in prefetch(self.rows.read()):
                frame = nw.from_native(batch.X, eager_only=True)
                table = frame.select(self.features)
                X = table.to_native() if self.has_names else table.to_numpy()
                try:
                    proba = self.model.predict_proba(X)
                    ends = () if interval is None else self.model.predict_interval(X, interval)
                except (TypeError, ValueError) as error:
                    raise SourceError(str(error), batch.place) from error
                kept = frame.select(self.keep).to_native() if self.keep else None
                codes = expected_costs(proba, None).argmin(axis=1)
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
