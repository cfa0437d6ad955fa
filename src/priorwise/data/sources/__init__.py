"""Files, frames and streams as batches of rows, and files that predictions are written to."""

from priorwise.data.sources.part import SourceError
from priorwise.data.sources.sink import PredictionSink, open_sink
from priorwise.data.sources.source import Batch, Source, open_source, prefetch
from priorwise.data.sources.sql_source import SqlSource

__all__ = [
    "Batch",
    "PredictionSink",
    "Source",
    "SourceError",
    "SqlSource",
    "open_sink",
    "open_source",
    "prefetch",
]
