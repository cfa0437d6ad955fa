"""What each feature and each pair of features does, for a report."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import log_loss
from priorwise.common.texts import MANY, count, show_percent
from priorwise.report.html import Number, figure, grid, long_table, paragraph, section, table
from priorwise.report.svg import (
    COLOURS,
    DASHES,
    Chart,
    Picture,
    cut_text,
    show_decimals,
    show_number,
)
from priorwise.report.values import FeatureValues, take_rows

MAX_PERMUTED_ROWS, MAX_PERMUTED = 1_000, 60
"""Largest number of rows, and of features, whose values are shuffled."""

MAX_SHAPES = 12
"""Most features with a picture."""

Floats = NDArray[np.float64]


def permute_features(model: Any, X: Any, y: NDArray[np.intp], random_state: int) -> Floats | None:
    """Return how much the log-loss rises if the values of a feature are shuffled among rows.

    None if there are too many features for that to be quick.
    """
    if model.n_features_in_ > MAX_PERMUTED:
        return None
    rng = np.random.default_rng(random_state)
    rows = rng.permutation(len(y))[:MAX_PERMUTED_ROWS]
    X, y = take_rows(X, rows), y[rows]
    order = rng.permutation(len(rows))

    def lose(table: Any) -> float:
        return log_loss(model.predict_proba(table), y)

    before = lose(X)
    return np.array([lose(_shuffle(X, i, order)) - before for i in range(model.n_features_in_)])


def _shuffle(X: Any, i: int, order: NDArray[np.intp]) -> Any:
    """Return a table whose column i has its values in another order."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        name = frame.columns[i]
        shuffled = frame[order.tolist()].get_column(name)
        return frame.with_columns(shuffled.alias(name)).to_native()
    changed = np.array(X, dtype=None if isinstance(X, np.ndarray) else object)
    changed[:, i] = changed[order, i]
    return changed


def importance_section(overall: Any, permuted: Floats | None, n_rows: int) -> str:
    """Return the table of features by their importance, and the strongest pairs."""
    names, ranking = overall.explanation.feature_names, overall.ranking
    largest = max(float(overall.importance.max()), 1e-12)
    lines = []
    for i in ranking:
        line: list[Any] = [names[i], Number(show_decimals(overall.importance[i], 2))]
        line.append(_bar(overall.importance[i] / largest, names[i]))
        if permuted is not None:
            # A part of a date is shuffled with its column.
            line.append(Number(show_decimals(permuted[i], 3)) if i < len(permuted) else "")
        lines.append(line)
    heads = ["feature", "mean contribution", ""]
    heads += [] if permuted is None else ["log-loss rises by"]
    note = (
        f"The mean size of what a feature adds to or takes from the log-odds of the classes, over "
        f"{count(n_rows, 'row')}; contributions add up to the prediction exactly."
    )
    if permuted is not None:
        note += (
            " Beside it, how much the log-loss rises if the values of the feature are shuffled "
            "among rows; about zero if other features say the same."
        )
        if len(permuted) < len(names):
            note += " The parts of a date are shuffled with its column."
    return section(
        "features", "Which features matter",
        long_table(heads, lines, "features that matter less"), paragraph(note, "soft"),
    )  # fmt: skip


def _bar(share: float, name: str) -> Picture:
    picture = Picture(160, 14, name, f"{show_percent(share, 0)} of the most important feature")
    picture.rect(0, 1, 160 * share, 12, "--for")
    return picture


def pair_section(overall: Any) -> str:
    """Return the pairs of features that act together."""
    pairs = overall.pairs
    if not pairs:
        text = "No pair of features acts together more than chance would let it seem."
        return section("pairs", "Which features act together", paragraph(text))
    largest = pairs[0][2]
    lines = [
        [
            first,
            second,
            Number(show_decimals(strength, 2)),
            _bar(strength / largest, f"{first} and {second}"),
        ]
        for first, second, strength in pairs[:12]
    ]
    note = (
        "How much the contribution of one feature depends on the value of the other one, in "
        "log-odds, beyond what the features do on their own."
    )
    heads = ["feature", "with", "strength", ""]
    return section(
        "pairs", "Which features act together", table(heads, lines), paragraph(note, "soft")
    )


def shape_section(
    overall: Any, features: list[FeatureValues], labels: list[str], event: int
) -> str:
    """Return a picture of the contribution against the value for each important feature.

    Of two classes, it is the contribution to `event`.
    """
    explanation = overall.explanation
    n_classes = len(labels)
    common = np.argsort(-overall.class_importance.sum(axis=0), kind="stable")
    classes = [event] if n_classes == 2 else common[: len(COLOURS)].tolist()
    figures = []
    for i in overall.ranking[:MAX_SHAPES]:
        if overall.importance[i] <= 0.0:
            continue
        shape = overall.shapes[explanation.feature_names[i]]
        if all(value is None for value in shape.values):
            continue
        draw = _draw_numbers if shape.is_numeric else _draw_labels
        figures.append(draw(shape, features[i], labels, classes))
    of = f" for \u201c{labels[event]}\u201d" if n_classes == 2 else ""
    key = ""
    if n_classes > 2:
        key = _legend([labels[k] for k in classes])
    left_out = len(overall.ranking) - len(figures)
    note = f"What a feature adds to the log-odds{of} at each of its values, on average. "
    note += (
        "Where a band or thin lines are shown, 80% of the rows lie within; they are wide where "
        "other features decide what the value means. Grey: how often values occur."
    )
    if left_out > 0:
        note += (
            f" Not shown: {count(left_out, 'feature that matters', 'features that matter')} less."
        )
    return section("shapes", "What the values mean", paragraph(note), key, grid(figures))


