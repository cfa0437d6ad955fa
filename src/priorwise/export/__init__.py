"""Fitted models as files for other programs."""

from priorwise.export.json_file import export_json, javascript_evaluator
from priorwise.export.tree_c import export_c

__all__ = ["export_c", "export_json", "javascript_evaluator"]
