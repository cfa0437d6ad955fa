"""The ARFF reader."""

from priorwise.data.arff.reader import ArffData, read_arff
from priorwise.data.arff.syntax import ArffError

__all__ = ["ArffData", "ArffError", "read_arff"]
