"""What classifiers answer once they are fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from narwhals.dependencies import is_into_dataframe
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe, hook
from priorwise.common.estimator import Estimator
from priorwise.common.numeric import count_shares, gen_batches
from priorwise.common.registered import of_one_fit
from priorwise.data.encoding import TableEncoder
from priorwise.data.encoding.schema import TableSchema
from priorwise.data.encoding.table_check import TableCheck, check_table
from priorwise.data.tables import READING_PARAMETERS, Columns
from priorwise.models import decisions, intervals
from priorwise.models.datasets import prediction
from priorwise.models.decisions import change_prior, check_class_prior, decide, expected_costs
from priorwise.models.descriptions import ROWS
from priorwise.steps.explanation import Explanation, GlobalExplanation
from priorwise.steps.explanation.uncertainty import share_variance
from priorwise.steps.intervals import Calibration
from priorwise.steps.step import Names

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


def from_step(name: str, doc: str, convert: Callable[[Any], Any] = lambda part: part) -> Any:
    """Return a property of a classifier that shows a part of what it has learnt, its step."""

    def show(model: Any) -> Any:
        return convert(getattr(model._find_step(), name))

    return property(show, doc=doc)


class FittedClassifier(ClassifierMixin, Estimator):
    """A classifier whose `encoder_` reads tables and whose `step_` answers for it.

    Parameters
    ----------
    categorical_features : "from_dtype" or array-like of bool, int or str
        Columns to take as categories: a mask, indices or names. Of all others the type decides:
        categories and booleans are categories, numbers and dates are numbers; columns of strings
        and objects are numbers or dates if all their values are (docs/columns.md).
    numeric_features : array-like of bool, int or str, optional
        Columns to take as numbers: a mask, indices or names. Text in them that is no number is
        missing.
    ordinal_features : "from_dtype", None, array-like of bool, int or str, or dict
        Columns to take as ordered categories, which are read as their ranks: a mask, indices or
        names, or a dict of the values of each column in rising order, such as
        ``{"size": ["small", "large"]}``. Without a dict their type must have an order: that of
        pandas and Arrow, if it is ordered, or a polars enum. Of all other columns the type decides,
        unless it is None: ordered categories of pandas and Arrow are taken as such, enums are not.
    date_features : "from_dtype", None or dict
        Columns to take as dates: seconds since 1970, and month, weekday and hour as features
        behind those of the columns. By default these are columns of dates, and columns of text all
        of whose values are dates in one form; a dict has the form of columns of text:
        ``{"when": "day-first"}``, "month-first" or "iso". None takes dates as seconds alone, and
        text as labels.
    text_features : "from_dtype", None, or array-like of bool, int or str
        Columns to take as text: their number of words, and behind the columns, for each of up to
        150 words and pieces of words that tell of the class, whether a text has it. By default
        columns of strings whose values are mostly different and have several words; a mask, indices
        or names say that others are, and None that none is.
    missing_values : "usual" or list of str and float
        Values that mean missing, besides None, NaN, NaT and NA: in columns of strings and objects,
        and in columns of numbers if they are numbers. The usual ones are "", "?", "NA", "N/A",
        "nan", "null", "None" and the like. Values of a categorical type are never missing.
    min_rows_per_label : int
        Fewest rows of training that a label must have to be known by its name, whatever their
        weights. Labels of fewer rows become one label, "other", and so does every label that
        training did not have, if it had a rare one; nothing that is made of the model names them.
        Later rows (`partial_fit`) bring no further labels if it is above 1. By default, 1, all
        labels are known. Labels with an order, and those of classes, stay.
    missing : {"value", "impute"}
        Whether missing values are a value of their own (default) or are replaced by the most
        frequent category or the mean. Networks also take "ignore".
    unseen : {"backoff", "error"}
        Whether a category that training did not have is ignored, so that the model backs off to
        what it knows without it (default), or raises a ValueError. In a network the feature is then
        left out of the product, and contexts that it is part of are cut off before it.
    declared : {"ignore", "count"}
        Whether categories and classes that a type declares but no row has are left out (default) or
        count: a feature then has as many values as were declared, and each declared class has its
        column of probabilities. Pandas categoricals, polars enums and Arrow dictionaries declare.

    Attributes
    ----------
    encoder_ : TableEncoder
        Reads new rows as the rows of training were read.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the features. Only if X had names.
    """

    n_jobs: int | None
    numeric_features: Any = None
    ordinal_features: Any = "from_dtype"
    date_features: Any = "from_dtype"
    text_features: Any = "from_dtype"
    missing_values: Any = "usual"
    min_rows_per_label: int = 1
    missing: str
    missing_choices: tuple[str, ...] = ("value", "impute")
    declared: str = "ignore"
    encoder_: TableEncoder
    step_: Any
    classes_: NDArray[Any]
    class_count_: NDArray[np.float64]
    n_features_in_: int

    predict_interval = intervals.predict_interval
    sample_proba = intervals.sample_proba
    prediction_set = decisions.prediction_set
    calibrate_sets = decisions.calibrate_sets
    predict_dataset = prediction.predict_dataset

    @of_one_fit
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
        return self._correct_prior(self.predict_columns(columns), class_prior)

    @hook
    def predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        """Predict class probabilities of rows that have been read."""
        proba: NDArray[np.float64] = self.step_.predict(columns, self.n_threads)
        rows = columns.find_blank(self.encoder_.parts_)
        if rows is not None and (shares := self.blank_proba) is not None:
            proba = proba.copy()
            proba[rows] = shares
        return proba

    @property
    @hook
    def blank_proba(self) -> NDArray[np.float64] | None:
        """Probabilities of a row of which nothing is known: the shares of the classes.

        None if the step answers, as networks do whose scores have no weights, and where training
        had missing numbers, so that they tell something.
        """
        n_columns = len(self.encoder_.missing_seen_) - len(self.encoder_.parts_)
        if self.step_.knows_shares or self.encoder_.missing_seen_[:n_columns].any():
            return None
        return count_shares(self.class_count_)

    @of_one_fit
    @describe(ROWS)
    def predict(
        self,
        X: Any,
        cost_matrix: Any = None,
        *,
        class_prior: Any = None,
        reject_above: float | None = None,
    ) -> NDArray[Any]:
        """Predict the most probable class, or the class of the least expected cost.

        Parameters
        ----------
        cost_matrix : array of shape (n_classes, n_classes), dict, frame, or one array per row
            Row i, column j: the cost of predicting class j where class i is true, in the order
            of `classes_`; the same for all rows, or of shape (n_rows, n_classes, n_classes). A dict
            has the costs by true class, then predicted class, such as ``{"sick": {"well": 10},
            "well": {"sick": 1}}``; the right class costs nothing. A frame has the predicted
            classes as columns and the true ones as index. The class j of the
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
        return decide(
            self.classes_, expected_costs(proba, cost_matrix, self.classes_), reject_above
        )

    @of_one_fit
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

    @of_one_fit
    @describe(ROWS)
    def explain(self, X: Any, reference: Any = None) -> Explanation:
        """Explain predictions: what each feature adds to the log-odds of each class.

        Parameters
        ----------
        reference : class label, optional
            The class that log-odds are taken against; by default the mean of the others.

        Returns
        -------
        Explanation
            Contributions of all features for all rows and classes.
        """
        columns = self.read_rows(X)
        proba = self.predict_columns(columns)
        explanation = self.explain_columns(columns)
        explanation = replace(explanation, values=self._list_values(columns))
        n_rows = float(self.class_count_.sum())
        calibration = self.find_calibration()
        variance = calibration.find_variance(proba)
        interval = partial(calibration.find_interval, proba)
        explanation = share_variance(explanation, proba, variance, n_rows, interval)
        return explanation if reference is None else explanation.against(reference)

    @hook
    def find_calibration(self) -> Calibration:
        """Return how wrong the probabilities are, which the first call measures."""
        check_is_fitted(self)
        return intervals.take_calibration(self)

    @hook
    def explain_columns(self, columns: Columns) -> Explanation:
        """Explain the predictions for rows that have been read."""
        explanation: Explanation = self.step_.explain(columns, self.names, self.n_threads)
        rows, shares = columns.find_blank(self.encoder_.parts_), self.blank_proba
        if rows is not None and shares is not None:
            explanation = explanation.forget(rows, shares)
        return explanation

    @of_one_fit
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
    @hook
    def n_threads(self) -> int:
        """Number of threads to use now.

        With `n_jobs` None it is 1, or what `joblib.parallel_config` says: so a pool gives its
        own number of threads to its members.
        """
        return int(effective_n_jobs(self.n_jobs))

    @hook
    def reads_like(self, encoder: TableEncoder) -> bool:
        """Whether `fit` would read rows as an encoder does."""
        pairs = ((getattr(self, name), getattr(encoder, name)) for name in READING_PARAMETERS)
        return all(
            own is other
            or np.array_equal(np.asarray(own, dtype=object), np.asarray(other, dtype=object))
            for own, other in pairs
        )

    @property
    def feature_schema_(self) -> TableSchema:
        """What each column was taken for: `kind`, `labels`, `least`, `largest` and the like."""
        check_is_fitted(self)
        return TableSchema(self.encoder_.schema_)

    @describe(ROWS)
    def check(self, X: Any) -> TableCheck:
        """Compare a table with training before anyone predicts: types, values and missing values.

        Returns
        -------
        TableCheck
            `problems` says in words what differs in kind, or by more than chance makes two parts of
            one table differ; `is_ok` whether nothing does. `notes` are other differences, and
            `columns` has the share of values of each column that were never seen, that lie outside
            of training's range, and that are missing.
        """
        check_is_fitted(self)
        n_train = float(self.class_count_.sum())
        return check_table(self.encoder_, X, n_train, getattr(self, "target_name_", None))

    @property
    def feature_labels_(self) -> tuple[str, ...]:
        """Names of the columns, "x0", "x1" and so on if X had none, then of the parts of dates."""
        check_is_fitted(self)
        return self.encoder_.feature_labels

    @hook
    def read_rows(self, X: Any) -> Columns:
        """Read rows to predict."""
        if "encoder_" not in vars(self):
            check_is_fitted(self)
        return self.encoder_.read(X, self)

    @property
    @hook
    def names(self) -> Names:
        """What the classes and the features are called."""
        return Names(self.classes_, self.feature_labels_)

    def _find_step(self) -> Any:
        """Return what was learnt; raise NotFittedError before `fit`."""
        check_is_fitted(self)
        return self.step_

    def _list_values(self, columns: Columns) -> NDArray[Any]:
        """Return the values of all features as objects, of shape (n_rows, n_features)."""
        values = np.empty((columns.n_rows, len(columns.is_nominal)), dtype=object)
        for i, column in enumerate(columns.in_feature_order()):
            if self.encoder_.is_nominal_[i]:
                # An array of labels would make arrays of those that are tuples.
                labels = [*self.encoder_.category_labels(i), "unseen"]
                for row, code in enumerate(column):
                    values[row, i] = labels[code]
            else:
                values[:, i] = self.encoder_.rank_labels(i, column)
        return values

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
