"""The plain description of a fitted classifier from which all exports are written.

A program reads a row as one number for each feature: a number as it is, NaN if missing, a label as
its code, -1 if unknown. Its steps turn these numbers into class probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.encoding.value_rules import ValueRules

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]

GREATER, NOT_AT_MOST, EQUAL = range(3)
"""Ways of a split: a value goes to the second child if it is greater than the threshold; if it is
greater or missing; if it is equal."""


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Counts of classes at leaves, from which their rows follow: see `find_leaf_counts`.

    Leaf i has `n_kinds[i]` classes of `kind`, which rise, each with its `count`.
    """

    strength: float
    n_kinds: Ints
    kind: Ints
    count: Ints


@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees whose leaves have a row of numbers each; the result is their scaled sum.

    Children and roots are numbers of nodes, or ~row of a leaf, which is negative. The nodes of a
    tree follow each other level by level, and so do its leaves. At a node with a `bandwidth` above
    zero a part of the row goes either way, as the step `Trees` describes; the array is empty if no
    node has one. With `normalise` the result is divided by its sum. `inner` are the rows of the
    nodes themselves, which explanations need; None if they are not asked for. `counts` are given if
    the rows of all nodes follow from them.
    """

    root: Ints
    feature: Ints
    threshold: Floats
    way: Ints
    below: Ints
    above: Ints
    values: NDArray[Any]
    scale: float
    normalise: bool
    bandwidth: Floats
    inner: NDArray[Any] | None = None
    counts: LeafCounts | None = None

    @property
    def n_inner(self) -> NDArray[np.intp]:
        """Number of nodes of each tree; it has one leaf more."""
        sizes = np.zeros(len(self.root), dtype=np.intp)
        is_inner = self.root >= 0
        sizes[is_inner] = np.diff(self.root[is_inner], append=len(self.feature))
        return sizes

    @property
    def depth(self) -> int:
        """Largest number of splits on a path."""
        depth, level = 0, self.root[self.root >= 0]
        while len(level):
            depth += 1
            children = np.concatenate([self.below[level], self.above[level]])
            level = children[children >= 0]
        return depth


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Counts of rows at the cells of factors, from which their scores follow: `find_cell_counts`.

    `is_counted` says for which factors. `concentration` and `weight` are those of each level of
    each factor, two more than it has parents. `rest` are the rests of the entries `odd_entry`;
    those of other entries follow from the counts.
    """

    is_counted: Ints
    concentration: Floats
    weight: Floats
    count: Ints
    odd_entry: Ints
    rest: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Networks:
    """Bayesian networks: the mean of their class probabilities, or AODE's sum.

    Network i cuts the numeric features at the set `cut_set[i]` of cut points: set s of numeric
    feature j has `n_cuts[s, j]` points of `cuts`. A number is read as how many points lie below it;
    a missing one as the number of points plus one, or as -1 unless `has_missing`. The factors of
    all networks follow each other, `n_factors` for each; their arrays are those of `FactorProduct`.

    If `guards` is not empty it holds for all networks but the last, one after the other, whether
    each code of the first factor's feature is frequent enough for the network to be used. The joint
    probabilities of those are added up; if there are none, the last network answers. `counts` are
    given if the scores of factors follow from them.
    """

    numeric: Ints
    has_missing: Ints
    cut_set: Ints
    n_cuts: Ints
    cuts: Floats
    log_prior: Floats
    n_factors: Ints
    column: Ints
    n_outcomes: Ints
    n_parents: Ints
    n_contexts: Ints
    n_entries: Ints
    n_cells: Ints
    rest_towards_parent: Ints
    is_dense: Ints
    path: Ints
    value: Ints
    child_start: Ints
    entry_start: Ints
    entry_class: Ints
    rest: NDArray[np.float32]
    cell_start: Ints
    outcome: Ints
    score: NDArray[np.float32]
    guards: Ints
    counts: CellCounts | None = None

    def list_factors(self) -> list[Factor]:
        """Return the part of each factor of the arrays."""
        is_sparse = 1 - self.is_dense
        sizes = {
            "value": self.n_contexts,
            "child_start": self.n_contexts + 1,
            "entry_start": self.n_contexts + 1,
            "entry_class": self.n_entries,
            "rest": self.n_entries,
            "cell_start": is_sparse * (self.n_entries + 1),
            "outcome": is_sparse * self.n_cells,
            "score": self.n_cells,
        }
        parts = {
            name: np.split(getattr(self, name), np.cumsum(lengths)[:-1])
            for name, lengths in sizes.items()
        }
        factors = []
        for f, n_outcomes in enumerate(self.n_outcomes.tolist()):
            own = {name: arrays[f] for name, arrays in parts.items()}
            if self.is_dense[f]:
                n_entries = int(self.n_entries[f])
                own["cell_start"] = np.arange(n_entries + 1, dtype=np.int32) * n_outcomes
                own["outcome"] = np.tile(np.arange(n_outcomes, dtype=np.int32), n_entries)
            factors.append(Factor(n_outcomes, bool(self.rest_towards_parent[f]), **own))
        return factors


