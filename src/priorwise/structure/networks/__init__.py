"""Bayesian networks: which features depend on which, learnt from counts."""

from priorwise.structure.networks.families import kdf_networks, superparent_networks
from priorwise.structure.networks.kdb import learn_kdb, rank_by_information
from priorwise.structure.networks.network import Network
from priorwise.structure.networks.network_counts import (
    CountedWhenAsked,
    NetworkCounts,
    NetworkTrees,
    check_contexts,
    plan_trees,
)
from priorwise.structure.networks.orders import draw_order, draw_order_by_gumbel
from priorwise.structure.networks.select import Selection, SubmodelScorer
from priorwise.structure.networks.superparent import SuperParentSearch, learn_superparent
from priorwise.structure.networks.tan import learn_tan
from priorwise.structure.networks.training_rows import (
    Counted,
    MemoryRows,
    TrainingRows,
    check_pairs,
)

__all__ = [
    "Counted",
    "CountedWhenAsked",
    "MemoryRows",
    "Network",
    "NetworkCounts",
    "NetworkTrees",
    "Selection",
    "SubmodelScorer",
    "SuperParentSearch",
    "TrainingRows",
    "check_contexts",
    "check_pairs",
    "draw_order",
    "draw_order_by_gumbel",
    "kdf_networks",
    "learn_kdb",
    "learn_superparent",
    "learn_tan",
    "plan_trees",
    "rank_by_information",
    "superparent_networks",
]
