"""Frames and arrays as typed columns, and columns as codes."""

from priorwise.data.columns import Columns
from priorwise.data.labels import encode_labels
from priorwise.data.tables.categories import Categories
from priorwise.data.tables.column_kinds import READING_PARAMETERS
from priorwise.data.tables.description.date_parts import DateParts
from priorwise.data.tables.encoder import TableEncoder
from priorwise.data.tables.factorise import declared_classes
from priorwise.data.tables.frame_encoder import FrameEncoder
from priorwise.data.tables.raw_table import RawTable

__all__ = [
    "READING_PARAMETERS",
    "Categories",
    "Columns",
    "DateParts",
    "FrameEncoder",
    "RawTable",
    "TableEncoder",
    "declared_classes",
    "encode_labels",
]
