"""A logistic regression with splines, and the columns that logistic regressions learn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import hook
from priorwise.common.numeric import draw_seed, power_of_two
from priorwise.common.runtime import one_blas_thread
from priorwise.common.validation import check_choice, check_number
from priorwise.counts.draws import deal_into_folds
from priorwise.data.tables import Columns
from priorwise.models.base import TableClassifier
from priorwise.models.fitted import from_step
from priorwise.models.linear.fold_logistic import (
    FEW_ROWS,
    MANY_ROWS,
    PENALTIES,
    TOLERANCE,
    FoldLogistic,
    PrincipalAxes,
    count_folds,
)
from priorwise.models.linear.monotone_logistic import MonotoneFoldLogistic, check_directions
from priorwise.models.memory import TableSize
from priorwise.models.training_table import TrainingTable, read_directions
from priorwise.steps.linear.design import DEGREE, N_KNOTS, LinearDesign, Logarithms
from priorwise.steps.linear.logistic import Pieces, PiecewiseScore

MAX_VALUES = 1_000_000
"""Numbers whose moments are found at a time, so that few copies of them are in memory."""
MAX_SPLINED = 40
"""With more numeric features there are no splines."""
MIN_LESS_SKEW = 0.5
"""Logarithms are taken where they lower the skewness by this much at least."""
MIN_KNOT_GAP = 2.0**-30
"""Knots closer to each other, in deviations, are made one: splines between them would overflow."""


def learn_design(
    columns: Columns,
    n_labels: NDArray[np.int64],
    weight: NDArray[np.float64] | None = None,
    *,
    max_splined: int = MAX_SPLINED,
    takes_logs: bool = False,
) -> LinearDesign:
    """Learn the design of training rows; `n_labels` are those of each nominal feature.

    There are no splines beyond `max_splined` numeric features.
    """
    known = ~np.isnan(columns.values)
    n_features, n_rows = known.shape
    logs = [np.empty((3, 0))]
    moments = [np.empty((2, 0))]
    n_together = max(1, MAX_VALUES // max(1, n_rows))
    for first in range(0, n_features, n_together):
        part = slice(first, first + n_together)
        values = columns.values[part]
        if takes_logs:
            own = learn_logarithms(values, known[part], weight)
            logs.append(np.stack([own.sign, own.shift, own.least]))
            values = own.apply(values)
        moments.append(np.stack(_find_moments(values, known[part], weight)))
    mean, scale = np.concatenate(moments, axis=1)
    joined = Logarithms(*np.concatenate(logs, axis=1)) if takes_logs else None
    missing = np.flatnonzero(~known.all(axis=1))
    design = LinearDesign(n_labels, missing, mean, scale, None, joined)
    if not 0 < len(mean) <= max_splined:
        return design
    return replace(design, knots=learn_knots(design.standardise(columns.values), weight))


def learn_logged_design(table: TrainingTable) -> LinearDesign:
    """Learn the design of a table without splines, with logarithms of skewed numbers."""
    return learn_design(table.columns, table.n_labels, table.weight, max_splined=0, takes_logs=True)


def learn_logarithms(
    values: NDArray[np.float64],
    known: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
) -> Logarithms:
    """Learn which features (n_features, n_rows) to take logarithms of, and how."""
    counted = known if weight is None else known & (weight > 0.0)
    moments = _find_moments(values, known, weight)
    skewness = np.abs(signed := _find_skewness(values, known, weight, *moments))
    low = np.where(counted, values, np.inf).min(axis=1, initial=np.inf)
    high = np.where(counted, values, -np.inf).max(axis=1, initial=-np.inf)
    is_right = signed > 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        shift = np.where(is_right, moments[0] - 2.0 * low, 2.0 * high - moments[0])
        shift[is_right & (low > 0.0)] = 0.0
        least = np.where(is_right, shift + low, shift - high)
        most = np.where(is_right, shift + high, shift - low)
    usable = np.isfinite(shift) & (least > 0.0) & np.isfinite(most)
    logs = Logarithms(
        np.where(usable, np.where(is_right, 1.0, -1.0), 0.0),
        np.where(usable, shift, 0.0),
        np.where(usable, least, 1.0),
    )
    logged = logs.apply(values)
    less = skewness - np.abs(
        _find_skewness(logged, known, weight, *_find_moments(logged, known, weight))
    )
    kept = less >= MIN_LESS_SKEW
    return Logarithms(
        np.where(kept, logs.sign, 0.0),
        np.where(kept, logs.shift, 0.0),
        np.where(kept, logs.least, 1.0),
    )


def learn_knots(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return knots at the quartiles, least and largest of each row of values."""
    inner = _find_quantiles(values, weight)
    gaps = np.diff(inner, axis=1)
    close = np.any((gaps > 0.0) & (gaps < MIN_KNOT_GAP), axis=1, keepdims=True)
    if close.any():
        rounded = np.round(values / MIN_KNOT_GAP) * MIN_KNOT_GAP
        inner = _find_quantiles(np.where(close, rounded, values), weight)
        gaps = np.diff(inner, axis=1)
    steps = np.arange(1, DEGREE + 1)
    below = inner[:, :1] - steps[::-1] * gaps[:, :1]
    above = inner[:, -1:] + steps * gaps[:, -1:]
    return np.concatenate([below, inner, above], axis=1)


