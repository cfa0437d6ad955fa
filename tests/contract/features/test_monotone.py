"""The probability of the second class never falls when a feature of direction 1 rises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from priorwise import (
    BoostingClassifier,
    KernelLogisticClassifier,
    LogLinearPool,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SplineLogisticClassifier,
)

GRADES = ["e", "d", "c", "b", "a"]
DIRECTIONS = {"up": 1, "down": -1, "grade": 1}
MODELS = {
    "tree": ProbabilityTreeClassifier("hdp", criterion="gain", nominal_splits="values"),
    "tree by folds": ProbabilityTreeClassifier(n_folds=2),
    "forest of best splits": ProbabilityForestClassifier(4),
    "forest of random splits": ProbabilityForestClassifier(8, splitter="random"),
    "boosting": BoostingClassifier(20, n_folds=2),
    "splines": SplineLogisticClassifier(),
    "flagship": PriorwiseClassifier("fast"),
    "pool": LogLinearPool(
        [("splines", SplineLogisticClassifier()), ("tree", ProbabilityTreeClassifier(n_folds=2))],
        n_folds=2,
    ),
}


def make_table(seed: int, n_rows: int) -> tuple[pd.DataFrame, NDArray[np.str_]]:
    """Return rows whose class depends on all features, not monotonically, and at random."""
    rng = np.random.default_rng(seed)
    up, down, free = rng.normal(size=(3, n_rows))
    grade = rng.integers(0, 5, n_rows)
    score = np.sin(2.0 * up) + 0.4 * up - down * (free > 0) + 0.5 * (grade % 3) + free**2 - 1.0
    X = pd.DataFrame(
        {
            "up": np.where(rng.random(n_rows) < 0.1, np.nan, up),
            "down": down.round(1),
            "free": free,
            "grade": pd.Categorical.from_codes(grade, GRADES, ordered=True),
            "colour": rng.choice(list("xyz"), n_rows),
        }
    )
    return X, np.where(rng.random(n_rows) < 1.0 / (1.0 + np.exp(-2.0 * score)), "yes", "no")


def changes(model: Any, X: pd.DataFrame, name: str, values: list[Any]) -> NDArray[np.float64]:
    """Return how P(second class) of each row changes from one value of a feature to the next."""
    proba = [
        model.predict_proba(X.assign(**{name: pd.Series([value] * len(X), index=X.index)}))[:, 1]
        for value in values
    ]
    return np.diff(np.array(proba), axis=0)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore:.*were never seen in training")
def test_probabilities_are_monotone_where_they_must_be(name: str) -> None:
    X, y = make_table(0, 600)
    Z = make_table(1, 150)[0]
    Z.loc[:20, "free"] = np.nan
    Z.loc[10:30, "colour"] = "never seen"
    model = MODELS[name].set_params(random_state=0, monotonic_cst=DIRECTIONS).fit(X, y)
    numbers = np.linspace(-4.0, 4.0, 23).tolist()
    for feature, values in {"up": numbers, "down": numbers, "grade": GRADES}.items():
        steps = DIRECTIONS[feature] * changes(model, Z, feature, values)
        assert steps.min() >= -1e-12
        assert steps.max() > 0.0
    free = changes(model, Z, "free", numbers)
    assert free.min() < 0.0 < free.max()


def test_without_constraints_the_same_models_are_not_monotone() -> None:
    X, y = make_table(0, 600)
    Z, numbers = make_table(1, 150)[0], np.linspace(-4.0, 4.0, 23).tolist()
    for model in MODELS.values():
        model.set_params(random_state=0, monotonic_cst=None).fit(X, y)
        assert changes(model, Z, "up", numbers).min() < -1e-3


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"colour": 1}, "monotonic_cst must be 0 for columns of labels, got column 'colour'"),
        ({"upp": 1}, "monotonic_cst must name columns of X, got 'upp'"),
        ([1, 0], "monotonic_cst must be a dict by names or 5 numbers"),
        ([2, 0, 0, 0, 0], "monotonic_cst must be a dict by names or 5 numbers"),
    ],
)
def test_constraints_that_cannot_be_kept_are_refused(constraints: Any, message: str) -> None:
    X, y = make_table(0, 60)
    for name in ("tree", "forest of random splits", "boosting", "splines", "flagship"):
        with pytest.raises(ValueError, match=message):
            MODELS[name].set_params(monotonic_cst=constraints).fit(X, y)


def test_more_than_two_classes_are_refused() -> None:
    X, y = make_table(0, 60)
    y[:20] = "perhaps"
    for model in MODELS.values():
        with pytest.raises(ValueError, match="monotonic_cst must be None with more than 2 classes"):
            model.set_params(monotonic_cst=DIRECTIONS).fit(X, y)


def test_a_pool_refuses_members_that_cannot_be_monotone() -> None:
    X, y = make_table(0, 60)
    members = [("trees", ProbabilityForestClassifier(3)), ("kernel", KernelLogisticClassifier())]
    model = PriorwiseClassifier("fast", estimators=members, monotonic_cst=DIRECTIONS)
    with pytest.raises(ValueError, match=r"member 'kernel' \(KernelLogisticClassifier\)"):
        model.fit(X, y)


N_TABLES = {"splines": 25, "flagship": 3}
"""Small tables that a model is fitted to; 8 for others."""


def make_column(rng: np.random.Generator, n_rows: int) -> tuple[Any, list[Any]]:
    """Return a column of few values, or with many equal ones at an end, and values to go through.

    It is of small numbers, ratings, numbers that are capped above or below, or ordered categories.
    """
    kind = rng.integers(0, 5)
    values = rng.integers(0, rng.integers(2, 5), n_rows).astype(float)
    if kind == 1:
        values = np.where(rng.random(n_rows) < 0.4, 5.0, rng.integers(1, 6, n_rows))
    elif kind == 2:
        values = np.clip(rng.normal(size=n_rows), -rng.exponential(), rng.exponential(0.5))
    elif kind == 3:
        values = values ** rng.integers(2, 12)
    elif kind == 4:
        codes = values.astype(int)
        grades = GRADES[: codes.max() + 1]
        return pd.Series(pd.Categorical.from_codes(codes, grades, ordered=True)), list(grades)
    points = np.unique(values)
    ends = [points[0] - 1.0, points[-1] + 1.0]
    between = np.linspace(points[0], points[-1], 9)
    near = np.nextafter(points[:, None], [-np.inf, np.inf]).ravel()
    grid = np.unique(np.concatenate([ends, points, between, near]))
    return pd.Series(np.where(rng.random(n_rows) < rng.choice([0.0, 0.2]), np.nan, values)), list(
        grid
    )


@pytest.mark.parametrize("name", MODELS)
def test_few_values_and_many_equal_ones_are_monotone_too(name: str) -> None:
    for seed in range(N_TABLES.get(name, 8)):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(20, 90))
        column, values = make_column(rng, n_rows)
        direction = int(rng.choice([-1, 1]))
        rank = column.cat.codes if column.dtype == "category" else column.rank()
        slope = direction * rng.choice([-2.0, 0.0, 2.0])
        score = slope * (rank - rank.mean()) / max(rank.std(), 1.0) + rng.normal(size=n_rows)
        y = score.fillna(rng.normal()).to_numpy() > 0.0
        y[:2] = [False, True]
        X = pd.DataFrame({"x": column, "z": rng.normal(size=n_rows)})
        weight = rng.exponential(size=n_rows) if seed % 3 == 0 else None
        model = MODELS[name].set_params(random_state=0, monotonic_cst={"x": direction})
        model.fit(X, y, weight)
        Z = X.iloc[np.tile(np.arange(5), len(values))].reset_index(drop=True)
        x = np.repeat(values, 5)
        Z["x"] = pd.Categorical(x, GRADES, ordered=True) if x.dtype.kind == "U" else x
        proba = model.predict_proba(Z)[:, 1].reshape(len(values), 5)
        steps = direction * np.diff(proba, axis=0)
        assert steps.min() >= -1e-12, f"seed {seed}: {column.dropna().unique()}"
