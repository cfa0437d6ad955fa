"""Classifiers and rows that every export is tested on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.frozen import FrozenEstimator

from priorwise import (
    AODEClassifier,
    BoostingClassifier,
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

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "naive Bayes": NaiveBayesClassifier,
    "naive Bayes, unsmoothed": lambda: NaiveBayesClassifier("mle"),
    "naive Bayes, imputed": lambda: NaiveBayesClassifier(missing="impute"),
    "kDB, missing ignored": lambda: KDBClassifier(2, missing="ignore"),
    "TAN": lambda: TANClassifier(random_state=0),
    "kDB": lambda: KDBClassifier(3, random_state=0),
    "kDB, m-estimate": lambda: KDBClassifier(2, smoothing="m-estimate"),
    "selective kDB": lambda: SelectiveKDBClassifier(2, random_state=0),
    "SuperParent": SuperParentClassifier,
    "AODE": lambda: AODEClassifier(min_frequency=20),
    "AODE, nothing frequent": lambda: AODEClassifier(min_frequency=10_000),
    "KDF": KDFClassifier,
    "ESKDB": lambda: ESKDBClassifier(3, random_state=0),
    "ESKDB of the thesis": lambda: ESKDBClassifier(3, recipe="thesis", random_state=0),
    "tree": lambda: ProbabilityTreeClassifier(random_state=0),
    "tree, hard": lambda: ProbabilityTreeClassifier(soft_thresholds=None, random_state=0),
    "tree, soft": lambda: ProbabilityTreeClassifier(
        "laplace", soft_thresholds=0.2, criterion="gain", nominal_splits="one-value"
    ),
    "forest of best splits": lambda: ProbabilityForestClassifier(5, random_state=0),
    "forest of random splits": lambda: ProbabilityForestClassifier(
        5, splitter="random", random_state=0
    ),
    "boosting": lambda: BoostingClassifier(10, learning_rate=0.3, random_state=0),
    "spline": lambda: SplineLogisticClassifier(random_state=0),
    "spline, imputed": lambda: SplineLogisticClassifier(missing="impute", random_state=0),
    "kernel": lambda: KernelLogisticClassifier(50, random_state=0),
    "Gaussians": lambda: GaussianNetworkClassifier(max_parents=2, random_state=0),
    "Gaussians, naive": lambda: GaussianNetworkClassifier(
        "naive", max_parents=0, nominal="ignore", missing="impute", random_state=0
    ),
    "pool": lambda: LogLinearPool(
        [
            ("tan", TANClassifier()),
            ("imputed", SplineLogisticClassifier(missing="impute")),
            ("trees", BoostingClassifier(5)),
            ("frozen", FrozenEstimator(_fit("naive Bayes"))),
        ],
        random_state=0,
    ),
    "flagship": lambda: PriorwiseClassifier("fast", random_state=0),
}
"""Every classifier of the library, in settings that take other paths."""

ORDERED = {
    "naive Bayes, imputed",
    "kDB",
    "tree, hard",
    "forest of random splits",
    "spline, imputed",
}
"""Classifiers that read letters and post codes as ordered categories."""


def make_table(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, labels of several types, missing values and three classes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "height": rng.normal(size=n_rows),
        "colour \"1\"": rng.choice(["red", "gr\u00fcn", 'odd "\\?* name/'], n_rows),
        "weight": rng.normal(size=n_rows).round(1),
        "post code": rng.choice([10115, 20095, 80331], n_rows).astype(object),
        "is new": rng.random(n_rows) < 0.3,
        "letter": rng.choice(list("abcdefghij"), n_rows),
    })  # fmt: skip
    # Skewed numbers, which some classifiers read as logarithms.
    frame["income"] = np.exp(1.5 * rng.normal(size=n_rows) + 0.5 * frame["height"])
    frame["depth"] = -np.exp(1.5 * rng.normal(size=n_rows))
    for column in ("weight", "depth", 'colour "1"'):
        frame.loc[rng.random(n_rows) < 0.1, column] = None
    score = frame["height"] + (frame['colour "1"'] == "red") + frame["is new"]
    y = np.digitize(score + rng.normal(size=n_rows), [0, 1])
    return frame, np.array(["low", "middle", "high"])[y]


def _fit(name: str) -> Any:
    return fit(name)


@cache
def fit(name: str) -> Any:
    """A fitted classifier by its name; the post codes are categories."""
    X, y = make_table(300, 0)
    model = CLASSIFIERS[name]()
    if not isinstance(model, FrozenEstimator):
        model.set_params(categorical_features=["post code", "is new", "letter", 'colour "1"'])
    if name in ORDERED:
        order = {"letter": list("abcdefghij"), "post code": [80331, 10115, 20095]}
        free = ["is new", 'colour "1"']
        model.set_params(categorical_features=free, ordinal_features=order)
    if isinstance(model, LogLinearPool):
        for member in ("tan", "imputed", "trees"):
            model.set_params(**{f"{member}__categorical_features": model.categorical_features})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def make_fresh_rows() -> pd.DataFrame:
    """Rows with missing values where training had none, unseen labels and other spellings."""
    X, _ = make_table(200, 1)
    X = X.astype(object)
    X.loc[:20, "height"] = None
    X.loc[15:25, "income"] = -1.0
    X.loc[20:30, "depth"] = 1e300
    X.loc[10:30, "letter"] = "zzz"
    X.loc[25:35, "letter"] = None
    X.loc[36:40, "letter"] = " a "
    X.loc[30:50, "post code"] = "10115"
    X.loc[51:60, "post code"] = " 20095.0"
    X.loc[61:64, "post code"] = "?"
    X.loc[65:70, "post code"] = 12345
    X.loc[70:80, "is new"] = "true"
    X.loc[81:90, "is new"] = "FALSE "
    X.loc[91:95, "is new"] = 1
    X.loc[96:99, "is new"] = "NA"
    X.loc[100:110, 'colour "1"'] = "n/a"
    X.loc[111:115, "height"] = 1e300
    return X


def takes_text(model: Any) -> list[bool]:
    """Whether each feature of a classifier holds labels."""
    return [schema.kind not in ("numeric", "date") for schema in model.feature_schema_]


def list_rows(X: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain values by name; None where missing."""
    columns = {name: X[name].astype(object).tolist() for name in X}
    return [
        {name: None if pd.isna(values[i]) else values[i] for name, values in columns.items()}
        for i in range(len(X))
    ]


def predict(model: Any, X: pd.DataFrame) -> np.ndarray:
    """Python's probabilities, without warnings of unseen values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.predict_proba(X)
