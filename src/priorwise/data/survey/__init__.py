"""Surveys of tables: what is learnt of columns, batch by batch."""

from priorwise.data.survey.labels import LabelCounts
from priorwise.data.survey.numbers import NumberCounts, ValueSummary
from priorwise.data.survey.survey import Survey

__all__ = ["LabelCounts", "NumberCounts", "Survey", "ValueSummary"]
