"""Smoothers that a user writes, as models take them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise import (
    BayesianNetwork,
    ConditionalTable,
    KDBClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
)
from priorwise.counts import CountTree
from priorwise.smoothing import BestOf, Laplace, Smoother


class Scaled(Smoother):
    """Laplace's estimates times a factor."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def smooth(self, tree: CountTree, seed: int = 0) -> Any:
        return self.factor * Laplace().smooth(tree, seed)


class Shorter(Smoother):
    """One number too few."""

    def smooth(self, tree: CountTree, seed: int = 0) -> Any:
        return Laplace().smooth(tree, seed)[:-1]


class Negative(Smoother):
    """Rows that sum to one, with numbers below zero."""

    def smooth(self, tree: CountTree, seed: int = 0) -> Any:
        p = Laplace().smooth(tree, seed)
        p[0], p[1] = p[0] + 2.0, p[1] - 2.0
        return p


def fit(kind: Any, smoother: Smoother) -> Any:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.choice(list("pqr"), (60, 3)), columns=["a", "b", "y"])
    if kind is BayesianNetwork:
        return BayesianNetwork([("a", "y"), ("b", "y")], smoothing=smoother).fit(frame)
    if kind is ConditionalTable:
        return ConditionalTable(smoothing=smoother).fit(frame, target="y", given=["a", "b"])
    options = {"n_estimators": 3} if kind is ProbabilityForestClassifier else {}
    return kind(smoothing=smoother, **options).fit(frame[["a", "b"]], frame["y"])


KINDS = [
    BayesianNetwork,
    ConditionalTable,
    KDBClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_model_refuses_rows_that_do_not_sum_to_one_by_name(kind: Any) -> None:
    fit(kind, Scaled(1.0))
    for factor in (1.001, 0.999):
        with pytest.raises(ValueError, match=r"sum to one, Scaled does not: .* must sum to"):
            fit(kind, Scaled(factor))


@pytest.mark.parametrize(
    ("smoother", "name"),
    [(Negative(), "Negative"), (Shorter(), "Shorter"), (BestOf([Scaled(2.0)]), "Scaled")],
)
def test_numbers_that_are_no_probabilities_are_refused(smoother: Smoother, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} does not: probabilities"):
        fit(KDBClassifier, smoother)
    tree = CountTree.from_rows([[0, 1], [0, 0]], [0, 1], n_outcomes=2)
    with pytest.raises(ValueError, match=f"{name} does not: probabilities"):
        smoother.rows(tree)
