"""Frames and arrays as typed columns: labels, numbers, missing values."""

from priorwise.data.columns import Columns, encode_labels
from priorwise.data.tables.categories import Categories
from priorwise.data.tables.column_kinds import READING_PARAMETERS
from priorwise.data.tables.label_keys import declared_classes
from priorwise.data.tables.raw_table import RawTable

__all__ = [
    "READING_PARAMETERS",
    "Categories",
    "Columns",
    "RawTable",
    "declared_classes",
    "encode_labels",
]
