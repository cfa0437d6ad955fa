"""Bayesian networks: which features depend on which, learnt from counts."""

from priorwise.structure.networks.families import kdf_networks, superparent_networks
from priorwise.structure.networks.network import (
    Network,
    draw_order,
    draw_order_by_gumbel,
    learn_kdb,
    learn_tan,
    rank_by_information,
)
from priorwise.structure.networks.network_counts import (
    CountedWhenAsked,
    NetworkCounts,
    NetworkTrees,
    check_contexts,
    plan_trees,
)
from priorwise.structure.networks.select import Selection, SubmodelScorer
from priorwise.structure.networks.superparent import SuperParentSearch, learn_superparent

__all__ = [
    "CountedWhenAsked",
    "Network",
    "NetworkCounts",
    "NetworkTrees",
    "Selection",
    "SubmodelScorer",
    "SuperParentSearch",
    "check_contexts",
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
