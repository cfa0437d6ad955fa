"""How trees, forests and boosting are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise import _core
from priorwise.common.stored.checks import check_distributions, check_numbers, require
from priorwise.common.stored.values import StateType, dataclass_state
from priorwise.counts import CountTree
from priorwise.models.trees.boosting import BoostingClassifier
from priorwise.models.trees.forest import ProbabilityForestClassifier
from priorwise.models.trees.offset_boosting import OffsetBoosting
from priorwise.models.trees.tree import ProbabilityTreeClassifier
from priorwise.smoothing import Smoother
from priorwise.storage.state_types import bound_state, estimator_state
from priorwise.storage.table_checks import (
    OUT_OF_FOLD,
    TABLE,
    check_fitted,
    check_table_classifier,
)
from priorwise.structure.trees import CountedTrees, DecisionTree, PackedTrees

IS_SPLIT = 15
"""Bits of the number `split` of a node of which one is set unless it is a leaf."""
NODE_PROBA, NODE_COUNTS, COUNTED_TREES = "_node_proba", "_node_counts", "_counted_trees"
"""Names of attributes of a forest; the first two have a row for every node."""


def _store_trees(trees: PackedTrees) -> list[Any]:
    """Return the nodes without their children, which follow from which nodes split."""
    nodes = trees.nodes
    split, threshold = np.ascontiguousarray(nodes["split"]), nodes["threshold"]
    is_leaf = split & IS_SPLIT == 0
    return [trees.tree_start, split, threshold[~is_leaf], threshold[is_leaf]]


def _restore_trees(stored: Any) -> PackedTrees:
    return _core.link_trees(PackedTrees, *stored)


def check_splits(trees: PackedTrees, is_nominal: Any) -> None:
    """Raise unless rows of a table can be led down the trees."""
    require(trees.n_trees > 0, "a forest must have a tree")
    # Splits compare codes and numbers alike.
    require(trees.n_features <= len(is_nominal), "trees must split features of X")


def _check_owners(owner: Any, n_packed: int, n_nodes: int) -> None:
    """Raise unless every packed node belongs to a node, and every node has one."""
    require(
        owner.shape == (n_packed,) and owner.dtype == np.int32, "every packed node has an owner"
    )
    require(
        np.array_equal(np.unique(owner), np.arange(n_nodes)), "every node must have a packed node"
    )


def _check_decision_tree(tree: DecisionTree) -> None:
    require(tree.trees.n_trees == 1, "a decision tree must be one tree")
    _check_owners(tree.owner, tree.trees.n_nodes, tree.n_nodes)
    check_numbers("gain", tree.gain, tree.n_nodes)


def _check_counted(trees: CountedTrees) -> None:
    require(
        len(trees.counts) > 0 and all(isinstance(tree, CountTree) for tree in trees.counts),
        "a forest must have trees",
    )
    n_nodes = sum(tree.n_nodes for tree in trees.counts)
    check_numbers("gain", trees.gain, n_nodes)
    _check_owners(trees.owner, len(trees.owner), n_nodes)


def _check_tree(model: Any) -> None:
    check_fitted(model, "tree_", "smoothing_", "node_proba_", "bandwidth_", "softness_")
    check_table_classifier(model)
    tree = model.tree_
    check_splits(tree.trees, model.encoder_.is_nominal_)
    require(tree.counts.n_outcomes == len(model.classes_), "the tree must have all classes")
    check_distributions("node_proba_", model.node_proba_, tree.n_nodes, len(model.classes_))
    check_numbers("bandwidth_", model.bandwidth_, tree.n_nodes, least=0.0)
    require(0.0 <= model.softness_ < np.inf, "softness_ must be a number")
    if hasattr(model, "probabilities_"):
        check_numbers("probabilities_", model.probabilities_, tree.counts.n_cells, least=0.0)


def _check_forest(model: Any) -> None:
    check_fitted(model, "forest_", "smoothing_", NODE_PROBA)
    check_table_classifier(model)
    check_splits(model.forest_, model.encoder_.is_nominal_)
    n_nodes, n_classes = int(model.forest_.tree_start[-1]), len(model.classes_)
    attributes = vars(model)
    proba = attributes[NODE_PROBA]
    if isinstance(proba, _core.SparseNodeRows):
        require(proba.trees is model.forest_, "rows of nodes must be those of the forest")
        require(proba.width == n_classes, "rows of nodes must have all classes")
        n_nodes, proba = len(proba.kept_node), proba.kept_row.reshape(-1, n_classes)
    check_distributions("node_proba_", proba, n_nodes, n_classes, dtype=np.float32)
    counts = attributes.get(NODE_COUNTS)
    if counts is not None:
        check_numbers(
            "counts of nodes", counts, int(model.forest_.tree_start[-1]), n_classes, least=0.0
        )
    counted = attributes.get(COUNTED_TREES)
    if counted is not None:
        outcomes, n_packed = {tree.n_outcomes for tree in counted.counts}, model.forest_.n_nodes
        require(len(counted.counts) == model.forest_.n_trees, "every tree must have counts")
        require(len(counted.owner) == n_packed, "every packed node has an owner")
        require(outcomes == {n_classes}, "trees must have all classes")
    if hasattr(model, "feature_importances_"):
        check_numbers("feature_importances_", model.feature_importances_, model.n_features_in_)


def _check_boosting(boosting: OffsetBoosting) -> None:
    values, trees = boosting.values, boosting.trees
    check_numbers("values", values, trees.n_nodes, None, dtype=np.float32)
    require(
        1 <= boosting.n_rounds <= trees.n_trees and trees.n_trees % boosting.n_rounds == 0,
        "boosters must have equally many trees",
    )
    require(
        0.0 <= boosting.whole_share < 1.0 and boosting.n_folds > 0,
        "whole_share must lie in [0, 1), and some boosters must leave a fold out",
    )


def _check_boosted(model: Any) -> None:
    check_fitted(model, "boosting_", "prior_", "n_rounds_")
    check_table_classifier(model)
    n_classes, boosting = len(model.classes_), model.boosting_
    check_distributions("prior_", model.prior_[None], 1, n_classes)
    if boosting is not None:
        check_splits(boosting.trees, model.encoder_.is_nominal_)
        require(boosting.values.shape[1] == n_classes, "boosting must have all classes")


STATES: dict[str, StateType] = {
    "DecisionTree": dataclass_state(
        DecisionTree,
        _check_decision_tree,
        trees=PackedTrees,
        owner=np.ndarray,
        counts=CountTree,
        gain=np.ndarray,
    ),
    "PackedTrees": StateType(PackedTrees, _store_trees, _restore_trees, takes_narrow=True),
    "SparseNodeRows": bound_state(_core.SparseNodeRows),
    "CountedTrees": dataclass_state(
        CountedTrees, _check_counted, counts=list, owner=np.ndarray, gain=np.ndarray
    ),
    "OffsetBoosting": dataclass_state(
        OffsetBoosting,
        _check_boosting,
        trees=PackedTrees,
        values=np.ndarray,
        n_rounds=int,
        depth=int,
        whole_share=float,
    ),
    "BoostingClassifier": estimator_state(
        BoostingClassifier,
        {
            **TABLE,
            **OUT_OF_FOLD,
            "boosting_": (OffsetBoosting, type(None)),
            "n_rounds_": int,
            "prior_": np.ndarray,
        },
        _check_boosted,
    ),
    "ProbabilityTreeClassifier": estimator_state(
        ProbabilityTreeClassifier,
        {
            **TABLE,
            "tree_": DecisionTree,
            "smoothing_": Smoother,
            "criterion_": str,
            "nominal_splits_": str,
            "teacher_": (str, type(None)),
            "softness_": float,
            "bandwidth_": np.ndarray,
            "probabilities_": np.ndarray,
            "node_proba_": np.ndarray,
        },
        _check_tree,
    ),
    "ProbabilityForestClassifier": estimator_state(
        ProbabilityForestClassifier,
        {
            **TABLE,
            **OUT_OF_FOLD,
            "forest_": PackedTrees,
            "smoothing_": Smoother,
            "min_weight_": float,
            "feature_importances_": np.ndarray,
            NODE_PROBA: (np.ndarray, _core.SparseNodeRows),
            NODE_COUNTS: (np.ndarray, type(None)),
            COUNTED_TREES: (CountedTrees, type(None)),
        },
        _check_forest,
    ),
}
