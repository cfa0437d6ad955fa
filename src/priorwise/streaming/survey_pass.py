"""The first pass: what values there are, and how often pairs of them occur."""

from __future__ import annotations

import operator
import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CountTree, Information, PairCounts, count_trees
from priorwise.data.encoding import TableEncoder
from priorwise.data.sources import Batch
from priorwise.data.survey import LabelCounts, Survey
from priorwise.data.survey.batch import LabelReader, RawColumns
from priorwise.data.survey.labels import join_labels
from priorwise.data.survey.survey import join_classes
from priorwise.data.tables import RawTable
from priorwise.data.tables.label_keys import mark_keys
from priorwise.streaming.passes import Pass, encode_classes
from priorwise.structure.networks import Network, NetworkCounts

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
        kinds = self._reader.find_kinds(batch.X, table, self.encoder, names)
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
        survey = state.survey.settle(self.encoder, self.max_value_bytes)
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


@dataclass(frozen=True, eq=False)
class SurveyedCounts:
    """Counts of a survey in the codes of an encoder; `label_codes` are those of its labels."""

    state: SurveyState
    encoder: TableEncoder
    label_codes: Sequence[NDArray[np.int32]]

    @property
    def has_pairs(self) -> bool:
        """Whether pairs of features were counted."""
        return self.state.pairs is not None

    def measure(self, n_threads: int) -> Information:
        """Return the information of all pairs of features."""
        pairs, n_classes = self.state.pairs, len(self.state.survey.classes)
        assert pairs is not None
        codes: Sequence[NDArray[Any]] = self.label_codes
        arities, ignores_missing = self.encoder.arities_, self.encoder.ignores_missing
        if ignores_missing:
            # Missing values that have no code are counted behind the known values.
            known = zip(codes, arities, strict=True)
            codes = [np.where(of_feature < 0, arity, of_feature) for of_feature, arity in known]
            arities = arities + 1
        recoded = pairs.recode(codes, arities, np.arange(n_classes), n_classes)
        return recoded.information(n_threads=n_threads, last_is_missing=ignores_missing)

    def has_counted(self, networks: Sequence[Network]) -> bool:
        """Whether all contexts of networks were counted: they have no arcs, and no numbers."""
        has_arcs = any(any(network.parents) for network in networks)
        return bool(self.state.survey.is_nominal.all()) and not has_arcs

    def count(self, network: Network) -> NetworkCounts:
        """Return the counts of a network without arcs."""
        class_tree = _tree_of_table(self.state.survey.class_counts[None, :], with_path=False)
        return NetworkCounts(network, class_tree, [self._count_labels(i) for i in network.order])

    def _count_labels(self, i: int) -> CountTree:
        feature, codes = self.state.survey.features[i], self.label_codes[i]
        assert isinstance(feature, LabelCounts)
        shape = (len(self.state.survey.classes), int(self.encoder.arities_[i]))
        table = np.zeros(shape, dtype=feature.counts.dtype)
        np.add.at(table.T, codes[codes >= 0], feature.counts[codes >= 0])
        return _tree_of_table(table, with_path=True)


def _tree_of_table(table: NDArray[Any], *, with_path: bool) -> CountTree:
    """The tree of counts of shape (contexts, outcomes)."""
    context, outcome = (column.astype(np.int32) for column in np.nonzero(table))
    (tree,) = count_trees(
        [context, outcome],
        list(table.shape),
        [1],
        [[0] if with_path else []],
        weight=table[context, outcome].astype(np.float64),
    )
    return tree
