"""``priorwise bench`` and ``priorwise compare``: models on many data sets."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from priorwise.cli.comparison import choose_pairs, compare_models, describe_results, save_pictures
from priorwise.cli.model_spec import parse_model
from priorwise.cli.output import format_scores, print_note, print_result
from priorwise.common.texts import count
from priorwise.datasets import fetch_suite, find_datasets
from priorwise.evaluation import Results, cross_validate, read_results
from priorwise.evaluation.protocol import DEFAULT_SCORES


def run_bench(options: Namespace) -> int:
    """Cross-validate models on data sets; 1 if every cell failed."""
    if (options.data is None) == (options.suite is None):
        raise ValueError("bench needs either --data or --suite")
    models = _parse_models(options.models)
    results = cross_validate(
        models,
        _choose_datasets(options),
        protocol=options.protocol,
        scores=options.scores or list(DEFAULT_SCORES),
        n_jobs=options.jobs,
        out=options.out,
        progress=not options.quiet,
        small_classes=options.small_classes,
        retry_errors=options.retry_errors,
    )
    n_cells, errors = len(results.rows), results.errors
    means = _mean_scores(results)
    lines = [f"{count(n_cells, 'cell')} in {options.out}"]
    if errors:
        print_note(
            f"{len(errors)} of {count(n_cells, 'cell')} failed; the first: {errors[0]['error']}"
        )
        lines[0] += f"; {len(errors)} failed, see the column error"
    if means:
        n_datasets = len(results.score_table(results.scores[0])[0])
        lines += ["", f"Means over {count(n_datasets, 'data set')}:", "", format_scores(means)]
    values = {"out": options.out, "cells": n_cells, "failed": len(errors), "scores": means}
    print_result(options, "\n".join(lines), values)
    return 1 if len(errors) == n_cells else 0


def _mean_scores(results: Results) -> dict[str, dict[str, float]]:
    """Mean of each score over the data sets on which no model failed, by model."""
    tables = {score: results.score_table(score) for score in results.scores}
    if not all(names for names, _ in tables.values()):
        return {}
    return {
        model: {score: sum(table[model]) / len(names) for score, (names, table) in tables.items()}
        for model in results.models
    }


def _parse_models(texts: Sequence[str]) -> dict[str, Any]:
    models: dict[str, Any] = {}
    for text in texts:
        name, model = parse_model(text)
        if name in models:
            raise ValueError(f"two models are called {name!r}")
        models[name] = model
    return models


def _choose_datasets(options: Namespace) -> Mapping[str, Any]:
    if options.suite is not None:
        found: Mapping[str, Any] = fetch_suite(options.suite)
    else:
        position = options.target.lstrip("-").isdecimal()
        target = int(options.target) if position else options.target
        found = find_datasets(options.data, target)
    if not found:
        raise ValueError(f"no .arff, .csv or .parquet file in {options.data!r}")
    if options.datasets is None:
        return found
    chosen = {}
    for pattern in options.datasets:
        matches = {name: item for name, item in found.items() if fnmatchcase(name, pattern)}
        if not matches:
            close = get_close_matches(pattern, found, n=5, cutoff=0.4)
            raise ValueError(f"no data set of {len(found)} is called {pattern!r}; near: {close}")
        chosen.update(matches)
    return chosen


def run_compare(options: Namespace) -> None:
    """Print tables and tests of a result file, and save pictures."""
    results = read_results(options.results)
    texts, values = [], {}
    if results.errors:
        texts.append(
            f"{count(len(results.errors), 'cell')} failed; the first: {results.errors[0]['error']}"
        )
    pairs = choose_pairs(results, options.baseline)
    for score in options.scores or list(results.scores):
        values[score] = compare_models(results, score, pairs)
        texts.append(
            describe_results(results, score, values[score], options.alpha, options.per_dataset)
        )
        if options.pictures:
            folder = Path(options.pictures)
            paths = save_pictures(results, score, pairs, folder, options.alpha)
            texts.append("\n".join(map(str, paths)))
            values[score]["pictures"] = list(map(str, paths))
    print_result(options, "\n\n".join(texts), {"failed": len(results.errors), "scores": values})
