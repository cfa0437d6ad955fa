"""What every step can answer, and how far its probabilities may be from the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.constants import golden
from scipy.special import ndtri

from priorwise.common.numeric import safe_log
from priorwise.common.records import Record, number, numbers, part
from priorwise.data.columns import Columns
from priorwise.steps.explanation import Explanation
from priorwise.steps.intervals import dirichlet_spread, find_interval, find_log_odds

Floats = NDArray[np.float64]


MAX_FITTED_ROWS = 30_000.0
"""Rows of the largest tables that factors were fitted to. With more rows, only what a model knows
of its variance makes intervals narrower."""
DEFAULT_FACTORS = {"constant": -0.31, "rows": -0.19, "classes": -1.62, "gini": 1.13}
DEFAULT_TAILS = (0.38, 0.44)
"""For models that know no part of their variance."""
MAX_SCORES = 2_000
"""Largest number of scores that a model keeps."""

MIN_SPREAD_SCORES = 20_000
"""Fewest scores, rows times values of u, that a quantile is found from."""


@dataclass(frozen=True, eq=False)
class Calibration(Record):
    """How the parts of a variance are combined, and what tails the intervals have.

    A part, variances of scores (n_rows, n_classes), becomes one number s per row, the sum of the
    variances of probabilities over sum p (1 - p): one over the rows that such a distribution would
    be learnt from. One over the number of rows behind the prediction is the product of powers of
    these numbers, of `n_rows` (those of training), of the number of classes and of sum p (1 - p).
    `factor` are the logarithm of a constant and the exponents, by `names`; without any, the last
    part is the variance.

    How wrong fitted variances are differs from table to table, so intervals of high levels are
    wider, and those of low levels narrower, than normal ones: z (a + b |z|) takes the place of a
    normal number z, with a and b the `tails`.

    Both were fitted to generated tables by benchmarks/fit_interval_factors.py.
    """

    names: tuple[str, ...] = part(str, several=True)
    factor: Floats = numbers("n_factors")
    tails: Floats = numbers(2)
    n_rows: float = number(least=0.0)

    @classmethod
    def of(
        cls, factors: Mapping[str, float], tails: tuple[float, float], n_rows: float
    ) -> Calibration:
        """Make a calibration of factors by name, for a model of `n_rows` training rows."""
        factor = np.array(list(factors.values()), dtype=np.float64)
        return cls(tuple(factors), factor, np.array(tails), float(n_rows))

    @classmethod
    def unmeasured(cls, n_rows: float) -> Calibration:
        """Make the calibration of a step that knows no part of its variance."""
        return cls.of(DEFAULT_FACTORS, DEFAULT_TAILS, n_rows)

    def check_rules(self) -> None:
        if len(self.names) != len(self.factor):
            raise ValueError("every factor must have a name")

    @property
    def factors(self) -> dict[str, float]:
        """The factors by name."""
        return dict(zip(self.names, self.factor.tolist(), strict=True))

    def combine(self, proba: Floats, parts: Mapping[str, Floats]) -> Floats:
        """Return the variances of scores, given the parts of them."""
        if not self.names:
            return list(parts.values())[-1]
        terms, factors = list_terms(proba, parts, self.n_rows), self.factors
        log_inverse = sum(factors[name] * term for name, term in terms.items())
        return dirichlet_spread(proba, np.exp(np.clip(log_inverse, -12.0, 3.0)))

    def scale_rule(self) -> dict[str, Any]:
        """Return what `combine` takes besides probabilities and parts, for a page."""
        if not self.names:
            return {}
        n_rows = min(self.n_rows, MAX_FITTED_ROWS)
        return {"factors": self.factors, "n_training_rows": n_rows}

    def find_interval(self, proba: Floats, variance: Floats, level: float) -> tuple[Floats, Floats]:
        """Return intervals of a level, given probabilities and the variances of their scores."""
        return find_interval(proba, variance, float(self.stretch(ndtri((1.0 + level) / 2.0))))

    def stretch(self, z: Any) -> Any:
        """Turn standard normal numbers into those of a distribution with heavier tails."""
        return z * (self.tails[0] + self.tails[1] * np.abs(z))


def list_terms(proba: Floats, parts: Mapping[str, Floats], n_rows: float) -> dict[str, Floats]:
    """Return the logarithms that a `Calibration` multiplies by its factors, for each row."""
    square = proba * (1.0 - proba)
    gini = square.sum(axis=1)
    terms = {
        "constant": np.ones(len(proba)),
        "rows": np.full(len(proba), np.log(min(n_rows, MAX_FITTED_ROWS) / 1000.0)),
        "classes": np.full(len(proba), np.log(proba.shape[1] / 2.0)),
        "gini": np.log(gini + 0.02),
    }
    for name, one in parts.items():
        variance = np.minimum(find_log_odds(proba, one)[1], 1e3)
        share = (square * square * variance).sum(axis=1) / np.maximum(gini, 1e-12)
        terms[name] = np.log(share + 1e-4)
    return terms


def summarise_scores(
    proba: NDArray[np.float64], y: NDArray[np.int32], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return at most `MAX_SCORES` rising scores of rows, and the weight up to each: shape (n, 2).

    The score of a row x of class y is the threshold from which on its prediction set contains y::

        s(x, y) = sum of p_k over the classes more probable than y + u p_y,   u in [0, 1)

    `proba` are probabilities that have not seen these rows, `y` their class codes. Rows without
    probabilities (NaN) are left out. Each row has scores for several values of u, which share its
    weight.
    """
    known = np.flatnonzero(~np.isnan(proba).any(axis=1))
    # Arrays of one shape and type: NumPy casts and spreads others in a buffer, and crashes where
    # there is no memory for it.
    n_known, codes = len(known), y[known].astype(np.intp)
    columns = [np.array(proba[known, k], dtype=np.float64) for k in range(proba.shape[1])]
    true = proba[known, codes].astype(np.float64)
    least = np.zeros(n_known)
    for k, column in enumerate(columns):
        # Classes that are more probable than the true one, or as probable and before it.
        ahead = (column > true) | ((column == true) & (codes > k))
        least += np.where(ahead, column, np.zeros(n_known))
    # Rows of near scores get values of u that are far from each other.
    order = np.lexsort((least + true, least))
    n_values = -(-MIN_SPREAD_SCORES // max(n_known, 1))
    # The fractions of the multiples of the golden ratio are spread evenly, those of each stretch of
    # multiples too.
    u = np.repeat((golden - 1.0) * np.arange(n_known, dtype=np.float64), n_values)
    u += np.tile(np.arange(n_values, dtype=np.float64) / float(n_values), n_known)
    u -= np.floor(u)
    scores = np.repeat(least[order], n_values) + u * np.repeat(true[order], n_values)
    shares = np.repeat(weight[known][order] / float(n_values), n_values)
    order = np.argsort(scores, kind="stable")
    summary = np.column_stack([scores[order], np.cumsum(shares[order])])
    if len(summary) > MAX_SCORES:
        summary = summary[np.linspace(0, len(summary) - 1, MAX_SCORES).round().astype(int)]
    return summary


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

    calibration: Calibration = part(Calibration)

    @property
    def n_classes(self) -> int:
        """Number of classes; here the length of that name."""
        return self.lengths["n_classes"]

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        """Return class probabilities of rows, of shape (n_rows, n_classes)."""
        raise NotImplementedError

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """Return what each feature adds to the log-odds of rows; here by `explain_by_hiding`."""
        return explain_by_hiding(self, columns, names, n_threads)

    def spread_parts(self, columns: Columns, proba: Floats, n_threads: int) -> dict[str, Floats]:
        """Return what the variance of the scores follows from, by name; the last is unscaled."""
        return {}

    def spread(self, columns: Columns, n_threads: int = 1) -> Floats:
        """Return the variances of the scores whose softmax are the probabilities of rows."""
        proba = self.predict(columns, n_threads)
        return self.calibration.combine(proba, self.spread_parts(columns, proba, n_threads))

    def spread_as_member(self, columns: Columns, proba: Floats, n_threads: int) -> Floats:
        """Return the variances of the scores of a member of a pool, which scales them itself."""
        parts = self.spread_parts(columns, proba, n_threads)
        return list(parts.values())[-1] if parts else self.calibration.combine(proba, parts)

    def spread_rule(self) -> dict[str, Any]:
        """Return the rule by which a page finds what `spread_parts` returns: see intervals.js.

        Here, that no part of the variance is known.
        """
        return {"kind": "default", **self.calibration.scale_rule()}

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
