"""``priorwise bench`` and ``priorwise compare``: models on many data sets."""

from __future__ import annotations

import importlib
import math
import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path
from typing import Any

from scipy.stats import chi2

from priorwise.cli.inputs import find_scores, list_reading
from priorwise.cli.model_spec import parse_model
from priorwise.cli.output import format_scores, format_table, print_note, print_result
from priorwise.common.files import open_whole
from priorwise.common.runtime import import_extra
from priorwise.common.texts import SCORE_NAMES, count
from priorwise.datasets import fetch_suite, find_datasets
from priorwise.evaluation import (
    HIGHER_IS_BETTER,
    Results,
    WinDrawLoss,
    bergmann_hommel,
    cross_validate,
    friedman_test,
    read_results,
    sign_test,
    win_draw_loss,
)
from priorwise.evaluation.plots import plot_critical_difference, plot_scatter
from priorwise.evaluation.protocol import DEFAULT_SCORES
from priorwise.evaluation.ranks import MAX_BERGMANN_MODELS

Pairs = Sequence[tuple[str, str]]


def choose_pairs(results: Results, baseline: str | None) -> Pairs:
    """Every pair of models, or every other model against the baseline."""
    if baseline is None:
        return list(combinations(results.models, 2))
    if baseline not in results.models:
        raise ValueError(f"baseline must be one of {list(results.models)}, got {baseline!r}")
    return [(model, baseline) for model in results.models if model != baseline]


def compare_models(results: Results, score: str, pairs: Pairs) -> dict[str, Any]:
    """Return means, records of pairs, average ranks and Friedman's test of one score."""
    names, table = results.score_table(score)
    higher = score in HIGHER_IS_BETTER
    values: dict[str, Any] = {"datasets": names, "means": {}, "pairs": []}
    if not names:
        return values
    values["means"] = {model: sum(column) / len(names) for model, column in table.items()}
    for a, b in pairs:
        record = win_draw_loss(table[a], table[b], higher_is_better=higher)
        p = sign_test(record.wins, record.losses)
        values["pairs"].append({"model": a, "against": b, **record._asdict(), "sign_test_p": p})
    if len(table) > 1 and len(names) > 1:
        test = friedman_test(table, higher_is_better=higher)
        values["average_ranks"] = dict(test.average_ranks)
        values["friedman"] = {"chi_square": test.chi_square, "p": test.p_value}
    return values


def describe_results(
    results: Results, score: str, values: dict[str, Any], alpha: float, per_dataset: bool
) -> str:
    """Write what `compare_models` has found, and significant differences of pairs."""
    names, table = results.score_table(score)
    higher = score in HIGHER_IS_BETTER
    better = "higher" if higher else "lower"
    shown = SCORE_NAMES.get(score, score)
    parts = [f"## {shown} ({better} is better), {count(len(names), 'data set')}"]
    n_left_out = len(results.datasets) - len(names)
    if n_left_out:
        parts.append(
            f"Left out: {count(n_left_out, 'data set')} on which a model failed or is unfinished."
        )
    if not names:
        return "\n\n".join(parts)
    if per_dataset:
        rows = [
            [name, *(f"{table[model][i]:.4f}" for model in table)] for i, name in enumerate(names)
        ]
        parts.append(format_table(["data set", *table], rows))
    ranks = values.get("average_ranks", {})
    rows = [
        [model, f"{mean:.4f}", f"{ranks[model]:.2f}" if ranks else "-"]
        for model, mean in values["means"].items()
    ]
    rows.sort(key=lambda row: (row[2], row[0]))
    parts.append(format_table(["model", "mean", "average rank"], rows))
    if len(table) > 1:
        parts.append(_describe_pairs(results, score, values["pairs"], alpha))
    if ranks:
        parts.append(_describe_tests(table, higher, alpha))
    return "\n\n".join(parts)


