"""Classifiers and rows that tests of networks share."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from priorwise import (
    AODEClassifier,
    ESKDBClassifier,
    KDBClassifier,
    KDFClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    SuperParentClassifier,
    TANClassifier,
)

SINGLE: dict[str, Any] = {
    "naive Bayes": NaiveBayesClassifier(),
    "TAN": TANClassifier(),
    "kDB": KDBClassifier(max_parents=2),
    "selective kDB": SelectiveKDBClassifier(max_parents=2),
    "superparent": SuperParentClassifier(),
}
FAMILIES: dict[str, Any] = {"AODE": AODEClassifier(), "KDF": KDFClassifier(max_parents=2)}
# Members differ by random draws, which follow the order of features and the codes of values.
RANDOM: dict[str, Any] = {
    "ESKDB": ESKDBClassifier(n_estimators=5, max_parents=2, max_bins=8, random_state=0),
    "thesis ESKDB": ESKDBClassifier(3, max_parents=2, recipe="thesis", random_state=0),
}
FIXED = SINGLE | FAMILIES
ALL = FIXED | RANDOM

ARITIES = (3, 2, 4, 3, 2)
N_CLASSES = 3


def make_codes(seed=0, n_rows=150, arities=ARITIES, n_classes=N_CLASSES):
    """Codes in which features depend on the class and on earlier features."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    columns: list[np.ndarray] = []
    for arity in arities:
        source = y + (columns[rng.integers(len(columns))] if columns else 0)
        columns.append(
            np.where(rng.random(n_rows) < 0.5, source % arity, rng.integers(0, arity, n_rows))
        )
    return np.column_stack(columns), y


def as_frame(codes):
    """Nominal columns with labels that sort as the codes do."""
    return pd.DataFrame({f"f{i}": [f"v{v:05d}" for v in c] for i, c in enumerate(codes.T)})


def make_mixed(seed=0, n_rows=120):
    codes, y = make_codes(seed, n_rows)
    frame = as_frame(codes)
    rng = np.random.default_rng(seed)
    frame["number"] = y + rng.normal(size=n_rows)
    frame.loc[::9, "number"] = np.nan
    frame.loc[::11, "f0"] = None
    return frame, np.array(["no", "maybe", "yes"])[y]


def fit(model, X, y, **options):
    return clone(model).fit(X, y, **options)


def each(models):
    return pytest.mark.parametrize("model", models.values(), ids=models.keys())
