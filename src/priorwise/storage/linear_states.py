"""How logistic regressions are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise.common.stored.checks import check_numbers, is_array, require
from priorwise.common.stored.values import StateType, dataclass_state
from priorwise.models.linear.design import MAX_DEVIATION, LinearDesign, Logarithms
from priorwise.models.linear.gaussian import GaussianNetworkClassifier
from priorwise.models.linear.kernel import KernelLogisticClassifier
from priorwise.models.linear.kernel_score import KernelScore
from priorwise.models.linear.leverage import KernelLeverage, Leverage
from priorwise.models.linear.piecewise_score import PiecewiseScore
from priorwise.models.linear.quadratic_splines import DEGREE, N_KNOTS
from priorwise.models.linear.shrunken_gaussians import Gaussians
from priorwise.models.linear.spline import SplineLogisticClassifier
from priorwise.storage.state_types import Types, bound_state, estimator_state
from priorwise.storage.table_checks import (
    OUT_OF_FOLD,
    TABLE,
    check_fitted,
    check_table_classifier,
)

SCORES, LEVERAGE = "_scores", "_leverage"
"""Names of attributes: what a spline regression predicts by, and how sure a regression is."""
TINY = float(np.finfo(float).tiny)
LARGEST = 1e100
"""Sums of products of weights up to this size do not overflow."""


def _store_design(design: LinearDesign) -> list[Any]:
    logs = design.logs
    return [
        design.n_labels, design.missing, design.mean, design.scale, design.knots,
        None if logs is None else [logs.sign, logs.shift, logs.least],
    ]  # fmt: skip


def _restore_design(stored: Any) -> LinearDesign:
    n_labels, missing, mean, scale, knots, *others = stored
    require(len(others) <= 1, "a design has six parts, in older files five")
    require(is_array(n_labels, np.int64, None), "n_labels must be whole numbers")
    require(n_labels.min(initial=0) >= 0, "n_labels must not be negative")
    check_numbers("mean", mean, None)
    check_numbers("scale", scale, len(mean), least=TINY)
    require(
        is_array(missing, np.intp, None)
        and (
            len(missing) == 0
            or (missing[0] >= 0 and missing[-1] < len(mean) and (np.diff(missing) > 0).all())
        ),
        "missing must list numeric features",
    )
    if knots is not None:
        check_numbers("knots", knots, len(mean), N_KNOTS + 2 * DEGREE, least=-LARGEST, most=LARGEST)
        require(len(mean) > 0 and (np.diff(knots) >= 0.0).all(), "knots must rise")
    return LinearDesign(n_labels, missing, mean, scale, knots, _restore_logs(others, len(mean)))


def _restore_logs(stored: list[Any], n_numeric: int) -> Logarithms | None:
    if stored in ([], [None]):
        return None
    ((sign, shift, least),) = stored
    check_numbers("sign", sign, n_numeric, least=-1.0, most=1.0)
    require(bool((sign == np.round(sign)).all()), "sign must be -1, 0 or 1")
    check_numbers("shift", shift, n_numeric)
    check_numbers("least", least, n_numeric, least=np.nextafter(0.0, 1.0))
    return Logarithms(sign, shift, least)


def _check_kernel_score(score: KernelScore) -> None:
    require(is_array(score.index, np.int32, None, None), "landmarks need labels")
    n_landmarks = score.index.shape[1]
    check_numbers("numbers of landmarks", score.value, None, n_landmarks, dtype=np.float32)
    check_numbers("intercept", score.intercept, None, least=-LARGEST, most=LARGEST)
    check_numbers(
        "coefficient", score.coefficient, len(score.intercept), n_landmarks,
        least=-LARGEST, most=LARGEST,
    )  # fmt: skip
    require(0.0 <= score.rate < np.inf, "rate must be a number")


def _check_design(model: Any) -> LinearDesign:
    check_fitted(model, "design_")
    check_table_classifier(model)
    design: LinearDesign = model.design_
    is_nominal = model.encoder_.is_nominal_
    n_labels = [len(one.labels) for one in model.encoder_.categories_]
    require(
        len(design.n_labels) == len(n_labels)
        and len(design.mean) == len(is_nominal) - len(n_labels)
        and design.n_labels.sum() < 2**31,
        "the design must have the features of the model",
    )
    # A feature whose rows all have weight zero has one label in the design and none in the encoder.
    require((design.n_labels >= n_labels).all(), "the design lacks labels of a feature")
    return design


def _check_leverage(leverage: Leverage) -> None:
    dense, variance = leverage.dense, leverage.variance
    require(is_array(dense, np.int32, None), "dense must list columns")
    require(
        bool((np.diff(dense) > 0).all()) and dense.min(initial=0) >= 0 and dense.size > 0
        and dense.max() < len(variance),
        "dense must list columns",
    )  # fmt: skip
    check_numbers("root", leverage.root, len(dense), len(dense), dtype=np.float32)
    check_numbers("variance", variance, None, least=0.0, dtype=np.float32)
    check_numbers("class_scale", leverage.class_scale, None, least=0.0, most=LARGEST)


def _check_kernel_leverage(leverage: KernelLeverage) -> None:
    check_numbers("directions", leverage.directions, None, None, dtype=np.float32)
    check_numbers("class_scale", leverage.class_scale, None, least=0.0, most=LARGEST)
    require(0.0 < leverage.penalty < np.inf, "penalty must be a positive number")


def _check_spline(model: Any) -> None:
    check_fitted(model, SCORES, "coef_")
    design, scores, n_classes = _check_design(model), vars(model)[SCORES], len(model.classes_)
    require(len(scores.intercept) == n_classes, "the scores must have all classes")
    require(
        len(scores.first_label) == len(design.n_labels) + 1
        and len(scores.mean) == len(design.mean),
        "the scores must have the features of the model",
    )
    for name in ("intercept", "label_score", "coefficient", "missing_score"):
        check_numbers(name, getattr(scores, name), None, least=-LARGEST, most=LARGEST)
    check_numbers("left", scores.left, None, least=-2.0 * MAX_DEVIATION, most=2.0 * MAX_DEVIATION)
    check_numbers("mean", scores.mean, None)
    check_numbers("scale", scores.scale, None, least=TINY)
    require(scores.max_deviation <= 2.0 * MAX_DEVIATION, "max_deviation is too large")
    n_weights = 1 + design.n_indicators + len(design.value_feature)
    check_numbers("coef_", model.coef_, n_classes, n_weights, least=-LARGEST, most=LARGEST)
    if hasattr(model, LEVERAGE):
        leverage = vars(model)[LEVERAGE]
        require(
            len(leverage.variance) == n_weights and len(leverage.class_scale) == n_classes,
            "intervals must have all weights and classes",
        )


def _check_kernel(model: Any) -> None:
    check_fitted(model, "score_")
    design, score = _check_design(model), model.score_
    require(len(score.intercept) == len(model.classes_), "the scores must have all classes")
    require(
        len(score.index) == len(design.index_feature)
        and len(score.value) == len(design.value_feature),
        "landmarks must have the features of the model",
    )
    if hasattr(model, LEVERAGE):
        leverage = vars(model)[LEVERAGE]
        require(
            len(leverage.directions) == score.index.shape[1]
            and len(leverage.class_scale) == len(model.classes_),
            "intervals must have all landmarks and classes",
        )


def _check_gaussians(gaussians: Gaussians) -> None:
    n_gaussians, n_values = gaussians.mean.shape
    require(1 <= gaussians.n_classes <= n_gaussians, "every class needs a Gaussian")
    for name, shape in (
        ("mean", (n_gaussians, n_values)),
        ("precision", (n_gaussians, n_values, n_values)),
        ("log_constant", (n_gaussians,)),
    ):
        array = getattr(gaussians, name)
        require(array.shape == shape, f"{name} must have the shape {shape}")
        check_numbers(name, array.ravel(), None, least=-LARGEST, most=LARGEST)
    n_before = n_seen = gaussians.n_classes
    for child in gaussians.children:
        require(
            isinstance(child, np.ndarray) and child.dtype == np.int32 and child.ndim == 2,
            "children must be places of Gaussians",
        )
        require(len(child) == n_before, "every Gaussian of a level needs a row of children")
        own = child[child != -1]
        require(np.array_equal(own, n_seen + np.arange(len(own))), "children must be in order")
        n_before, n_seen = len(own), n_seen + len(own)
    require(n_seen == n_gaussians, "every Gaussian must be that of a class or of a child")


def _check_gaussian(model: Any) -> None:
    check_fitted(
        model, "design_", "values_", "gaussians_", "parents_", "tables_", "log_prior_", "powers_"
    )
    design, gaussians, n_classes = _check_design(model), model.gaussians_, len(model.classes_)
    require(gaussians.n_classes == n_classes, "the Gaussians must have all classes")
    check_numbers("log_prior_", model.log_prior_, n_classes, least=-LARGEST, most=0.0)
    used = model.values_
    require(
        used.ndim == 1
        and used.dtype.kind == "i"
        and len(used) == gaussians.mean.shape[1]
        and bool(((used >= 0) & (used < len(design.mean))).all()),
        "values_ must be numeric features",
    )
    require(
        len(model.parents_) == len(gaussians.children)
        and all(isinstance(i, int) and 0 <= i < len(design.n_labels) for i in model.parents_),
        "parents_ must be nominal features",
    )
    for i, child in zip(model.parents_, gaussians.children, strict=True):
        require(child.shape[1] == design.n_labels[i], "children must have all labels")
    require(len(model.tables_) in (0, len(design.n_labels)), "every nominal feature has a table")
    for n_labels, table in zip(design.n_labels, model.tables_, strict=False):
        check_numbers("a table", table, int(n_labels), n_classes, least=-LARGEST, most=LARGEST)
    require(
        len(model.powers_) == 2
        and all(isinstance(power, float) and 0.0 <= power <= LARGEST for power in model.powers_),
        "powers_ must be two numbers",
    )


LINEAR: Types = {**TABLE, **OUT_OF_FOLD, "design_": LinearDesign, "penalty_": float}

STATES: dict[str, StateType] = {
    "LinearDesign": StateType(LinearDesign, _store_design, _restore_design),
    "PiecewiseScore": bound_state(PiecewiseScore),
    "KernelScore": dataclass_state(KernelScore, _check_kernel_score, rate=float),
    "Leverage": dataclass_state(Leverage, _check_leverage),
    "KernelLeverage": dataclass_state(KernelLeverage, _check_kernel_leverage, penalty=float),
    "SplineLogisticClassifier": estimator_state(
        SplineLogisticClassifier,
        {**LINEAR, "coef_": np.ndarray, SCORES: PiecewiseScore, LEVERAGE: Leverage},
        _check_spline,
    ),
    "Gaussians": dataclass_state(Gaussians, _check_gaussians, n_classes=int, children=list),
    "GaussianNetworkClassifier": estimator_state(
        GaussianNetworkClassifier,
        {
            **TABLE,
            **OUT_OF_FOLD,
            "design_": LinearDesign,
            "values_": np.ndarray,
            "gaussians_": Gaussians,
            "parents_": list,
            "tables_": list,
            "log_prior_": np.ndarray,
            "shrinkage_": tuple,
            "powers_": tuple,
        },
        _check_gaussian,
    ),
    "KernelLogisticClassifier": estimator_state(
        KernelLogisticClassifier,
        {**LINEAR, "bandwidth_": float, "score_": KernelScore, LEVERAGE: KernelLeverage},
        _check_kernel,
    ),
}
