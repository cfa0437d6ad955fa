"""From what a step knows of its variance to how far its probabilities may be from the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from priorwise.common.records import Record, number, numbers, part
from priorwise.steps.intervals import dirichlet_spread, find_interval, find_log_odds

Floats = NDArray[np.float64]

MAX_FITTED_ROWS = 30_000.0
"""Rows of the largest tables that factors were fitted to. With more rows, only what a model knows
of its variance makes intervals narrower."""
DEFAULT_FACTORS = {"constant": -0.31, "rows": -0.19, "classes": -1.62, "gini": 1.13}
DEFAULT_TAILS = (0.38, 0.44)
"""For models that know no part of their variance."""


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
