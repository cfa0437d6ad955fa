"""What classifiers answer once they are fitted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from narwhals.dependencies import is_into_dataframe
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe
from priorwise.data.tables import Columns
from priorwise.models import intervals, prediction_sets
from priorwise.models.datasets import prediction
from priorwise.models.decisions import change_prior, check_class_prior, decide, expected_costs
from priorwise.models.table_reader import ROWS, TableReader
from priorwise.steps.explanation import Explanation, GlobalExplanation
from priorwise.steps.explanation.uncertainty import share_variance
from priorwise.steps.intervals import find_log_odds

BLOCK_ROWS = 50_000
"""Most rows that are read and predicted at a time, so that a prediction takes little memory."""


def split_rows(X: Any) -> list[slice] | None:
    """Return blocks of at most `BLOCK_ROWS` rows; None for fewer rows or rows that are not typed.

    Whether a column of an array of objects or of a list holds numbers depends on all its values, so
    these are read as a whole.
    """
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[0] <= BLOCK_ROWS:
        return None
    typed = X.dtype.kind != "O" if isinstance(X, np.ndarray) else is_into_dataframe(X)
    return list(gen_batches(int(shape[0]), BLOCK_ROWS)) if typed else None


class FittedClassifier(ClassifierMixin, TableReader):
    """Predictions, intervals and explanations of a classifier whose `step_` answers for it."""

    n_jobs: int | None
    classes_: NDArray[Any]
    class_count_: NDArray[np.float64]
    step_: Any

    predict_interval = intervals.predict_interval
    sample_proba = intervals.sample_proba
    prediction_set = prediction_sets.prediction_set
    calibrate_sets = prediction_sets.calibrate_sets
    predict_dataset = prediction.predict_dataset

    @describe(ROWS)
    def predict_proba(self, X: Any, *, class_prior: Any = None) -> NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        class_prior : dict or array of shape (n_classes,), optional
            Share of each class, by label or in the order of `classes_`, among the rows that are
            predicted, where it is not that of training: probabilities are multiplied by the ratio
            of both.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Probabilities; rows sum to one, columns are in the order of `classes_`.
        """
        if (blocks := split_rows(X)) is not None:
            return self._predict_blocks(X, blocks, class_prior)
        columns = self.read_rows(X)
        proba = self.step_.predict(columns, self.n_threads)
        return self._correct_prior(proba, class_prior)

    @describe(ROWS)
    def predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        """Predict class probabilities of rows that have been read.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Probabilities; rows sum to one, columns are in the order of `classes_`.
        """
        proba: NDArray[np.float64] = self.step_.predict(columns, self.n_threads)
        return proba

    @describe(ROWS)
    def predict(
        self,
        X: Any,
        cost_matrix: ArrayLike | None = None,
        *,
        class_prior: Any = None,
        reject_above: float | None = None,
    ) -> NDArray[Any]:
        """Predict the most probable class, or the class of the least expected cost.

        Parameters
        ----------
        cost_matrix : array of shape (n_classes, n_classes) or (n_rows, n_classes, n_classes)
            Row i, column j: the cost of predicting class j where class i is true, in the order
            of `classes_`; the same for all rows or one matrix for each. The class j of the
            smallest sum_i p_i cost_ij is predicted, the first of several (Elkan 2001; thesis
            6.2.2). By default each error costs one.
        class_prior : dict or array of shape (n_classes,), optional
            As in `predict_proba`.
        reject_above : float, optional
            Expected cost above which no class is predicted: the label is None there. Without a
            cost matrix that is the probability of an error.

        Returns
        -------
        array of shape (n_rows,)
            Class labels; an array of objects if `reject_above` is given.
        """
        proba = self.predict_proba(X, class_prior=class_prior)
        return decide(self.classes_, expected_costs(proba, cost_matrix), reject_above)

    @describe(ROWS)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithms of class probabilities.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Natural logarithms of `predict_proba`; minus infinity where that is zero.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @describe(ROWS)
    def explain(self, X: Any, reference: Any = None) -> Explanation:
        """Explain predictions: what each feature adds to the log-odds of each class.

        Parameters
        ----------
        reference : class label, optional
            The class that log-odds are taken against; by default the mean over the classes.

        Returns
        -------
        Explanation
            Contributions of all features for all rows and classes.
        """
        proba, variance, columns = intervals.predict_with_spread(self, X)
        explanation = self.explain_columns(columns)
        explanation = replace(explanation, values=self._list_values(columns))
        n_rows = float(self.class_count_.sum())
        squared = find_log_odds(proba, variance)[1]
        interval = partial(self.step_.calibration.find_interval, proba, variance)
        explanation = share_variance(explanation, proba, squared, n_rows, interval)
        return explanation if reference is None else explanation.against(reference)

    @describe(ROWS)
    def explain_columns(self, columns: Columns) -> Explanation:
        """Explain the predictions for rows that have been read.

        Returns
        -------
        Explanation
            Contributions of all features for all rows and classes.
        """
        explanation: Explanation = self.step_.explain(columns, self.names, self.n_threads)
        return explanation

    @describe(ROWS)
    def explain_global(self, X: Any) -> GlobalExplanation:
        """Explain the model by its predictions of many rows.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
            Rows with the columns of training; a few thousand are enough.

        Returns
        -------
        GlobalExplanation
            Importance and shape of each feature, and the strongest pairs.
        """
        return GlobalExplanation(self.explain(X))

    @property
    def n_threads(self) -> int:
        """Number of threads to use now.

        With `n_jobs` None it is 1, or what `joblib.parallel_config` says: so a pool gives its
        own number of threads to its members.
        """
        return int(effective_n_jobs(self.n_jobs))

    def _correct_prior(self, proba: NDArray[np.float64], class_prior: Any) -> NDArray[np.float64]:
        """Return class probabilities for other shares of the classes, if any are given."""
        if class_prior is None:
            return proba
        prior = check_class_prior(class_prior, self.classes_)
        return change_prior(proba, self.class_count_, prior)

    def _predict_blocks(
        self, X: Any, blocks: list[slice], class_prior: Any = None
    ) -> NDArray[np.float64]:
        """Predict class probabilities block by block; each row has the bits it has alone."""
        check_is_fitted(self)
        proba = np.empty((blocks[-1].stop, len(self.classes_)))
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        for block in blocks:
            rows = nw.to_native(frame[block], pass_through=True)
            proba[block] = self.predict_proba(rows, class_prior=class_prior)
        return proba

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
