"""Plots and texts of fitted models."""

from priorwise.explain.network_plots import plot_explanation, plot_network
from priorwise.explain.tree_plot import plot_tree
from priorwise.explain.tree_text import export_text
from priorwise.models.explanation import Explanation

__all__ = ["Explanation", "export_text", "plot_explanation", "plot_network", "plot_tree"]