@dataclass(frozen=True, eq=False)
class Factor:
    """The arrays of one factor of networks; entries list the outcomes of their cells."""

    n_outcomes: int
    rest_towards_parent: bool
    value: Ints
    child_start: Ints
    entry_start: Ints
    entry_class: Ints
    rest: NDArray[np.float32]
    cell_start: Ints
    outcome: Ints
    score: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Softmax of scores that are a constant per label and a piecewise quadratic per number.

    The arrays are those of `PiecewiseScore`; `nominal` and `numeric` are the features.
    """

    nominal: Ints
    numeric: Ints
    intercept: Floats
    first_label: Ints
    label_score: Floats
    logs: Logs | None
    mean: Floats
    scale: Floats
    max_deviation: float
    first_piece: Ints
    first_value: Floats
    left: Floats
    coefficient: Floats
    missing_score: Floats


@dataclass(frozen=True, eq=False)
class Logs:
    """Which numbers are read as logarithms, with an entry for each: see `Logarithms`."""

    sign: Floats
    shift: Floats
    least: Floats


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Softmax of scores that are weighted sums of the likeness exp(-rate d^2) to landmarks.

    `landmark_codes` has a row for each nominal feature, -1 where a label is unknown, then one for
    each numeric feature in `missing`, 0 where the number is missing and else -1; `landmark_values`
    has a row for each numeric feature.
    """

    nominal: Ints
    numeric: Ints
    missing: Ints
    logs: Logs | None
    mean: Floats
    scale: Floats
    max_deviation: float
    landmark_codes: Ints
    landmark_values: NDArray[np.float32]
    rate: float
    intercept: Floats
    coefficient: Floats


@dataclass(frozen=True, eq=False)
class QuadraticForms:
    """Softmax of scores that are a constant per label and quadratic forms of the numbers.

    The form of a row and a class is that of the class, or of the labels of `parents`, which are
    features: from form g of level l, label c leads to `child[first_child[l] +
    (g - first_form[l]) * n_labels[l] + c]`, or is the last step if that is -1. With the steps
    s of the standardised numbers from its `centre`, a form adds its `constant` and the sum over
    j <= i of s_i s_j times `form`, which has the pairs (0, 0), (1, 0), (1, 1), (2, 0) and so on.
    """

    nominal: Ints
    numeric: Ints
    intercept: Floats
    first_label: Ints
    label_score: Floats
    logs: Logs | None
    mean: Floats
    scale: Floats
    max_deviation: float
    parents: Ints
    n_labels: Ints
    first_form: Ints
    first_child: Ints
    child: Ints
    constant: Floats
    centre: Floats
    form: Floats

    def list_levels(self) -> Iterator[tuple[int, int, Ints]]:
        """Yield each parent, the first form of its level, and the level's rows of children."""
        for level, feature in enumerate(self.parents.tolist()):
            ends = np.append(self.first_child, len(self.child))[level : level + 2]
            rows = self.child[ends[0] : ends[1]].reshape(-1, self.n_labels[level])
            yield feature, int(self.first_form[level]), rows


@dataclass(frozen=True, eq=False)
class Pool:
    """Softmax of intercepts and weighted logarithms of members' probabilities, at least `floor`."""

    members: list[Model]
    weight: Floats
    intercept: Floats
    floor: float


@dataclass(frozen=True, eq=False)
class Boosted:
    """Softmax of the logarithms of probabilities, at least `floor`, plus the sum of trees."""

    base: Pool
    trees: Trees
    floor: float


@dataclass(frozen=True, eq=False)
class PlainRecord:
    """A step for which there is no layout, or a part of one: the name of its class, its fields."""

    kind: str
    content: dict[str, Any]


Step = Trees | Networks | Pieces | Landmarks | QuadraticForms | Pool | Boosted | PlainRecord


@dataclass(frozen=True, eq=False)
class Model:
    """A step, and by which of the program's readers the row is read for it."""

    reader: int
    step: Step


@dataclass(frozen=True, eq=False)
class Program:
    """A classifier: `readers` are ways to read a row, nearly always one."""

    classes: list[Any]
    features: list[str]
    readers: list[list[ValueRules]]
    model: Model


def list_steps(model: Model) -> Iterator[Model]:
    """Yield all steps of a program with their readers, members before their pool."""
    step = model.step
    if isinstance(step, Boosted):
        yield from list_steps(Model(model.reader, step.base))
    elif isinstance(step, Pool):
        for member in step.members:
            yield from list_steps(member)
    yield model
