"""Explanations as notebooks show them."""

from __future__ import annotations

import numpy as np

from priorwise.common.texts import FEW, MANY, SEVERAL, count, show_percent, show_probability
from priorwise.report.boxes.box import (
    MAX_TEXT,
    bar,
    bars,
    box,
    columns,
    cut_text,
    heading,
    left_out,
    plain_table,
    soft,
    table,
)
from priorwise.report.html import Number
from priorwise.steps.explanation import Explanation, FeatureShape, GlobalExplanation
from priorwise.steps.explanation.formats import as_text
from priorwise.steps.explanation.global_explanation import MAX_VALUES


def draw_explanation(explanation: Explanation) -> str:
    """Return what features add to the most probable class of the first rows, as HTML."""
    shown = min(explanation.n_rows, FEW)
    more = " to_frame() has all rows." if explanation.n_rows > shown else ""
    return box(
        f"Explanation of {count(explanation.n_rows, 'row')}",
        *(_draw_row(explanation, row) for row in range(shown)),
        soft(f"Parts of a row add up to its log-odds, {explanation.meaning}.{more}"),
    )


def _draw_row(explanation: Explanation, row: int) -> str:
    odds, proba = explanation.log_odds[row], explanation.probabilities[row]
    k = int(proba.argmax())
    label = cut_text(str(explanation.classes.tolist()[k]), MAX_TEXT)
    parts = explanation.contributions[row, :, k]
    ranked = np.argsort(-np.abs(parts), kind="stable")
    first = ranked if len(ranked) <= SEVERAL + 1 else ranked[:SEVERAL]
    lines = [("before any feature is known", float(explanation.bias[k]))]
    lines += [(explanation.value_text(row, int(i)), float(parts[i])) for i in first]
    if len(rest := ranked[len(first) :]):
        lines.append((count(len(rest), "other feature"), float(parts[rest].sum())))
    if explanation.remainder[row, k] != 0.0:
        lines.append(("what no feature explains", float(explanation.remainder[row, k])))
    largest = max(abs(size) for _, size in lines)
    rows = [
        [cut_text(name, MAX_TEXT), bar(size, largest, text, signed=True), Number(text)]
        for name, size in lines
        for text in [show_signed(size)]
    ]
    title = f"Row {row}: {label}, probability {show_probability(proba[k])}"
    return heading(f"{title}, log-odds {show_signed(odds[k])}") + plain_table(rows)


def draw_global(result: GlobalExplanation) -> str:
    """Return the importance of features and the strongest pairs, as HTML."""
    names, sizes = result.explanation.feature_names, result.importance
    used = [i for i in result.ranking if sizes[i] > 0.0]
    lines = [(names[i], float(sizes[i]), f"{sizes[i]:.3f}") for i in used]
    nouns = ("more feature", "more features")
    parts = [bars("Mean absolute contribution", lines, MANY, nouns)] if lines else []
    has_values = result.explanation.values is not None
    if pairs := result.pairs[:SEVERAL] if has_values and lines else []:
        shown = [(f"{cut_text(a, 18)} with {cut_text(b, 18)}", s, f"{s:.2f}") for a, b, s in pairs]
        parts.append(bars("Pairs that act together", shown, SEVERAL, ("more pair", "more pairs")))
    return box(
        f"What features do in {count(result.explanation.n_rows, 'row')}",
        columns(*parts),
        soft("In log-odds. shapes[feature] has what a feature adds by its value."),
    )


def draw_shape(shape: FeatureShape) -> str:
    """Return what one feature adds by its value, as HTML."""
    n_classes = shape.mean.shape[1]
    places = [1] if n_classes == 2 else list(range(min(n_classes, FEW)))
    largest, total = float(np.abs(shape.mean).max(initial=0.0)), max(int(shape.n_rows.sum()), 1)
    rows = []
    for group in range(len(shape.values))[:MAX_VALUES]:
        texts = [show_signed(float(shape.mean[group, k])) for k in places]
        pictures = [
            bar(float(shape.mean[group, k]), largest, text, signed=True)
            for k, text in zip(places, texts, strict=True)
        ]
        cells = [cell for pair in zip(pictures, map(Number, texts), strict=True) for cell in pair]
        share = Number(show_percent(shape.n_rows[group] / total))
        rows.append([cut_text(as_text(shape.values[group]), MAX_TEXT), share, *cells])
    labels = [cut_text(str(label), MAX_TEXT) for label in shape.classes]
    labels = labels or [f"class {k}" for k in range(n_classes)]
    heads = ["value", "rows", *(text for k in places for text in ("", labels[k]))]
    return box(
        f"What {cut_text(shape.feature, MAX_TEXT)} adds to the log-odds",
        table(heads, rows),
        left_out(len(shape.values) - len(rows), "more value", "more values"),
        left_out(n_classes - len(places) if n_classes > 2 else 0, "more class", "more classes"),
        soft("Means over the rows of each value."),
    )


def show_signed(value: float) -> str:
    """Return a number with two decimals and its sign; zero has none.

    >>> show_signed(1.234), show_signed(-0.001)
    ('+1.23', '0.00')
    """
    text = f"{round(value, 2) + 0.0:+.2f}".replace("-", "\u2212")
    return text[1:] if text.strip("+0.") == "" else text
