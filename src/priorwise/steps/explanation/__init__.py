"""What features add to predictions: of single rows, and of many rows together."""

from priorwise.steps.explanation.explanation import Explanation
from priorwise.steps.explanation.global_explanation import FeatureShape, GlobalExplanation

__all__ = ["Explanation", "FeatureShape", "GlobalExplanation"]
