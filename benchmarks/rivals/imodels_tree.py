"""Hierarchical shrinkage with a cross-validated strength, by imodels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from priorwise.data import FrameEncoder


class ImodelsTree(ClassifierMixin, BaseEstimator):
    """imodels' HSTreeClassifierCV as it comes.

    Its folds are cut in the order of the rows, so rows are shuffled first; nominal columns are
    one-hot and classes are numbered.
    """

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ImodelsTree:
        from imodels import HSTreeClassifierCV

        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.encoder_ = FrameEncoder().fit(X)
        order = np.random.default_rng(self.random_state).permutation(len(codes))
        self.model_ = HSTreeClassifierCV().fit(self.encoder_.transform(X)[order], codes[order])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.model_.predict_proba(self.encoder_.transform(X))

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
