"""Columns as codes: encoders that are made of surveys."""

from priorwise.data.encoding.encoder import TableEncoder
from priorwise.data.encoding.frame_encoder import FrameEncoder

__all__ = ["FrameEncoder", "TableEncoder"]
