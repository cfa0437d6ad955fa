"""Data in: tables of any kind become integer codes."""

from priorwise.data.categories import UNKNOWN, Categories
from priorwise.data.frame import Frame

__all__ = ["UNKNOWN", "Categories", "Frame"]
