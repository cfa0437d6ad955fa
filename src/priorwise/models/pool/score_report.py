"""How good members and their pool are on rows they have not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import power_of_two
from priorwise.common.records import Record, number, part


@dataclass(frozen=True)
class ScoreLine(Record):
    """Out-of-fold scores of one member, of the pool, or of boosting.

    Attributes
    ----------
    name : str
        Name of the member, "pool" or "boosting".
    rmse, log_loss, error : float
        Root mean squared error, mean log-loss and share of wrong classes.
    pool_weight : float or None
        Weight in the pool; None for "pool" and "boosting".
    fit_seconds : float
        Seconds that fitting took; for "pool" those of all members.
    rmse_error, log_loss_error, error_error : float
        Standard errors of the three scores.
    """

    name: str = part(str)
    rmse: float = part(float)
    log_loss: float = part(float)
    error: float = part(float)
    pool_weight: float | None = part(float, optional=True)
    fit_seconds: float = part(float)
    rmse_error: float = part(float)
    log_loss_error: float = part(float)
    error_error: float = part(float)


@dataclass(frozen=True)
class ScoreReport(Record):
    """Scores of members, of the pool and of boosting on the same training rows.

    All lines are judged by rows that have not been seen: members and boosters by rows they have
    not learnt from, the weights of the pool and the number of rounds of boosting by rows that had
    no part in choosing them.

    Attributes
    ----------
    lines : tuple of ScoreLine
        One for each member in their order, one for the pool and, if there is boosting, one for
        boosting. The last line is what users get.
    n_rows : int
        Number of rows judged: those that every line has out-of-fold probabilities of.
    """

    lines: tuple[ScoreLine, ...] = part(ScoreLine, several=True)
    n_rows: int = number(int, least=0)

    @classmethod
    def compute(
        cls,
        held_out: Mapping[str, NDArray[np.float64]],
        y: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        pool_weights: Mapping[str, float],
        seconds: Mapping[str, float],
    ) -> ScoreReport:
        """Score out-of-fold probabilities, NaN for rows without, by the name of the line."""
        known = ~np.any([np.isnan(proba).any(axis=1) for proba in held_out.values()], axis=0)
        known_weight = None if weight is None else weight[known]
        lines = []
        for name, proba in held_out.items():
            scores, errors = _score(y[known], proba[known], known_weight)
            lines.append(ScoreLine(name, *scores, pool_weights.get(name), seconds[name], *errors))
        return cls(tuple(lines), int(known.sum()))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the lines do not say by themselves: negative weights and missing boosting."""
        notes = [
            f"{line.name} has a negative weight: it corrects what other members say too strongly"
            for line in self.lines
            if line.pool_weight is not None and line.pool_weight < 0.0
        ]
        if self.lines[-1].name == "pool":
            notes.append(
                "no boosting: it needs a PriorwiseClassifier, 500 rows and 20 rows per class, and "
                "must lower the log-loss of held-out rows"
            )
        return tuple(notes)

    def __str__(self) -> str:
        width = max(10, *(len(line.name) + 1 for line in self.lines))
        scores = f"{'RMSE':>9}{'log-loss':>10}{'error':>8}{'weight':>8}{'seconds':>9}"
        head = f"{'member':{width}}{scores}"
        lines = [
            f"{line.name:{width}}{line.rmse:9.4f}{line.log_loss:10.4f}{line.error:8.4f}"
            f"{'' if line.pool_weight is None else format(line.pool_weight, '.2f'):>8}"
            f"{line.fit_seconds:9.2f}"
            for line in self.lines
        ]
        return "\n".join([head, *lines, f"out of fold, {self.n_rows} rows", *self.notes])


Scores = tuple[float, float, float]


def _score(
    y: NDArray[np.int32], proba: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> tuple[Scores, Scores]:
    """Return RMSE, log-loss and error, and their standard errors.

    They are means over rows, or the root of one.
    """
    if len(y) == 0:
        unknown = float("nan"), float("nan"), float("nan")
        return unknown, unknown
    weight = np.ones(len(y)) if weight is None else weight / power_of_two(weight.max())
    total = weight.sum()

    def mean_and_error(loss: NDArray[np.float64]) -> tuple[float, float]:
        with np.errstate(invalid="ignore"):
            mean = float(weight @ loss / total)
            return mean, float(np.sqrt(weight @ (loss - mean) ** 2) / total)

    true = np.arange(len(y)), y
    with np.errstate(divide="ignore"):
        log_loss, log_loss_error = mean_and_error(-np.log(proba[true]))
    distance = proba.copy()
    distance[true] -= 1.0
    square, square_error = mean_and_error((distance**2).mean(axis=1))
    error, error_error = mean_and_error((proba.argmax(axis=1) != y).astype(np.float64))
    rmse = float(np.sqrt(square))
    return (rmse, log_loss, error), (
        0.5 * square_error / max(rmse, 1e-300), log_loss_error, error_error,
    )  # fmt: skip
