"""Counting: trees of counts and pair counts. Arrays of codes in, never frames."""

from priorwise.counts.coded_rows import CodedRows
from priorwise.counts.factor import Factor
from priorwise.counts.pairs import Information, PairCounts, measure_information
from priorwise.counts.row_parts import RowParts, draw_held_back, hash_rows
from priorwise.counts.tally import Tally, TreePlan
from priorwise.counts.tree import CountTree, count_trees, label_contexts
from priorwise.counts.wide_pairs import WideInformation, measure_rows

__all__ = [
    "CodedRows",
    "CountTree",
    "Factor",
    "Information",
    "PairCounts",
    "RowParts",
    "Tally",
    "TreePlan",
    "WideInformation",
    "count_trees",
    "draw_held_back",
    "hash_rows",
    "label_contexts",
    "measure_information",
    "measure_rows",
]
