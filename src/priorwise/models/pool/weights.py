"""Weights of the members of a log-linear pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import LEAST_PROBABILITY, count_shares
from priorwise.steps.pool import join_probabilities

FLOOR = 1e-3
"""Members' probabilities below it are taken as this large."""

SHARES = (1.0, 0.5, 0.1)
"""Shares of the pool to choose from; the rest is that of the shares of the classes. The last is not
zero, so that intervals still see how far members differ."""

MAX_ROWS = 300_000
"""Of more rows, some at even distances are enough to learn weights from."""


@dataclass(frozen=True)
class PoolWeights:
    """p(y) proportional to exp(b_y + sum_m w_m log max(P_m(y), FLOOR)).

    The weights w may sum to more than one, and do where members are under-confident.
    """

    weight: NDArray[np.float64]
    intercept: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        probabilities: Sequence[NDArray[np.float64]],
        y: NDArray[np.int32],
        row_weight: NDArray[np.float64] | None = None,
        penalty: float = 5.0,
        intercept_penalty: float = 5.0,
        *,
        keep_signs: bool = False,
    ) -> PoolWeights:
        """Maximise the conditional likelihood of rows that no member has seen.

        Ridge penalties draw each weight towards 1 / 2, or towards 1 if there is one member, and the
        intercepts towards zero: with few rows the pool is nearly a plain average of logs. Rows with
        a NaN are left out. With `keep_signs` a member whose weight would be negative, the most
        negative first, has the weight zero: a pool of monotone members is then monotone.
        """
        n_classes, used = probabilities[0].shape[1], list(range(len(probabilities)))
        known = np.flatnonzero(np.all([np.isfinite(p).all(axis=1) for p in probabilities], axis=0))
        known = known[:: -(-len(known) // MAX_ROWS) or 1]
        logs = np.stack([_log(p[known]) for p in probabilities], axis=2).astype(np.float32)
        weight = np.zeros(len(probabilities))
        while used:
            centre = np.append(
                np.full(len(used), 1.0 if len(used) == 1 else 0.5), [0.0] * n_classes
            )
            fitted = _core.fit_conditional(
                np.ascontiguousarray(logs[:, :, used]),
                np.zeros(n_classes),
                y[known],
                None if row_weight is None else row_weight[known],
                centre,
                np.repeat([penalty, intercept_penalty], [len(used), n_classes]),
            )
            least = int(np.argmin(fitted[: len(used)]))
            if not keep_signs or fitted[least] >= 0.0:
                weight[used] = fitted[: len(used)]
                return cls(weight, fitted[len(used) :])
            del used[least]
        return cls(weight, np.zeros(n_classes))

    @classmethod
    def fit_and_judge(
        cls,
        probabilities: Sequence[NDArray[np.float64]],
        y: NDArray[np.int32],
        row_weight: NDArray[np.float64] | None,
        folds: NDArray[np.intp],
        *options: float,
        keep_signs: bool = False,
    ) -> tuple[PoolWeights, NDArray[np.float64]]:
        """Return weights, and the pooled probabilities of each row by weights fitted without it.

        Where little more than the shares of the classes has a lower log-loss on the rows of the
        folds, as with few rows or features that tell nothing, the pool is shrunk towards these
        shares: it gets that of `SHARES` with the least loss.
        """
        shape = (len(SHARES), *probabilities[0].shape)
        held_out, losses = np.full(shape, np.nan), np.zeros((len(SHARES), int(folds.max()) + 1))
        for fold in np.unique(folds):
            held, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            other_weight = None if row_weight is None else row_weight[others]
            fitted = cls.fit(
                [proba[others] for proba in probabilities], y[others], other_weight, *options,
                keep_signs=keep_signs,
            )  # fmt: skip
            log_shares = _log_class_shares(y[others], other_weight, shape[2])
            held_proba = [proba[held] for proba in probabilities]
            for i, share in enumerate(SHARES):
                held_out[i, held] = fitted.shrink(share, log_shares).pool(held_proba)
            known = held[np.isfinite(held_out[0, held, 0])]
            weight = np.ones(len(known)) if row_weight is None else row_weight[known]
            true_proba = np.maximum(held_out[:, known, y[known]], LEAST_PROBABILITY)
            losses[:, fold] = -np.log(true_proba) @ weight
        total = losses.sum(axis=1, keepdims=True)
        # The rows of a fold have no part in the choice of the share that they judge.
        by_others = _choose_share(total - losses)
        fitted = cls.fit(probabilities, y, row_weight, *options, keep_signs=keep_signs)
        log_shares = _log_class_shares(y, row_weight, shape[2])
        shrunk = fitted.shrink(SHARES[int(_choose_share(total)[0])], log_shares)
        return shrunk, held_out[by_others[folds], np.arange(len(y))]

    def shrink(self, share: float, log_shares: NDArray[np.float64]) -> PoolWeights:
        """Return the weights that give the pool a share of the scores, and `log_shares` the rest.

        Both are on the scale of log probabilities.
        """
        if share == 1.0:
            return self
        return PoolWeights(share * self.weight, share * self.intercept + (1.0 - share) * log_shares)

    def pool(self, probabilities: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the pooled probabilities of rows, given the members'; NaN where one is NaN."""
        return join_probabilities(probabilities, self.weight, self.intercept, FLOOR)


def _log_class_shares(
    y: NDArray[np.int32], weight: NDArray[np.float64] | None, n_classes: int
) -> NDArray[np.float64]:
    """Return the logarithms of the shares of the classes (`count_shares`)."""
    class_count = np.bincount(y, weight, minlength=n_classes).astype(np.float64)
    return np.log(count_shares(class_count))


def _choose_share(losses: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the place of the share in `SHARES`, given losses (n_shares, n_choices).

    The whole pool, unless the last one is better than it.
    """
    return np.where(losses[-1] < losses[0], np.argmin(losses, axis=0), 0)


def _log(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.maximum(probabilities, FLOOR)))
