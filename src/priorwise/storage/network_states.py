"""How networks and their classifiers are stored."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.stored.checks import check_numbers, is_array, require
from priorwise.common.stored.values import StateType, dataclass_state
from priorwise.common.validation import check_number
from priorwise.counts import CountTree
from priorwise.models.networks.averaged import AODEClassifier, KDFClassifier
from priorwise.models.networks.eskdb import ESKDBClassifier
from priorwise.models.networks.eskdb_members import NetworkMember
from priorwise.models.networks.kdb import KDBClassifier, SelectiveKDBClassifier, TANClassifier
from priorwise.models.networks.network_model import NetworkModel
from priorwise.models.networks.single import NaiveBayesClassifier
from priorwise.models.networks.superparent import SuperParentClassifier
from priorwise.smoothing import Smoother
from priorwise.storage.state_types import Types, bound_state, estimator_state
from priorwise.storage.table_checks import (
    OUT_OF_FOLD,
    TABLE,
    check_fitted,
    check_table_classifier,
)
from priorwise.structure.networks import Network, NetworkCounts
from priorwise.structure.networks.select import Selection

STREAMED: Types = {"has_exact_cuts_": bool}
NETWORK: Types = {**TABLE, **STREAMED, "smoothing_": Smoother}


def _store_network(network: Network) -> list[Any]:
    return [
        np.array([len(own) for own in network.parents], dtype=np.int64),
        np.array(list(chain(*network.parents)), dtype=np.int64),
        np.array(network.order, dtype=np.int64),
        network.feature_names,
        network.class_name,
    ]


def _restore_network(stored: Any) -> Network:
    n_parents, parents, order, names, class_name = stored
    for array in (n_parents, parents, order):
        require(is_array(array, np.int64, None), "a network is stored as whole numbers")
    require(isinstance(names, tuple) and isinstance(class_name, str | None), "features need names")
    ends = np.cumsum(n_parents).tolist()
    require(
        bool((n_parents >= 0).all()) and (ends or [0])[-1] == len(parents),
        "every parent must belong to a feature",
    )
    flat = parents.tolist()
    own = [tuple(flat[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    return Network(tuple(own), tuple(order.tolist()), names, class_name)


def _check_model(model: NetworkModel) -> None:
    """Raise unless the factors are those of the network, and its counts and probabilities fit."""
    network, product, counts = model.network, model.product, model.counts
    require(np.array_equal(product.column, network.order), "factors must follow the network")
    require(
        np.array_equal(product.path, list(chain(*(network.parents[i] for i in network.order)))),
        "factors must have the parents of the network",
    )
    if counts is None:
        require(model.probabilities is None, "probabilities need counts")
        return
    require(isinstance(model.probabilities, list), "counts need probabilities")
    require(isinstance(counts, NetworkCounts), "counts must be those of a network")
    require(counts.network == network, "counts must be of the same network")
    require(
        [tree.n_outcomes for tree in counts.feature_trees] == product.n_outcomes.tolist()
        and counts.class_tree.n_outcomes == len(product.log_prior),
        "counts must have the outcomes of the factors",
    )
    for tree, cells in zip(counts.trees, model.probabilities or [], strict=True):
        check_numbers("probabilities", cells, tree.n_cells, least=0.0, most=1.0 + 1e-9)


def _check_counts(counts: NetworkCounts) -> None:
    network, trees = counts.network, counts.feature_trees
    require(
        len(trees) == len(network.order) and all(isinstance(tree, CountTree) for tree in trees),
        "every feature needs a tree of counts",
    )
    depths = [1 + len(network.parents[i]) for i in network.order]
    require([tree.depth for tree in trees] == depths, "trees must have a level for each parent")
    require(counts.class_tree.depth == 0, "the tree of the class must have one node")


def _check_product(product: _core.FactorProduct, arities: NDArray[Any], n_classes: int) -> None:
    """Raise unless it is a network that scores rows with codes below the arities."""
    require(len(product.log_prior) == n_classes, "a network must have the classes of the model")
    _core.check_network(product, arities)


def _check_networks(model: Any, models: list[Any]) -> None:
    check_table_classifier(model)
    arities = model.encoder_.arities_
    for one in models:
        require(isinstance(one, NetworkModel), "a network must be a network")
        require(one.network.n_features == model.n_features_in_, "features must be those of X")
        _check_product(one.product, arities, len(model.classes_))


def _check_single(model: Any) -> None:
    check_fitted(model, "model_", "smoothing_")
    _check_networks(model, [model.model_])


def _check_family(model: Any) -> None:
    check_fitted(model, "estimators_", "smoothing_")
    require(len(model.estimators_) > 0, "there must be a network")
    _check_networks(model, model.estimators_)


def _check_aode(model: Any) -> None:
    check_fitted(model, "value_counts_")
    _check_family(model)
    check_number("min_frequency", model.min_frequency, least=0)
    require(len(model.value_counts_) == len(model.estimators_), "values of networks need counts")
    arities = model.encoder_.arities_
    for one, counts in zip(model.estimators_, model.value_counts_, strict=True):
        require(len(one.network.order) > 0, "a network must have a superparent")
        check_numbers("value_counts_", counts, arities[one.network.order[0]], least=0.0)


def _check_ensemble(model: Any) -> None:
    check_fitted(model, "estimators_")
    check_table_classifier(model)
    encoder, members = model.encoder_, model.estimators_
    require(len(members) > 0, "there must be a member")
    numeric = np.flatnonzero(~encoder.is_nominal_)
    arities = encoder.arities_
    bins_beyond_cuts = arities[numeric] - [len(cuts) for cuts in encoder.cut_points_]
    for member in members:
        require(isinstance(member, NetworkMember), "a member must be a network")
        n_points = member.cut_network.n_points
        require(len(n_points) == len(numeric), "every numeric feature needs cut points")
        own = arities.copy()
        own[numeric] = n_points + bins_beyond_cuts
        require(len(member.feature_names) == len(own), "features must be those of X")
        _check_product(member.cut_network.network, own, len(model.classes_))


def _check_member(member: NetworkMember) -> None:
    check_numbers("cut points", member.cut_network.points, None)
    require(member.fold is None or type(member.fold) is int, "a fold must have a number")
    require(set(map(type, member.feature_names)) <= {str}, "names must be texts")
    if member.levels is not None:
        n_levels = int((member.cut_network.network.n_parents + 2).sum())
        require(is_array(member.levels, np.float64, 2, n_levels), "every level needs its weights")


def _check_selection(selection: Selection) -> None:
    require(is_array(selection.losses, np.float64, None, None), "losses must be numbers")


SINGLE: Types = {**NETWORK, "model_": NetworkModel}

STATES: dict[str, StateType] = {
    "CountTree": bound_state(CountTree),
    "FactorProduct": bound_state(_core.FactorProduct, takes_narrow=True),
    "CutNetwork": bound_state(_core.CutNetwork),
    "Network": StateType(Network, _store_network, _restore_network),
    "NetworkCounts": dataclass_state(
        NetworkCounts, _check_counts, network=Network, class_tree=CountTree, feature_trees=list
    ),
    "NetworkModel": dataclass_state(
        NetworkModel, _check_model, network=Network, product=_core.FactorProduct
    ),
    "NetworkMember": dataclass_state(
        NetworkMember, _check_member, feature_names=tuple, cut_network=_core.CutNetwork
    ),
    "Selection": dataclass_state(
        Selection, _check_selection, n_features=int, max_parents=int, losses=np.ndarray
    ),
    "NaiveBayesClassifier": estimator_state(NaiveBayesClassifier, SINGLE, _check_single),
    "TANClassifier": estimator_state(TANClassifier, SINGLE, _check_single),
    "KDBClassifier": estimator_state(KDBClassifier, SINGLE, _check_single),
    "SelectiveKDBClassifier": estimator_state(
        SelectiveKDBClassifier, {**SINGLE, "selection_": Selection}, _check_single
    ),
    "SuperParentClassifier": estimator_state(
        SuperParentClassifier, {**SINGLE, "search_scores_": np.ndarray}, _check_single
    ),
    "AODEClassifier": estimator_state(
        AODEClassifier, {**NETWORK, "estimators_": list, "value_counts_": list}, _check_aode
    ),
    "KDFClassifier": estimator_state(
        KDFClassifier, {**NETWORK, "estimators_": list}, _check_family
    ),
    "ESKDBClassifier": estimator_state(
        ESKDBClassifier,
        {**TABLE, **STREAMED, **OUT_OF_FOLD, "estimators_": list, "max_bins_": int},
        _check_ensemble,
    ),
}
