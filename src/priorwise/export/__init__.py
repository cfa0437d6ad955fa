"""Fitted models as files for other programs."""

from priorwise.export.tree_c import export_c

__all__ = ["export_c"]
