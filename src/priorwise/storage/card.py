"""Model cards: a page in Markdown on what a model is, what it learnt from, and its limits."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from priorwise.common.texts import show_percent
from priorwise.data.encoding.schema import ColumnSchema
from priorwise.storage.summary import ModelSummary, format_bytes, summarise

N_LABELS = 8
"""Number of labels of a feature that are named."""
FEW_ROWS = 50
"""Classes with fewer rows are named among the limits."""


def write_card(model: Any) -> str:
    """Return the model card of an estimator as Markdown."""
    summary = summarise(model)
    sections = {
        f"# {summary.class_name}": _describe_model(model, summary),
        "## Training data": _describe_data(summary),
        "## Scores out of fold": _describe_scores(model),
        "## Features": _describe_features(summary),
        "## Limits": _describe_limits(summary),
        "## How to reproduce": _describe_call(model, summary),
    }
    return "\n\n".join(f"{title}\n\n{text}" for title, text in sections.items() if text) + "\n"


def _describe_model(model: Any, summary: ModelSummary) -> str:
    doc = (type(model).__doc__ or "").strip().splitlines()
    lines = [doc[0] if doc else "", ""]
    lines += [
        f"- {part.name}: {part.content}, {format_bytes(part.n_bytes)}" for part in summary.parts
    ]
    return "\n".join([*lines, f"- size of all arrays: {format_bytes(summary.n_bytes)}"]).strip()


def _describe_data(summary: ModelSummary) -> str:
    if summary.n_rows is None:
        return "" if summary.parts else "The estimator has not learnt from rows."
    rows = [
        f"| {_cell(label)} | {count:,g} | {show_percent(count / max(summary.n_rows, 1e-300))} |"
        for label, count in summary.class_counts.items()
    ]
    head = f"{summary.n_rows:,g} rows of {len(summary.features)} features."
    return "\n".join([head, "", "| class | rows | share |", "|---|---:|---:|", *rows])


def _describe_scores(model: Any) -> str:
    if not hasattr(model, "encoder_"):
        return ""
    if not hasattr(model, "score_report"):
        return (
            "The model keeps no scores. `priorwise.evaluation.cross_validate` gives scores on rows "
            "that it has not seen."
        )
    report = model.score_report()
    rows = [
        f"| {line.name} | {line.rmse:.4f} | {line.log_loss:.4f} | {line.error:.4f} |"
        for line in report.lines
    ]
    return "\n".join(
        [
            f"On {report.n_rows:,} training rows, each judged by members that have not seen it; "
            "the last line is what the model gives.",
            "",
            "| member | RMSE | log-loss | error rate |",
            "|---|---:|---:|---:|",
            *rows,
        ]
    )


def _describe_features(summary: ModelSummary) -> str:
    if not summary.features:
        return ""
    rows = [
        f"| {_cell(column.name)} | {column.kind} | {_describe_values(column)} "
        f"| {show_percent(column.missing_share)} |"
        for column in summary.features
    ]
    return "\n".join(["| feature | kind | values | missing |", "|---|---|---|---:|", *rows])


def _describe_values(column: ColumnSchema) -> str:
    if column.labels is not None:
        shown = ", ".join(_cell(label) for label in column.labels[:N_LABELS])
        n_more = len(column.labels) - N_LABELS
        return f"{shown} and {n_more} more" if n_more > 0 else shown
    return "no numbers" if column.least is None else f"{column.least:.7g} to {column.largest:.7g}"


def _describe_limits(summary: ModelSummary) -> str:
    if summary.n_rows is None:
        return ""
    lines = [
        "- Probabilities hold for rows that come from where the training rows came from. "
        "`model.check(X)` compares a table with training.",
        "- If classes are more or less frequent elsewhere, give `predict_proba` a `class_prior`.",
        "- Numbers outside of the ranges above, and labels that are not listed, were never seen: "
        "the model answers by what it knows without them.",
        "- What a feature adds to a prediction is an association, not an effect.",
    ]
    rare = [_cell(label) for label, count in summary.class_counts.items() if count < FEW_ROWS]
    if rare:
        lines.append(f"- Few rows (less than {FEW_ROWS}) of the classes {', '.join(rare[:20])}.")
    gaps = [_cell(column.name) for column in summary.features if column.missing_share > 0.3]
    if gaps:
        lines.append(f"- More than 30 % of the values are missing in {', '.join(gaps[:20])}.")
    return "\n".join(lines)


def _describe_call(model: Any, summary: ModelSummary) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in summary.parameters.items())
    library, layer, *_ = type(model).__module__.split(".")
    package = library if layer == "models" else f"{library}.{layer}"
    code = f"```python\nfrom {package} import {summary.class_name}  # {version('priorwise')}\n\n"
    code += f"model = {summary.class_name}({given})\n"
    code += "model.fit(X, y)\n```" if hasattr(model, "encoder_") else "```"
    if getattr(model, "random_state", 0) is None:
        code += "\n\n`random_state` is None: another fit draws other random numbers."
    return code


def _cell(value: Any) -> str:
    """Return a value as text of a cell of a table."""
    return str(value).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")[:60]
