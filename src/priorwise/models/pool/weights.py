"""Weights of the members of a log-linear pool, and how good members and pool are on new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import count_shares, power_of_two, safe_log, softmax
from priorwise.common.records import Record, number, part
from priorwise.common.registered import with_registered_methods
from priorwise.common.texts import ERROR, LOG_LOSS, RMSE
from priorwise.data.tables import Columns
from priorwise.models.pool.numbers import NUMBERS
from priorwise.models.training_table import TrainingTable
from priorwise.steps.pool import score_probabilities


@dataclass(frozen=True)
class PoolWeights:
    """p(y) proportional to exp(b_y + sum_m w_m log max(P_m(y), floor)).

    The weights w may sum to more than one, and do where members are under-confident.
    """

    weight: NDArray[np.float64]
    intercept: NDArray[np.float64]
    floor: float = NUMBERS.floor

    @classmethod
    def fit(
        cls,
        logs: NDArray[np.float32],
        y: NDArray[np.int32],
        row_weight: NDArray[np.float64] | None = None,
        penalty: float = NUMBERS.penalty,
        intercept_penalty: float = NUMBERS.intercept_penalty,
        *,
        keep_signs: bool = False,
        n_rows: float = np.inf,
    ) -> PoolWeights:
        """Maximise the conditional likelihood of rows that no member has seen, given `stack_logs`.

        They are of a table of `n_rows`. Ridge penalties draw each weight towards 1 / 2, or less
        with many members or few rows
        (`_centre`), and the intercepts towards zero: with few rows the pool is nearly a plain
        average of logs, and with very few it says little. With `keep_signs` a member whose weight
        would be negative, the most negative first, has the weight zero: a pool of monotone members
        is then monotone.
        """
        _, n_classes, n_members = logs.shape
        weight, used = np.zeros(n_members), list(range(n_members))
        while used:
            centre = np.append(np.full(len(used), _centre(len(used), n_rows)), [0.0] * n_classes)
            fitted = _core.fit_conditional(
                np.ascontiguousarray(logs if len(used) == n_members else logs[:, :, used]),
                np.zeros(n_classes),
                y,
                row_weight,
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
        shares: it gets that of `NUMBERS.shares` with the least loss. Rows with a NaN have NaN.
        """
        floor = find_floor(len(y), probabilities[0].shape[1])
        logs, some = stack_logs(probabilities, floor)
        n_folds, n_classes = int(folds.max()) + 1, logs.shape[1]
        weight, intercept = np.zeros((n_folds, len(probabilities))), np.zeros((n_folds, n_classes))
        log_shares = np.zeros((n_folds, n_classes))
        for fold in np.unique(folds):
            others, learnt = folds != fold, folds[some] != fold
            fitted = cls.fit(
                logs[learnt], y[some[learnt]], _pick(row_weight, some[learnt]), *options,
                keep_signs=keep_signs, n_rows=len(y),
            )  # fmt: skip
            weight[fold], intercept[fold] = fitted.weight, fitted.intercept
            log_shares[fold] = _log_class_shares(y[others], _pick(row_weight, others), n_classes)
        score = intercept[folds]
        for own, proba in zip(weight.T, probabilities, strict=True):
            score += own[folds, None] * np.log(np.maximum(proba, floor))
        held_out = np.empty((len(NUMBERS.shares), *score.shape))
        for place, share in enumerate(NUMBERS.shares):
            held_out[place] = softmax(share * score + (1.0 - share) * log_shares[folds])
        known = np.flatnonzero(np.isfinite(score[:, 0]))
        loss = -safe_log(held_out[:, known, y[known]])
        if row_weight is not None:
            loss *= row_weight[known]
        losses = np.stack([np.bincount(folds[known], own, minlength=n_folds) for own in loss])
        total = losses.sum(axis=1, keepdims=True)
        # The rows of a fold have no part in the choice of the share that they judge.
        by_others = _choose_share(total - losses)
        fitted = cls.fit(
            logs, y[some], _pick(row_weight, some), *options,
            keep_signs=keep_signs, n_rows=len(y),
        )  # fmt: skip
        share = NUMBERS.shares[int(_choose_share(total)[0])]
        shrunk = fitted.shrink(share, _log_class_shares(y, row_weight, n_classes))
        return replace(shrunk, floor=floor), held_out[by_others[folds], np.arange(len(y))]

    def shrink(self, share: float, log_shares: NDArray[np.float64]) -> PoolWeights:
        """Return the weights that give the pool a share of the scores, and `log_shares` the rest.

        Both are on the scale of log probabilities.
        """
        if share == 1.0:
            return self
        return PoolWeights(share * self.weight, share * self.intercept + (1.0 - share) * log_shares)

    def pool(self, probabilities: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the pooled probabilities of rows, given the members'; NaN where one is NaN."""
        return softmax(self.score(probabilities))

    def score(self, probabilities: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return the logarithms of what the pooled probabilities are in proportion to."""
        return score_probabilities(probabilities, self.weight, self.intercept, self.floor)


def _centre(n_members: int, n_rows: float) -> float:
    """Return what the weight of a member is drawn towards: 1 if it is the only one of many rows."""
    centre = 1.0 if n_members == 1 else min(0.5, NUMBERS.total_weight / n_members)
    return centre / (1.0 + (NUMBERS.half_weight_rows / n_rows) ** 3)


def find_floor(n_rows: int, n_classes: int) -> float:
    """Return the least probability of a member that has learnt from a number of rows."""
    return min(1.0 / n_classes, max(NUMBERS.floor, (NUMBERS.floor_rows / n_rows) ** 3))


def _log_class_shares(
    y: NDArray[np.int32], weight: NDArray[np.float64] | None, n_classes: int
) -> NDArray[np.float64]:
    """Return the logarithms of the shares of the classes (`count_shares`)."""
    class_count = np.bincount(y, weight, minlength=n_classes).astype(np.float64)
    return np.log(count_shares(class_count))


def _choose_share(losses: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the place of the share in `NUMBERS.shares`, given losses (n_shares, n_choices).

    The whole pool, unless the last one is better than it.
    """
    return np.where(losses[-1] < losses[0], np.argmin(losses, axis=0), 0)


def stack_logs(
    probabilities: Sequence[NDArray[np.float64]], floor: float = NUMBERS.floor
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return log probabilities (n_rows, n_classes, n_members) of rows that all members predict.

    Of more than `weight_rows` of them, some at even distances. Also returns which rows they are.
    """
    known = np.flatnonzero(np.all([np.isfinite(p).all(axis=1) for p in probabilities], axis=0))
    some = known[:: -(-len(known) // NUMBERS.weight_rows) or 1]
    logs = np.empty((len(some), probabilities[0].shape[1], len(probabilities)), dtype=np.float32)
    for member, proba in enumerate(probabilities):
        logs[:, :, member] = np.log(np.maximum(proba[some], floor))
    return logs, some


def _pick(row_weight: NDArray[np.float64] | None, rows: NDArray[Any]) -> NDArray[np.float64] | None:
    return None if row_weight is None else row_weight[rows]


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
    fit_seconds : float or None
        Seconds that fitting took; for "pool" those of all members. None for a model that was saved
        or pickled: the same fit gives the same file.
    rmse_error, log_loss_error, error_error : float
        Standard errors of the three scores.
    """

    name: str = part(str)
    rmse: float = part(float)
    log_loss: float = part(float)
    error: float = part(float)
    pool_weight: float | None = part(float, optional=True)
    fit_seconds: float | None = part(float, optional=True)
    rmse_error: float = part(float)
    log_loss_error: float = part(float)
    error_error: float = part(float)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "fit_seconds": None}


@with_registered_methods
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
            if line.pool_weight is not None and line.pool_weight <= -0.005
        ]
        if self._is_last_worse:
            notes.append(
                "boosting is kept: all held-out rows together chose its number of rounds; its line "
                "is a stricter judge, with rounds that the judged rows had no part in choosing"
            )
        if self.lines[-1].name == "pool":
            few, per_class = NUMBERS.boosted_rows, NUMBERS.boosted_rows_per_class
            notes.append(
                f"no boosting: there is none below {few} rows or {per_class} rows per class"
                if self.n_rows < few
                else "no boosting: none was learnt that lowers the log-loss of held-out rows"
            )
        return tuple(notes)

    @property
    def _is_last_worse(self) -> bool:
        """Whether boosting has the higher log-loss: of 23 such and other models of 13 sets it had
        so in 13, and on new rows the log-loss was lower by 1.4 % (standard error 0.7 %) in these.
        """
        *others, last = self.lines
        return last.name != "pool" and last.log_loss > others[-1].log_loss

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the lines as a table.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the table; by default pandas.

        Returns
        -------
        pandas, polars or Arrow table
            One row for each line, with the columns of `ScoreLine`.
        """
        columns = {
            f.name: [getattr(line, f.name) for line in self.lines] for f in fields(ScoreLine)
        }
        chosen: Any = backend or "pandas"
        return nw.from_dict(columns, backend=chosen).to_native()

    def __repr__(self) -> str:
        width = max(10, *(len(line.name) + 1 for line in self.lines))
        scores = f"{RMSE:>9}{LOG_LOSS:>10}{ERROR:>8}{'weight':>8}{'seconds':>9}"
        head = f"{'member':{width}}{scores}"
        lines = [
            f"{line.name:{width}}{line.rmse:9.4f}{line.log_loss:10.4f}{line.error:8.4f}"
            f"{'' if line.pool_weight is None else format(line.pool_weight, 'z.2f'):>8}"
            f"{'' if line.fit_seconds is None else format(line.fit_seconds, '.2f'):>9}"
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


MAX_EXPLAINED_ROWS, MAX_CONTRIBUTIONS = 200, 1_000_000
"""Importances are measured on at most this many rows, and this many rows x features x classes."""


@dataclass(frozen=True, eq=False)
class ImportanceRows:
    """Some training rows and their weights."""

    columns: Columns
    weight: NDArray[np.float64] | None

    @classmethod
    def draw(cls, table: TrainingTable, *, keep_given: bool) -> Self:
        """Return rows of a table at even distances, if asked for with those that were given."""
        per_row = table.n_classes * len(table.encoder.is_nominal_)
        n_rows = min(table.n_rows, MAX_EXPLAINED_ROWS, max(1, MAX_CONTRIBUTIONS // per_row))
        rows = table.take(np.linspace(0, table.n_rows - 1, n_rows).astype(np.intp))
        columns = replace(rows.columns, X=rows.rows_given()) if keep_given else rows.columns
        return cls(columns, rows.weight)

    def average(self, contributions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of each feature in the absolute contributions to these rows."""
        sizes = np.abs(contributions).mean(axis=2)
        mean = np.average(sizes, axis=0, weights=self.weight)
        return np.asarray(mean / (mean.sum() or 1.0))
