"""Data in: tables of any kind become integer codes."""

from priorwise.data.nominal import UNKNOWN, NominalValues
from priorwise.data.frame import Frame

__all__ = ["UNKNOWN", "NominalValues", "Frame"]
