"""What every step can answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import safe_log
from priorwise.common.records import Record
from priorwise.data.columns import Columns
from priorwise.steps.explanation import Explanation

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Names:
    """What the classes and the features of a model are called, for its explanations."""

    classes: NDArray[Any]
    features: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Step(Record):
    """A fitted model as arrays: columns of a table in, class probabilities out.

    A step is all that is left of a learner once it has learnt. It is predicted from, explained,
    saved, exported and drawn without its learner. A subclass declares its arrays and implements
    `predict`; what else is defined here serves a step that knows nothing better.

    Lengths of arrays that are named "n_classes", "n_features", "n_nominal" or "n_numeric" are those
    of the table.
    """

    @property
    def knows_shares(self) -> bool:
        """Whether a row of which nothing is known has the shares of the classes by the step."""
        return False

    @property
    def n_classes(self) -> int:
        """Number of classes; here the length of that name."""
        return self.lengths["n_classes"]

    @property
    def independence(self) -> float:
        """How independent the errors are of those of the boosted trees that measure intervals.

        Here one. Trees err more like them, and smooth functions less. Errors of the members of a
        pool cancel: it is their number. Fitted together with the constants in `intervals.py`.
        """
        return 1.0

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        """Return class probabilities of rows, of shape (n_rows, n_classes)."""
        raise NotImplementedError

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """Return what each feature adds to the log-odds of rows; here by `explain_by_hiding`."""
        return explain_by_hiding(self, columns, names, n_threads)

    def describe(self) -> str:
        """Return in a few words what the step consists of; here the lengths of its arrays."""
        lengths = (
            f"{length:,} {name.removeprefix('n_').replace('_', ' ')}"
            for name, length in self.lengths.items()
        )
        return f"{type(self).__name__}: {', '.join(lengths)}"

    def list_parts(self) -> list[tuple[str, str, Step]]:
        """Return name, description and step of each part; here the step itself is the only one."""
        return [(type(self).__name__.lower(), self.describe(), self)]

    def count_kept_rows(self) -> int:
        """Return the number of rows of training that the step holds as they are."""
        parts = [step for _, _, step in self.list_parts() if step is not self]
        return sum(step.count_kept_rows() for step in parts)

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        """Raise ValueError unless the step can answer for rows of such features.

        Here, unless lengths that have the name of one of the table agree with it. A step that looks
        up labels by their codes must also check that it has all of them.
        """
        n_features, n_nominal = len(is_nominal), len(n_labels)
        of_table = {
            "n_features": n_features,
            "n_nominal": n_nominal,
            "n_numeric": n_features - n_nominal,
        }
        for name, length in self.lengths.items():
            if length != of_table.get(name, length):
                raise ValueError(f"{name} must be {of_table[name]}, got {length}")


def explain_by_hiding(step: Step, columns: Columns, names: Names, n_threads: int) -> Explanation:
    """Explain any step by its predictions for rows some of whose values are unknown.

    Starting from a row of which nothing is known, features become known one after the other, in the
    order of the table; each adds what it changes the log probabilities by. Contributions are the
    mean of those in this order and in the reverse one. Takes two predictions for each feature.
    """
    n_features = len(columns.is_nominal)
    log_proba = safe_log(step.predict(columns, n_threads))
    nothing = hide_features(columns, np.ones(n_features, dtype=bool))
    log_start = safe_log(step.predict(nothing, n_threads))
    terms = np.zeros((columns.n_rows, n_features, log_proba.shape[1]))
    for order in (range(n_features), range(n_features - 1, -1, -1)):
        known, before = np.zeros(n_features, dtype=bool), log_start
        for feature in order:
            known[feature] = True
            after = log_proba
            if not known.all():
                after = safe_log(step.predict(hide_features(columns, ~known), n_threads))
            terms[:, feature] += 0.5 * (after - before)
            before = after
    bias = log_start[0] if len(log_start) else np.zeros(log_proba.shape[1])
    return Explanation.from_sums(names.classes, names.features, bias, terms)


def hide_features(columns: Columns, hidden: NDArray[np.bool_]) -> Columns:
    """Return rows in which the values of some features are unknown."""
    is_nominal = columns.is_nominal
    return Columns(
        np.where(hidden[is_nominal, None], np.int32(-1), columns.nominal_codes),
        np.where(hidden[~is_nominal, None], np.nan, columns.values),
        is_nominal,
    )
