"""Decision trees: growth, splits, pruning, and forests in flat arrays."""

from priorwise.structure.trees.c45 import C45, RandomSplits
from priorwise.structure.trees.counted_trees import CountedTrees, split_trees
from priorwise.structure.trees.decision_tree import DecisionTree
from priorwise.structure.trees.packed_forest import (
    NODE,
    GrownRows,
    NodeRows,
    PackedTrees,
    expand_rows,
)

__all__ = [
    "C45",
    "NODE",
    "CountedTrees",
    "DecisionTree",
    "GrownRows",
    "NodeRows",
    "PackedTrees",
    "RandomSplits",
    "expand_rows",
    "split_trees",
]
