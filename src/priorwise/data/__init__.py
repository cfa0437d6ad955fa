"""Data in: tables as codes, discretisers, class labels."""

from priorwise.data.arff import ArffData, read_arff
from priorwise.data.arff_syntax import ArffError
from priorwise.data.discretise import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
)
from priorwise.data.entropy_cuts import MDLPDiscretizer, TreeDiscretizer
from priorwise.data.frame import Frame
from priorwise.data.labels import encode_labels
from priorwise.data.nominal import UNKNOWN, NominalValues
from priorwise.data.table import Columns, TableEncoder

__all__ = [
    "UNKNOWN",
    "ArffData",
    "ArffError",
    "Columns",
    "EqualFrequencyDiscretizer",
    "EqualWidthDiscretizer",
    "Frame",
    "KMeansDiscretizer",
    "MDLPDiscretizer",
    "NominalValues",
    "TableEncoder",
    "TreeDiscretizer",
    "encode_labels",
    "read_arff",
]
