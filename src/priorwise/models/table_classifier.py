"""What every classifier knows of the tables it learns from."""

from __future__ import annotations

from typing import Any, Self

from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin

from priorwise.common.docstrings import DocumentedMixin
from priorwise.models.dataset_prediction import DatasetPredictionMixin


class TableClassifier(DocumentedMixin, DatasetPredictionMixin, ClassifierMixin, BaseEstimator):
    """A classifier of tables with labels, numbers and missing values, on `n_jobs` threads.

    Parameters
    ----------
    categorical_features : "from_dtype" or array-like of bool, int or str
        Columns of numbers to take as categories: a mask, indices or names. With "from_dtype"
        (default) columns of strings, categories, booleans and objects are categories, and columns
        of numbers are numeric.
    missing : {"value", "impute"}
        Whether missing values are a value of their own (default) or are replaced by the most
        frequent category or the mean.
    unseen : {"backoff", "error"}
        Whether a category that training did not have is ignored, so that the model backs off to
        what it knows without it (default), or raises a ValueError.
    n_jobs : int or None
        Number of threads; None is 1, -1 is one for each processor. Results do not depend on it.
    random_state : int, RandomState instance or None
        Seed of all random draws. An int gives the same model in every call.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in sorted order, the order of the columns of `predict_proba`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. Only if X had names.
    """

    n_jobs: int | None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows with known classes.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
            Rows to learn from: a pandas, polars or Arrow table, an array or a list of lists.
        y : array-like of shape (n_rows,)
            Class label of each row.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row. Weights count rows: a row of weight two is the same as two equal
            rows, a row of weight zero the same as no row.

        Returns
        -------
        Self
            The fitted classifier.
        """
        raise NotImplementedError

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
