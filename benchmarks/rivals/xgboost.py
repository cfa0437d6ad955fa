"""XGBoost: with its defaults, and as the thesis ran it."""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from priorwise.data import FrameEncoder

MAX_DEPTHS = (2, 4, 6, 8)
ROUNDS = (10, 50, 100)


def make(n_jobs: int) -> Any:
    """As it comes: 100 rounds, native categorical features."""
    return _xgboost().XGBClassifier(n_jobs=n_jobs, enable_categorical=True)


class SoftprobBooster(ClassifierMixin, BaseEstimator):
    """Objective softprob, 100 rounds, trees of depth 6; nominal columns are one-hot.

    With `n_tuning_folds` depth and rounds are chosen from the thesis' grid by log-loss in a
    cross-validation with that many folds.
    """

    def __init__(self, n_tuning_folds: int = 0, random_state: int | None = None) -> None:
        self.n_tuning_folds = n_tuning_folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.encoder_ = FrameEncoder().fit(X)
        matrix = self.encoder_.transform(X)
        self.max_depth_, self.n_rounds_ = 6, 100
        if self.n_tuning_folds:
            self.max_depth_, self.n_rounds_ = self._tune(matrix, codes)
        self.booster_ = self._boost(matrix, codes, self.max_depth_, self.n_rounds_)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self._predict(self.booster_, self.encoder_.transform(X), self.n_rounds_)

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _tune(self, matrix: np.ndarray, codes: np.ndarray) -> tuple[int, int]:
        folds = StratifiedKFold(self.n_tuning_folds, shuffle=True, random_state=self.random_state)
        loss = dict.fromkeys(itertools.product(MAX_DEPTHS, ROUNDS), 0.0)
        for train, test in folds.split(matrix, codes):
            for depth in MAX_DEPTHS:
                booster = self._boost(matrix[train], codes[train], depth, max(ROUNDS))
                for rounds in ROUNDS:
                    proba = self._predict(booster, matrix[test], rounds)
                    p = proba[np.arange(len(test)), codes[test]]
                    loss[depth, rounds] -= float(np.log(p).sum())
        return min(loss, key=loss.__getitem__)

    def _boost(self, matrix: np.ndarray, codes: np.ndarray, depth: int, rounds: int) -> Any:
        library = _xgboost()
        parameters = {
            "objective": "multi:softprob",
            "num_class": len(self.classes_),
            "max_depth": depth,
            "nthread": 1,
            "seed": self.random_state or 0,
        }
        return library.train(parameters, library.DMatrix(matrix, label=codes), rounds)

    def _predict(self, booster: Any, matrix: np.ndarray, rounds: int) -> np.ndarray:
        rows = _xgboost().DMatrix(matrix)
        proba = booster.predict(rows, iteration_range=(0, rounds)).astype(np.float64)
        # Single precision sums to one only to seven digits.
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def _xgboost() -> Any:
    try:
        import xgboost
    except ImportError as error:
        raise ImportError("this benchmark needs xgboost: pip install xgboost") from error
    return xgboost
