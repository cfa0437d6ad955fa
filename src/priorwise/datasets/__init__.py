"""Data sets: read from files, fetched by name, or generated."""

from priorwise.datasets.files import FileDataset, find_datasets, read_table
from priorwise.datasets.generate import (
    led_posterior,
    make_led,
    make_waveform,
)
from priorwise.datasets.suite import SUITES, OpenMLDataset, fetch_suite

__all__ = [
    "SUITES",
    "FileDataset",
    "OpenMLDataset",
    "fetch_suite",
    "find_datasets",
    "led_posterior",
    "make_led",
    "make_waveform",
    "read_table",
]
