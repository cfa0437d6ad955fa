"""Learning from data that does not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from priorwise.common.numeric import draw_seed
from priorwise.common.validation import check_choice
from priorwise.data.encoding import TableEncoder
from priorwise.data.sources import Source, open_source
from priorwise.data.sources.file_list import find_decimal_mark
from priorwise.data.sources.frame_part import DaskPart, SparkPart
from priorwise.data.tables.column_kinds import choose_by_name
from priorwise.streaming.cache import CodedCache
from priorwise.streaming.checkpoint import Checkpoint, identify_work
from priorwise.streaming.row_stream import MemoryPlan, RowStream
from priorwise.streaming.runners.dask import DaskRunner, spread_smoothing_over_workers
from priorwise.streaming.runners.local import LocalRunner, PassRunner
from priorwise.streaming.runners.spark import SparkRunner
from priorwise.streaming.survey_pass import SurveyPass


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """How rows are read, kept and saved on the way.

    None of this changes the model, except a memory limit that is exceeded. `fit_dataset` describes
    each option.
    """

    batch_rows: int | None = None
    memory_limit: int | float | str | None = None
    on_limit: str = "error"
    cache: str = "auto"
    scratch: str | os.PathLike[str] | None = None
    checkpoint: str | os.PathLike[str] | None = None
    verbose: int = 0


@dataclass(frozen=True, kw_only=True)
class StreamNeeds:
    """What a model needs of a stream of rows."""

    n_jobs: int = 1
    pairs: bool = False
    """Whether it asks for pairs of features: the first pass then counts them if it can."""
    later_passes: bool = True
    """Whether it reads coded rows again after the first pass."""
    min_classes: int = 2
    """Least number of classes; one for models without a target."""


@dataclass(frozen=True, eq=False)
class StreamedModel:
    """A model as a stream of rows sees it.

    Nothing here changes the model that its user sees: `learn` returns what it has learnt, and the
    model adopts that at the end.
    """

    model: Any

    def describe(self) -> list[Any]:
        """Return the model's name and parameters: with the rows, all that the result depends on."""
        return [type(self.model).__name__, sorted(self.model.get_params(deep=True).items())]

    def draw_seed(self) -> int:
        """Return the seed of all random numbers."""
        return draw_seed(self.model.random_state)

    def needs(self) -> StreamNeeds:
        """Return what learning needs of the stream."""
        raise NotImplementedError

    @property
    def missing_values(self) -> Any:
        """Values that mean missing."""
        return self.model.missing_values

    def make_encoder(self, feature_names: list[str]) -> TableEncoder:
        """Return an encoder that is not fitted; its parameters define how columns are read."""
        raise NotImplementedError

    def learn(self, rows: RowStream, seed: int) -> Any:
        """Learn from the rows and return the result."""
        raise NotImplementedError


def learn_in_passes(
    model: StreamedModel,
    source: Any,
    *,
    target: str | None,
    features: Sequence[str] | None = None,
    options: StreamOptions,
) -> tuple[Any, dict[str, Any]]:
    """Let a model learn from a source that need not fit in memory, in passes.

    `source` is what `priorwise.data.open_source` takes; `features` are all columns but the target
    by default. Returns what the model has learnt, and fitted attributes that describe the passes.
    """
    check_choice("cache", options.cache, ("auto", "on", "off"))
    check_choice("on_limit", options.on_limit, ("error", "merge"))
    needs, marks = model.needs(), model.missing_values
    opened = open_source(source, target=target, features=features, missing_values=marks)
    encoder = model.make_encoder(opened.feature_names)
    encoder.check_parameters()
    chosen = choose_by_name(encoder, opened.feature_names)
    if chosen:
        # The type that a CSV file suggests is not asked for.
        opened = open_source(opened, target=target, missing_values=marks, texts=chosen)
    plan = MemoryPlan.make(
        options.memory_limit, len(opened.feature_names), needs.n_jobs, options.batch_rows
    )
    checkpoint = None
    if options.checkpoint is not None:
        # Before the seed is drawn, which changes a parameter that is a random state.
        checkpoint = _open_checkpoint(options.checkpoint, model, opened, plan, options)
        plan = MemoryPlan(*checkpoint.plan)
    opened = opened.with_batch_rows(plan.batch_rows)
    seed = model.draw_seed() if checkpoint is None else checkpoint.seed
    # The partitions on a cluster are counted where they are: there is nothing to keep here.
    first_part = opened.parts[0]
    spread = isinstance(first_part, DaskPart | SparkPart)
    on_dask = isinstance(first_part, DaskPart)
    cache: CodedCache | None = None
    runner: PassRunner
    try:
        if needs.later_passes and not spread and options.cache != "off":
            cache = _open_cache(options, checkpoint)
        if spread:
            runner = (DaskRunner if on_dask else SparkRunner)(opened, checkpoint=checkpoint)
        else:
            runner = LocalRunner(
                opened,
                n_jobs=needs.n_jobs,
                cache=cache,
                checkpoint=checkpoint,
                verbose=options.verbose,
            )
        work = SurveyPass(
            encoder,
            pairs=needs.pairs,
            max_cells=plan.max_cells,
            max_value_bytes=plan.max_value_bytes,
            min_classes=needs.min_classes,
        )
        rows = RowStream(
            runner, runner.survey(work), encoder, opened.feature_names,
            plan=plan, on_limit=options.on_limit, n_jobs=needs.n_jobs,
        )  # fmt: skip
        with spread_smoothing_over_workers() if on_dask else nullcontext():
            learnt = model.learn(rows, seed)
        if checkpoint is not None:
            checkpoint.finish()
    finally:
        if cache is not None:
            cache.close()
        if checkpoint is not None:
            checkpoint.close()
    passes = {"n_passes_": runner.n_passes, "has_exact_cuts_": rows.is_exact}
    decimal = find_decimal_mark(opened.parts)
    return learnt, passes if decimal is None else {**passes, "decimal_mark_": decimal}


def _open_checkpoint(
    folder: str | os.PathLike[str],
    model: StreamedModel,
    source: Source,
    plan: MemoryPlan,
    options: StreamOptions,
) -> Checkpoint:
    """Open the folder of interrupted or new work.

    The default limit is no part of the identity: resumed work has the plan of the interrupted work,
    whatever memory is available now. Another limit that is asked for is other work.
    """
    is_default = options.memory_limit is None
    batch_rows = options.batch_rows if is_default else plan.batch_rows
    if batch_rows is not None:
        source = source.with_batch_rows(batch_rows)
    limits = [None if is_default else repr(plan), options.on_limit]
    identity = identify_work(model.describe(), source, limits)
    return Checkpoint(folder, identity=identity, seed=model.draw_seed(), plan=astuple(plan))


def _open_cache(options: StreamOptions, checkpoint: Checkpoint | None) -> CodedCache:
    required = options.cache == "on"
    scratch = options.scratch or options.checkpoint
    folder = None if scratch is None else Path(scratch)
    if checkpoint is None:
        return CodedCache(folder, required=required)
    # What interrupted work has left behind is used, and removed at the end.
    return CodedCache(folder, name=checkpoint.cache_name, required=required)
