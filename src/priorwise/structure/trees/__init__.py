"""Decision trees: growth, splits, pruning, and forests in flat arrays."""

from priorwise.counts.packed_trees import NODE, NodeRows, PackedTrees, expand_rows
from priorwise.structure.trees.c45 import C45, GrownRows, RandomSplits
from priorwise.structure.trees.counted_trees import CountedTrees, split_trees
from priorwise.structure.trees.decision_tree import DecisionTree

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
