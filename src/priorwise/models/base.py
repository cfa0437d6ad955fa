"""The base class of all classifiers of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import describe, hook
from priorwise.common.registered import with_registered_methods
from priorwise.common.runtime import resolve_limit
from priorwise.common.stored.checks import check_fitted, check_numbers, is_array, require
from priorwise.common.validation import check_choice, check_n_jobs, check_seed, take_target
from priorwise.data.columns import weigh_classes
from priorwise.data.encoding import TableEncoder
from priorwise.models.checks import warn_of_mistakes, warn_of_near_copies
from priorwise.models.datasets.fitting import (
    SampledModel,
    SampledRows,
    SampleSizes,
    count_affordable,
    fit_dataset,
)
from priorwise.models.decisions import summarise_scores
from priorwise.models.descriptions import TRAINING_ROWS
from priorwise.models.fitted import FittedClassifier
from priorwise.models.intervals import (
    HELD_OUT,
    ROWS_TO_CALIBRATE,
    RowsToCalibrate,
    take_calibration,
)
from priorwise.models.memory import Smaller, TableSize, reduce
from priorwise.models.training_table import TrainingTable
from priorwise.steps.intervals import Calibration
from priorwise.steps.step import Step
from priorwise.streaming.fit import StreamedModel


@with_registered_methods
class TableClassifier(FittedClassifier):
    """A classifier of tables with labels, numbers and missing values.

    A subclass implements `_learn(table)`, which returns its fitted attributes as a dictionary and
    changes nothing of the estimator. This makes `fit` atomic: a `fit` that raises leaves the model
    as it was, a `fit` that succeeds replaces everything that was learnt before. One of the
    attributes is "step_", the record of arrays that answers for the classifier from then on;
    out-of-fold probabilities, if there are any, are "oof_proba_", for the rows of the table.
    `learnt` lists all of them with their types.

    Parameters
    ----------
    monotonic_cst : array-like of shape (n_features,) or dict of str to int, optional
        Directions of features, as in scikit-learn: with 1 the probability of the second class never
        falls when the feature rises, with -1 it never rises, with 0 it is free; by feature name in
        a dict, others are free. For numbers and ordered categories, and two classes.
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
    target_name_ : str
        Name of the column of the classes. Only if `fit` was given it.
    n_passes_ : int
        How often the rows were read. Only after `fit_dataset`.
    n_sampled_ : int
        Number of rows learnt from, by boosting too. Only after `fit_dataset`.
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        "encoder_": TableEncoder,
        "step_": Step,
        "classes_": np.ndarray,
        "class_count_": np.ndarray,
        "n_features_in_": int,
        "feature_names_in_": np.ndarray,
        "set_scores_": np.ndarray,
        "calibration_": Calibration,
        ROWS_TO_CALIBRATE: RowsToCalibrate,
        "oof_proba_": np.ndarray,
        "n_passes_": int,
        "n_sampled_": int,
        "target_name_": str,
        "decimal_mark_": str,
    }
    random_state: Any
    class_weight: Any = None
    memory_limit: Any = None
    min_classes = 2
    """Least number of classes in y."""
    reductions: ClassVar[Mapping[str, Smaller]] = {}
    """How parameters are lowered to save memory, first what costs least accuracy."""

    fit_dataset = fit_dataset
    report: Callable[..., None]
    explorer: Callable[..., None]

    @describe(TRAINING_ROWS)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows with known classes."""
        self.check_settings()
        self.check_parameters()
        target = {"target_name_": y} if isinstance(y, str) else {}
        X, y = take_target(X, y)
        weight = weigh_classes(self.class_weight, y, sample_weight)
        limit = resolve_limit(self.memory_limit)
        table = self._read_table(X, y, weight, groups)
        warns = getattr(self, "verbose", 0) >= 0
        if warns:
            warn_of_mistakes(table)
        fitted = self.keep_limit(limit, table)._learn(table)
        if warns and not fitted.keys().isdisjoint((HELD_OUT, "oof_proba_")):
            warn_of_near_copies(table)
        self._restore_rows(fitted, table)
        return self.adopt(table.encoder, table.classes, table.class_count, {**target, **fitted})

    @hook
    def check_settings(self) -> None:
        """Raise an error that names `n_jobs` or `random_state` if its value is wrong."""
        check_n_jobs(getattr(self, "n_jobs", None))
        check_seed(getattr(self, "random_state", None))
        check_choice("missing", self.missing, self.missing_choices)

    @hook
    def fit_table(self, table: TrainingTable) -> Self:
        """Learn from a table that has been read, as a pool does for its members.

        It is used as it is: `as_draws` first if the classifier holds rows out. `oof_proba_` is for
        its rows.
        """
        self.check_parameters()
        return self.adopt(table.encoder, table.classes, table.class_count, self._learn(table))

    @hook
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
        held_out = fitted.get(HELD_OUT, fitted.get("oof_proba_"))
        fitted[ROWS_TO_CALIBRATE] = RowsToCalibrate.draw(table, held_out)
        if "oof_proba_" in fitted:
            fitted["set_scores_"] = summarise_scores(fitted["oof_proba_"], table.y, table.weights)
            given = table.to_given_rows(fitted["oof_proba_"])
            fitted["oof_proba_"] = given.astype(np.float32)

    @hook
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
        learnt.pop(HELD_OUT, None)
        kept = {
            name: value
            for name, value in vars(self).copy().items()
            if name not in self.learnt and (name.startswith("_") or not name.endswith("_"))
        }
        self.__dict__ = {**kept, **learnt}
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return what is stored: the calibration, and not the rows it is measured on."""
        state = dict(super().__getstate__())
        if ROWS_TO_CALIBRATE in state:
            state["calibration_"] = take_calibration(self)
            state.pop(ROWS_TO_CALIBRATE)
        return state

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
            check_numbers("set_scores_", self.set_scores_, None, 3)
        if hasattr(self, "oof_proba_"):
            is_right = is_array(self.oof_proba_, np.float32, None, len(classes))
            require(is_right, "oof_proba_ has a wrong shape")

    @hook
    def as_streamed(self, target: str | None, max_rows: int | None) -> StreamedModel:
        """Return the model as `fit_dataset` lets it learn."""
        self.check_dataset(target)
        return SampledModel(self, max_rows)

    @hook
    def check_dataset(self, target: str | None) -> None:
        """Raise ValueError if a parameter or the target is not one for `fit_dataset`."""
        self.check_settings()
        self.check_parameters()
        if not isinstance(target, str):
            raise ValueError(f"target must be the name of a column, got {target!r}")
        self.refuse_class_weight("fit_dataset")
        if self.declared != "ignore":
            raise ValueError(
                "declared must be 'ignore' for fit_dataset, whose batches need not declare the "
                f"same labels, got {self.declared!r}"
            )

    @hook
    def refuse_class_weight(self, method: str) -> None:
        """Raise ValueError if there are class weights, for methods that see some rows at a time."""
        if self.class_weight is not None:
            raise ValueError(
                f"class_weight must be None for {method}, which sees a part of the rows at a time, "
                f"got {self.class_weight!r}"
            )

    @hook
    def adopt_learnt(self, learnt: Any, passes: Mapping[str, Any]) -> Self:
        """Adopt what `fit_dataset` has learnt."""
        encoder, classes, class_count, fitted = learnt
        known = {name: value for name, value in passes.items() if name in self.learnt}
        return self.adopt(encoder, classes, class_count, {**known, **fitted})

    @hook
    def learn_sample(self, table: TrainingTable, limit: float, rows: SampledRows) -> dict[str, Any]:
        """Return what is learnt from rows drawn from a source, of which `table` holds the first."""
        fitted = self.keep_limit(limit, table)._learn(table)
        self._restore_rows(fitted, table)
        return fitted

    @hook
    def plan_sample(self, size: TableSize, limit: float) -> SampleSizes:
        """Plan how many rows of a source to learn from."""
        return SampleSizes(count_affordable(self, size, limit))

    @hook
    def estimate_bytes(self, size: TableSize) -> float:
        """Return an estimate of the bytes at the peak of a fit; zero if there is none."""
        return 0.0

    @hook
    def keep_limit(self, limit: float, table: TrainingTable) -> Self:
        """Return the classifier, or a copy that learns less from a table, within a limit."""
        return reduce(self, limit, TableSize.of(table))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
