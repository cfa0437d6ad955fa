"""Accurate class probabilities on tabular data, by counting and smoothing."""

__version__ = "0.1.0"
