"""Data sets: read from files, fetched by name, or generated."""

from priorwise.datasets.files import FileDataset, find_datasets, read_table
from priorwise.datasets.generate import (
    led_posterior,
    make_balance_scale,
    make_led,
    make_monks,
    make_tic_tac_toe,
    make_waveform,
)
from priorwise.datasets.generate_splice import write_splice_like
from priorwise.datasets.suite import SUITES, OpenMLDataset, fetch_suite

__all__ = [
    "SUITES",
    "FileDataset",
    "OpenMLDataset",
    "fetch_suite",
    "find_datasets",
    "led_posterior",
    "make_balance_scale",
    "make_led",
    "make_monks",
    "make_tic_tac_toe",
    "make_waveform",
    "read_table",
    "write_splice_like",
]