def _describe_pairs(
    results: Results, score: str, pairs: Sequence[dict[str, Any]], alpha: float
) -> str:
    names, higher = results.score_table(score)[0], score in HIGHER_IS_BETTER
    rows = []
    for pair in pairs:
        a, b = pair["model"], pair["against"]
        clear = results.significant_record(
            a, b, score, higher_is_better=higher, alpha=alpha, datasets=names
        )
        record = WinDrawLoss(*(pair[field] for field in WinDrawLoss._fields))
        rows.append([a, b, _join(record), f"{pair['sign_test_p']:.4f}", _join(clear)])
    header = ["model", "against", "win-draw-loss", "sign test p", f"by t-test at {alpha:g}"]
    return format_table(header, rows)


def _join(record: WinDrawLoss) -> str:
    return "-".join(map(str, record))


def _describe_tests(table: dict[str, list[float]], higher: bool, alpha: float) -> str:
    test = friedman_test(table, higher_is_better=higher)
    text = f"Friedman (Iman-Davenport): F = {test.statistic:.4f}, p = {test.p_value:.4g}"
    if math.isinf(test.statistic):
        # Iman and Davenport's F divides by zero here; Friedman's own statistic does not.
        p = chi2.sf(test.chi_square, len(table) - 1)
        text = (
            f"Friedman: all {test.n_datasets} data sets rank the models alike, "
            f"chi2 = {test.chi_square:.4f}, p = {p:.4g}"
        )
    if len(table) > MAX_BERGMANN_MODELS:
        return f"{text}\n\nBergmann-Hommel: left out, more than {MAX_BERGMANN_MODELS} models"
    rows = [
        [
            " / ".join(result.pair),
            f"{result.p_value:.4g}",
            f"{result.adjusted_p_value:.4g}",
            "yes" if result.rejected else "no",
        ]
        for result in bergmann_hommel(table, higher_is_better=higher, alpha=alpha)
    ]
    header = ["Bergmann-Hommel pair", "p", "adjusted p", f"differs at {alpha:g}"]
    return f"{text}\n\n{format_table(header, rows)}"


def save_pictures(
    results: Results, score: str, pairs: Pairs, folder: Path, alpha: float
) -> list[Path]:
    """Save a critical-difference picture and a scatter per pair of models; return the files."""
    import_extra("matplotlib", "a picture", "priorwise[plot]").use("agg")
    names, table = results.score_table(score)
    higher = score in HIGHER_IS_BETTER
    folder.mkdir(parents=True, exist_ok=True)
    saved: list[Path] = []
    if len(names) > 1 and len(table) > 1:
        test = "bergmann-hommel" if len(table) <= MAX_BERGMANN_MODELS else "nemenyi"
        axes = plot_critical_difference(table, higher_is_better=higher, alpha=alpha, test=test)
        saved.append(_save(axes, folder / f"{_safe_name(score)}-ranks.png"))
    for a, b in pairs if names else ():
        axes = plot_scatter(
            table[a],
            table[b],
            names=(a, b),
            higher_is_better=higher,
            score=SCORE_NAMES.get(score, score),
        )
        file = f"{_safe_name(score)}-{_safe_name(a)}-against-{_safe_name(b)}.png"
        saved.append(_save(axes, folder / file))
    return saved


def _save(axes: Any, path: Path) -> Path:
    with open_whole(path, "the plot") as file:
        axes.figure.savefig(file, dpi=150)
    importlib.import_module("matplotlib.pyplot").close(axes.figure)
    return path


def _safe_name(name: str) -> str:
    """A name that a file may have: nothing in it leads out of a folder."""
    return re.sub(r"[^\w.=-]+", "_", name).strip("_.")[:60] or "unnamed"


def run_bench(options: Namespace) -> int:
    """Cross-validate models on data sets; 1 if every cell failed."""
    if (options.data is None) == (options.suite is None):
        raise ValueError("bench needs either --data or --suite")
    models = _parse_models(options.models)
    results = cross_validate(
        models,
        _choose_datasets(options),
        protocol=options.protocol,
        scores=find_scores(options.scores or DEFAULT_SCORES),
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
        found = find_datasets(options.data, target, **list_reading(options))
    if not found:
        raise ValueError(f"no file of rows in {options.data!r}")
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
    for score in find_scores(options.scores or [], results.scores) or results.scores:
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
