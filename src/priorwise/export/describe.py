"""Fitted classifiers as programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from priorwise import _core
from priorwise.common.numeric import LEAST_PROBABILITY
from priorwise.data.tables import TableEncoder
from priorwise.data.tables.value_rules import ValueRules, describe_reading
from priorwise.export.binary_trees import pack_trees
from priorwise.export.cell_counts import find_cell_counts
from priorwise.export.leaf_counts import find_leaf_counts
from priorwise.export.program import (
    Boosted,
    Gaussians,
    Kernel,
    Logs,
    Model,
    Networks,
    Pieces,
    Pool,
    Program,
    Step,
)
from priorwise.models.linear.design import MAX_DEVIATION, LinearDesign
from priorwise.models.linear.gaussian import GaussianNetworkClassifier
from priorwise.models.linear.kernel import KernelLogisticClassifier
from priorwise.models.linear.piecewise_score import PiecewiseScore
from priorwise.models.linear.spline import SplineLogisticClassifier
from priorwise.models.networks.averaged import AODEClassifier, KDFClassifier
from priorwise.models.networks.eskdb import ESKDBClassifier
from priorwise.models.networks.single import SingleNetworkClassifier
from priorwise.models.pool.base import BasePool
from priorwise.models.pool.weights import FLOOR
from priorwise.models.trees.boosting import BoostingClassifier
from priorwise.models.trees.forest import ProbabilityForestClassifier
from priorwise.models.trees.offset_boosting import OffsetBoosting
from priorwise.models.trees.tree import ProbabilityTreeClassifier
from priorwise.smoothing import ParentEstimate

_PER_FACTOR = (
    "column", "n_outcomes", "n_parents", "n_contexts", "n_entries", "n_cells",
    "rest_towards_parent", "is_dense",
)  # fmt: skip
_PER_CELL = (
    "path", "value", "child_start", "entry_start", "entry_class", "cell_start", "outcome",
)  # fmt: skip


def describe_model(model: Any, *, inner_rows: bool = False) -> Program:
    """Return the program of a fitted classifier; trees have rows of inner nodes if asked for.

    TypeError, which names the classifier, if there is none: only classifiers of this library and
    pools of them have one.
    """
    describer = _Describer(inner_rows)
    root = describer.describe(model)
    names = [str(name) for name in model.feature_labels_]
    return Program(model.classes_.tolist(), names, describer.readers, root)


class _Describer:
    """Collects the ways to read a row that the steps of a program need."""

    def __init__(self, inner_rows: bool) -> None:
        self.readers: list[list[ValueRules]] = []
        self._inner_rows = inner_rows

    def describe(self, model: Any) -> Model:
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        if isinstance(model, BasePool):
            check_is_fitted(model)
            return Model(self._find_reader(model), self._describe_pool(model))
        if isinstance(model, BoostingClassifier):
            check_is_fitted(model)
            prior = Pool([], np.empty(0), np.log(model.prior_), FLOOR)
            return Model(self._find_reader(model), self._describe_boosting(prior, model.boosting_))
        if isinstance(model, ProbabilityForestClassifier):
            check_is_fitted(model)
            return Model(self._find_reader(model), self._describe_forest(model))
        if isinstance(model, ProbabilityTreeClassifier):
            check_is_fitted(model)
            return Model(self._find_reader(model), self._describe_tree(model))
        for kind, describe in _STEPS.items():
            if isinstance(model, kind):
                check_is_fitted(model)
                return Model(self._find_reader(model), describe(model))
        raise TypeError(
            f"model must be a classifier of priorwise or a pool of such classifiers, got a "
            f"{type(model).__name__}"
        )

    def _find_reader(self, model: Any) -> int:
        rules = describe_reading(model.encoder_, model.feature_labels_)
        # NaN differs from itself, its text does not.
        for place, known in enumerate(self.readers):
            if repr(known) == repr(rules):
                return place
        self.readers.append(rules)
        return len(self.readers) - 1

    def _describe_pool(self, model: BasePool) -> Step:
        members = [self.describe(member) for member in model.estimators_.values()]
        weight = np.array([model.pool_weights_[name] for name in model.estimators_])
        return self._describe_boosting(
            Pool(members, weight, model.intercept_, FLOOR), model.boosting_
        )

    def _describe_boosting(self, pool: Pool, boosting: OffsetBoosting | None) -> Step:
        if boosting is None:
            return pool
        scale = boosting.n_rounds / boosting.trees.n_trees
        trees = pack_trees(
            boosting.trees, boosting.values, scale, normalise=False, inner_rows=self._inner_rows
        )
        return Boosted(pool, trees, LEAST_PROBABILITY)

    def _describe_forest(self, model: ProbabilityForestClassifier) -> Step:
        forest, values = model.forest_, model.list_node_rows()
        trees = pack_trees(
            forest, values, 1.0 / forest.n_trees, normalise=True, inner_rows=self._inner_rows
        )
        # Rows of two classes take little room, and browsers read them faster than counts.
        follow = model.splitter == "random" and isinstance(model.smoothing_, ParentEstimate)
        if not follow or values.shape[1] <= 2:
            return trees
        strength, is_leaf = float(model.smoothing_.get_params()["m"]), forest.is_leaf
        counts = forest.unsmooth(values, strength)[is_leaf]
        found = find_leaf_counts(trees, counts, strength, values[~is_leaf])
        return replace(trees, counts=found)

    def _describe_tree(self, model: ProbabilityTreeClassifier) -> Step:
        tree = model.tree_
        trees = pack_trees(
            tree.trees, model.node_proba_[tree.owner], 1.0, normalise=False,
            inner_rows=self._inner_rows,
        )  # fmt: skip
        if model.softness_ == 0.0:
            return trees
        bandwidth = model.bandwidth_[tree.owner[~tree.trees.is_leaf]]
        bandwidth = np.where(np.isfinite(trees.threshold), bandwidth, 0.0)
        return replace(trees, bandwidth=bandwidth if bandwidth.any() else np.zeros(0))


def _describe_spline(model: SplineLogisticClassifier) -> Step:
    nominal, numeric = _split_features(model.encoder_)
    pieces = PiecewiseScore.fold(model.design_, model.coef_)
    return Pieces(
        nominal, numeric, pieces.intercept, _whole(pieces.first_label), pieces.label_score, None,
        pieces.mean, pieces.scale, pieces.max_deviation, _whole(pieces.first_piece),
        pieces.first_value, pieces.left, pieces.coefficient, pieces.missing_score,
    )  # fmt: skip


def _describe_kernel(model: KernelLogisticClassifier) -> Step:
    nominal, numeric = _split_features(model.encoder_)
    design, score = model.design_, model.score_
    n_labels = np.concatenate([design.n_labels, np.ones(len(design.missing), dtype=np.int64)])
    first = np.cumsum(n_labels) - n_labels
    codes = np.where(score.index < 0, -1, score.index - first[:, None])
    return Kernel(
        nominal, numeric, _whole(design.missing), _describe_logs(design), design.mean, design.scale,
        MAX_DEVIATION, _whole(codes), score.value, score.rate, score.intercept, score.coefficient,
    )  # fmt: skip


def _describe_logs(design: LinearDesign, used: Any = slice(None)) -> Logs | None:
    logs = design.logs
    if logs is None or not logs.sign[used].any():
        return None
    return Logs(logs.sign[used], logs.shift[used], logs.least[used])


def _describe_gaussian(model: GaussianNetworkClassifier) -> Step:
    nominal, numeric = _split_features(model.encoder_)
    gaussians, (power, label_power), used = model.gaussians_, model.powers_, model.values_
    n_values, n_classes = len(used), gaussians.n_classes
    row, column = np.tril_indices(n_values)
    form = gaussians.precision[:, row, column] * np.where(row == column, -0.5, -1.0)
    # Constants are those beyond the one of the class, the first Gaussian on the way.
    first = np.arange(len(gaussians.mean)) % n_classes
    for number, child in enumerate(chain(*gaussians.children)):
        first[child[child >= 0]] = first[number]
    constant = gaussians.log_constant - gaussians.log_constant[first]
    tables = [label_power * table.ravel() for table in model.tables_]
    n_labels = [len(table) for table in model.tables_]
    n_before = [len(child) for child in gaussians.children]
    n_children = [child.size for child in gaussians.children]
    return Gaussians(
        nominal=nominal[: len(tables)],
        numeric=numeric[used],
        intercept=model.log_prior_ + power * gaussians.log_constant[:n_classes],
        first_label=_whole(np.cumsum([0, *n_labels])),
        label_score=np.concatenate([np.empty(0), *tables]),
        logs=_describe_logs(model.design_, used),
        mean=model.design_.mean[used],
        scale=model.design_.scale[used],
        max_deviation=MAX_DEVIATION,
        parents=nominal[model.parents_],
        n_labels=_whole([child.shape[1] for child in gaussians.children]),
        first_gaussian=_whole(np.cumsum(n_before) - n_before),
        first_child=_whole(np.cumsum(n_children) - n_children),
        child=_whole(np.concatenate([np.empty(0), *map(np.ravel, gaussians.children)])),
        constant=power * constant,
        centre=gaussians.mean,
        form=power * form,
    )


def _describe_single(model: SingleNetworkClassifier) -> Step:
    return _join_networks(model.encoder_, [model.model_.product], [model.encoder_.cut_points_])


def _describe_kdf(model: KDFClassifier) -> Step:
    products = [one.product for one in model.estimators_]
    return _join_networks(model.encoder_, products, [model.encoder_.cut_points_])


def _describe_eskdb(model: ESKDBClassifier) -> Step:
    members = model.estimators_
    products = [member.cut_network.network for member in members]
    networks = _join_networks(model.encoder_, products, [member.cut_points for member in members])
    levels = [member.levels for member in members if member.levels is not None]
    if len(levels) < len(members):
        return networks
    n_rows = np.concatenate([product.n_rows for product in products])
    counts = find_cell_counts(networks, np.concatenate(levels, axis=1), n_rows)
    return replace(networks, counts=counts)


def _describe_aode(model: AODEClassifier) -> Step:
    products = [one.product for one in model.estimators_]
    # The superparent's own factor, p(x_i | y), is naive Bayes' factor of that feature.
    naive = _core.join_products(
        [_core.take_factor(product, 0) for product in products], products[0].log_prior
    )
    frequent = [counts >= model.min_frequency for counts in model.value_counts_]
    return _join_networks(
        model.encoder_, [*products, naive], [model.encoder_.cut_points_], frequent
    )


def _join_networks(
    encoder: TableEncoder,
    products: Sequence[_core.FactorProduct],
    cut_sets: Sequence[list[NDArray[np.float64]]],
    guards: Sequence[NDArray[np.bool_]] = (),
) -> Networks:
    """Return the networks one after the other; a single set of cut points serves all of them."""
    _, numeric = _split_features(encoder)
    arrays: dict[str, Any] = {
        name: _whole(np.concatenate([getattr(product, name) for product in products]))
        for name in (*_PER_FACTOR, *_PER_CELL)
    }
    n_missing = encoder.arities(cut_sets[0])[numeric] - 1 - [len(cuts) for cuts in cut_sets[0]]
    return Networks(
        numeric=numeric,
        has_missing=_whole(n_missing),
        cut_set=_whole(np.arange(len(products)) % len(cut_sets)),
        n_cuts=_whole([[len(cuts) for cuts in cut_set] for cut_set in cut_sets]),
        cuts=np.concatenate([np.empty(0), *chain(*cut_sets)]),
        log_prior=np.array([product.log_prior for product in products]),
        n_factors=_whole([len(product.column) for product in products]),
        rest=np.concatenate([product.rest for product in products]),
        score=np.concatenate([product.score for product in products]),
        guards=_whole(np.concatenate([np.empty(0, dtype=bool), *guards])),
        **arrays,
    )


def _split_features(encoder: TableEncoder) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the nominal and the numeric features."""
    return _whole(np.flatnonzero(encoder.is_nominal_)), _whole(np.flatnonzero(~encoder.is_nominal_))


def _whole(values: Any) -> NDArray[np.int32]:
    return np.asarray(values, dtype=np.int32)


_STEPS: dict[type, Callable[[Any], Step]] = {
    SplineLogisticClassifier: _describe_spline,
    KernelLogisticClassifier: _describe_kernel,
    GaussianNetworkClassifier: _describe_gaussian,
    SingleNetworkClassifier: _describe_single,
    KDFClassifier: _describe_kdf,
    ESKDBClassifier: _describe_eskdb,
    AODEClassifier: _describe_aode,
}
