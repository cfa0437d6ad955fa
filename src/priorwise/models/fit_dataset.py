"""Learning from data that does not fit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from priorwise.data import open_source
from priorwise.data.source import BATCH_ROWS
from priorwise.models.local_runner import LocalRunner
from priorwise.models.row_stream import RowStream


def fit_dataset(
    model: Any,
    source: Any,
    target: str,
    features: Sequence[str] | None,
    categorical_features: Any,
    *,
    batch_rows: int | None = None,
) -> None:
    """Learn a network classifier from a source, in passes (see `fit_dataset` of the models)."""
    opened = open_source(
        source, target=target, features=features, batch_rows=batch_rows or BATCH_ROWS
    )
    encoder = model._new_encoder()
    if categorical_features is not None:
        encoder.set_params(categorical_features=categorical_features)
    runner = LocalRunner(opened, model._n_threads)
    rows = RowStream(
        runner, encoder, opened.feature_names, pairs=model._needs_pairs(), n_jobs=model._n_threads
    )
    model.classes_ = rows.classes
    model._adopt(rows.encoder)
    model._fit_rows(rows, model._draw_seed())
    model.n_passes_ = runner.n_passes
