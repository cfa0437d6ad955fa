"""The base class of all classifiers of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from narwhals.dependencies import is_into_dataframe
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from priorwise.common.docstrings import describe
from priorwise.common.memory import resolve_limit
from priorwise.common.registered import with_registered_methods
from priorwise.common.stored.checks import check_fitted, check_numbers, is_array, require
from priorwise.common.validation import check_n_jobs
from priorwise.data.labels import weigh_classes
from priorwise.data.tables import Columns, TableEncoder
from priorwise.models import intervals, prediction_sets, sampled_fit
from priorwise.models.datasets import prediction
from priorwise.models.datasets.row_sample import SampledRows, SampleSizes
from priorwise.models.decisions import change_prior, check_class_prior, decide, expected_costs
from priorwise.models.memory import limit as memory_limit
from priorwise.models.memory.plan import MemoryFamily, TableSize
from priorwise.models.table_reader import ROWS, TableReader
from priorwise.models.training_table import TrainingTable
from priorwise.steps.explanation import Explanation, GlobalExplanation
from priorwise.steps.explanation.uncertainty import share_variance
from priorwise.steps.intervals import find_log_odds
from priorwise.steps.step import Step

TRAINING_ROWS = """
Parameters
----------
X : frame or array of shape (n_rows, n_features)
    Rows to learn from: a pandas, polars or Arrow table, an array or a list of lists.
y : array-like of shape (n_rows,)
    Class label of each row.
sample_weight : array-like of shape (n_rows,), optional
    Weight of each row. Weights count rows: a row of weight two counts for two equal rows, a row of
    weight zero for no row. Where rows are held out, in folds or bootstraps, a row is held out as a
    whole, whatever its weight.
groups : array-like of shape (n_rows,), optional
    Group of each row. Rows of a group are held out together wherever rows are held out. By default
    each row is a group, and so are exact copies of rows that hold a continuous number.

Returns
-------
Self
    The fitted classifier.
