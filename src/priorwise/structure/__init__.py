"""Structures of Bayesian network classifiers."""

from priorwise.structure.kdb import learn_kdb, rank_by_information
from priorwise.structure.network import Network
from priorwise.structure.orders import draw_order, draw_order_by_gumbel
from priorwise.structure.tan import learn_tan

__all__ = [
    "Network",
    "draw_order",
    "draw_order_by_gumbel",
    "learn_kdb",
    "learn_tan",
    "rank_by_information",
]
