"""Logistic regression without each fold: no fold has a part in the weights that predict it."""

from __future__ import annotations

import numpy as np
import pytest

from priorwise.counts.draws import deal_into_folds
from priorwise.models.linear.fold_logistic import Descent, FoldLogistic, count_folds
from priorwise.steps.linear.design import Design


@pytest.mark.parametrize("tolerance", [1e-3, 3e-4])
@pytest.mark.parametrize("n_rows", [150, 400, 2_500], ids=["5 folds", "10 folds", "1 searched"])
def test_labels_of_a_fold_have_no_part_in_its_weights(
    rng: np.random.Generator, n_rows: int, tolerance: float
) -> None:
    value = rng.normal(size=(n_rows, 3)).astype(np.float32)
    y = (value[:, 0] + rng.normal(size=n_rows) > 0).astype(np.int32)
    n_folds = count_folds("auto", n_rows, 2)
    fold = deal_into_folds(y, n_folds, rng).astype(np.int32)
    design = Design(np.empty((n_rows, 0), dtype=np.int32), value)

    def fit(labels: np.ndarray) -> np.ndarray:
        regression = FoldLogistic(design, 0, 2, labels, None, fold, 1)
        return regression.finish(regression.search((0.1,)), n_folds, tolerance)

    weights = fit(y)
    assert len(weights) == fold.max() + 1
    for held in range(len(weights)):
        other = np.where(fold == held, 1 - y, y).astype(np.int32)
        np.testing.assert_array_equal(fit(other)[held], weights[held])


@pytest.mark.parametrize(
    ("losses", "first", "tried"),
    [
        ([0.700, 0.701, 0.500, 0.400, 0.450, 0.440], 0, [0, 1, 2, 3, 4]),
        ([0.700, 0.720, 0.500, 0.400, 0.450, 0.440], 0, [0, 1]),
        ([0.600, 0.500, 0.400, 0.401, 0.500, 0.300], 2, [2, 3, 4, 1]),
    ],
    ids=["flat at first", "worse at once", "flat after a good one"],
)
def test_a_descent_goes_on_where_the_loss_is_flat(
    losses: list[float], first: int, tried: list[int]
) -> None:
    descent, places = Descent(len(losses), first, patience=1.005), []
    for place in descent:
        places.append(place)
        descent.improves(losses[place])
    assert places == tried
