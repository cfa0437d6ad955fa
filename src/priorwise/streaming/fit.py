"""Learning from data that does not fit in memory."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from priorwise.common.validation import check_choice
from priorwise.data.sources import Source, open_source
from priorwise.data.sources.frame_part import DaskPart
from priorwise.streaming.cache import CodedCache
from priorwise.streaming.checkpoint import Checkpoint
from priorwise.streaming.dask_runner import DaskRunner, spread_smoothing_over_workers
from priorwise.streaming.local_runner import LocalRunner
from priorwise.streaming.memory_plan import MemoryPlan
from priorwise.streaming.row_stream import PassRunner, RowStream


@dataclass(frozen=True)
class StreamOptions:
    """How rows are read, kept and saved on the way.

    None of it changes the model, but for a memory limit that is exceeded.
    """

    batch_rows: int | None = None
    memory_limit: int | float | str | None = None
    on_limit: str = "error"
    cache: str = "auto"
    scratch: str | os.PathLike[str] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    verbose: int = 0


def fit_dataset(
    model: Any,
    source: Any,
    target: str,
    features: Sequence[str] | None,
    categorical_features: Any,
    options: StreamOptions,
) -> None:
    """Learn a network classifier from a source, in passes (see `fit_dataset` of the models)."""
    check_choice("cache", options.cache, ("auto", "on", "off"))
    check_choice("on_limit", options.on_limit, ("error", "merge"))
    encoder = model._new_encoder()
    if categorical_features is not None:
        encoder.set_params(categorical_features=categorical_features)
    opened = open_source(source, target=target, features=features)
    n_jobs = model._n_threads
    plan = MemoryPlan.make(
        options.memory_limit, len(opened.feature_names), n_jobs, options.batch_rows
    )
    opened = opened.with_batch_rows(plan.batch_rows)
    seed, checkpoint = model._draw_seed(), None
    identity = _identify(model, opened, categorical_features, [repr(plan), options.on_limit])
    if options.checkpoint is not None:
        checkpoint = Checkpoint(options.checkpoint, identity, seed)
        seed = checkpoint.seed
    # The partitions of a Dask frame are counted where they are; nothing to keep here.
    spread = isinstance(opened.parts[0], DaskPart)
    cache = _make_cache(options, identity) if model._reads_again() and not spread else None
    before = dict(model.__dict__)
    try:
        runner: PassRunner = (
            DaskRunner(opened, checkpoint=checkpoint)
            if spread
            else LocalRunner(
                opened, n_jobs, cache=cache, checkpoint=checkpoint, verbose=options.verbose
            )
        )
        rows = RowStream(
            runner,
            encoder,
            opened.feature_names,
            pairs=model._needs_pairs(),
            plan=plan,
            on_limit=options.on_limit,
            n_jobs=n_jobs,
        )
        model.classes_ = rows.classes
        model._adopt(rows.encoder)
        with spread_smoothing_over_workers() if spread else nullcontext():
            model._fit_rows(rows, seed)
        model.n_passes_ = runner.n_passes
        model.has_exact_cuts_ = rows.is_exact
    except BaseException:
        # Not half a model, but the one that was there, if any.
        model.__dict__.clear()
        model.__dict__.update(before)
        raise
    finally:
        if cache is not None:
            cache.close()
    if checkpoint is not None:
        checkpoint.close()


def _make_cache(options: StreamOptions, identity: str) -> CodedCache | None:
    if options.cache == "off":
        return None
    scratch = options.scratch or options.checkpoint
    if options.checkpoint is None:
        if scratch is not None:
            Path(scratch).mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="priorwise-rows-", dir=scratch))
    else:
        # A name that resumed work finds again: what was left behind is used, and removed.
        assert scratch is not None
        work = f"{identity} {Path(options.checkpoint).resolve()}"
        folder = Path(scratch) / f"rows-{hashlib.sha256(work.encode()).hexdigest()[:16]}"
    return CodedCache(folder, required=options.cache == "on")


def _identify(model: Any, source: Source, categorical_features: Any, limits: list[str]) -> str:
    """A digest of all that the states of passes depend on."""
    told = [
        type(model).__name__,
        sorted(model.get_params(deep=True).items()),
        source.fingerprint(),
        categorical_features,
        limits,
    ]
    return hashlib.sha256(json.dumps(told, default=_tell).encode()).hexdigest()


def _tell(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, np.random.RandomState):
        return [_tell(part) for part in value.get_state(legacy=True)]
    # Parameters of an estimator are listed by their own names.
    return type(value).__name__ if hasattr(value, "get_params") else repr(value)
