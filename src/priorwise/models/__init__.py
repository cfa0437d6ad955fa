"""Estimators: structure, counts and smoothing put together."""

from priorwise.models.table import ConditionalTable

__all__ = ["ConditionalTable"]
