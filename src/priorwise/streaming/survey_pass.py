"""The first pass: what values there are, and how often pairs of them occur."""

from __future__ import annotations

import operator
import threading
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import PairCounts
from priorwise.data.encoding import TableEncoder
from priorwise.data.sources import Batch
from priorwise.data.survey import LabelCounts, Survey
from priorwise.data.survey.batch import RawColumns
from priorwise.data.survey.label_reader import LabelReader
from priorwise.data.survey.labels import join_classes, join_labels
from priorwise.data.tables import RawTable
from priorwise.data.tables.label_keys import mark_keys
from priorwise.streaming.passes import Pass, encode_classes

BYTES_PER_LABEL = 200
"""Of a text, its place in a list and a dictionary, and its counts."""


@dataclass(eq=False)
class SurveyState:
    """A survey, and the pairs of nominal features by the codes of its labels."""

    survey: Survey
    pairs: PairCounts | None
    """None where they are not asked for, a feature is numeric, or there are too many."""


@dataclass(frozen=True, eq=False)
class SurveyedBatch:
    """The survey of one batch, and its rows coded by it."""

    survey: Survey
    codes: list[NDArray[np.int32]]
    """Of each feature with labels: places among the survey's labels."""
    y: NDArray[np.int32]
    pairs: PairCounts | None = None
    """Pairs of values by class, where all features have labels and the pairs are asked for."""


class SurveyPass(Pass[Batch, SurveyState, SurveyState]):
    """Find classes, labels and values; count pairs too, if all features are nominal.

    Labels get codes as they appear, and are sorted at the end: batches that bring new ones
    enlarge the tables of pairs.
    """

    title = "values"

    def __init__(
        self,
        encoder: TableEncoder,
        *,
        pairs: bool,
        max_cells: int,
        max_value_bytes: int | None,
        min_classes: int = 2,
    ) -> None:
        self.encoder = encoder
        self.pairs = pairs
        self.max_cells = max_cells
        self.max_value_bytes = max_value_bytes
        self.min_classes = min_classes
        # Labels known so far: only a hint, which saves recoding.
        self._known: list[list[Hashable]] | None = None
        self._reader = LabelReader()
        self._guard = threading.Lock()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_guard": None, "_reader": LabelReader()}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._guard = threading.Lock()

    def map(self, batch: Batch) -> SurveyState:
        return self.map_surveyed(self.survey(batch))

    def survey(self, batch: Batch) -> SurveyedBatch:
        """Survey one batch, beginning with the labels known so far."""
        with self._guard:
            known = self._known
        y, classes = encode_classes(batch)
        marks = mark_keys(self.encoder.missing_values)
        table = RawTable(batch.X, marks=marks, texts=batch.texts)
        names = table.names if table.library is not None else ()
        kinds = self._reader.find_kinds(
            batch.X, table, self.encoder, names, is_first=batch.first_row == 0
        )
        raw = RawColumns.read(table, self.encoder, kinds, names, known, self._reader)
        codes, tables = list(raw.codes.values()), None
        pairs = self._count_pairs(raw, y, len(classes))
        if pairs is not None:
            tables = [pairs.margin(i) for i in range(len(codes))]
        survey = raw.survey_by_class(y, classes, self.max_value_bytes, tables)
        return SurveyedBatch(survey, codes, y, pairs)

    def _count_pairs(
        self, raw: RawColumns, y: NDArray[np.int32], n_classes: int
    ) -> PairCounts | None:
        """Count pairs of labels by class, if they are asked for, all features have labels, and the
        tables fit.
        """
        if not self.pairs or len(raw.codes) < len(raw.kinds):
            return None
        pairs = PairCounts(self.max_cells)
        arities = [len(labels) for labels in raw.labels.values()]
        try:
            pairs.add(list(raw.codes.values()), y, arities, n_classes)
        except MemoryError:
            return None
        return pairs

    def map_surveyed(self, batch: SurveyedBatch) -> SurveyState:
        return SurveyState(batch.survey, batch.pairs)

    def merge(self, a: SurveyState, b: SurveyState) -> SurveyState:
        survey = a.survey.merge(b.survey)
        self.check_labels(survey)
        with self._guard:
            self._known = survey.labels()
        return SurveyState(survey, self._merge_pairs(a, b, survey))

    def finish(self, state: SurveyState) -> SurveyState:
        if len(state.survey.classes) < self.min_classes:
            found = state.survey.classes.tolist()
            raise ValueError(
                f"y must hold at least {self.min_classes} classes, got {len(found)} class: {found}"
            )
        survey = state.survey.settle(self.max_value_bytes)
        return SurveyState(survey, state.pairs if survey.is_nominal.all() else None)

    def check_labels(self, survey: Survey) -> None:
        """Raise if there are more labels than the memory limit has room for."""
        if self.max_value_bytes is None:
            return
        n_labels = [len(f.labels) if isinstance(f, LabelCounts) else 0 for f in survey.features]
        most = len(n_labels) * self.max_value_bytes // BYTES_PER_LABEL
        if sum(n_labels) > max(most, 2 * len(n_labels)):
            name = survey.names[int(np.argmax(n_labels))]
            raise ValueError(
                f"column {name} has {max(n_labels)} labels so far, and memory_limit has room for "
                f"{most} labels of all columns: leave it out of features, group its labels, or "
                "allow more"
            )

    def _merge_pairs(self, a: SurveyState, b: SurveyState, survey: Survey) -> PairCounts | None:
        if a.pairs is None or b.pairs is None:
            return None
        labels = survey.labels()
        arities = [len(of_feature) for of_feature in labels]
        _, mine, theirs = join_classes(a.survey.classes, b.survey.classes)
        try:
            merged = _recode(a, labels, arities, mine, len(survey.classes))
            merged.merge(_recode(b, labels, arities, theirs, len(survey.classes)))
        except MemoryError:
            return None
        return merged


def _recode(
    state: SurveyState,
    labels: list[list[Hashable]],
    arities: list[int],
    classes: NDArray[np.intp],
    n_classes: int,
) -> PairCounts:
    """Pair counts by the codes of more labels; nothing to do where the codes are the same."""
    assert state.pairs is not None
    own = state.survey.labels()
    same_classes = np.array_equal(classes, np.arange(len(classes)))
    if same_classes and all(map(operator.is_, own, labels)):
        return state.pairs
    codes = [join_labels(wide, narrow)[1] for wide, narrow in zip(labels, own, strict=True)]
    same = all(np.array_equal(of_feature, np.arange(len(of_feature))) for of_feature in codes)
    if same and same_classes:
        # Behind the known codes: merging adds room for them.
        return state.pairs
    return state.pairs.recode(codes, arities, classes, n_classes)
