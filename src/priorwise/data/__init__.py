"""Data in: tables as codes, discretisers, class labels."""

from priorwise.data.arff import ArffData, read_arff
from priorwise.data.arff_syntax import ArffError
from priorwise.data.categories import Categories
from priorwise.data.columns import RawTable
from priorwise.data.discretise import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
)
from priorwise.data.encode import FrameEncoder
from priorwise.data.entropy_cuts import MDLPDiscretizer, TreeDiscretizer
from priorwise.data.files import FileDataset, find_datasets, read_table
from priorwise.data.generate import (
    led_posterior,
    make_balance_scale,
    make_led,
    make_monks,
    make_poker_hands,
    make_tic_tac_toe,
    make_waveform,
)
from priorwise.data.generate_splice import write_splice_like
from priorwise.data.labels import encode_labels
from priorwise.data.open_source import open_source
from priorwise.data.prefetch import prefetch
from priorwise.data.random_cuts import draw_mdlp_cut_points, draw_quantile_cut_points
from priorwise.data.ranked import RankedValues
from priorwise.data.sink import ProbabilitySink, open_sink
from priorwise.data.source import Batch, Source, SourceError
from priorwise.data.suite import SUITES, OpenMLDataset, fetch_suite
from priorwise.data.survey import Survey, SurveyedBatch, survey_batch
from priorwise.data.surveyed_encoder import encoder_of_survey
from priorwise.data.table import Columns, TableEncoder
from priorwise.data.value_summary import ValueSummary

__all__ = [
    "SUITES",
    "ArffData",
    "ArffError",
    "Batch",
    "Categories",
    "Columns",
    "EqualFrequencyDiscretizer",
    "EqualWidthDiscretizer",
    "FileDataset",
    "FrameEncoder",
    "KMeansDiscretizer",
    "MDLPDiscretizer",
    "OpenMLDataset",
    "ProbabilitySink",
    "RankedValues",
    "RawTable",
    "Source",
    "SourceError",
    "Survey",
    "SurveyedBatch",
    "TableEncoder",
    "TreeDiscretizer",
    "ValueSummary",
    "draw_mdlp_cut_points",
    "draw_quantile_cut_points",
    "encode_labels",
    "encoder_of_survey",
    "fetch_suite",
    "find_datasets",
    "led_posterior",
    "make_balance_scale",
    "make_led",
    "make_monks",
    "make_poker_hands",
    "make_tic_tac_toe",
    "make_waveform",
    "open_sink",
    "open_source",
    "prefetch",
    "read_arff",
    "read_table",
    "survey_batch",
    "write_splice_like",
]
