"""Counting: trees of counts and pair counts. Arrays of codes in, never frames."""

from priorwise.counts.factor import Factor
from priorwise.counts.pairs import Information, measure_information
from priorwise.counts.tree import CountTree, count_trees

__all__ = ["CountTree", "Factor", "Information", "count_trees", "measure_information"]
