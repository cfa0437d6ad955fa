"""Counts of a network over data that need not fit in memory."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CountTree, PairCounts, Tally
from priorwise.data.sources import open_source
from priorwise.data.sources.source import Source
from priorwise.data.tables import Categories, RawTable
from priorwise.models.general.coded_frame import StateSurvey
from priorwise.models.general.families import family_columns, plan_families
from priorwise.models.general.search import SearchOptions, learn_structure
from priorwise.models.general.structures import (
    GivenStructure,
    learn_chow_liu,
    learn_class_network,
)
from priorwise.structure.networks import Network

MAX_CODES_IN_MEMORY = 2**26
"""Most codes of rows, of 4 bytes each, that are held in memory and not in a temporary file."""


def count_dataset(
    source: Any,
    given: GivenStructure | None,
    options: SearchOptions,
    *,
    features: list[str] | None,
    batch_rows: int | None,
    declared: bool,
    code_missing: bool,
) -> tuple[list[str], list[Categories], Network, list[CountTree]]:
    """Return names, states, the network and the counts of its families, in passes over rows."""
    opened = open_source(source, target=None, features=features, batch_rows=batch_rows)
    names = opened.feature_names
    network = None if given is None else given.to_network(names)
    states = {} if given is None else given.states
    survey: StateSurvey | None = None
    n_rows = 0
    for table in _read(opened):
        found = StateSurvey.of(table, states=states, declared=declared)
        survey = found if survey is None else survey.merge(found)
        n_rows += table.n_rows
    if survey is None:
        raise ValueError("source must have at least one row, got 0")
    categories = survey.to_categories(states, code_missing=code_missing)
    n_missing = 0 if code_missing else survey.n_missing
    arities = [len(own.labels) for own in categories]
    if network is None and (options.method == "hill-climb" or n_missing or len(names) == 1):
        columns = _keep_codes(opened, categories, n_rows)
        network = learn_structure(columns, arities, None, names, options)
    elif network is None:
        network = _learn_from_pairs(opened, categories, names, options)
    plan = plan_families(network, arities)
    tally: Tally | None = None
    for columns in _code(opened, categories):
        counts = Tally.count(plan, family_columns(columns, arities), n_jobs=options.n_jobs)
        tally = counts if tally is None else tally.merge(counts)
    assert tally is not None
    return names, categories, network, tally.trees()


def _keep_codes(
    source: Source, categories: list[Categories], n_rows: int
) -> list[NDArray[np.int32]]:
    """Return the codes of all rows; many of them are pages of a temporary file."""
    shape = (len(categories), n_rows)
    codes: NDArray[np.int32]
    if math.prod(shape) <= MAX_CODES_IN_MEMORY:
        codes = np.empty(shape, dtype=np.int32)
    else:
        # The file has no name any more, and goes with the array.
        with tempfile.TemporaryFile(prefix="priorwise-") as file:
            codes = np.memmap(file, dtype=np.int32, mode="w+", shape=shape)
    first = 0
    for columns in _code(source, categories):
        last = first + len(columns[0])
        for place, column in enumerate(columns):
            codes[place, first:last] = column
        first = last
    return list(codes)


def _learn_from_pairs(
    source: Source, categories: list[Categories], names: list[str], options: SearchOptions
) -> Network:
    """Learn "chow-liu" or "kdb" from counts of pairs; no value may be missing."""
    target = options.find_target(names)
    given_class = target if options.method == "kdb" else None
    arities = [len(own.labels) for own in categories]
    others = [i for i in range(len(names)) if i != given_class]
    n_classes = 1 if given_class is None else arities[given_class]
    pairs = PairCounts()
    for columns in _code(source, categories):
        n_rows = len(columns[0])
        classes = np.zeros(n_rows, np.int32) if given_class is None else columns[given_class]
        pairs.add(
            np.stack([columns[i] for i in others]), classes, [arities[i] for i in others],
            n_classes, n_threads=options.n_jobs,
        )  # fmt: skip
    information = pairs.information(n_threads=options.n_jobs)
    if given_class is None:
        return learn_chow_liu(information, names, target)
    return learn_class_network(information, names, given_class, options.max_parents)


def _read(source: Source) -> Iterator[RawTable]:
    for batch in source.read():
        yield RawTable(batch.X, marks=frozenset(), texts=batch.texts)


def _code(source: Source, categories: list[Categories]) -> Iterator[list[NDArray[np.int32]]]:
    for table in _read(source):
        yield [own.encode(table.nominal(place)) for place, own in enumerate(categories)]
