"""Data in: tables as codes, discretisers, class labels."""

from priorwise.data.discretise import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
)
from priorwise.data.entropy_cuts import MDLPDiscretizer, TreeDiscretizer
from priorwise.data.labels import encode_labels
from priorwise.data.table import Columns, TableEncoder

__all__ = [
    "Columns",
    "EqualFrequencyDiscretizer",
    "EqualWidthDiscretizer",
    "KMeansDiscretizer",
    "MDLPDiscretizer",
    "TableEncoder",
    "TreeDiscretizer",
    "encode_labels",
]
