"""Counting: trees of counts and pair counts. Arrays of codes in, never frames."""

from priorwise.counts.tree import CountTree, count_trees

__all__ = ["CountTree", "count_trees"]
