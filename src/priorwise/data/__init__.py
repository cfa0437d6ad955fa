"""Data in: tables as codes, discretisers, sources of rows."""

from priorwise.data.arff import ArffData, ArffError, read_arff
from priorwise.data.cuts import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
    MDLPDiscretizer,
    TreeDiscretizer,
)
from priorwise.data.encoding import FrameEncoder
from priorwise.data.sources import SourceError, SqlSource, open_source

__all__ = [
    "ArffData",
    "ArffError",
    "EqualFrequencyDiscretizer",
    "EqualWidthDiscretizer",
    "FrameEncoder",
    "KMeansDiscretizer",
    "MDLPDiscretizer",
    "SourceError",
    "SqlSource",
    "TreeDiscretizer",
    "open_source",
    "read_arff",
]
