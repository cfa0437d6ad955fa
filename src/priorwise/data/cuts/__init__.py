"""Cut points of numeric features: discretisers and drawn cuts."""

from priorwise.data.columns import RankedValues, ValueCounts
from priorwise.data.cuts.discretise import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
)
from priorwise.data.cuts.entropy_cuts import MDLPDiscretizer, TreeDiscretizer
from priorwise.data.cuts.names import draw_mdlp_cut_points, draw_quantile_cut_points

__all__ = [
    "EqualFrequencyDiscretizer",
    "EqualWidthDiscretizer",
    "KMeansDiscretizer",
    "MDLPDiscretizer",
    "RankedValues",
    "TreeDiscretizer",
    "ValueCounts",
    "draw_mdlp_cut_points",
    "draw_quantile_cut_points",
]
