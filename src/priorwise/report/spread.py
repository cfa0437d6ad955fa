"""What a page needs, beside the model, to say how far its probabilities may be from the truth.

A rule for each classifier, which intervals.js follows: the twin of `spread_columns`. Most rules
need little, since the model itself has what they read. Pools need of their members only how much
the parts of each differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from priorwise import _core
from priorwise.export.packed_arrays import pack_array
from priorwise.models.base import TableClassifier
from priorwise.models.intervals import DEFAULT_FACTORS, MAX_FITTED_ROWS, tabulate_beta_ends
from priorwise.models.linear.kernel import KernelLogisticClassifier
from priorwise.models.linear.piecewise_score import PiecewiseScore
from priorwise.models.linear.spline import SplineLogisticClassifier
from priorwise.models.networks import spread as network_spread
from priorwise.models.networks.averaged import AODEClassifier, KDFClassifier
from priorwise.models.networks.eskdb import ESKDBClassifier
from priorwise.models.networks.network_model import prior_spread
from priorwise.models.networks.single import SingleNetworkClassifier
from priorwise.models.pool import spread as pool_spread
from priorwise.models.pool.base import BasePool
from priorwise.models.trees.boosting import BoostingClassifier
from priorwise.models.trees.forest import ProbabilityForestClassifier
from priorwise.models.trees.spread import (
    BOOSTING_FACTORS,
    FOREST_FACTORS,
    TREE_FACTORS,
    invert_rows_behind,
)
from priorwise.models.trees.tree import ProbabilityTreeClassifier

LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Levels of intervals that a page offers; the third is shown at first."""


def describe_spread(model: Any) -> dict[str, Any]:
    """Return levels, and the rule of a fitted classifier, as values that `json.dumps` takes."""
    deviations = ndtri((1.0 + np.array(LEVELS)) / 2.0)
    deviations *= model.tails[0] + model.tails[1] * deviations
    levels = [
        {
            "level": level,
            "deviations": z,
            "beta_ends": pack_array(tabulate_beta_ends(z).astype(np.float32)),
        }
        for level, z in zip(LEVELS, deviations.tolist(), strict=True)
    ]
    return {"levels": levels, "rule": _describe(model, is_whole=True)}


def _describe(model: Any, *, is_whole: bool) -> dict[str, Any]:
    """Return a rule; of a member of a pool, only what the last of `spread_parts` needs."""
    if not isinstance(model, TableClassifier):
        return {"kind": "none"}
    if isinstance(model, BasePool):
        members = [_describe(one, is_whole=False) for one in model.estimators_.values()]
        return {"kind": "pool", "members": members, **_scale(model, pool_spread.FACTORS, is_whole)}
    if isinstance(model, ProbabilityForestClassifier):
        rows = {"inverse": pack_array(_invert_leaf_rows(model))} if is_whole else {}
        return {"kind": "forest", **rows, **_scale(model, FOREST_FACTORS, is_whole)}
    if isinstance(model, BoostingClassifier):
        rule = {"kind": "boosters", "n_folds": 0, **_scale(model, BOOSTING_FACTORS, is_whole)}
        boosting = model.boosting_
        if boosting is not None:
            rule |= {
                "n_folds": boosting.n_folds,
                "n_rounds": boosting.n_rounds,
                "fold_scale": boosting.fold_scale,
            }
        return rule
    if isinstance(model, ProbabilityTreeClassifier):
        tree = model.tree_
        behind = invert_rows_behind(tree, model.node_proba_, model.teacher_)
        inverse = pack_array(behind[tree.owner[tree.trees.is_leaf]])
        return {"kind": "tree", "inverse": inverse, **_scale(model, TREE_FACTORS, is_whole)}
    if isinstance(model, SplineLogisticClassifier):
        return {"kind": "pieces", **_describe_pieces(model)}
    if isinstance(model, KernelLogisticClassifier):
        leverage = model.find_leverage()
        return {
            "kind": "kernel",
            "directions": pack_array(np.ascontiguousarray(leverage.directions.T)),
            "penalty": float(leverage.penalty),
            "class_scale": leverage.class_scale.tolist(),
        }
    if isinstance(model, ESKDBClassifier):
        return {"kind": "networks", **_scale(model, network_spread.FACTORS, is_whole)}
    if isinstance(model, SingleNetworkClassifier | AODEClassifier | KDFClassifier):
        prior = prior_spread(model.class_count_).tolist()
        most = {"prior": prior, "max_measured": network_spread.MAX_MEASURED}
        return {"kind": "networks", **most, **_describe_rows(_list_products(model))}
    return {"kind": "default", **_scale(model, DEFAULT_FACTORS, True)}


def _scale(model: Any, factors: Mapping[str, float], is_whole: bool) -> dict[str, Any]:
    """Return what `combine_parts` takes; nothing if the variances are not scaled."""
    if not is_whole:
        return {}
    n_rows = min(float(model.class_count_.sum()), MAX_FITTED_ROWS)
    return {"factors": dict(factors), "n_training_rows": n_rows}


def _invert_leaf_rows(model: ProbabilityForestClassifier) -> NDArray[np.float32]:
    """Return one over the rows of each leaf, in the order of the rows of the exported trees."""
    rows = model.count_leaf_rows()[model.forest_.is_leaf]
    return (1.0 / np.maximum(rows, 0.5)).astype(np.float32)


def _describe_pieces(model: SplineLogisticClassifier) -> dict[str, Any]:
    """Return the columns of the root of the covariance as scores of so many classes.

    The last score is the sum of the variances of indicators that the root leaves out.
    """
    leverage, design = model.find_leverage(), model.design_
    n_weights = len(leverage.variance)
    weights = np.zeros((len(leverage.dense) + 1, n_weights))
    weights[:-1, leverage.dense] = leverage.root.T
    weights[-1, 1 : 1 + design.n_indicators] = leverage.variance[1 : 1 + design.n_indicators]
    pieces = PiecewiseScore.fold(design, weights)
    names = ("intercept", "label_score", "coefficient", "missing_score")
    arrays = {name: pack_array(getattr(pieces, name).astype(np.float32)) for name in names}
    return {"pieces": arrays, "class_scale": leverage.class_scale.tolist()}


def _list_products(model: Any) -> list[_core.FactorProduct]:
    """Return the networks of a classifier; AODE's last one is naive Bayes, as in its program."""
    if isinstance(model, SingleNetworkClassifier):
        return [model.model_.product]
    products = [one.product for one in model.estimators_]
    if isinstance(model, AODEClassifier):
        alone = [_core.take_factor(product, 0) for product in products]
        products.append(_core.join_products(alone, products[0].log_prior))
    return products


def _describe_rows(products: Sequence[_core.FactorProduct]) -> dict[str, Any]:
    """Return the rows behind the entries of the factors, and the concentrations of their levels."""
    n_rows = np.concatenate([product.n_rows for product in products])
    is_whole = bool((n_rows == n_rows.astype(np.int32)).all())
    concentrations = [_core.find_concentrations(product) for product in products]
    return {
        "n_rows": pack_array(n_rows.astype(np.int32) if is_whole else n_rows),
        "concentrations": pack_array(np.concatenate(concentrations)),
    }
