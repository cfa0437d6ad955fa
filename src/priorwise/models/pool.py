"""A log-linear pool: classifiers joined by weights on their log probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

from priorwise import _core
from priorwise.models.base import DecisionMixin, check_weight

FLOOR = 1e-4


@dataclass(frozen=True)
class PoolWeights:
    """p(y) proportional to exp(b_y + sum_m w_m log max(P_m(y), floor)).

    The weights may sum to more than one, and do where members are under-confident.
    """

    weight: NDArray[np.float64]
    """w, one per member."""
    intercept: NDArray[np.float64]
    """b, one per class."""

    @classmethod
    def fit(
        cls,
        probabilities: Sequence[NDArray[np.float64]],
        y: NDArray[np.int32],
        row_weight: NDArray[np.float64] | None = None,
        penalty: float = 1.0,
        intercept_penalty: float = 5.0,
    ) -> PoolWeights:
        """Maximise the conditional likelihood of rows that no member has seen.

        Ridge penalties draw the weights towards 1 / 2 each, or 1 / members where there are more
        than two, and the intercepts towards zero; so the fewer the rows, the plainer the pool.
        """
        n_members, n_classes = len(probabilities), probabilities[0].shape[1]
        features = np.stack([_log(p) for p in probabilities], axis=2).astype(np.float32)
        centre = np.concatenate([np.full(n_members, 1.0 / n_members), np.zeros(n_classes)])
        penalties = np.repeat([penalty, intercept_penalty], [n_members, n_classes])
        fitted = _core.fit_conditional(
            np.ascontiguousarray(features), np.zeros(n_classes), y, row_weight, centre, penalties
        )
        return cls(fitted[:n_members], fitted[n_members:])

    def pool(self, probabilities: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Join the members' probabilities of the same rows."""
        score = np.tile(self.intercept, (len(probabilities[0]), 1))
        for w, p in zip(self.weight, probabilities, strict=True):
            score += w * _log(p)
        return np.asarray(softmax(score, axis=1))


def _log(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.maximum(probabilities, FLOOR)))
