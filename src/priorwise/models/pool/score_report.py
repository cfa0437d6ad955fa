"""How good members and their pool are on rows they have not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.evaluation import cross_entropy, rmse, zero_one_loss


@dataclass(frozen=True)
class ScoreLine:
    """Out-of-fold scores of one member, or of the pool."""

    name: str
    rmse: float
    log_loss: float
    error: float
    pool_weight: float | None
    fit_seconds: float


@dataclass(frozen=True)
class ScoreReport:
    """A line for each member and one, the last, for what users get.

    Members are judged on rows they have not seen. The pool's few weights were learnt on these
    very rows, which flatters its line a little.
    """

    lines: tuple[ScoreLine, ...]
    n_rows: int
    """Rows judged: those of which every member has an opinion."""

    @classmethod
    def of(
        cls,
        held_out: Mapping[str, NDArray[np.float64]],
        y: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        pool_weights: Mapping[str, float],
        seconds: Mapping[str, float],
    ) -> ScoreReport:
        """Score the probabilities of rows with classes y by name."""
        known = ~np.any([np.isnan(proba).any(axis=1) for proba in held_out.values()], axis=0)
        if weight is not None:
            known &= weight > 0.0
        lines = [
            ScoreLine(
                name,
                *_scores(y[known], proba[known], None if weight is None else weight[known]),
                pool_weights.get(name),
                seconds.get(name, sum(seconds.values())),
            )
            for name, proba in held_out.items()
        ]
        return cls(tuple(lines), int(known.sum()))

    def __str__(self) -> str:
        head = f"{'member':10}{'RMSE':>9}{'log-loss':>10}{'error':>8}{'weight':>8}{'seconds':>9}"
        lines = [
            f"{line.name:10}{line.rmse:9.4f}{line.log_loss:10.4f}{line.error:8.4f}"
            f"{'' if line.pool_weight is None else format(line.pool_weight, '.2f'):>8}"
            f"{line.fit_seconds:9.2f}"
            for line in self.lines
        ]
        return "\n".join([head, *lines, f"out of fold, {self.n_rows} rows"])


def _scores(
    y: NDArray[np.int32], proba: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> tuple[float, float, float]:
    if len(y) == 0:
        return float("nan"), float("nan"), float("nan")
    labels = np.arange(proba.shape[1])
    return (
        float(rmse(y, proba, labels=labels, sample_weight=weight)),
        float(cross_entropy(y, proba, labels=labels, sample_weight=weight)),
        float(zero_one_loss(y, proba, labels=labels, sample_weight=weight)),
    )
