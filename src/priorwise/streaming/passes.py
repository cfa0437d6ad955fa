"""Passes: what is summed over the rows, batch by batch, on one machine or many.

A pass is three pure functions::

    map(batch) -> state            of one batch; may run on any thread or worker
    merge(state, state) -> state   of the rows of both; may use up its arguments
    finish(state) -> result        once all batches are merged

States can be pickled, and merging is associative, so batches may be summed in a chain or a tree.
The first pass (`SurveyPass`) takes raw batches: it learns what codes there are. The others take
`CodedBatch`: a `Coder` makes one of a raw batch.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import warn_user
from priorwise.counts import CodedRows, Information, PairCounts, Tally, TreePlan
from priorwise.data.encoding import TableEncoder
from priorwise.data.sources import Batch
from priorwise.data.tables import Columns, encode_labels
from priorwise.structure.networks import (
    Network,
    NetworkCounts,
    SubmodelScorer,
    check_contexts,
    plan_trees,
)

B = TypeVar("B")
S = TypeVar("S")
R = TypeVar("R")


class Pass(Generic[B, S, R]):
    """One reading of all rows: batches B are mapped to states S, merged, and finished to R."""

    title: str
    """What the pass does, for progress."""

    def map(self, batch: B) -> S:
        raise NotImplementedError

    def merge(self, a: S, b: S) -> S:
        raise NotImplementedError

    def finish(self, state: S) -> R:
        """The state itself, unless a pass makes something else of it."""
        return cast(R, state)


@dataclass(frozen=True)
class CodedBatch:
    """Coded rows and where they are."""

    rows: CodedRows
    first_row: int
    place: str
    row_ids: NDArray[np.intp] | None = None
    """Places of the rows in the whole data, ascending, where they are not consecutive."""

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    @property
    def y(self) -> NDArray[np.int32]:
        return self.rows.y

    def find(self, wanted: NDArray[np.intp]) -> NDArray[np.intp]:
        """Which of the rows are among some places in the whole data, ascending."""
        if self.row_ids is not None:
            return np.flatnonzero(np.isin(self.row_ids, wanted, assume_unique=True))
        first, last = np.searchsorted(wanted, [self.first_row, self.first_row + self.n_rows])
        return wanted[first:last] - self.first_row


@dataclass(frozen=True)
class Coder:
    """Makes coded batches of raw ones, or of codes that were kept, by what the survey found."""

    encoder: TableEncoder
    classes: NDArray[Any]

    @property
    def can_store(self) -> bool:
        """Whether codes are all that later passes need."""
        return True

    def code(self, batch: Batch) -> Any:
        """What a pass maps, with `n_rows`, and `rows` that can be stored."""
        y, _ = encode_classes(batch, self.classes)
        codes = self.encoder.transform(batch.X)
        return self.coded(list(codes), y, batch.first_row, batch.place)

    def coded(
        self, codes: Sequence[NDArray[np.int32]], y: NDArray[np.int32], first_row: int, place: str
    ) -> Any:
        """The same of codes."""
        rows = CodedRows(list(codes), self.encoder.arities_, y, len(self.classes))
        return CodedBatch(rows, first_row, place)

    def codes_of(self, labels: list[list[Hashable]]) -> list[NDArray[np.int32]]:
        """The codes of labels of each feature and of the class."""
        found = [
            self.encoder.label_codes(i, of_feature) for i, of_feature in enumerate(labels[:-1])
        ]
        place = {label: code for code, label in enumerate(self.classes.tolist())}
        return [*found, np.array([place[label] for label in labels[-1]], dtype=np.int32)]


@dataclass(frozen=True)
class ColumnsBatch(CodedBatch):
    """Rows read but not yet cut: `rows` are coded where all features are nominal."""

    columns: Columns = field(kw_only=True)


class ColumnsCoder(Coder):
    """Reads raw batches: labels become codes, numbers stay."""

    @property
    def can_store(self) -> bool:
        return bool(self.encoder.is_nominal_.all())

    def code(self, batch: Batch) -> ColumnsBatch:
        y, _ = encode_classes(batch, self.classes)
        columns = self.encoder.read(batch.X)
        return self._batch(columns, y, batch.first_row, batch.place)

    def coded(
        self, codes: Sequence[NDArray[np.int32]], y: NDArray[np.int32], first_row: int, place: str
    ) -> ColumnsBatch:
        columns = Columns(np.asarray(codes), np.empty((0, len(y))), self.encoder.is_nominal_)
        return self._batch(columns, y, first_row, place)

    def _batch(
        self, columns: Columns, y: NDArray[np.int32], first_row: int, place: str
    ) -> ColumnsBatch:
        codes = list(columns.nominal_codes)
        rows = CodedRows(codes, self.encoder.arities_, y, len(self.classes))
        return ColumnsBatch(rows, first_row, place, columns=columns)


def encode_classes(
    batch: Batch, classes: NDArray[Any] | None = None
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the class codes of a batch, and the classes: one for all rows without a target."""
    if batch.y is None:
        return np.zeros(batch.n_rows, dtype=np.int32), np.zeros(1, dtype=np.int64)
    return encode_labels(batch.y, classes=classes)


