"""What a page needs, beside the model, to say how far its probabilities may be from the truth.

A rule for each kind of step, which intervals.js follows: the twin of `Step.spread`. Most rules need
little, since the model itself has what they read. Pools need of their members only how much the
parts of each differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import ndtri

from priorwise import _core
from priorwise.export.packed_arrays import pack_array
from priorwise.steps.calibration import MAX_FITTED_ROWS
from priorwise.steps.intervals import tabulate_beta_ends
from priorwise.steps.linear.gaussians import Gaussians
from priorwise.steps.linear.kernel import Kernel
from priorwise.steps.linear.pieces import Pieces, PiecewiseScore
from priorwise.steps.networks.networks import Networks
from priorwise.steps.networks.spread import MAX_MEASURED
from priorwise.steps.pool import Boosted, Pool, Reread
from priorwise.steps.step import Step
from priorwise.steps.trees import Trees

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Levels of intervals that a page offers; the third is shown at first."""


def describe_spread(model: Any) -> dict[str, Any]:
    """Return levels, and the rule of a fitted classifier, as values that `json.dumps` takes."""
    deviations = model.step_.calibration.stretch(ndtri((1.0 + np.array(LEVELS)) / 2.0))
    levels = [
        {
            "level": level,
            "deviations": z,
            "beta_ends": pack_array(tabulate_beta_ends(z).astype(np.float32)),
        }
        for level, z in zip(LEVELS, deviations.tolist(), strict=True)
    ]
    return {"levels": levels, "rule": {**_describe(model.step_), **_scale(model.step_)}}


def _scale(step: Step) -> dict[str, Any]:
    """Return what a `Calibration` takes; nothing if the variances are not scaled."""
    if not step.calibration.names:
        return {}
    n_rows = min(step.calibration.n_rows, MAX_FITTED_ROWS)
    return {"factors": step.calibration.factors, "n_training_rows": n_rows}


@singledispatch
def _describe(step: Step) -> dict[str, Any]:
    """Return a rule, without what it is scaled by."""
    return {"kind": "none"}


@_describe.register
def _(step: Pool) -> dict[str, Any]:
    if not step.members:
        return {"kind": "boosters", "n_folds": 0}
    members = [_describe(member) for member in step.members]
    for rule in members:
        if rule["kind"] == "forest":
            # A pool needs to know how much the trees differ, and no more.
            del rule["inverse"]
    return {"kind": "pool", "members": members}


@_describe.register
def _(step: Reread) -> dict[str, Any]:
    return _describe(step.step)


@_describe.register
def _(step: Boosted) -> dict[str, Any]:
    if step.base.members:
        return _describe(step.base)
    return {
        "kind": "boosters",
        "n_folds": step.n_folds,
        "n_rounds": step.n_rounds,
        "fold_scale": step.fold_scale,
    }


@_describe.register
def _(step: Trees) -> dict[str, Any]:
    is_leaf = step.trees.is_leaf
    if len(step.inverse):
        return {"kind": "tree", "inverse": pack_array(step.inverse[is_leaf])}
    rows = step.trees.nodes["threshold"][is_leaf]
    inverse = (1.0 / np.maximum(rows, 0.5)).astype(np.float32)
    return {"kind": "forest", "inverse": pack_array(inverse)}


@_describe.register
def _(step: Pieces) -> dict[str, Any]:
    """The columns of the root of the covariance are scores of as many classes.

    The last score is the sum of the variances of indicators that the root leaves out.
    """
    leverage, design = step.leverage, step.design
    weights = np.zeros((len(leverage.dense) + 1, len(leverage.variance)))
    weights[:-1, leverage.dense] = leverage.root.T
    weights[-1, 1 : 1 + design.n_indicators] = leverage.variance[1 : 1 + design.n_indicators]
    pieces = PiecewiseScore.fold(design, weights)
    names = ("intercept", "label_score", "coefficient", "missing_score")
    arrays = {name: pack_array(getattr(pieces, name).astype(np.float32)) for name in names}
    return {"kind": "pieces", "pieces": arrays, "class_scale": leverage.class_scale.tolist()}


@_describe.register
def _(step: Kernel) -> dict[str, Any]:
    leverage = step.leverage
    return {
        "kind": "kernel",
        "directions": pack_array(np.ascontiguousarray(leverage.directions.T)),
        "penalty": float(leverage.penalty),
        "class_scale": leverage.class_scale.tolist(),
    }


@_describe.register
def _(step: Gaussians) -> dict[str, Any]:
    return {"kind": "default", **_scale(step)}


@_describe.register
def _(step: Networks) -> dict[str, Any]:
    if step.prior_variance is None:
        return {"kind": "networks"}
    prior = step.prior_variance.tolist()
    rows = _describe_rows(step.products)
    return {"kind": "networks", "prior": prior, "max_measured": MAX_MEASURED, **rows}


def _describe_rows(products: Sequence[_core.FactorProduct]) -> dict[str, Any]:
    """Return the rows behind the entries of the factors, and the concentrations of their levels."""
    n_rows = np.concatenate([product.n_rows for product in products])
    is_whole = bool((n_rows == n_rows.astype(np.int32)).all())
    concentrations = [_core.find_concentrations(product) for product in products]
    return {
        "n_rows": pack_array(n_rows.astype(np.int32) if is_whole else n_rows),
        "concentrations": pack_array(np.concatenate(concentrations)),
    }