"""
"""Descriptions that all methods share that learn from rows."""

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


@with_registered_methods
class TableClassifier(ClassifierMixin, TableReader):
    """A classifier of tables with labels, numbers and missing values.

    A subclass implements `_learn(table)`, which returns its fitted attributes as a dictionary and
    changes nothing of the estimator. This makes `fit` atomic: a `fit` that raises leaves the model
    as it was, a `fit` that succeeds replaces everything that was learnt before. One of the
    attributes is "step_", the record of arrays that answers for the classifier from then on;
    out-of-fold probabilities, if there are any, are "oof_proba_", for the rows of the table.
    `learnt` lists all of them with their types.

    Parameters
    ----------
    memory_limit : int, float, str or None
        Bytes, or a text such as ``"2GB"``, that `fit` may take besides X. None (default) is half of
        what the machine or container has available. What a fit takes is estimated before it
        learns. Beyond the limit it learns less, and a warning says what was left out: fewer
        parents in networks, larger leaves, fewer trees, fewer landmarks. A MemoryError is raised
        if that is not enough. A fit that stays within the limit does not depend on it.
    class_weight : "balanced", dict or None
        Weight of the rows of each class, by its label; other classes have the weight one. With
        "balanced" all classes have the same weight and the sum is that of the rows. Weights of
        rows are multiplied by it; probabilities are those of the weighted rows.
    n_jobs : int or None
        Number of threads; None is 1, -1 is one for each processor. Results do not depend on it.
    random_state : int, RandomState instance or None
        Seed of all random draws. An int gives the same model in every call.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Class labels in sorted order, the order of the columns of `predict_proba`.
    class_count_ : array of shape (n_classes,)
        Number of training rows of each class, or the sum of their weights.
    step_ : Step
        What the classifier has learnt, as arrays.
    n_passes_ : int
        How often the rows were read. Only after `fit_dataset`.
    n_sampled_ : int
        Number of rows learnt from, by boosting too. Only after `fit_dataset`.
    """

    n_jobs: int | None
    random_state: Any
    class_weight: Any = None
    memory_limit: Any = None
    classes_: NDArray[Any]
    class_count_: NDArray[np.float64]
    step_: Any

    learnt: ClassVar[Mapping[str, Any]] = {
        "encoder_": TableEncoder,
        "step_": Step,
        "classes_": np.ndarray,
        "class_count_": np.ndarray,
        "n_features_in_": int,
        "feature_names_in_": np.ndarray,
        "set_scores_": np.ndarray,
        "oof_proba_": np.ndarray,
        "n_passes_": int,
        "n_sampled_": int,
        "target_name_": str,
    }
    min_classes = 2
    """Least number of classes in y."""
    memory_family: ClassVar[MemoryFamily | None] = None
    """How the memory of a fit is estimated; None if it is not."""

    predict_interval = intervals.predict_interval
    sample_proba = intervals.sample_proba
    prediction_set = prediction_sets.prediction_set
    calibrate_sets = prediction_sets.calibrate_sets
    predict_dataset = prediction.predict_dataset
    fit_dataset = sampled_fit.fit_dataset
    report: Callable[..., None]
    explorer: Callable[..., None]

    @describe(TRAINING_ROWS)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows with known classes."""
        self.check_settings()
        self.check_parameters()
        weight = weigh_classes(self.class_weight, y, sample_weight)
        limit = resolve_limit(self.memory_limit)
        table = self._read_table(X, y, weight, groups)
        fitted = self.keep_limit(limit, table)._learn(table)
        self._restore_rows(fitted, table)
        return self.adopt(table.encoder, table.classes, table.class_count, fitted)

    def fit_table(self, table: TrainingTable) -> Self:
        """Learn from a table that has been read, as a pool does for its members.

        Parameters
        ----------
        table : TrainingTable
            Used as it is: `as_draws` first if the classifier holds rows out.
            `oof_proba_` is for the rows of this table.

        Returns
        -------
        Self
            The fitted classifier.
        """
        self.check_parameters()
        return self.adopt(table.encoder, table.classes, table.class_count, self._learn(table))

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
        proba = self.step_.predict(self.read_rows(X), self.n_threads)
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

    def check_parameters(self) -> None:
        """Raise an error that names the parameter, its value and the rule, if a value is wrong."""

    def _learn(self, table: TrainingTable) -> dict[str, Any]:
        """Learn from a table; return the fitted attributes and change nothing of the estimator."""
        raise NotImplementedError

    def _read_table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> TrainingTable:
        """Read the rows given to `fit`, in the order of their content."""
        table = TrainingTable.read_uncut(self, X, y, sample_weight, groups, self.min_classes)
        return table.as_draws()

    def _restore_rows(self, fitted: dict[str, Any], table: TrainingTable) -> None:
        """Turn out-of-fold probabilities of the table's rows into those of the rows given.

        They are kept in 32 bits: of many rows they are a large part of the model.
        """
        if "oof_proba_" in fitted:
            fitted["set_scores_"] = prediction_sets.summarise_scores(
                fitted["oof_proba_"], table.y, table.weights
            )
            given = table.to_given_rows(fitted["oof_proba_"])
            fitted["oof_proba_"] = given.astype(np.float32)

    def adopt(
        self,
        encoder: TableEncoder,
        classes: NDArray[Any],
        class_count: NDArray[np.float64],
        fitted: Mapping[str, Any],
    ) -> Self:
        """Replace everything that was learnt before by new fitted attributes, in one assignment."""
        features = {"class_count_": class_count, "n_features_in_": encoder.n_features_in_}
        if hasattr(encoder, "feature_names_in_"):
            features["feature_names_in_"] = encoder.feature_names_in_
        learnt = {"encoder_": encoder, "classes_": classes, **features, **fitted}
        kept = {
            name: value
            for name, value in vars(self).items()
            if name not in self.learnt and (name.startswith("_") or not name.endswith("_"))
        }
        self.__dict__ = {**kept, **learnt}
        return self

    def check_learnt(self) -> None:
        check_fitted(self, "encoder_", "step_", "classes_", "class_count_", "n_features_in_")
        check_n_jobs(self.n_jobs)
        check_n_jobs(self.encoder_.n_jobs)
        encoder, classes = self.encoder_, self.classes_
        require(classes.ndim == 1 and len(classes) >= self.min_classes, "it has too few classes")
        require(self.step_.n_classes == len(classes), "the step must have all classes")
        check_numbers("class_count_", self.class_count_, len(classes), least=0.0)
        require(self.n_features_in_ == encoder.n_features_in_, "features must be the encoder's")
        names, known = (getattr(one, "feature_names_in_", None) for one in (self, encoder))
        require(
            names is known or np.array_equal(names, known),  # type: ignore[arg-type]
            "the model and its encoder must have the same names of features",
        )
        n_labels = [len(one.labels) for one in encoder.categories_]
        self.step_.check_features(encoder.is_nominal_, n_labels)
        if hasattr(self, "set_scores_"):
            check_numbers("set_scores_", self.set_scores_, None, 2)
        if hasattr(self, "oof_proba_"):
            is_right = is_array(self.oof_proba_, np.float32, None, len(classes))
            require(is_right, "oof_proba_ has a wrong shape")

    def learn_sample(self, table: TrainingTable, limit: float, rows: SampledRows) -> dict[str, Any]:
        """Learn from rows drawn from a source.

        Parameters
        ----------
        table : TrainingTable
            The first of the sampled rows.
        limit : float
            Bytes that learning may take.
        rows : SampledRows
            All rows that are held in memory, and how to find others.

        Returns
        -------
        dict of str to object
            The fitted attributes, out-of-fold probabilities those of the rows given.
        """
        model = self.keep_limit(limit, table)
        fitted = model._learn(table)
        model._restore_rows(fitted, table)
        return fitted

    def plan_sample(self, size: TableSize, encoder: TableEncoder, limit: float) -> SampleSizes:
        """Plan how many rows of a source to learn from.

        Parameters
        ----------
        size : TableSize
            Numbers of rows, features and classes of the source.
        encoder : TableEncoder
            How its rows are read.
        limit : float
            Bytes that learning may take.

        Returns
        -------
        SampleSizes
            Numbers of rows to learn from, and of rows that only a pool makes use of.
        """
        return SampleSizes(sampled_fit.count_affordable(self, size, encoder, limit))

    def estimate_memory(self, size: TableSize, encoder: TableEncoder) -> float:
        """Return the bytes that a fit to a table of some size takes by an estimate.

        Parameters
        ----------
        size : TableSize
            Numbers of rows, features and classes.
        encoder : TableEncoder
            How the table is read.

        Returns
        -------
        float
            Bytes; zero if there is no estimate.
        """
        return memory_limit.estimate(self)(size)

    def keep_limit(self, limit: float, table: TrainingTable) -> Self:
        """Return the classifier, or a copy that learns less from a table, within a limit.

        Parameters
        ----------
        limit : float
            Bytes.
        table : TrainingTable
            The table to learn from.

        Returns
        -------
        Self
            This classifier if its fit is estimated within the limit.
        """
        return memory_limit.reduce(self, limit, TableSize.of(table))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
