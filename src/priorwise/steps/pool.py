"""Steps made of other steps: log-linear pools, and trees that correct what another step says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import LEAST_PROBABILITY, softmax
from priorwise.common.records import number, numbers, part
from priorwise.data.columns import Columns
from priorwise.data.encoding import TableEncoder
from priorwise.data.tables.dict_rows import DictRows
from priorwise.steps.explanation import Explanation
from priorwise.steps.intervals import MAX_OF_POOL
from priorwise.steps.step import Floats, Names, Step
from priorwise.steps.trees import Trees

LARGEST_WEIGHT = 1e6
BOOSTING = "boosting"
"""Name of the trees of a `Boosted` among the members of an explanation."""


@dataclass(frozen=True, eq=False)
class Pool(Step):
    """Softmax of an intercept and of weighted logarithms of the members' probabilities.

    Probabilities of members are taken as at least `floor`.
    """

    names: tuple[str, ...] = part(str, several=True)
    members: tuple[Step, ...] = part(Step, several=True)
    weight: Floats = numbers("n_members", least=-LARGEST_WEIGHT, most=LARGEST_WEIGHT)
    intercept: Floats = numbers("n_classes", least=-LARGEST_WEIGHT, most=LARGEST_WEIGHT)
    floor: float = number(least=LEAST_PROBABILITY, most=1.0)

    def check_rules(self) -> None:
        if not len(self.names) == len(self.members) == len(self.weight):
            raise ValueError("every member must have a name and a weight")
        if any(member.n_classes != self.n_classes for member in self.members):
            raise ValueError("members must have all classes")

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        for member in self.members:
            member.check_features(is_nominal, n_labels)

    @property
    def n_classes(self) -> int:
        return len(self.intercept)

    @property
    def independence(self) -> float:
        return float(np.clip(len(self.members), 1, MAX_OF_POOL))

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        probabilities = [member.predict(columns, n_threads) for member in self.members]
        if not probabilities:
            return np.tile(softmax(self.intercept[None]), (columns.n_rows, 1))
        return join_probabilities(probabilities, self.weight, self.intercept, self.floor)

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """Contributions of the members, raised to the floor, are summed by weight."""
        if not self.members:
            nothing = np.zeros((columns.n_rows, len(names.features), self.n_classes))
            return Explanation.from_sums(names.classes, names.features, self.intercept, nothing)
        members = {
            name: member.explain(columns, names, n_threads).raise_to(self.floor)
            for name, member in zip(self.names, self.members, strict=True)
        }
        weights = dict(zip(self.names, self.weight.tolist(), strict=True))
        return Explanation.pool(members, weights, self.intercept)

    def describe(self) -> str:
        return f"{len(self.members)} members"

    def list_parts(self) -> list[tuple[str, str, Step]]:
        if not self.members:
            return super().list_parts()
        return [
            (name, f"{member.describe()}, weight {weight:z.2f}", member)
            for name, member, weight in zip(self.names, self.members, self.weight, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Boosted(Step):
    """Softmax of the logarithms of probabilities of a `base`, plus a sum of trees.

    The trees are those of boosters, `n_rounds` each, which have seen different rows; a last one,
    with the share `whole_share` of the sum, has seen all.
    """

    base: Pool = part(Pool)
    trees: Trees = part(Trees)
    n_rounds: int = number(int, least=1)
    whole_share: float = number(least=0.0, most=1.0)

    def check_rules(self) -> None:
        if self.trees.n_trees % self.n_rounds or self.n_folds < 1 or self.whole_share == 1.0:
            raise ValueError("boosters must have equally many trees, and some leave rows out")
        if self.trees.n_classes != self.base.n_classes:
            raise ValueError("trees must have all classes")

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        self.base.check_features(is_nominal, n_labels)
        self.trees.check_splits(len(is_nominal))

    @property
    def n_classes(self) -> int:
        return self.base.n_classes

    @property
    def independence(self) -> float:
        return self.base.independence

    @property
    def n_folds(self) -> int:
        """Number of boosters that have not seen one of the folds."""
        return self.trees.n_trees // self.n_rounds - int(self.whole_share > 0.0)

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        score = self.base.intercept
        if self.base.members:
            proba = self.base.predict(columns, n_threads)
            score = np.log(np.maximum(proba, LEAST_PROBABILITY))
        return softmax(score + self.trees.sum(columns, n_threads))

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """Contributions of the base, and what each feature adds on the paths of the rows."""
        bias, steps = self.trees.split(columns, n_threads)
        if not self.base.members:
            bias = bias + self.base.intercept
        added = Explanation.from_sums(names.classes, names.features, bias, steps)
        if not self.base.members:
            return added
        pooled = self.base.explain(columns, names, n_threads)
        members = {**pooled.members, BOOSTING: added}
        weights = {**pooled.member_weights, BOOSTING: 1.0}
        return Explanation.pool(members, weights, self.base.intercept)

    def describe(self) -> str:
        return self.trees.describe()

    def list_parts(self) -> list[tuple[str, str, Step]]:
        if not self.base.members:
            return super().list_parts()
        return [*self.base.list_parts(), (BOOSTING, self.trees.describe(), self.trees)]


@dataclass(frozen=True, eq=False)
class Reread(Step):
    """A step that reads the rows as they were given by an encoder of its own."""

    encoder: TableEncoder = part(TableEncoder)
    step: Step = part(Step)

    def check_rules(self) -> None:
        n_labels = [len(one.labels) for one in self.encoder.categories_]
        self.step.check_features(self.encoder.is_nominal_, n_labels)

    def count_kept_rows(self) -> int:
        return self.step.count_kept_rows()

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        if len(is_nominal) != len(self.encoder.is_nominal_):
            raise ValueError("the encoder of a member must have the features of the pool")

    @property
    def n_classes(self) -> int:
        return self.step.n_classes

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        return self.step.predict(self.encoder.read(columns.X), n_threads)

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        return self.step.explain(self.encoder.read(columns.X), names, n_threads)

    def describe(self) -> str:
        return self.step.describe()


@dataclass(frozen=True, eq=False)
class Foreign(Step):
    """A fitted classifier of another library, which takes the rows as they were given.

    It cannot be stored, exported or explained; pools predict with it.
    """

    model: Any = part(object)

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        raise ValueError("a file cannot hold a classifier of another library")

    @property
    def n_classes(self) -> int:
        return len(self.model.classes_)

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        rows = columns.X.to_frame() if isinstance(columns.X, DictRows) else columns.X
        return np.asarray(self.model.predict_proba(rows))

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """Return that nothing is known: the classifier takes rows whose values cannot be hidden."""
        proba = self.predict(columns, n_threads)
        return Explanation.from_probabilities(names.classes, names.features, proba)

    def describe(self) -> str:
        return type(self.model).__name__


def join_probabilities(
    probabilities: Sequence[Floats], weight: Floats, intercept: Floats, floor: float
) -> Floats:
    """Return the softmax of an intercept and of weighted logs; NaN where a probability is NaN."""
    return softmax(score_probabilities(probabilities, weight, intercept, floor))


def score_probabilities(
    probabilities: Sequence[Floats], weight: Floats, intercept: Floats, floor: float
) -> Floats:
    """Return an intercept plus weighted logs; NaN where a probability is NaN."""
    score = np.tile(intercept, (len(probabilities[0]), 1))
    for one, proba in zip(weight, probabilities, strict=True):
        score += one * np.log(np.maximum(proba, floor))
    return score
