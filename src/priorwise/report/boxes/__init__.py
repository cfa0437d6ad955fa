"""What notebooks show of fitted models, explanations, scores, tables and networks."""

from functools import singledispatch
from typing import Any

from priorwise.data.encoding.schema import TableSchema
from priorwise.data.encoding.table_check import TableCheck
from priorwise.evaluation import ReliabilityCurve
from priorwise.report.boxes.card import draw_card, draw_summary
from priorwise.report.boxes.explanations import draw_explanation, draw_global, draw_shape
from priorwise.report.boxes.general import draw_distribution, draw_general
from priorwise.report.boxes.scores import draw_curve, draw_scores
from priorwise.report.boxes.tables import (
    draw_check,
    draw_conditional,
    draw_schema,
    draw_structure,
)
from priorwise.steps.explanation import Explanation, FeatureShape, GlobalExplanation
from priorwise.storage.summary import ModelSummary
from priorwise.structure import Network
from priorwise.structure.networks.distribution import Distribution

__all__ = ["draw", "draw_card", "draw_conditional", "draw_general", "draw_scores"]


@singledispatch
def draw(value: Any) -> str:
    """Return an object as HTML."""
    raise TypeError(f"there is no picture of a {type(value).__name__}")


draw.register(Explanation, draw_explanation)
draw.register(GlobalExplanation, draw_global)
draw.register(FeatureShape, draw_shape)
draw.register(ModelSummary, draw_summary)
draw.register(TableSchema, draw_schema)
draw.register(TableCheck, draw_check)
draw.register(Network, draw_structure)
draw.register(Distribution, draw_distribution)
draw.register(ReliabilityCurve, draw_curve)
