"""Counting: trees of counts and pair counts. Arrays of codes in, never frames."""

from priorwise.counts.draws import (
    Draws,
    NumberEquality,
    draw_held_back,
    hash_rows,
    mean_row_weights,
)
from priorwise.counts.information import (
    CodedRows,
    Information,
    WideInformation,
    measure_information,
    measure_rows,
)
from priorwise.counts.packed_trees import Factor
from priorwise.counts.pairs import PairCounts
from priorwise.counts.tally import Tally, TreePlan
from priorwise.counts.tree import CountTree, count_trees, label_contexts

__all__ = [
    "CodedRows",
    "CountTree",
    "Draws",
    "Factor",
    "Information",
    "NumberEquality",
    "PairCounts",
    "Tally",
    "TreePlan",
    "WideInformation",
    "count_trees",
    "draw_held_back",
    "hash_rows",
    "label_contexts",
    "mean_row_weights",
    "measure_information",
    "measure_rows",
]
