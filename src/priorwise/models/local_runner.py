"""Passes run on this machine: batches are decoded, coded and counted in a pipeline."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data import Batch, Source, SourceError, prefetch
from priorwise.models.passes import CodedBatch, Coder, Pass
from priorwise.models.survey_pass import SurveyPass


class LocalRunner:
    """Run passes over a source: one thread decodes, `n_jobs` code and count, this one merges.

    Kernels release the interpreter's lock, so the threads work at once. States are merged in the
    order of the batches.
    """

    def __init__(self, source: Source, n_jobs: int = 1) -> None:
        self.source = source
        self.n_jobs = n_jobs
        self.n_passes = 0
        self._coder: Coder | None = None

    def survey(self, work: SurveyPass) -> Any:
        return self._run(work, lambda batch: work.map(batch))

    def use_codes(self, coder: Coder, label_codes: list[NDArray[np.intp]]) -> None:
        self._coder = coder

    def run(self, work: Pass[CodedBatch, Any, Any]) -> Any:
        coder = self._coder
        assert coder is not None
        return self._run(work, lambda batch: work.map(coder.code(batch)))

    def _run(self, work: Pass[Any, Any, Any], map_batch: Callable[[Batch], Any]) -> Any:
        self.n_passes += 1
        state = None
        for of_batch in self._map(map_batch, self.source.read()):
            state = of_batch if state is None else work.merge(state, of_batch)
        if state is None:
            raise ValueError("source must hold at least one row, got 0")
        return work.finish(state)

    def _map(self, map_batch: Callable[[Batch], Any], batches: Iterator[Batch]) -> Iterator[Any]:
        """The states of the batches in order, a few of them made ahead."""

        def map_at(batch: Batch) -> Any:
            try:
                return map_batch(batch)
            except SourceError:
                raise
            except (ValueError, TypeError) as error:
                raise SourceError(str(error), batch.place) from error

        waiting: deque[Future[Any]] = deque()
        pool = ThreadPoolExecutor(self.n_jobs)
        ahead = prefetch(batches, depth=1)
        try:
            for batch in ahead:
                waiting.append(pool.submit(map_at, batch))
                del batch
                if len(waiting) > self.n_jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
            ahead.close()  # type: ignore[attr-defined]
