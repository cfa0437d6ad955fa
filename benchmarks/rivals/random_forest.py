"""Random forests as the papers ran them: 100 trees, log2(n) + 1 attributes tried at a split."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

from priorwise.data import FrameEncoder
from priorwise.data.encoding import TableEncoder


class DiscretisedForest(ClassifierMixin, BaseEstimator):
    """scikit-learn's forest on MDLP bins and labels, one column for each value."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        codes = TableEncoder().fit(X, np.unique(y, return_inverse=True)[1])
        self.encoder_ = codes
        n_tried = int(np.log2(len(codes.arities_))) + 1
        self.forest_ = RandomForestClassifier(
            100,
            max_features=min(n_tried, int(codes.arities_.sum())),
            random_state=self.random_state,
        ).fit(self._indicators(X), y)
        self.classes_ = self.forest_.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.forest_.predict_proba(self._indicators(X)))

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _indicators(self, X: Any) -> np.ndarray:
        codes = self.encoder_.transform(X)
        columns = [
            codes[i][:, None] == np.arange(arity) for i, arity in enumerate(self.encoder_.arities_)
        ]
        return np.hstack(columns).astype(np.float32)


class RawForest(ClassifierMixin, BaseEstimator):
    """scikit-learn's forest on the attributes as they are; nominal ones are one-hot."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        self.encoder_ = FrameEncoder().fit(X)
        matrix = self.encoder_.transform(X)
        self.forest_ = RandomForestClassifier(
            100,
            max_features=min(int(np.log2(matrix.shape[1])) + 1, matrix.shape[1]),
            random_state=self.random_state,
        ).fit(matrix, y)
        self.classes_ = self.forest_.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.forest_.predict_proba(self.encoder_.transform(X)))

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
