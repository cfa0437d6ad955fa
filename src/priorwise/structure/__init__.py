"""Structures: what is counted in which context."""

from priorwise.structure.c45 import C45, RandomSplits, SortedColumns
from priorwise.structure.decision_tree import DecisionTree
from priorwise.structure.families import kdf_networks, superparent_networks
from priorwise.structure.kdb import learn_kdb, rank_by_information
from priorwise.structure.network import Network
from priorwise.structure.orders import draw_order, draw_order_by_gumbel
from priorwise.structure.packed_forest import NODE, GrownRows, PackedForest, PackedTrees
from priorwise.structure.select import Selection, SubmodelScorer, select_submodel
from priorwise.structure.superparent import SuperParentSearch, learn_superparent
from priorwise.structure.tan import learn_tan

__all__ = [
    "C45",
    "NODE",
    "DecisionTree",
    "GrownRows",
    "Network",
    "PackedForest",
    "PackedTrees",
    "RandomSplits",
    "Selection",
    "SortedColumns",
    "SubmodelScorer",
    "SuperParentSearch",
    "draw_order",
    "draw_order_by_gumbel",
    "kdf_networks",
    "learn_kdb",
    "learn_superparent",
    "learn_tan",
    "rank_by_information",
    "select_submodel",
    "superparent_networks",
]
