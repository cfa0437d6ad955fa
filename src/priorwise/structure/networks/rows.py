"""Rows that networks learn from, in memory or read in passes, and what is asked of them.

A recipe is a generator that learns one model. It yields what it needs to know of the rows
(`Measure`, `Count`, `CountTrees`, `Score`, `Collect`), is sent the answers, and returns the model.
Rows in memory answer at once; a stream answers the requests of all recipes in one pass over the
rows. So each recipe is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CodedRows, Information, WideInformation
from priorwise.data.cuts import ValueCounts
from priorwise.data.encoding import TableEncoder
from priorwise.data.tables import Columns
from priorwise.structure.networks.network import Network
from priorwise.structure.networks.network_counts import NetworkCounts, NetworkTrees
from priorwise.structure.networks.select import Selection, SubmodelScorer

MAX_PAIR_FEATURES = 20_000
"""Largest number of features of which pairs are measured: a table of 3.2 GB."""

A = TypeVar("A")
M = TypeVar("M")
CutPoints = list[NDArray[np.float64]]
RowLosses = Callable[[Columns, NDArray[np.int32], int], Sequence[NDArray[np.float64]]]
"""Losses of some models, for each of them those of the rows; the number is that of threads."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of networks over all rows, and what is needed to judge them on some of the rows.

    `training` are counts of the first network without the rows held back; `rows` are the rows held
    back. Both are None if there are none.
    """

    counts: list[NetworkCounts]
    training: NetworkCounts | None = None
    rows: CodedRows | None = None


@dataclass(frozen=True, eq=False)
class Request(Generic[A]):
    """Ask something of the rows that are not in `fold`; the answer is an A.

    Numbers are cut at `cut_points`, by default at those of the encoder.
    """

    cut_points: CutPoints | None = None
    fold: int | None = None

    @property
    def is_of_all(self) -> bool:
        """Whether it is about all rows, in the codes of the encoder."""
        return self.cut_points is None and self.fold is None

    def reads_as(self, other: Request[Any]) -> bool:
        """Whether another request is about the same codes of the same rows."""
        return self.cut_points is other.cut_points and self.fold == other.fold


@dataclass(frozen=True, eq=False, kw_only=True)
class Measure(Request[Information | WideInformation]):
    """Ask for the information between features and class.

    The weight of each row counts as often as `draws` says, or once. With `max_features`, the
    information of pairs is needed for that number of features only, which are chosen later.
    """

    draws: NDArray[np.int64] | None = None
    max_features: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Count(Request[Counted]):
    """Ask for the counts of networks, with at most `max_contexts` contexts in all.

    `held_back` lists places, ascending, of rows to hold back, in the order of content of the rows
    that are not left out. Without cut points their content is their codes, with cut points it is
    what was read.
    """

    networks: Sequence[Network]
    held_back: NDArray[np.intp] | None = None
    max_contexts: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class CountTrees(Request[tuple[NetworkTrees, CodedRows]]):
    """Ask for the count trees of a network, one at a time, and for the codes of a sample.

    `sample` lists places of rows as `Count.held_back` does; these rows are counted too.
    """

    network: Network
    sample: NDArray[np.intp]
    max_contexts: int | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Score(Request[Selection]):
    """Ask for the sub-model with the least leave-one-out loss over all rows."""

    scorer: SubmodelScorer


@dataclass(frozen=True, eq=False, kw_only=True)
class Collect(Request[CodedRows]):
    """Ask for all coded rows at once, for a model that cannot learn from sums."""


Recipe = Generator[Request[Any], Any, M]
"""A model M that is being learnt."""


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows that a member of an ensemble learns from: all rows, or all but those of one fold.

    `values` are the distinct values of numeric features; `class_row_weight` is what a row of each
    class weighs (`mean_row_weights`), None if all weights are one; rows of the same `group` are
    drawn together, None if each row is a draw.
    """

    fold: int | None
    n_rows: int
    values: ValueCounts
    class_row_weight: NDArray[np.float64] | None = None
    group: NDArray[np.intp] | None = None


class Rows(Protocol):
    """Rows that answer requests; most answers are sums over rows.

    A table in memory (`TableRows`) and a stream of batches (`RowStream`) give the same answers, so
    a model is learnt by the same code from both. Random draws are made over rows in the order of
    content, which `y` has.
    """

    encoder: TableEncoder
    """How columns become codes."""
    feature_names: tuple[str, ...]
    """Names of the features; "x0", "x1" and so on if they have none."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.encoder.is_nominal_)

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def max_together(self) -> int:
        """Largest number of recipes that are worth learning together."""

    @property
    def y(self) -> NDArray[np.int32]:
        """Class codes of the rows in the order of their content, copies joined."""

    @property
    def draw_weight(self) -> NDArray[np.float64] | None:
        """Weights of the rows in that order; None if all are one."""

    @property
    def row_groups(self) -> NDArray[np.intp] | None:
        """Groups of rows that are held out together; None if each row is a draw."""

    def count_values(self) -> ValueCounts:
        """Return the distinct values of the numeric features, with the rows of each class."""

    def deal(self, folds: NDArray[np.intp], n_folds: int) -> ValueCounts:
        """Deal rows into folds, which requests may name then; return the values of each fold."""

    def sum_losses(self, losses: RowLosses, fold: int) -> NDArray[np.float64]:
        """Return the summed losses of the rows of a fold, of each model."""

    def learn(self, recipes: Sequence[Recipe[M]], n_sharing: int = 1) -> list[M]:
        """Answer the requests of recipes until their models are learnt.

        The memory is shared by `n_sharing` models that are learnt now or later.
        """

    def answer(self, request: Request[A]) -> A:
        """Answer one request."""
        return self.learn([_ask(request)])[0]


def check_pairs(n_features: int) -> None:
    """Raise if the table of all pairs of features would be too large."""
    if n_features > MAX_PAIR_FEATURES:
        raise ValueError(
            f"X must have at most {MAX_PAIR_FEATURES} features for a network that is learnt from "
            f"pairs of features, got {n_features}: select features first, or use a "
            "NaiveBayesClassifier"
        )


def _ask(request: Request[A]) -> Recipe[A]:
    answer: A = yield request
    return answer
