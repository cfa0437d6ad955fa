"""How sure the terms of an explanation are, and how many rows stand behind them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from priorwise.common.validation import check_number

if TYPE_CHECKING:
    from priorwise.models.explanation.explanation import Explanation

Floats = NDArray[np.float64]


class TermIntervals:
    """The methods of an `Explanation` that say how sure its terms are."""

    def interval(self: Any, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return intervals of the contributions.

        A contribution is taken as normal. `variance` is that of the log-odds of a class against all
        others together. Against the mean of K classes its root is taken times 1 - 1 / K, which is
        right if the score of the class is what is not sure; against one class the larger variance
        of the two is taken. Both are exact for two classes.

        Parameters
        ----------
        level : float
            Chance that the interval of a contribution contains it, between 0 and 1.

        Returns
        -------
        tuple of two arrays of shape (n_rows, n_features, n_classes)
            Lower and upper ends.
        """
        reach = self._reach(self.variance, level)
        return self.contributions - reach, self.contributions + reach

    def log_odds_interval(self: Any, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return intervals of the log-odds, whose variance is the sum of those of the terms.

        Parameters
        ----------
        level : float
            Chance that an interval contains the true log-odds, between 0 and 1.

        Returns
        -------
        tuple of two arrays of shape (n_rows, n_classes)
            Lower and upper ends.
        """
        variance = None if self.variance is None else self.variance.sum(axis=1)
        reach = self._reach(variance, level)
        return self.log_odds - reach, self.log_odds + reach

    def _reach(self: Any, variance: Floats | None, level: float) -> Floats:
        """Half the width of intervals, given variances of the log-odds against all others."""
        check_number("level", level, above=0.0, below=1.0)
        if variance is None:
            raise ValueError("the explanation has no variance: use the method explain of a model")
        if self.reference is None:
            deviation = np.sqrt(variance) * (1.0 - 1.0 / variance.shape[-1])
        else:
            place = self.find_class(self.reference, "reference")
            deviation = np.sqrt(np.maximum(variance, variance[..., [place]]))
            deviation[..., place] = 0.0
        return np.asarray(ndtri((1.0 + level) / 2.0) * deviation)


def share_variance(
    explanation: Explanation, proba: Floats, variance: Floats, n_rows: float
) -> Explanation:
    """Return an explanation whose variances sum to those of the log-odds of the rows.

    `variance` are those of the log-odds of each class against all others. Terms share them as
    `share_terms` says. Without a `support` of its own, each term that is not zero has the number of
    rows that would make a probability as sure as the prediction is, at most the rows of training.
    """
    support = explanation.support
    if support is None:
        square = np.maximum(proba * (1.0 - proba), 1e-12)
        rows = np.minimum(1.0 / np.maximum(square * variance, 1e-12), n_rows)
        support = np.where(explanation.contributions != 0.0, rows[:, None, :], 0.0)
    shares = share_terms(explanation)
    return replace(explanation, support=support, variance=shares * variance[:, None, :])


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
