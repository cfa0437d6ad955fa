"""Checks of a table and its target before a model learns from them."""

from priorwise.data.checks.findings import Finding, Findings

__all__ = ["Finding", "Findings"]
