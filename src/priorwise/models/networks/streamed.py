"""Network classifiers that also learn from data that does not fit in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from joblib import effective_n_jobs

from priorwise.data.encoding import TableEncoder
from priorwise.models.base import TableClassifier
from priorwise.streaming.fit import StreamedModel, StreamNeeds
from priorwise.streaming.row_stream import RowStream


class StreamedClassifier(TableClassifier):
    """A classifier with `fit_dataset`, which learns in passes over the rows.

    Parameters
    ----------
    missing : {"value", "impute", "ignore"}
        What missing values are: a value of their own (default); the most frequent category or the
        mean; or unknown. An unknown value is left out: its feature's factor is no part of the
        product, and factors of features that have it as a parent use the contexts before that
        parent. In training, a row that misses a feature does not count in that feature's tables,
        and where it misses a parent it counts in the contexts before that parent.

    Attributes
    ----------
    has_exact_cuts_ : bool
        Whether cut points were learnt from all distinct values. Only after `fit_dataset`.
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **TableClassifier.learnt,
        "has_exact_cuts_": bool,
    }
    missing_choices = ("value", "impute", "ignore")

    def as_streamed(self, target: str | None, max_rows: int | None) -> StreamedModel:
        self.check_dataset(target)
        if max_rows is not None:
            raise ValueError(
                f"max_rows must be None for {type(self).__name__}, which counts all rows, "
                f"got {max_rows!r}"
            )
        return StreamedNetwork(self)

    def _learn(self, table: Any, seed: int | None = None) -> dict[str, Any]:
        """Learn from a `TrainingTable` or from `Rows`, as `TableClassifier` says."""
        raise NotImplementedError

    def _new_encoder(self) -> TableEncoder:
        """Return an encoder that is not fitted."""
        raise NotImplementedError

    def _needs_pairs(self) -> bool:
        """Whether learning needs counts of pairs of features, which the first pass then makes."""
        return False

    def _reads_again(self) -> bool:
        """Whether learning takes more than one pass."""
        return True


@dataclass(frozen=True, eq=False)
class StreamedNetwork(StreamedModel):
    """A classifier that learns by counting, in passes over all rows."""

    model: StreamedClassifier

    def needs(self) -> StreamNeeds:
        """Return what learning needs of the stream."""
        return StreamNeeds(
            n_jobs=int(effective_n_jobs(self.model.n_jobs)),
            pairs=self.model._needs_pairs(),
            later_passes=self.model._reads_again(),
        )

    def make_encoder(self, feature_names: list[str]) -> TableEncoder:
        """Return an encoder that is not fitted."""
        return self.model._new_encoder()

    def learn(self, rows: RowStream, seed: int) -> tuple[TableEncoder, Any, Any, dict[str, Any]]:
        """Return the encoder, the classes, their numbers of rows and the fitted attributes."""
        fitted = {"n_sampled_": rows.n_rows, **self.model._learn(rows, seed)}
        return rows.encoder, rows.classes, rows.class_count, fitted
