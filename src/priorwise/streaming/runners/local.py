"""Passes run on this machine: batches are decoded, coded and counted in a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from priorwise.common.container import ContainerError
from priorwise.common.runtime import Progress, map_in_threads, warn_user
from priorwise.data.sources import Batch, Source, SourceError, prefetch
from priorwise.streaming import checkpoint as saving
from priorwise.streaming.cache import CodedCache, StoredBatch
from priorwise.streaming.checkpoint import Checkpoint, Saved
from priorwise.streaming.passes import Coder, Pass
from priorwise.streaming.survey_pass import SurveyPass


class PassRunner:
    """Maps passes over all batches and merges the states, which are kept in `checkpoint`."""

    def __init__(self, checkpoint: Checkpoint | None) -> None:
        self.checkpoint = checkpoint
        self.n_passes = 0

    def survey(self, work: SurveyPass) -> Any:
        """Run the first pass, over raw batches; returns its result."""
        raise NotImplementedError

    def run(self, work: Pass[Any, Any, Any], coder: Coder) -> Any:
        """Run one more pass, over batches that a coder makes of raw ones; returns its result."""
        raise NotImplementedError

    def _begin_pass(self, title: str) -> tuple[int, Saved | None]:
        """The number of the next pass, and what is saved of it."""
        number = self.n_passes
        self.n_passes += 1
        return number, None if self.checkpoint is None else self.checkpoint.load(number, title)


@dataclass(frozen=True)
class Mapped:
    """The state of one batch, and its rows."""

    state: Any
    n_rows: int


class LocalRunner(PassRunner):
    """Run passes over a source on the threads of this process.

    One thread decodes batches, `n_jobs` threads code and count them, and the calling thread merges
    the states in the order of the batches. Kernels release the interpreter's lock, so the threads
    work at the same time. Coded rows are kept in `cache` for later passes, states in `checkpoint`
    for the case of an interruption. If `verbose`, rows done are reported on the error stream.
    """

    def __init__(
        self,
        source: Source,
        *,
        n_jobs: int = 1,
        cache: CodedCache | None = None,
        checkpoint: Checkpoint | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(checkpoint)
        self.source = source
        self.n_jobs = n_jobs
        self.cache = cache
        self.verbose = verbose
        self._n_rows = source.n_rows
        self._reads_ahead = all(part.any_thread for part in source.parts)

    def survey(self, work: SurveyPass) -> Any:
        def map_batch(batch: Batch) -> Mapped:
            surveyed = work.survey(batch)
            if self.cache is not None:
                self.cache.write_surveyed(surveyed, first_row=batch.first_row, place=batch.place)
            return Mapped(work.map_surveyed(surveyed), len(surveyed.y))

        result = self._run(work, map_batch, self.source.read)
        self._n_rows = result.survey.n_rows
        if self.cache is not None and not result.survey.is_nominal.all():
            self.cache.forget_surveyed()
        return result

    def run(self, work: Pass[Any, Any, Any], coder: Coder) -> Any:
        cache = self.cache if coder.can_store else None

        def map_batch(batch: Batch | StoredBatch) -> Mapped:
            if isinstance(batch, StoredBatch):
                assert cache is not None
                coded = cache.unpack(batch, coder)
            else:
                coded = coder.code(batch)
                if cache is not None:
                    cache.write_coded(coded)
            return Mapped(work.map(coded), coded.n_rows)

        if cache is not None and cache.is_complete(self._n_rows or 0):
            return self._run(work, map_batch, self._read_cache)
        return self._run(work, map_batch, self.source.read)

    def _read_cache(self, start: int) -> Iterator[Batch | StoredBatch]:
        """The stored batches, from batch number `start` on; those of the source after a damage."""
        assert self.cache is not None
        n_read = start
        try:
            for stored in self.cache.read(start):
                yield stored
                n_read += 1
        except ContainerError as error:
            warn_user(f"a file of the cache is damaged, the source is read again ({error})")
            self.cache.give_up()
            yield from self.source.read(n_read)

    def _run(
        self,
        work: Pass[Any, Any, Any],
        map_batch: Callable[[Any], Mapped],
        read: Callable[[int], Iterator[Any]],
    ) -> Any:
        number, saved = self._begin_pass(work.title)
        if saved is None:
            saved = Saved(work.title, None, 0, 0, complete=False)
        state = saved.state if saved.complete else self._sum(work, number, saved, map_batch, read)
        return work.finish(state)

    def _sum(
        self,
        work: Pass[Any, Any, Any],
        number: int,
        saved: Saved,
        map_batch: Callable[[Any], Mapped],
        read: Callable[[int], Iterator[Any]],
    ) -> Any:
        """The merged state of all batches, beginning with what is saved."""
        state, n_batches, n_rows = saved.state, saved.n_batches, saved.n_rows
        progress = Progress(self._n_rows, self.verbose > 0, f"rows in pass {number + 1}")
        progress.skip(n_rows)

        def save(*, complete: bool) -> None:
            if self.checkpoint is not None:
                self.checkpoint.save(number, Saved(work.title, state, n_batches, n_rows, complete))

        for mapped in self._map(map_batch, read(n_batches)):
            state = mapped.state if state is None else work.merge(state, mapped.state)
            n_batches, n_rows = n_batches + 1, n_rows + mapped.n_rows
            if n_batches % saving.BATCHES_BETWEEN_SAVES == 0:
                save(complete=False)
            progress.step(work.title, count=mapped.n_rows)
        progress.close()
        if state is None:
            raise ValueError("source must hold at least one row, got 0")
        if self._n_rows is not None and n_rows != self._n_rows:
            raise ValueError(
                f"source must hold the same rows in every pass, got {n_rows} where there were "
                f"{self._n_rows}"
            )
        save(complete=True)
        return state

    def _map(self, map_batch: Callable[[Any], Mapped], batches: Iterator[Any]) -> Iterator[Mapped]:
        """The states of the batches in order; the next few are made on other threads."""

        def map_at(batch: Any) -> Mapped:
            try:
                return map_batch(batch)
            except SourceError:
                raise
            except (ValueError, TypeError) as error:
                raise SourceError(str(error), batch.place) from error

        ahead = prefetch(batches, depth=int(self._reads_ahead))
        try:
            while group := list(islice(ahead, self.n_jobs)):
                yield from map_in_threads(map_at, group, n_jobs=self.n_jobs)
        finally:
            ahead.close()
