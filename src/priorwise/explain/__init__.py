"""Plots and texts of fitted models."""

from priorwise.explain.explanation_plot import plot_explanation
from priorwise.explain.network_plot import plot_network
from priorwise.explain.tree_plot import plot_tree
from priorwise.explain.tree_text import export_text
from priorwise.models.explanation import Explanation, FeatureShape, GlobalExplanation

__all__ = [
    "Explanation",
    "FeatureShape",
    "GlobalExplanation",
    "export_text",
    "plot_explanation",
    "plot_network",
    "plot_tree",
]
