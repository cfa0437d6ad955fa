"""Fitted models as files for other programs."""

from priorwise.export.c_file import export_c
from priorwise.export.json_file import export_json, javascript_evaluator
from priorwise.export.onnx.file import export_onnx
from priorwise.export.sql.query import export_sql

__all__ = ["export_c", "export_json", "export_onnx", "export_sql", "javascript_evaluator"]
