"""Surveys of tables: what is learnt of columns, batch by batch."""

from priorwise.data.survey.labels import LabelCounts
from priorwise.data.survey.numbers import NumberCounts
from priorwise.data.survey.survey import Survey
from priorwise.data.survey.value_summary import ValueSummary

__all__ = ["LabelCounts", "NumberCounts", "Survey", "ValueSummary"]
