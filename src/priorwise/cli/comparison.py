"""The text and pictures of ``priorwise compare``."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from scipy.stats import chi2

from priorwise.cli.output import format_table
from priorwise.common.files import open_whole
from priorwise.common.resources import import_extra
from priorwise.common.texts import count
from priorwise.evaluation import (
    HIGHER_IS_BETTER,
    Results,
    WinDrawLoss,
    bergmann_hommel,
    friedman_test,
    sign_test,
    win_draw_loss,
)
from priorwise.evaluation.plots import plot_critical_difference, plot_scatter
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
    parts = [
        f"## {score} ({'higher' if higher else 'lower'} is better), {count(len(names), 'data set')}"
    ]
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
        axes = plot_scatter(table[a], table[b], names=(a, b), higher_is_better=higher, score=score)
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