def _find_moments(
    values: NDArray[np.float64],
    known: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each row of values; 1 where that is zero."""
    counted = np.asarray(known, dtype=np.float64)
    if weight is not None:
        counted = counted * (weight / power_of_two(weight.max()))
    n_known = counted.sum(axis=1)
    n_known[n_known == 0.0] = 1.0
    values = np.where(known, values, 0.0)
    size = power_of_two(np.abs(values).max(axis=1))
    values = values / size[:, None]
    mean = (values * counted).sum(axis=1) / n_known
    # The spread has a unit of its own: its square may underflow where the mean is large.
    deviation = np.where(known, values - mean[:, None], 0.0)
    spread = power_of_two(np.abs(deviation).max(axis=1))
    square = ((deviation / spread[:, None]) ** 2 * counted).sum(axis=1) / n_known
    scale = np.sqrt(square) * spread * size
    return mean * size, np.where(scale > 0.0, scale, 1.0)


def _find_skewness(
    values: NDArray[np.float64],
    known: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the mean of the cubed deviations of each row of values."""
    with np.errstate(over="ignore"):
        deviation = np.where(known, (values - mean[:, None]) / scale[:, None], 0.0)
    # A difference that overflows is as good as the largest deviation of so many rows.
    clipped = np.clip(deviation, -known.shape[1], known.shape[1])
    cubes = clipped * clipped * clipped
    counted = np.asarray(known, dtype=np.float64)
    if weight is not None:
        counted = counted * (weight / power_of_two(weight.max()))
    total = np.maximum(counted.sum(axis=1), np.finfo(float).tiny)
    return np.asarray((cubes * counted).sum(axis=1) / total)


def _find_quantiles(
    values: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return quantiles of each row of values at even distances, from the least to the largest."""
    shares = np.linspace(0.0, 1.0, N_KNOTS)
    if weight is None:
        return np.quantile(values, shares, axis=1).T
    order = np.argsort(values, axis=1, kind="stable")
    total = np.cumsum(weight[order], axis=1)
    place = (total[:, None, :] < shares[:, None] * total[:, None, -1:]).sum(axis=2)
    return np.take_along_axis(values, np.take_along_axis(order, place, axis=1), axis=1)


class BaseLogisticClassifier(TableClassifier):
    """A multinomial logistic regression, with the mean of the weights learnt without each fold.

    Parameters
    ----------
    n_folds : int or "auto"
        Folds of the rows; weights are learnt without each of them and averaged. "auto" is ten
        between 200 and 2,000 rows of at most 50 classes, and five otherwise.
    tol : float
        The search for weights ends when a step is expected to lower the loss by less than this
        share of it.

    Attributes
    ----------
    design_ : LinearDesign
        What the regression sees of a table.
    penalty_ : float
        The ridge penalty chosen.
    oof_proba_ : array of shape (n_rows, n_classes)
        Probabilities of each training row from weights that have not seen it; NaN for rows of
        weight zero.
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **TableClassifier.learnt,
        "penalty_": float,
    }
    n_folds: int | str
    tol: float
    penalty_: float
    oof_proba_: NDArray[np.float64]

    def check_parameters(self) -> None:
        if isinstance(self.n_folds, str):
            check_choice("n_folds", self.n_folds, ("auto",))
        else:
            check_number("n_folds", self.n_folds, least=2, whole=True)
        check_number("tol", self.tol, above=0.0)

    design_ = from_step("design", "What the regression sees of a table.")


def join_out_of_fold(
    drawn: TrainingTable,
    held_out: NDArray[np.float64],
    predict_all: Callable[[], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return out-of-fold probabilities of all rows of the table that rows were drawn from.

    Rows that were not drawn have been seen by no weights: they get the probabilities that
    `predict_all` returns for all rows.
    """
    if drawn.n_rows == drawn.n_given:
        return held_out
    proba = predict_all()
    proba[drawn.given] = held_out
    return proba


FIRST_PENALTY = 2
"""Place of the penalty that is tried first, 10."""
N_LARGE_PENALTIES = 7
"""Tables of fewer rows than `FEW_ROWS` have penalties of .1 and more: with smaller ones they
overfit."""
MAX_ROWS = 20_000
MAX_TERMS = 10_000_000
"""At most `MAX_ROWS` rows, and at most `MAX_TERMS` rows times weights but at least `MANY_ROWS`
rows, are learnt from. The others are out of fold for all weights."""


class SplineLogisticClassifier(BaseLogisticClassifier):
    """Multinomial logistic regression with splines of the numeric features.

    The score of a class is linear in indicators of labels and of missing values, in standardised
    numbers and, if there are at most 40 numeric features, in quadratic splines of them. A ridge
    penalty, chosen from 100 down to 1e-7 (0.1 below 200 rows) by out-of-fold log-loss, draws all
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
        *,
        monotonic_cst: Any = None,
        n_folds: int | str = "auto",
        tol: float = TOLERANCE,
        categorical_features: Any = "from_dtype",
        numeric_features: Any = None,
        ordinal_features: Any = "from_dtype",
        date_features: Any = "from_dtype",
        text_features: Any = "from_dtype",
        missing_values: Any = "usual",
        min_rows_per_label: int = 1,
        class_weight: Any = None,
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
        self.date_features = date_features
        self.text_features = text_features
        self.missing_values = missing_values
        self.min_rows_per_label = min_rows_per_label
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

    @one_blas_thread()
    def _learn(self, table: TrainingTable) -> dict[str, Any]:
        generator = np.random.default_rng(draw_seed(self.random_state))
        design = learn_design(table.columns, table.n_labels, table.weight)
        n_weights = table.n_classes * (1 + design.n_indicators + len(design.value_feature))
        drawn = table.draw(min(MAX_ROWS, max(MANY_ROWS, MAX_TERMS // n_weights)), generator)
        n_folds = count_folds(self.n_folds, len(drawn.y), drawn.n_classes)
        fold = deal_into_folds(drawn.y, n_folds, generator, drawn.group).astype(np.int32)
        rows = design.apply(drawn.columns)
        others = (
            design.n_indicators, drawn.n_classes, drawn.y, drawn.weight, fold, self.n_threads,
        )  # fmt: skip
        monotone = read_directions(self.monotonic_cst, table.encoder, table.n_classes)
        axes = None
        if monotone:
            nominal_first = np.argsort(~table.encoder.is_nominal_, kind="stable")
            direction = np.array(monotone)[nominal_first[design.value_feature]]
            regression: FoldLogistic = MonotoneFoldLogistic(
                rows, *others, direction, design.n_splines
            )
        elif design.n_splines:
            axes = PrincipalAxes.find(rows.value, drawn.weight)
            regression = FoldLogistic(axes.turn(rows), *others)
        else:
            regression = FoldLogistic(rows, *others)
        n_penalties = len(PENALTIES) if len(drawn.y) >= FEW_ROWS else N_LARGE_PENALTIES
        chosen = regression.search(PENALTIES[:n_penalties], FIRST_PENALTY)
        weights = regression.finish(chosen, n_folds, self.tol)
        coef = weights.mean(axis=0)
        if axes is not None:
            coef = axes.turn_back(coef, design.n_indicators)
        step = Pieces(
            PiecewiseScore.fold(design, coef),
            design,
        )
        if monotone:
            check_directions(step, np.array(monotone)[~table.encoder.is_nominal_])
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
