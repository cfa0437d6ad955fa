"""What each feature adds to a pooled prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.models.pool.log_linear import FLOOR


@dataclass(frozen=True)
class PooledExplanation:
    """Contributions of features to the log-odds of the classes, of each member and of the pool.

    Log-odds are against the mean of the logs over the classes: a positive contribution speaks for
    the class, and the sum over classes is zero. Members' contributions are multiplied by their
    weights in the pool, so that they add up::

        log-odds = prior + sum over features and members of contributions + remainder

    A linear member's contributions are its coefficients times what the row says; a kernel
    member's the parts that features have in the change of its scores on the way from an average
    row (Aumann and Shapley); boosting's the changes along the paths of its trees; a network
    ensemble's the mean of its networks' exact sums; a forest's the changes of probability along
    the paths of its trees, in logs: with P the forest's probability, P0 that of its roots and d
    the change a feature makes, d log(P / P0) / (P - P0), which add up to log(P / P0). What is left
    because an ensemble averages probabilities and not their logs, and because the pool hears no
    probability below 0.001, is the `remainder`.

    Attributes
    ----------
    classes : array
    features : tuple of str
    prior : array (classes,)
    by_member : mapping of name to array (rows, features, classes)
    remainder : array (rows, classes)
    """

    classes: NDArray[Any]
    features: tuple[str, ...]
    prior: NDArray[np.float64]
    by_member: Mapping[str, NDArray[np.float64]]
    remainder: NDArray[np.float64]

    @property
    def contributions(self) -> NDArray[np.float64]:
        """All members together, shape (rows, features, classes)."""
        return np.sum(list(self.by_member.values()), axis=0)

    @property
    def log_odds(self) -> NDArray[np.float64]:
        """The prediction, shape (rows, classes)."""
        return np.asarray(self.prior + self.contributions.sum(axis=1) + self.remainder)

    def to_frame(self, backend: str = "pandas") -> Any:
        """One line per row, feature and class, in a "pandas", "polars" or "pyarrow" frame."""
        total = self.contributions
        row, feature, of_class = (grid.ravel() for grid in np.indices(total.shape))
        columns: dict[str, Any] = {
            "row": row,
            "feature": [self.features[i] for i in feature],
            "class": self.classes[of_class].tolist(),
            "contribution": total.ravel(),
            **{name: part.ravel() for name, part in self.by_member.items()},
        }
        chosen: Any = backend
        return nw.from_dict(columns, backend=chosen).to_native()


@dataclass(frozen=True)
class MemberTerms:
    """One member's log-odds, centred: bias + sum over features of terms + rest."""

    bias: NDArray[np.float64]
    """(classes,)"""
    terms: NDArray[np.float64]
    """(rows, features, classes)"""
    rest: NDArray[np.float64]
    """(rows, classes)"""

    @classmethod
    def of_scores(
        cls,
        bias: NDArray[np.float64],
        terms: NDArray[np.float64],
        probabilities: NDArray[np.float64],
    ) -> MemberTerms:
        """Of a member whose probabilities are, or nearly are, a softmax of sums."""
        bias, terms = _centre(bias), _centre(terms)
        score = _centre(np.log(np.maximum(probabilities, FLOOR)))
        return cls(bias, terms, score - bias - terms.sum(axis=1))

    @classmethod
    def of_sums(cls, bias: NDArray[np.float64], terms: NDArray[np.float64]) -> MemberTerms:
        """Of a member whose scores are sums: a bias, and terms of features."""
        return cls(_centre(bias), _centre(terms), np.zeros((len(terms), len(bias))))

    @classmethod
    def of_changes(cls, bias: NDArray[np.float64], changes: NDArray[np.float64]) -> MemberTerms:
        """Of a member whose probabilities are sums: a bias, and changes by features."""
        end = bias + changes.sum(axis=1)
        log_bias, log_end = (np.log(np.maximum(p, FLOOR)) for p in (bias, end))
        moved = np.abs(end - bias) > 1e-9 * np.maximum(end, bias)
        safe = np.where(moved, end - bias, 1.0)
        rate = np.where(moved, (log_end - log_bias) / safe, 1.0 / np.maximum(end, FLOOR))
        terms = _centre(changes * rate[:, None, :])
        rest = _centre(log_end) - _centre(log_bias) - terms.sum(axis=1)
        return cls(_centre(log_bias), terms, rest)


def explain_pool(
    classes: NDArray[Any],
    features: tuple[str, ...],
    intercept: NDArray[np.float64],
    weights: Mapping[str, float],
    members: Mapping[str, MemberTerms],
) -> PooledExplanation:
    """Join the members' sums by the pool's weights."""
    prior = _centre(intercept)
    remainder: Any = 0.0
    for name, member in members.items():
        prior = prior + weights[name] * member.bias
        remainder = remainder + weights[name] * member.rest
    by_member = {name: weights[name] * member.terms for name, member in members.items()}
    return PooledExplanation(classes, features, prior, by_member, remainder)


def _centre(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(scores - scores.mean(axis=-1, keepdims=True))
