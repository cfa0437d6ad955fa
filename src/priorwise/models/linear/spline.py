"""Logistic regression on indicators, numbers and splines, cross-fitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import hook
from priorwise.common.numeric import draw_seed
from priorwise.counts.draws import deal_into_folds
from priorwise.models.linear.design import (
    MAX_SPLINED,
    TAILS,
    BaseLogisticClassifier,
    join_out_of_fold,
    learn_design,
)
from priorwise.models.linear.fold_logistic import (
    TOLERANCE,
    FoldLogistic,
    count_folds,
    learn_leverage,
)
from priorwise.models.linear.monotone_logistic import MonotoneFoldLogistic
from priorwise.models.memory import TableSize
from priorwise.models.training_table import TrainingTable, read_directions
from priorwise.steps.linear.logistic import Pieces, PiecewiseScore
from priorwise.steps.step import Calibration

PENALTIES = (100.0, 31.6, 10.0, 3.16, 1.0, 0.316, 0.1, 0.0316, 0.01, 0.00316, 0.001, 1e-4, 1e-5)
N_LARGE_PENALTIES, MIN_ROWS_FOR_ALL = 7, 200
"""Tables of fewer rows than 200 have penalties of .1 and more: with smaller ones they overfit."""
MAX_ROWS, MIN_ROWS = 20_000, 2_000
MAX_TERMS = 10_000_000
"""At most `MAX_ROWS` rows, and at most `MAX_TERMS` rows times weights but at least `MIN_ROWS` rows,
are learnt from. The others are out of fold for all weights."""


class SplineLogisticClassifier(BaseLogisticClassifier):
    """Multinomial logistic regression with splines of the numeric features.

    The score of a class is linear in indicators of labels and of missing values, in standardised
    numbers and, if there are at most 40 numeric features, in quadratic splines of them. A ridge
    penalty, chosen from 100 down to 1e-5 (0.1 below 200 rows) by out-of-fold log-loss, draws all
    weights but the intercepts towards zero. At most 20,000 rows are learnt from, drawn at random by
    weight.

    A label that training did not have adds nothing to any score.

    Attributes
    ----------
    coef_ : array of shape (n_classes, 1 + n_indicators + n_values)
        Weights; the intercept comes first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SplineLogisticClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **BaseLogisticClassifier.learnt,
        "coef_": np.ndarray,
    }
    step_: Pieces
    coef_: NDArray[np.float64]

    def __init__(
        self,
        categorical_features: Any = "from_dtype",
        numeric_features: Any = None,
        missing_values: Any = "usual",
        class_weight: Any = None,
        *,
        monotonic_cst: Any = None,
        n_folds: int | str = "auto",
        tol: float = TOLERANCE,
        ordinal_features: Any = "from_dtype",
        missing: str = "value",
        unseen: str = "backoff",
        memory_limit: int | float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.monotonic_cst = monotonic_cst
        self.n_folds = n_folds
        self.tol = tol
        self.ordinal_features = ordinal_features
        self.missing_values = missing_values
        self.class_weight = class_weight
        self.missing = missing
        self.unseen = unseen
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @hook
    def estimate_bytes(self, size: TableSize) -> float:
        per_row = (150.0 if size.n_numeric <= MAX_SPLINED else 24.0) * size.n_numeric
        per_row += 12.0 * len(size.n_labels) + 24.0 * size.n_classes
        return size.table_bytes + min(size.n_rows, MAX_ROWS) * per_row

    def _learn(self, table: TrainingTable) -> dict[str, Any]:
        generator = np.random.default_rng(draw_seed(self.random_state))
        design = learn_design(table.columns, table.n_labels, table.weight)
        n_weights = table.n_classes * (1 + design.n_indicators + len(design.value_feature))
        drawn = table.draw(min(MAX_ROWS, max(MIN_ROWS, MAX_TERMS // n_weights)), generator)
        n_folds = count_folds(self.n_folds, len(drawn.y), drawn.n_classes)
        fold = deal_into_folds(drawn.y, n_folds, generator, drawn.group).astype(np.int32)
        rows = (
            design.apply(drawn.columns), design.n_indicators, drawn.n_classes, drawn.y,
            drawn.weight, fold, self.n_threads,
        )  # fmt: skip
        regression = FoldLogistic(*rows)
        monotone = read_directions(self.monotonic_cst, table.encoder, table.n_classes)
        if monotone:
            nominal_first = np.argsort(~table.encoder.is_nominal_, kind="stable")
            direction = np.array(monotone)[nominal_first[design.value_feature]]
            regression = MonotoneFoldLogistic(*rows, direction, design.n_splines)
        n_penalties = len(PENALTIES) if len(drawn.y) >= MIN_ROWS_FOR_ALL else N_LARGE_PENALTIES
        chosen = regression.search(PENALTIES[:n_penalties])
        weights = regression.finish(chosen, n_folds, self.tol)
        coef = weights.mean(axis=0)
        step = Pieces(
            Calibration.of({}, TAILS, table.class_count.sum()),
            PiecewiseScore.fold(design, coef),
            design,
            learn_leverage(
                regression.design, design.n_indicators, coef, chosen.penalty, drawn.weight
            ),
        )
        oof_proba = join_out_of_fold(
            drawn,
            regression.predict(weights, fold),
            lambda: step.predict(table.columns, self.n_threads),
        )
        return {
            "step_": step,
            "penalty_": chosen.penalty,
            "coef_": coef,
            "oof_proba_": oof_proba,
        }
