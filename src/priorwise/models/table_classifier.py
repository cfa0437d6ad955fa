"""What every classifier knows of the tables it learns from."""

from __future__ import annotations

from typing import Any

from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin

from priorwise.models.dataset_prediction import DatasetPredictionMixin


class TableClassifier(DatasetPredictionMixin, ClassifierMixin, BaseEstimator):
    """A classifier of tables with labels, numbers and missing values, on `n_jobs` threads."""

    n_jobs: int | None

    @property
    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def _adopt_features(self, reader: Any) -> None:
        """Know the features of `reader`, which has been fitted, and forget those of before."""
        self.n_features_in_ = reader.n_features_in_
        if hasattr(reader, "feature_names_in_"):
            self.feature_names_in_ = reader.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
