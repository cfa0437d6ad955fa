"""Plots and texts of fitted models."""

from priorwise.evaluation.plots import plot_reliability
from priorwise.explain.explanation_plot import plot_explanation
from priorwise.explain.importance_plot import plot_importance
from priorwise.explain.network_plot import plot_network
from priorwise.explain.shape_plot import plot_shape
from priorwise.explain.tree_plot import plot_tree
from priorwise.explain.tree_text import export_text
from priorwise.steps.explanation import Explanation, FeatureShape, GlobalExplanation

__all__ = [
    "Explanation",
    "FeatureShape",
    "GlobalExplanation",
    "export_text",
    "plot_explanation",
    "plot_importance",
    "plot_network",
    "plot_reliability",
    "plot_shape",
    "plot_tree",
]
