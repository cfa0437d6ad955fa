"""A fitted classifier as notebooks show it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from priorwise.common.texts import MANY, SEVERAL, count, show_percent
from priorwise.report.boxes.box import (
    MAX_PARAMETERS,
    bars,
    box,
    columns,
    cut_text,
    heading,
    left_out,
    paragraph,
    soft,
)
from priorwise.report.boxes.scores import list_scores
from priorwise.report.html import Number, table
from priorwise.storage.summary import ModelSummary, format_bytes, summarise


def draw_card(model: Any) -> str:
    """Return what a fitted classifier is, and what is known of it, as HTML of at most 30 kB."""
    summary = summarise(model)
    given = ", ".join(f"{name}={value!r}" for name, value in summary.parameters.items())
    return box(
        summary.class_name,
        f"<p><code>{escape(cut_text(given, MAX_PARAMETERS))}</code></p>" if given else "",
        soft(f"{_describe_data(summary)} Size: {format_bytes(summary.n_bytes)}."),
        _list_members(model, summary),
        columns(_list_classes(summary), _list_features(model)),
        '<p class="soft">Look further: <code>model.report(X, y, "report.html")</code>, '
        '<code>model.explorer("explorer.html", X)</code>, <code>model.explain(X)</code>.</p>',
    )


def draw_summary(summary: ModelSummary) -> str:
    """Return what is inside an estimator as HTML."""
    given = ", ".join(f"{name}={value!r}" for name, value in summary.parameters.items())
    rows = [
        [part.name, part.content, Number(format_bytes(part.n_bytes))]
        for part in summary.parts[:MANY]
    ]
    return box(
        summary.class_name,
        f"<p><code>{escape(cut_text(given, MAX_PARAMETERS))}</code></p>" if given else "",
        soft(_describe_data(summary)) if summary.n_rows is not None else "",
        table(["part", "what it is", "size"], rows) if rows else "",
        left_out(len(summary.parts) - len(rows), "more part", "more parts"),
        paragraph(f"All arrays: {format_bytes(summary.n_bytes)}."),
        _list_classes(summary) if summary.class_counts else "",
    )


def _describe_data(summary: ModelSummary) -> str:
    n_nominal = sum(column.kind == "nominal" for column in summary.features)
    n_missing = sum(column.missing_share > 0.0 for column in summary.features)
    return (
        f"Learnt from {count(summary.n_rows or 0.0, 'row')} of "
        f"{count(len(summary.features), 'feature')}: {n_nominal:,} nominal, "
        f"{len(summary.features) - n_nominal:,} numeric, {n_missing or 'none'} with missing values."
    )


def _list_members(model: Any, summary: ModelSummary) -> str:
    """Return the members of a pool with their weights and scores, or the parts of a model."""
    contents = [
        f"{part.name}: {part.content.rsplit(', weight', 1)[0]}" for part in summary.parts[:MANY]
    ]
    text = paragraph(cut_text("; ".join(contents), MAX_PARAMETERS)) if contents else ""
    if not hasattr(model, "score_report"):
        return text
    return text + heading("Members and scores out of fold") + list_scores(model.score_report())


def _list_classes(summary: ModelSummary) -> str:
    labels, counts = list(summary.class_counts), np.array(list(summary.class_counts.values()))
    shares = counts / max(counts.sum(), 1e-300)
    order = np.argsort(-shares, kind="stable")
    lines = [(str(labels[k]), float(shares[k]), show_percent(shares[k])) for k in order]
    return bars(
        count(len(labels), "class", "classes"), lines, SEVERAL, ("more class", "more classes")
    )


def _list_features(model: Any) -> str:
    sizes = getattr(model, "feature_importances_", None)
    if sizes is None or not np.any(sizes > 0.0):
        return ""
    order = np.argsort(-sizes, kind="stable")
    names = model.feature_labels_
    lines = [(str(names[i]), float(sizes[i]), f"{sizes[i]:.3f}") for i in order if sizes[i] > 0.0]
    return bars("Features that matter most", lines, SEVERAL, ("more feature", "more features"))
