"""Boosted trees that start from given probabilities and mend what these get wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from priorwise.data import Columns
from priorwise.models.deadline import Deadline
from priorwise.models.folds import deal_into_folds
from priorwise.models.pooled_explanation import MemberTerms

N_FOLDS = 5
DEPTHS = (2, 4, 6)
MAX_ROUNDS = 300
PATIENCE = 20
MIN_ROWS_TO_SHARE = 10_000
"""With fewer rows threads wait for each other longer than they work."""


@dataclass(frozen=True)
class OffsetBoosting:
    """p(y | x) proportional to exp(log P(y | x) + F_y(x)), with F the mean of five boosters.

    Each booster has learnt from the rows of four folds, starting from the out-of-fold
    probabilities P; depth and number of rounds, zero included, are those of the least log-loss on
    the rows of the fifth folds together.
    """

    boosters: list[Any]
    n_rounds: int
    depth: int

    @classmethod
    def fit(
        cls,
        columns: Columns,
        y: NDArray[np.int32],
        weight: NDArray[np.float64] | None,
        probabilities: NDArray[np.float64],
        seed: int,
        n_threads: int,
        deadline: Deadline,
    ) -> OffsetBoosting:
        """Learn from rows whose probabilities come from models that have not seen them."""
        rows = _Rows(_features(columns), y, weight, _log(probabilities), len(columns.nominal_codes))
        folds = deal_into_folds(y, N_FOLDS, np.random.default_rng(seed))
        best, best_loss = cls([], 0, 0), np.inf
        for depth in DEPTHS:
            found = _boost_folds(rows, folds, depth, n_threads, deadline)
            if found.loss < best_loss:
                best, best_loss = cls(found.boosters, found.n_rounds, depth), found.loss
        return best if best.n_rounds > 0 else cls([], 0, 0)

    def predict_proba(
        self, columns: Columns, probabilities: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Probabilities mended; without a round they stay as they are."""
        if self.n_rounds == 0:
            return probabilities
        features = _features(columns)
        change = np.mean(
            [
                _raw_scores(booster, features, probabilities.shape[1], self.n_rounds)
                for booster in self.boosters
            ],
            axis=0,
        )
        return np.asarray(softmax(_log(probabilities) + change, axis=1))

    def explain(self, columns: Columns, features: NDArray[np.intp]) -> MemberTerms:
        """What each feature adds to F, by the boosters' Shapley values, which sum to it exactly.

        `features` holds the place of each column of the boosters, labels first, in the table.
        """
        rows = _features(columns)
        found = np.mean(
            [
                booster.predict(rows, pred_contrib=True, num_iteration=self.n_rounds)
                for booster in self.boosters
            ],
            axis=0,
        ).reshape(len(rows), -1, len(features) + 1)
        if found.shape[1] == 1:
            found = np.concatenate([-0.5 * found, 0.5 * found], axis=1)
        terms = np.empty((len(rows), len(features), found.shape[1]))
        terms[:, features] = found[:, :, :-1].transpose(0, 2, 1)
        bias = found[0, :, -1]
        return MemberTerms(
            bias - bias.mean(), terms - terms.mean(axis=2, keepdims=True), np.zeros(found.shape[:2])
        )


@dataclass(frozen=True)
class _Rows:
    features: NDArray[np.float64]
    y: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    offset: NDArray[np.float64]
    n_nominal: int

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.ones(len(self.y)) if self.weight is None else self.weight


@dataclass(frozen=True)
class _FoldBoosters:
    boosters: list[Any]
    n_rounds: int
    loss: float


def _boost_folds(
    rows: _Rows, folds: NDArray[np.intp], depth: int, n_threads: int, deadline: Deadline
) -> _FoldBoosters:
    """Five boosters side by side, a round at a time, until the pooled loss stops falling."""
    held = [np.flatnonzero(folds == fold) for fold in range(N_FOLDS)]
    boosters = [
        _new_booster(rows, np.flatnonzero(folds != fold), depth, n_threads)
        for fold in range(N_FOLDS)
    ]
    scores = rows.offset.copy()
    losses = [_log_loss(scores, rows)]

    while len(losses) - 1 < MAX_ROUNDS and len(losses) - 1 - int(np.argmin(losses)) < PATIENCE:
        n_done = len(losses) - 1
        stuck = [booster.update() for booster in boosters]
        for booster, part in zip(boosters, held, strict=True):
            scores[part] += _raw_scores(
                booster, rows.features[part], scores.shape[1], 1, start=n_done
            )
        losses.append(_log_loss(scores, rows))
        if all(stuck) or deadline.over:
            break
    best = int(np.argmin(losses))
    return _FoldBoosters(boosters, best, losses[best])


def _new_booster(rows: _Rows, part: NDArray[np.intp], depth: int, n_threads: int) -> Any:
    lightgbm = require_booster()
    n_classes = rows.offset.shape[1]
    offset = rows.offset[part]
    objective: dict[str, Any] = {"objective": "binary"}
    init_score: NDArray[np.float64] = offset[:, -1] - offset[:, 0]
    if n_classes > 2:
        objective = {"objective": "multiclass", "num_class": n_classes}
        init_score = offset
    data = lightgbm.Dataset(
        rows.features[part],
        rows.y[part],
        weight=None if rows.weight is None else rows.weight[part],
        init_score=init_score,
        categorical_feature=list(range(rows.n_nominal)),
        params={"max_bin": 63, "min_data_in_bin": 1, "verbosity": -1},
        free_raw_data=False,
    )
    return lightgbm.Booster(
        {
            **objective,
            "learning_rate": 0.1,
            "max_depth": depth,
            "num_leaves": 2**depth,
            "lambda_l2": 1.0,
            "min_sum_hessian_in_leaf": 0.1,
            "min_data_in_leaf": 1,
            "boost_from_average": False,
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": n_threads if len(part) >= MIN_ROWS_TO_SHARE else 1,
            "verbosity": -1,
        },
        data,
    )


def _raw_scores(
    booster: Any, features: NDArray[np.float64], n_classes: int, n_rounds: int, start: int = 0
) -> NDArray[np.float64]:
    raw = booster.predict(
        features, raw_score=True, start_iteration=start, num_iteration=n_rounds, num_threads=1
    )
    return np.stack([-0.5 * raw, 0.5 * raw], axis=1) if n_classes == 2 else np.asarray(raw)


def _log_loss(scores: NDArray[np.float64], rows: _Rows) -> float:
    own = log_softmax(scores, axis=1)[np.arange(len(rows.y)), rows.y]
    return float(np.average(-own, weights=rows.weights))


def _features(columns: Columns) -> NDArray[np.float64]:
    """Labels as codes first, then numbers; unknown labels are missing."""
    codes = np.where(columns.nominal_codes < 0, np.nan, columns.nominal_codes)
    return np.ascontiguousarray(np.concatenate([codes, columns.values]).T)


def _log(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log(np.maximum(probabilities, np.finfo(float).tiny)))


def require_booster() -> Any:
    """LightGBM, or an error that says how to get it."""
    try:
        import lightgbm
    except ImportError as error:
        raise ImportError('effort="best" needs LightGBM: pip install priorwise[boost]') from error
    return lightgbm
