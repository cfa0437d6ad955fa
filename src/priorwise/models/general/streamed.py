"""Counts of a network over data that need not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.counts import CountTree, PairCounts, Tally
from priorwise.data.sources import open_source
from priorwise.data.sources.source import Source
from priorwise.data.tables import Categories, RawTable
from priorwise.models.general.families import family_columns, plan_families
from priorwise.models.general.search import SearchOptions
from priorwise.models.general.structures import (
    GivenStructure,
    learn_chow_liu,
    learn_class_network,
)
from priorwise.structure.networks import Network


def count_dataset(
    source: Any,
    given: GivenStructure | None,
    options: SearchOptions,
    *,
    features: list[str] | None,
    batch_rows: int | None,
    code_missing: bool,
) -> tuple[list[str], list[Categories], Network, list[CountTree]]:
    """Return names, states, the network and the counts of its families, in passes over rows."""
    opened = open_source(source, target=None, features=features, batch_rows=batch_rows)
    names = opened.feature_names
    if given is None and options.method == "hill-climb":
        raise ValueError(
            "structure must be 'chow-liu', 'kdb' or a graph for fit_dataset, got 'hill-climb': "
            "learn a graph from a sample of the rows with fit, and give it as structure"
        )
    network = None if given is None else given.to_network(names)
    categories = [Categories() for _ in names]
    for own, name in zip(categories, names, strict=True):
        own.declare([] if given is None else list(given.states.get(name, ())))
    for table in _read(opened):
        for place, own in enumerate(categories):
            own.learn(table.nominal(place), code_missing=code_missing)
    arities = [len(own.labels) for own in categories]
    for name, arity in zip(names, arities, strict=True):
        if arity == 0:
            raise ValueError(f"column {name!r} must have a value that is not missing")
    if network is None:
        network = _learn_structure(opened, categories, names, options)
    plan = plan_families(network, arities)
    tally: Tally | None = None
    for columns in _code(opened, categories):
        counts = Tally.count(plan, family_columns(columns, arities), n_jobs=options.n_jobs)
        tally = counts if tally is None else tally.merge(counts)
    if tally is None:
        raise ValueError("source must have at least one row, got 0")
    return names, categories, network, tally.trees()


def _learn_structure(
    source: Source, categories: list[Categories], names: list[str], options: SearchOptions
) -> Network:
    """Learn "chow-liu" or "kdb" from counts of pairs; rows with a missing value are left out."""
    target = options.find_target(names)
    given_class = target if options.method == "kdb" else None
    arities = [len(own.labels) for own in categories]
    others = [i for i in range(len(names)) if i != given_class]
    n_classes = 1 if given_class is None else arities[given_class]
    pairs = PairCounts()
    for columns in _code(source, categories):
        codes = np.stack(columns)
        codes = np.ascontiguousarray(codes[:, (codes >= 0).all(axis=0)])
        classes = np.zeros(codes.shape[1], np.int32) if given_class is None else codes[given_class]
        if codes.shape[1]:
            pairs.add(
                np.ascontiguousarray(codes[others]), classes, [arities[i] for i in others],
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