class PairPass(Pass[CodedBatch, PairCounts, PairCounts]):
    """Count every pair of the given features by class.

    If `counts_missing`, each feature has one value more, behind the known ones, for missing values.
    """

    title = "pairs of features"

    def __init__(
        self, features: Sequence[int], max_cells: int, counts_missing: bool = False
    ) -> None:
        self.features = list(features)
        self.max_cells = max_cells
        self.counts_missing = counts_missing

    def map(self, batch: CodedBatch) -> PairCounts:
        rows = batch.rows
        counts = PairCounts(self.max_cells)
        codes = np.asarray([rows.columns[i] for i in self.features])
        arities = rows.arities[self.features]
        if self.counts_missing:
            codes = np.where(codes < 0, arities[:, None], codes)
            arities = arities + 1
        counts.add(codes, rows.y, arities, rows.n_classes, rows.weight)
        return counts

    def merge(self, a: PairCounts, b: PairCounts) -> PairCounts:
        a.merge(b)
        return a


@dataclass(eq=False)
class CountState:
    """Counts of the rows that are not left out, and the codes of some rows."""

    tally: Tally
    # first row of a batch, and codes of shape (features + 1, sampled), the class last
    sample: list[tuple[int, NDArray[np.int32]]]
    n_merged: int = 0  # contexts that were counted as one for want of memory


@dataclass(frozen=True, eq=False)
class CountResult:
    """Counts of each network, and the codes of the rows that were asked for, in their order."""

    counts: list[NetworkCounts]
    sample: CodedRows


class CountPass(Pass[CodedBatch, CountState, CountResult]):
    """Count the contexts of networks.

    `left_out` are the places of rows not to count, `sample` those of rows whose codes are kept,
    both ascending. More than `max_contexts` contexts are an error that names `limit` as its cause,
    or, if `on_limit` is "merge", the rarest are counted as one.
    """

    title = "tables"

    def __init__(
        self,
        networks: Sequence[Network],
        arities: NDArray[np.int32],
        n_classes: int,
        *,
        left_out: NDArray[np.intp] | None = None,
        sample: NDArray[np.intp] | None = None,
        max_contexts: int | None = None,
        on_limit: str = "error",
        limit: str = "max_contexts",
    ) -> None:
        self.networks = list(networks)
        self.arities = arities
        self.n_classes = n_classes
        self.left_out = left_out
        self.sample = sample
        self.max_contexts = max_contexts
        self.on_limit = on_limit
        self.limit = limit
        self.plan, self.places = _join_plans(
            [plan_trees(network, arities, n_classes) for network in networks]
        )

    def map(self, batch: CodedBatch) -> CountState:
        """Count one batch."""
        columns = [*batch.rows.columns, batch.rows.y]
        sample: list[tuple[int, NDArray[np.int32]]] = []
        if self.sample is not None:
            rows = batch.find(self.sample)
            if len(rows):
                sample = [(batch.first_row, np.array([column[rows] for column in columns]))]
        if self.left_out is not None:
            rows = batch.find(self.left_out)
            if len(rows):
                columns = [np.delete(column, rows) for column in columns]
        return self.keep_within_limit(CountState(Tally.count(self.plan, columns), sample))

    def merge(self, a: CountState, b: CountState) -> CountState:
        """Add the counts of two states."""
        n_merged = a.n_merged + b.n_merged
        state = CountState(a.tally.merge(b.tally), [*a.sample, *b.sample], n_merged)
        return self.keep_within_limit(state)

    def finish(self, state: CountState) -> CountResult:
        """Make trees of the counts."""
        trees = state.tally.trees()
        counts = [
            NetworkCounts(network, trees[place[0]], [trees[i] for i in place[1:]])
            for network, place in zip(self.networks, self.places, strict=True)
        ]
        if self.on_limit == "error":
            n_contexts = sum(network_counts.n_contexts for network_counts in counts)
            check_contexts(n_contexts, self.max_contexts, self.limit)
        if state.n_merged:
            warn_user(
                f"{self.limit} has room for {self.max_contexts} contexts: about {state.n_merged} "
                "of the rarest contexts were counted together, and their rows use the contexts "
                "before them"
            )
        batches = [codes for _, codes in sorted(state.sample, key=lambda batch: batch[0])]
        codes = np.hstack([np.zeros((len(self.arities) + 1, 0), dtype=np.int32), *batches])
        sample = CodedRows(list(codes[:-1]), self.arities, codes[-1], self.n_classes)
        return CountResult(counts, sample)

    def keep_within_limit(self, state: CountState) -> CountState:
        """Raise if there are too many contexts, or count the rarest as one."""
        n_contexts = state.tally.n_contexts
        if self.on_limit == "error":
            check_contexts(n_contexts, self.max_contexts, self.limit)
        elif self.max_contexts is not None and n_contexts > self.max_contexts:
            state.tally.merge_rarest(self.max_contexts)
            state.n_merged += n_contexts - state.tally.n_contexts
        return state


