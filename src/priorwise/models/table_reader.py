"""What all classifiers share that read tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe
from priorwise.common.estimator import Estimator
from priorwise.common.validation import check_choice, check_n_jobs, check_seed
from priorwise.data.tables import READING_PARAMETERS, Columns, TableEncoder
from priorwise.data.tables.description.schema import ColumnSchema, TableCheck, check_table
from priorwise.steps.step import Names

ROWS = """
Parameters
----------
X : frame or array of shape (n_rows, n_features)
    Rows with the columns of training.
columns : Columns
    Rows as `encoder_` reads them.
"""
"""Descriptions that all methods share that take rows."""


class TableReader(Estimator):
    """An estimator that reads tables by its `encoder_`.

    Parameters
    ----------
    categorical_features : "from_dtype" or array-like of bool, int or str
        Columns to take as categories: a mask, indices or names. Of all others the type decides:
        categories and booleans are categories, numbers and dates are numbers; columns of strings
        and objects are numbers if all their values are (docs/columns.md).
    numeric_features : array-like of bool, int or str, optional
        Columns to take as numbers: a mask, indices or names. Text in them that is no number is
        missing.
    ordinal_features : "from_dtype", None, array-like of bool, int or str, or dict
        Columns to take as ordered categories, which are read as their ranks: a mask, indices or
        names, or a dict of the values of each column in rising order, such as
        ``{"size": ["small", "large"]}``. Without a dict their type must have an order: that of
        pandas and Arrow, if it is ordered, or a polars enum. Of all other columns the type decides,
        unless it is None: ordered categories of pandas and Arrow are taken as such, enums are not.
    missing_values : "usual" or list of str and float
        Values that mean missing, besides None, NaN, NaT and NA: in columns of strings and objects,
        and in columns of numbers if they are numbers. The usual ones are "", "?", "NA", "N/A",
        "nan", "null", "None" and the like. Values of a categorical type are never missing.
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

    numeric_features: Any = None
    ordinal_features: Any = "from_dtype"
    missing_values: Any = "usual"
    missing: str
    missing_choices: tuple[str, ...] = ("value", "impute")
    declared: str = "ignore"
    encoder_: TableEncoder
    step_: Any
    classes_: NDArray[Any]
    n_features_in_: int

    def reads_like(self, encoder: TableEncoder) -> bool:
        """Whether `fit` would read rows as an encoder does.

        Parameters
        ----------
        encoder : TableEncoder
            The encoder of a pool.

        Returns
        -------
        bool
            True if all parameters that define how a table is read are equal.
        """
        pairs = ((getattr(self, name), getattr(encoder, name)) for name in READING_PARAMETERS)
        return all(
            own is other
            or np.array_equal(np.asarray(own, dtype=object), np.asarray(other, dtype=object))
            for own, other in pairs
        )

    @property
    def feature_schema_(self) -> tuple[ColumnSchema, ...]:
        """What each column was taken for: `kind`, `labels`, `least`, `largest` and the like."""
        check_is_fitted(self)
        return self.encoder_.schema_

    @describe(ROWS)
    def check(self, X: Any) -> TableCheck:
        """Compare a table with training before anyone predicts: types, values and missing values.

        Returns
        -------
        TableCheck
            `problems` says in words what differs, `is_ok` whether nothing does, and `columns` has
            the share of values of each column that were never seen, that lie outside of training's
            range, and that are missing.
        """
        check_is_fitted(self)
        return check_table(self.encoder_, X)

    @property
    def feature_labels_(self) -> tuple[str, ...]:
        """Names of the features; "x0", "x1" and so on if X had none."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return tuple(f"x{i}" for i in range(self.n_features_in_))
        return tuple(str(name) for name in names)

    @describe(ROWS)
    def read_rows(self, X: Any) -> Columns:
        """Read rows to predict.

        Returns
        -------
        Columns
            Codes of labels, and numbers.
        """
        if "encoder_" not in vars(self):
            check_is_fitted(self)
        return self.encoder_.read(X, self)

    @property
    def names(self) -> Names:
        """What the classes and the features are called."""
        return Names(self.classes_, self.feature_labels_)

    def _find_step(self) -> Any:
        """Return what was learnt; raise NotFittedError before `fit`."""
        check_is_fitted(self)
        return self.step_

    def _list_values(self, columns: Columns) -> NDArray[Any]:
        """Return the values of all features as objects, of shape (n_rows, n_features)."""
        values = np.empty((columns.n_rows, self.n_features_in_), dtype=object)
        for i, column in enumerate(columns.in_feature_order()):
            if self.encoder_.is_nominal_[i]:
                # An array of labels would make arrays of those that are tuples.
                labels = [*self.encoder_.category_labels(i), "unseen"]
                for row, code in enumerate(column):
                    values[row, i] = labels[code]
            else:
                values[:, i] = self.encoder_.rank_labels(i, column)
        return values

    def check_settings(self) -> None:
        """Raise an error that names `n_jobs` or `random_state` if its value is wrong."""
        check_n_jobs(getattr(self, "n_jobs", None))
        check_seed(getattr(self, "random_state", None))
        check_choice("missing", self.missing, self.missing_choices)
