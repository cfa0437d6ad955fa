"""Plots and texts of fitted models."""

from priorwise.evaluation.plots import plot_cost, plot_reliability
from priorwise.explain.explanation_plots import plot_explanation, plot_importance, plot_shape
from priorwise.explain.structure_plots import plot_network, plot_tree
from priorwise.explain.tree_text import export_text
from priorwise.steps.explanation import Explanation, FeatureShape, GlobalExplanation

__all__ = [
    "Explanation",
    "FeatureShape",
    "GlobalExplanation",
    "export_text",
    "plot_cost",
    "plot_explanation",
    "plot_importance",
    "plot_network",
    "plot_reliability",
    "plot_shape",
    "plot_tree",
]