def _legend(labels: list[str]) -> str:
    picture = Picture(560, 18 * ((len(labels) + 1) // 2), "Key", ", ".join(labels))
    for k, label in enumerate(labels):
        x, y = 280.0 * (k % 2), 10.0 + 18 * (k // 2)
        picture.line([(x, y), (x + 34, y)], COLOURS[k], stroke_dasharray=DASHES[k])
        picture.text(x + 40, y + 4, cut_text(label, 30))
    return str(picture)


def _draw_numbers(shape: Any, feature: FeatureValues, labels: list[str], classes: list[int]) -> str:
    known = [g for g, value in enumerate(shape.values) if value is not None]
    xs = [shape.values[g] for g in known]
    mean, low, high = (part[known] for part in (shape.mean, shape.low, shape.high))
    one = len(classes) == 1
    parts = [mean[:, classes], *([low[:, classes], high[:, classes]] if one else [])]
    bottom, top = min(p.min() for p in parts), max(p.max() for p in parts)
    text = "; ".join(
        f"{labels[k]}: {show_number(mean[0, k])} at {feature.show(xs[0])}, "
        f"{show_number(mean[-1, k])} at {feature.show(xs[-1])}" for k in classes[:2]
    )  # fmt: skip
    numbers = feature.cells[~np.isnan(feature.cells)]
    x_range = (float(min(xs)), float(max(xs)))
    title = f"Contribution of {feature.name}"
    room = 0.18 * max(top - bottom, 1e-9)
    chart = Chart((360, 250), x_range, (float(bottom - room), float(top)), title, text)
    counts, edges = np.histogram(
        numbers, bins=30, range=x_range if x_range[1] > x_range[0] else None
    )
    floor = chart.height - chart.bottom
    for n_rows, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        height = 26 * np.sqrt(n_rows / max(counts.max(), 1))
        chart.rect(chart.x(left), floor - height, chart.x(right) - chart.x(left), height, "--line")
    chart.axes(cut_text(feature.name, 40), "log-odds", x_text=feature.show)
    if bottom < 0 < top:
        chart.line([(chart.left, chart.y(0)), (chart.width - chart.right, chart.y(0))], "--soft",
                   stroke_width=1)  # fmt: skip
    if one:
        chart.band(xs, low[:, classes[0]], high[:, classes[0]])
    for place, k in enumerate(classes):
        chart.curve(xs, mean[:, k], place)
        if len(xs) == 1:
            chart.add("circle", cx=chart.x(xs[0]), cy=chart.y(mean[0, k]), r=4, fill="var(--for)")
    missing = ""
    if len(known) < len(shape.values):
        gone = shape.mean[len(known), classes[0]]
        missing = f". Missing ({count(shape.n_rows[-1], 'row')}): {show_number(gone)}"
    return figure(chart, f"{feature.name}{missing}")


def _draw_labels(shape: Any, feature: FeatureValues, labels: list[str], classes: list[int]) -> str:
    order = np.argsort(-shape.n_rows, kind="stable")[:MANY]
    mean, low, high = shape.mean, shape.low, shape.high
    parts = mean[order][:, classes]
    if len(classes) == 1:
        order = order[np.argsort(-mean[order, classes[0]], kind="stable")]
        parts = np.stack([part[order][:, classes] for part in (mean, low, high)])
    bottom, top = min(0.0, float(parts.min())), max(0.0, float(parts.max()))
    best = shape.values[int(order[0])]
    k = classes[0]
    text = f"{best}: {show_number(mean[order[0], k])} for {labels[k]}"
    title = f"Contribution of {feature.name}"
    size = (360, 44 + 22 * len(order))
    chart = Chart(size, (bottom, top), (0, len(order)), title, text)
    chart.left = 132.0
    chart.axes("log-odds", "", y_ticks=False)
    total = max(float(shape.n_rows.max()), 1.0)
    for place, g in enumerate(order):
        y = chart.y(len(order) - place - 0.5)
        name = "missing" if shape.values[g] is None else str(shape.values[g])
        chart.text(chart.left - 6, y + 4, cut_text(name, 18), text_anchor="end", font_size=11)
        width = (chart.width - chart.left - chart.right) * shape.n_rows[g] / total
        chart.rect(chart.left, y + 6, width, 3, "--line")
        for line, c in enumerate(classes):
            shift = 0 if len(classes) == 1 else 3 * (line - (len(classes) - 1) / 2)
            ends = sorted([chart.x(0.0), chart.x(mean[g, c])])
            tall = 10 if len(classes) == 1 else 3
            colour = COLOURS[line] if len(classes) > 1 or mean[g, c] >= 0 else "--against"
            chart.rect(ends[0], y - tall / 2 + shift - 1, max(ends[1] - ends[0], 1.0), tall, colour)
        if len(classes) == 1:
            whisker = [(chart.x(part[g, k]), y - 1) for part in (low, high)]
            chart.line(whisker, "--ink", stroke_width=1)
    chart.line([(chart.x(0.0), chart.top), (chart.x(0.0), chart.height - chart.bottom)], "--soft",
               stroke_width=1)  # fmt: skip
    left_out = len(shape.values) - len(order)
    more = f". Not shown: {count(left_out, 'rarer label')}" if left_out else ""
    return figure(chart, f"{feature.name}{more}")
