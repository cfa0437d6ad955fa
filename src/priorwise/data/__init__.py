"""Data in: tables of any kind become integer codes."""

from priorwise.data.frame import Frame
from priorwise.data.nominal import UNKNOWN, NominalValues

__all__ = ["UNKNOWN", "Frame", "NominalValues"]
