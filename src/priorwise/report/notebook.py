"""A fitted classifier as notebooks show it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from priorwise.common.texts import ERROR, LOG_LOSS, RMSE, count, show_percent
from priorwise.report.explorer import read_asset
from priorwise.report.svg import cut_text
from priorwise.storage.summary import ModelSummary, format_bytes, summarise

MAX_CLASSES, MAX_FEATURES, MAX_MEMBERS, MAX_NOTES = 6, 8, 20, 3
"""Classes, features, members and notes that are listed at most."""

MAX_TEXT, MAX_PARAMETERS = 40, 300
"""Characters of names, and of all parameters together, at most."""


def draw_card(model: Any) -> str:
    """Return what a fitted classifier is, and what is known of it, as HTML of at most 30 kB.

    The colours of the text and of the paper are those of the notebook, light or dark.
    """
    summary = summarise(model)
    given = ", ".join(f"{name}={value!r}" for name, value in summary.parameters.items())
    facts = [_describe_data(summary), f"Size: {format_bytes(summary.n_bytes)}."]
    parts = [_list_classes(summary), _list_features(model)]
    return (
        f'<style>{read_asset("card.css")}</style><div class="priorwise-card">'
        f"<h3>{escape(summary.class_name)}</h3>"
        + (f"<p><code>{escape(cut_text(given, MAX_PARAMETERS))}</code></p>" if given else "")
        + f'<p class="soft">{escape(" ".join(facts))}</p>'
        + _list_members(model, summary)
        + f'<div class="parts">{"".join(f"<div>{part}</div>" for part in parts if part)}</div>'
        '<p class="soft">Look further: <code>model.report(X, y, "report.html")</code>, '
        '<code>model.explorer("explorer.html", X)</code>, <code>model.explain(X)</code>.</p></div>'
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
    if not hasattr(model, "score_report"):
        text = "; ".join(f"{part.name}: {part.content}" for part in summary.parts[:MAX_MEMBERS])
        return f"<p>{escape(cut_text(text, MAX_PARAMETERS))}</p>" if text else ""
    report = model.score_report()
    contents = {"pool": "the members together"}
    contents |= {part.name: part.content.rsplit(", weight", 1)[0] for part in summary.parts}
    weights = [abs(line.pool_weight) for line in report.lines if line.pool_weight is not None]
    rows = []
    for line in report.lines[-MAX_MEMBERS:]:
        weight = line.pool_weight
        bar = "" if weight is None else _bar(weight / max(*weights, 1e-12))
        scores = [f"{score:.4f}" for score in (line.log_loss, line.rmse, line.error)]
        rows.append(
            f"<tr>{_name(line.name, contents.get(line.name, ''))}"
            f"{_numbers(['' if weight is None else f'{weight:.2f}'])}"
            f'<td class="bar">{bar}</td>{_numbers(scores)}</tr>'
        )
    heads = "".join(f'<th class="number">{head}</th>' for head in (LOG_LOSS, RMSE, ERROR))
    left_out = len(report.lines) - len(rows)
    notes = [f"{count(left_out, 'more line')} in score_report()"] if left_out else []
    notes += [cut_text(note, MAX_PARAMETERS) for note in report.notes[:MAX_NOTES]]
    more = "".join(f" {note[0].upper()}{note[1:]}." for note in notes)
    return (
        '<h4>Members and scores out of fold</h4><div class="wide"><table><thead><tr><th>member</th>'
        f'<th class="number">weight</th><th></th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="soft">Scores of {count(report.n_rows, "row")} of training, each predicted by '
        f"members that have not seen it.{escape(more)}</p>"
    )


def _list_classes(summary: ModelSummary) -> str:
    labels, counts = list(summary.class_counts), np.array(list(summary.class_counts.values()))
    shares = counts / max(counts.sum(), 1e-300)
    order = np.argsort(-shares, kind="stable")
    lines = [(str(labels[k]), float(shares[k]), show_percent(shares[k])) for k in order]
    return _bars(
        count(len(labels), "class", "classes"), lines, MAX_CLASSES, ("more class", "more classes")
    )


def _list_features(model: Any) -> str:
    sizes = getattr(model, "feature_importances_", None)
    if sizes is None or not np.any(sizes > 0.0):
        return ""
    order = np.argsort(-sizes, kind="stable")
    names = model.feature_labels_
    lines = [(str(names[i]), float(sizes[i] / sizes.sum()), f"{sizes[i]:.3f}") for i in order]
    return _bars(
        "Features that matter most", lines, MAX_FEATURES, ("more feature", "more features")
    )


def _bars(
    title: str, lines: Sequence[tuple[str, float, str]], most: int, nouns: tuple[str, str]
) -> str:
    """Return a table of names, sizes and bars; the largest bar has the full width."""
    largest = max(size for _, size, _ in lines)
    shown = lines if len(lines) <= most + 1 else lines[:most]
    rows = "".join(
        f'<tr>{_name(name)}<td class="bar">{_bar(size / max(largest, 1e-300))}</td>'
        f"{_numbers([text])}</tr>"
        for name, size, text in shown
    )
    left_out = len(lines) - len(shown)
    more = f'<p class="soft">and {count(left_out, *nouns)}</p>' if left_out else ""
    return f"<h4>{escape(title)}</h4><table><tbody>{rows}</tbody></table>{more}"


def _name(name: str, content: str = "") -> str:
    more = f'<br><span class="soft">{escape(cut_text(content, 2 * MAX_TEXT))}</span>'
    return f"<td>{escape(cut_text(name, MAX_TEXT))}{more if content else ''}</td>"


def _numbers(texts: Sequence[str]) -> str:
    return "".join(f'<td class="number">{escape(text)}</td>' for text in texts)


def _bar(share: float) -> str:
    kind = ' class="below"' if share < 0.0 else ""
    return f'<span{kind} style="width:{100 * abs(share):.1f}%"></span>'
