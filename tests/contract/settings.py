"""The settings in which every public classifier is tested, small enough to be fast."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

import priorwise
from contract.rows.tables import mixed
from priorwise import (
    AODEClassifier,
    BoostingClassifier,
    ConditionalTable,
    ESKDBClassifier,
    GaussianNetworkClassifier,
    KDBClassifier,
    KDFClassifier,
    KernelLogisticClassifier,
    LogLinearPool,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SelectiveKDBClassifier,
    SplineLogisticClassifier,
    SuperParentClassifier,
    TANClassifier,
)
from priorwise.smoothing import HDP, HGS


@dataclass(frozen=True)
class Setting:
    """A classifier and what is known of the way it learns.

    Attributes
    ----------
    model : classifier
        Not fitted.
    draws : bool
        Whether it draws rows, features or cut points at random. Draws follow the numbers of
        features, classes and values, so another numbering gives another model of the same
        distribution instead of the same model.
    tests_smoothing_only : bool
        Whether it differs from another setting by its smoother only: laws on reading, threads and
        failed calls are then tested with the other one.
    """

    model: Any
    draws: bool = False
    tests_smoothing_only: bool = False

    def fit(self, X: Any, y: Any, **options: Any) -> Any:
        """Return a new classifier that has learnt from X and y."""
        return clone(self.model).fit(X, y, **options)

    @cached_property
    def fitted(self) -> Any:
        """A classifier that has learnt from `mixed()`, for all laws: none may change it."""
        return self.fit(*mixed())

    @cached_property
    def proba(self) -> NDArray[np.float64]:
        """The probabilities that `fitted` gives to the rows of `mixed()`."""
        return self.fitted.predict_proba(mixed()[0])


class TargetLast(ClassifierMixin, BaseEstimator):
    """A `ConditionalTable` of y given all columns of X, from the last to the first."""

    def __init__(self, smoothing: Any = "hdp", random_state: Any = 0) -> None:
        self.smoothing = smoothing
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        frame = self._as_frame(X)
        given = list(frame.columns)[::-1]
        rows = frame.assign(**{"the class": np.asarray(y)})
        table = ConditionalTable(self.smoothing, random_state=self.random_state)
        self.table_ = table.fit(rows, target="the class", given=given, sample_weight=sample_weight)
        self.classes_ = table.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.table_.predict_proba(self._as_frame(X))

    def explain(self, X: Any) -> Any:
        return self.table_.explain(self._as_frame(X))

    @staticmethod
    def _as_frame(X: Any) -> pd.DataFrame:
        frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
        return frame.rename(columns=str)


def _numbers(X: Any) -> Any:
    """Return the numbers of a table between -1000 and 1000, and zero for all else."""
    cells = np.asarray(X.to_pandas() if hasattr(X, "to_pandas") else X, dtype=object)
    columns = [np.zeros(len(cells))]
    for column in cells.T:
        try:
            columns.append(column.astype(float).clip(-1e3, 1e3))
        except (TypeError, ValueError):
            columns.append(columns[0])
    return np.nan_to_num(np.column_stack(columns))


def _foreign_member() -> Any:
    tree = DecisionTreeClassifier(max_depth=3, min_weight_fraction_leaf=0.1, random_state=0)
    return make_pipeline(FunctionTransformer(_numbers), tree)


def _forest(n_estimators: int = 5, **options: Any) -> ProbabilityForestClassifier:
    return ProbabilityForestClassifier(n_estimators, random_state=0, **options)


def _tree(smoothing: Any = "best", **options: Any) -> ProbabilityTreeClassifier:
    return ProbabilityTreeClassifier(smoothing, random_state=0, **options)


FIXED_TREE = {
    # No choice is left to folds, and splits of few rows, whose gains are often equal, are avoided.
    "criterion": "gain", "nominal_splits": "values", "soft_thresholds": None,
    "min_samples_leaf": 8,
}  # fmt: skip

SMOOTHERS: dict[str, Any] = {
    **{name: name for name in ("mle", "laplace", "m-estimate", "m-branch")},
    # Its default holds rows out.
    "hgs": HGS("optimised"),
}

SETTINGS: dict[type, dict[str, Setting]] = {
    NaiveBayesClassifier: {
        "": Setting(NaiveBayesClassifier()),
        "declared": Setting(NaiveBayesClassifier(declared="count")),
    },
    TANClassifier: {"": Setting(TANClassifier())},
    KDBClassifier: {
        "": Setting(KDBClassifier(2)),
        "missing ignored": Setting(KDBClassifier(2, missing="ignore")),
        "Gibbs": Setting(
            KDBClassifier(1, smoothing=HDP("gibbs", n_iter=50), random_state=0),
            draws=True, tests_smoothing_only=True,
        ),
        **{
            name: Setting(KDBClassifier(2, smoothing=one), tests_smoothing_only=True)
            for name, one in SMOOTHERS.items()
        },
    },
    SelectiveKDBClassifier: {
        "": Setting(SelectiveKDBClassifier(2)),
        "log, missing ignored": Setting(
            SelectiveKDBClassifier(2, selection_loss="log", missing="ignore")
        ),
    },
    SuperParentClassifier: {
        "": Setting(SuperParentClassifier()),
        "accuracy": Setting(SuperParentClassifier("accuracy")),
        "AUC, missing ignored": Setting(SuperParentClassifier("auc", missing="ignore")),
    },
    AODEClassifier: {
        "": Setting(AODEClassifier()),
        "mle": Setting(AODEClassifier(smoothing="mle"), tests_smoothing_only=True),
        "missing ignored": Setting(AODEClassifier(missing="ignore")),
    },
    KDFClassifier: {
        "": Setting(KDFClassifier(2)),
        "missing ignored": Setting(KDFClassifier(2, missing="ignore")),
    },
    ESKDBClassifier: {
        "": Setting(ESKDBClassifier(5, random_state=0), draws=True),
        "thesis": Setting(ESKDBClassifier(3, recipe="thesis", random_state=0), draws=True),
        "missing ignored": Setting(
            ESKDBClassifier(5, missing="ignore", random_state=0), draws=True
        ),
    },
    ProbabilityTreeClassifier: {
        "": Setting(_tree(n_folds=3), draws=True),
        # The setting without a name and the honest one choose the splits of labels, by folds.
        "pruned": Setting(
            _tree("hgs", criterion="gain", nominal_splits="values", pruning="cost-complexity"),
            draws=True,
        ),
        "honest": Setting(
            _tree(
                "laplace", criterion="gain", pruning="reduced-error", honest=0.3, n_folds=3
            ),
            draws=True,
        ),
        "fixed": Setting(_tree("m-branch", **FIXED_TREE)),
    },
    ProbabilityForestClassifier: {
        "": Setting(_forest(), draws=True),
        "frequencies": Setting(_forest(smoothing=None), draws=True, tests_smoothing_only=True),
        "no bootstrap": Setting(_forest(bootstrap=False), draws=True),
        "random": Setting(_forest(splitter="random"), draws=True),
        "random, all count": Setting(_forest(splitter="random", counts="all"), draws=True),
        "random, no bootstrap": Setting(_forest(splitter="random", bootstrap=False), draws=True),
    },
    BoostingClassifier: {
        "": Setting(BoostingClassifier(20, learning_rate=0.3, random_state=0), draws=True),
        "shares, symmetric": Setting(
            BoostingClassifier(
                20, learning_rate=0.3, symmetric=True, max_samples=0.8, max_features=0.6,
                random_state=0,
            ),
            draws=True,
        ),
    },
    GaussianNetworkClassifier: {
        "": Setting(GaussianNetworkClassifier(random_state=0), draws=True),
        "tree": Setting(
            GaussianNetworkClassifier("tree", max_parents=0, random_state=0), draws=True
        ),
    },
    SplineLogisticClassifier: {"": Setting(SplineLogisticClassifier(random_state=0), draws=True)},
    KernelLogisticClassifier: {
        "": Setting(KernelLogisticClassifier(20, random_state=0), draws=True)
    },
    LogLinearPool: {
        "": Setting(
            LogLinearPool(
                [("bayes", NaiveBayesClassifier()), ("forest", _forest(splitter="random"))],
                random_state=0,
            ),
            draws=True,
        ),
        "foreign members": Setting(
            LogLinearPool(
                [("foreign", _foreign_member()), ("tree", _tree("laplace", **FIXED_TREE))],
                n_folds=3, random_state=0,
            ),
            draws=True,
        ),
    },
    PriorwiseClassifier: {
        "": Setting(PriorwiseClassifier(effort="fast", random_state=0), draws=True),
    },
    ConditionalTable: {"": Setting(TargetLast())},
}  # fmt: skip

BY_NAME = {
    " ".join(filter(None, [kind.__name__.removesuffix("Classifier"), name])): setting
    for kind, settings in SETTINGS.items()
    for name, setting in settings.items()
}


def public_classifiers() -> list[type]:
    """Return the classifiers of the package, and the table that can be used as one."""
    public = [getattr(priorwise, name) for name in priorwise.__all__]
    return [
        kind
        for kind in public
        if isinstance(kind, type)
        and issubclass(kind, BaseEstimator)
        and hasattr(kind, "fit")
        and kind is not priorwise.BayesianNetwork  # it has no class
    ]


def each_setting(*without: str, draws: bool | None = None, smoothers: bool = True) -> Any:
    """Parametrise a law by `setting`.

    Parameters
    ----------
    *without : str
        Names of classes or of settings that the law does not apply to.
    draws : bool, optional
        Only settings that draw at random, or only those that do not.
    smoothers : bool
        Whether settings that differ from others by their smoother only are tested too.
    """
    chosen = [
        pytest.param(setting, id=name)
        for name, setting in BY_NAME.items()
        if name not in without
        and name.split()[0] not in without
        and draws in (None, setting.draws)
        and (smoothers or not setting.tests_smoothing_only)
    ]
    return pytest.mark.parametrize("setting", chosen)