class SelectionPass(Pass[CodedBatch, NDArray[np.int64], NDArray[np.int64]]):
    """Sum the leave-one-out losses of every sub-model."""

    title = "selection"

    def __init__(self, scorer: SubmodelScorer) -> None:
        self.scorer = scorer

    def map(self, batch: CodedBatch) -> NDArray[np.int64]:
        return self.scorer.score(batch.rows.columns, batch.rows.y, batch.rows.weight)

    def merge(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
        return a + b


class CollectPass(Pass[CodedBatch, list[tuple[int, CodedRows]], CodedRows]):
    """Keep all coded rows: for models that do not learn from sums."""

    title = "rows"

    def map(self, batch: CodedBatch) -> list[tuple[int, CodedRows]]:
        return [(batch.first_row, batch.rows)]

    def merge(
        self, a: list[tuple[int, CodedRows]], b: list[tuple[int, CodedRows]]
    ) -> list[tuple[int, CodedRows]]:
        return a + b

    def finish(self, state: list[tuple[int, CodedRows]]) -> CodedRows:
        parts = [rows for _, rows in sorted(state, key=lambda part: part[0])]
        columns = [
            np.concatenate([rows.columns[i] for rows in parts]) for i in range(parts[0].n_features)
        ]
        y = np.concatenate([rows.y for rows in parts])
        return CodedRows(columns, parts[0].arities, y, parts[0].n_classes)


def plan_pair_passes(arities: NDArray[np.int32], n_classes: int, max_cells: int) -> list[list[int]]:
    """The features to count pairs of in each pass, so that every pair is counted and fits.

    >>> plan_pair_passes(np.full(4, 10, dtype=np.int32), n_classes=2, max_cells=1200)
    [[0, 1, 2, 3]]
    >>> plan_pair_passes(np.full(4, 10, dtype=np.int32), n_classes=2, max_cells=500)
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    wide = arities.astype(np.float64)
    n_cells = n_classes * (wide.sum() ** 2 - (wide**2).sum()) / 2.0
    if n_cells <= max_cells:
        return [list(range(len(arities)))]
    most = np.sqrt(2.0 * max_cells / n_classes)
    groups: list[list[int]] = [[]]
    for i in np.argsort(-wide, kind="stable").tolist():
        if groups[-1] and wide[[*groups[-1], i]].sum() > most / 2:
            groups.append([])
        groups[-1].append(i)
    return [sorted([*first, *second]) for first, second in combinations(groups, 2)]


def join_information(parts: Sequence[tuple[list[int], Information]]) -> Information:
    """The information of all features from that of some of them at a time."""
    if len(parts) == 1:
        return parts[0][1]
    d = 1 + max(max(features) for features, _ in parts)
    n_classes = parts[0][1].n_seen.shape[1]
    mutual, conditional = np.zeros(d), np.zeros((d, d))
    n_seen = np.zeros((d, n_classes), dtype=np.int64)
    for features, part in parts:
        mutual[features], n_seen[features] = part.mutual, part.n_seen
        conditional[np.ix_(features, features)] = part.conditional
    return Information(mutual, conditional, n_seen, parts[0][1].total)


def _join_plans(plans: Sequence[TreePlan]) -> tuple[TreePlan, list[list[int]]]:
    """One plan of the trees of all, each once, and the places of each plan's trees in it."""
    place: dict[tuple[int, tuple[int, ...]], int] = {}
    places = [
        [place.setdefault(tree, len(place)) for tree in zip(plan.targets, plan.paths, strict=True)]
        for plan in plans
    ]
    targets, paths = zip(*place, strict=True)
    return TreePlan(plans[0].arities, tuple(targets), tuple(paths)), places
