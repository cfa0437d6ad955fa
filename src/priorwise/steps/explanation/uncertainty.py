"""How sure the terms of an explanation are, and how many rows stand behind them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from priorwise.common.numeric import LEAST_PROBABILITY, sum_of_others
from priorwise.common.validation import check_number

if TYPE_CHECKING:
    from priorwise.steps.explanation.explanation import Explanation

Floats = NDArray[np.float64]

LEAST_END = 1e-6
"""Ends of intervals of probabilities that are nearer to zero or one are taken as this far away."""


class TermIntervals:
    """The methods of an `Explanation` that say how sure its terms are."""

    def interval(self: Any, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return intervals of the contributions.

        A contribution whose share of the variance of a row is s may be sqrt(s) times as far off as
        the log-odds of the row (`log_odds_interval`).

        Parameters
        ----------
        level : float
            Chance that the interval of a contribution contains it, between 0 and 1.

        Returns
        -------
        tuple of two arrays of shape (n_rows, n_features, n_classes)
            Lower and upper ends.
        """
        lower, upper = self.log_odds_interval(level)
        total = self.variance.sum(axis=1, keepdims=True)
        share = np.sqrt(self.variance / np.where(total > 0.0, total, 1.0))
        below, above = (self.log_odds - lower)[:, None], (upper - self.log_odds)[:, None]
        return self.contributions - share * below, self.contributions + share * above

    def log_odds_interval(self: Any, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return intervals of the log-odds: those of the probabilities, as log-odds.

        With (a, b) the interval of the probability p of a class (`predict_interval`), its log-odds
        against all others lie between log a / (1 - a) and log b / (1 - b). While the others share
        1 - p as they do, its log-odds against one of them, or against their mean, are that much
        further off. Ends nearer to zero or one than 1e-6, which `predict_interval` gives as zero
        and one, are taken as 1e-6 away.

        Parameters
        ----------
        level : float
            Chance that an interval contains the true log-odds, between 0 and 1.

        Returns
        -------
        tuple of two arrays of shape (n_rows, n_classes)
            Lower and upper ends.
        """
        check_number("level", level, above=0.0, below=1.0)
        if self.probability_interval is None:
            raise ValueError("the explanation has no intervals: use the method explain of a model")
        odds, proba = self.log_odds, self.probabilities
        against_others = np.log(proba) - np.log(np.maximum(sum_of_others(proba), LEAST_PROBABILITY))
        factor = np.ones(proba.shape[1])
        if self.reference is not None:
            factor = 1.0 * (self.classes != self.reference)
        lower, upper = (
            odds + factor * (logit(np.clip(ends, LEAST_END, 1.0 - LEAST_END)) - against_others)
            for ends in self.probability_interval(level)
        )
        return np.minimum(lower, odds), np.maximum(upper, odds)


def share_variance(
    explanation: Explanation, proba: Floats, variance: Floats, n_rows: float, interval: Any
) -> Explanation:
    """Return an explanation whose variances sum to those of the log-odds of the rows.

    `interval` returns the intervals of the probabilities for a level. `variance` are those of the
    log-odds of each class against all others. Terms share them as
    `share_terms` says. Without a `support` of its own, each term that is not zero has the number of
    rows that would make a probability as sure as the prediction is, at most the rows of training.
    """
    support = explanation.support
    if support is None:
        square = np.maximum(proba * (1.0 - proba), 1e-12)
        rows = np.minimum(1.0 / np.maximum(square * variance, 1e-12), n_rows)
        support = np.where(explanation.contributions != 0.0, rows[:, None, :], 0.0)
    shares = share_terms(explanation)
    variance = shares * variance[:, None, :]
    return replace(explanation, support=support, variance=variance, probability_interval=interval)


def share_terms(explanation: Explanation) -> Floats:
    """Return the share of each term in the variance of its row and class.

    It is in proportion to the `variance` that the model knows of its terms; or, for terms that are
    not zero, to one over the rows behind them; or to the sizes of the terms. All terms share alike
    if every one of them is zero.
    """
    sizes = np.abs(explanation.contributions)
    if explanation.variance is not None:
        sizes = explanation.variance
    elif explanation.support is not None:
        sizes = np.where(sizes > 0.0, 1.0 / (1.0 + explanation.support), 0.0)
    total = sizes.sum(axis=1, keepdims=True)
    alike = 1.0 / max(1, sizes.shape[1])
    return np.asarray(np.where(total > 0.0, sizes / np.where(total > 0.0, total, 1.0), alike))


def pool_terms(
    members: dict[str, Explanation], weights: dict[str, float]
) -> tuple[Floats, Floats | None]:
    """Return the shares of terms and the rows behind them, means over the members of a pool."""
    variance: Any = 0.0
    support: Any = 0.0
    known: Any = 0.0
    for name, member in members.items():
        weight = abs(weights[name])
        variance = variance + weight * share_terms(member)
        if member.support is not None:
            used = weight * (member.contributions != 0.0)
            support, known = support + used * member.support, known + used
    if isinstance(support, float):
        return variance, None
    return variance, support / np.where(known > 0.0, known, 1.0)
