"""What every runner of passes has."""

from __future__ import annotations

from typing import Any

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
