"""Decisions about one class by a threshold on its probability, for a report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.texts import show_percent
from priorwise.report.html import Number, embed_json, figure, grid, section, table
from priorwise.report.svg import MAX_POINTS, Chart, cut_text

GRID = np.concatenate([np.arange(100), np.arange(100, 9900, 10), np.arange(9900, 10001)]) / 1e4
"""Thresholds that a page can count rows for: tenths of a percent, and hundredths near 0 and 1."""

SHOWN = (0.01, 0.05, 0.1, 0.2, 0.5)
"""Thresholds with a line in their table, and shares of the rows with one in the table of lift."""

MIN_CLASS_ROWS = 20
"""Fewest rows of a class, and of others, that thresholds are shown for."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Decisions:
    """How many rows of a class, and of others, have at least each probability of `GRID`."""

    place: int
    label: str
    other: str
    event: NDArray[np.bool_]
    p: Floats
    found: NDArray[np.intp]
    alarms: NDArray[np.intp]

    @classmethod
    def count(cls, labels: list[str], k: int, y: NDArray[np.intp], proba: Floats) -> Decisions:
        """Count the rows of class k and of the others."""
        p, event = proba[:, k], y == k
        counts = [part.sum() - np.searchsorted(np.sort(p[part]), GRID) for part in (event, ~event)]
        other = labels[1 - k] if len(labels) == 2 else "another class"
        return cls(k, labels[k], other, event, p, counts[0], counts[1])

    @property
    def n_event(self) -> int:
        return int(self.event.sum())

    @property
    def n_other(self) -> int:
        return len(self.event) - self.n_event

    @property
    def costs(self) -> tuple[int, int]:
        """Costs of a miss and of a false alarm to begin with: both classes weigh the same."""
        ratio = self.n_other / max(self.n_event, 1)
        return (max(round(ratio), 1), 1) if ratio >= 1 else (1, max(round(1 / ratio), 1))

    @property
    def threshold(self) -> int:
        """The place in `GRID` where saying yes costs as much as saying no, by the costs."""
        miss, alarm = self.costs
        return int(np.abs(GRID - alarm / (alarm + miss)).argmin())

    def describe(self) -> dict[str, str]:
        """Return the texts that change with the threshold, by the names that the page has."""
        at, (miss, alarm) = self.threshold, self.costs
        found, alarms = int(self.found[at]), int(self.alarms[at])
        cost = miss * (self.n_event - self.found) + alarm * self.alarms
        best = int(cost.argmin())
        n_rows = len(self.event)
        return {
            "threshold": show_threshold(GRID[at]),
            "by-costs": show_threshold(GRID[at]),
            "said": f"{found + alarms:,}",
            "said-share": show_share(found + alarms, n_rows),
            "found": f"{found:,}",
            "found-share": show_share(found, self.n_event),
            "missed": f"{self.n_event - found:,}",
            "missed-share": show_share(self.n_event - found, self.n_event),
            "alarms": f"{alarms:,}",
            "alarm-share": show_share(alarms, self.n_other),
            "right": f"{self.n_other - alarms:,}",
            "right-share": show_share(self.n_other - alarms, self.n_other),
            "precision": show_share(found, found + alarms),
            "miss-cost": f"{miss:,}",
            "alarm-cost": f"{alarm:,}",
            "cost": f"{int(cost[at]):,}",
            "cost-per-1000": f"{1000 * cost[at] / n_rows:,.0f}",
            "none-cost": f"{miss * self.n_event:,}",
            "all-cost": f"{alarm * self.n_other:,}",
            "best": show_threshold(GRID[best]),
            "best-cost": f"{int(cost[best]):,}",
        }


def show_threshold(share: float) -> str:
    """Return a threshold in percent without needless zeros.

    >>> show_threshold(0.111), show_threshold(0.5), show_threshold(0.0012)
    ('11.1%', '50%', '0.12%')
    """
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def show_share(part: int, whole: int) -> str:
    """Return a part of a whole in percent; a dash of nothing.

    >>> show_share(1, 3), show_share(0, 0)
    ('33%', '–')
    """
    return show_percent(part / whole, 0) if whole else "\u2013"


def fill(template: str, texts: dict[str, str], **names: str) -> str:
    """Return HTML of a template whose {names} become elements that the page can fill anew.

    >>> fill("{n-rows} rows of {label}", {"n-rows": "3"}, label="<a>")
    '<b data-fill="n-rows">3</b> rows of &lt;a&gt;'
    """

    def show(match: re.Match[str]) -> str:
        name = match[1]
        if name in names:
            return escape(names[name])
        return f'<b data-fill="{name}">{escape(texts[name])}</b>'

    return re.sub(r"\{([\w-]+)\}", show, template)


RULE = "Say \u201c{label}\u201d at {threshold} or more."

MISTAKES = (
    "A miss: the truth is \u201c{label}\u201d, the model says no. A false alarm: the model says "
    "\u201c{label}\u201d, the truth is no."
)

CONSEQUENCES = (
    "The model then says it of {said} of {n-rows} rows ({said-share}). It finds {found} of the "
    "{n-event} rows of \u201c{label}\u201d ({found-share}), misses {missed}, and gives a false "
    "alarm for {alarms} of the {n-other} others ({alarm-share}). Of the rows of which it says "
    "\u201c{label}\u201d, it is right in {precision}."
)

COSTS = (
    "If a miss costs {miss-cost} and a false alarm {alarm-cost}, the mistakes cost {cost} in all, "
    "{cost-per-1000} for each 1,000 rows. Saying \u201c{label}\u201d of no row would cost "
    "{none-cost}, of all rows {all-cost}. The cheapest threshold on these rows would have been "
    "{best}, with {best-cost}."
)


def fill_decision(template: str, decisions: Decisions) -> str:
    """Return one of the sentences about a class, with its numbers."""
    counts = {
        "n-rows": f"{len(decisions.event):,}",
        "n-event": f"{decisions.n_event:,}",
        "n-other": f"{decisions.n_other:,}",
    }
    return fill(template, decisions.describe(), **counts, label=decisions.label)


def threshold_section(each: list[Decisions]) -> str:
    """Return curves, tables and sentences of each class; the page shows the first at first."""
    miss, alarm = each[0].costs
    menu = "".join(f'<option value="{d.place}">{escape(d.label)}</option>' for d in each)
    fields = "".join(
        f'<label>{text} <input inputmode="decimal" id="{name}" value="{value}">{unit}</label>'
        for text, name, value, unit in (
            ("A miss costs", "miss-cost", miss, ""),
            ("a false alarm costs", "alarm-cost", alarm, ""),
            ("threshold", "threshold", show_threshold(GRID[each[0].threshold])[:-1], " %"),
        )
    )
    tools = (
        f'<div class="tools screen"><label>Class <select id="event">{menu}</select></label>'
        f'{fields}<input type="range" id="slider" min="0" max="{len(GRID) - 1}" '
        f'value="{each[0].threshold}" aria-label="Threshold"></div>'
    )
    note = (
        "The costs at first are an example: a miss costs as many times as much as there are rows "
        "of other classes for each row of this one. Type your own: the threshold becomes the cost "
        "of a false alarm divided by the sum of both costs, which is the best one where the "
        "probabilities can be trusted. You can also move it by itself."
    )
    data = {
        "grid": GRID.tolist(),
        "classes": {
            d.place: {
                "n_event": d.n_event,
                "n_other": d.n_other,
                "found": d.found.tolist(),
                "alarms": d.alarms.tolist(),
                "costs": d.costs,
            }
            for d in each
        },
    }
    return section(
        "thresholds", "Which threshold, and what mistakes cost",
        f'<p class="soft">{note}</p>', tools,
        *(_draw_class(decisions, is_shown=decisions is each[0]) for decisions in each),
        f'<template id="decisions">{embed_json(data)}</template>',
    )  # fmt: skip


def _draw_class(decisions: Decisions, *, is_shown: bool) -> str:
    sentences = "".join(
        f"<p>{fill_decision(text, decisions)}</p>"
        for text in (MISTAKES, f"{RULE} {CONSEQUENCES}", COSTS)
    )
    hidden = "" if is_shown else " hidden"
    return (
        f'<div class="decision" data-class="{decisions.place}"{hidden}>{sentences}'
        f"{_draw_confusion(decisions)}{grid([*_draw_curves(decisions), _list_lift(decisions)])}"
        f"{_list_thresholds(decisions)}</div>"
    )


def _draw_confusion(decisions: Decisions) -> str:
    texts = decisions.describe()
    label, other = escape(decisions.label), escape(decisions.other)
    of_event = (("found", "found-share", True), ("missed", "missed-share", False))
    of_other = (("alarms", "alarm-share", False), ("right", "right-share", True))
    body = ""
    for name, n_rows, cells in (
        (label, decisions.n_event, of_event),
        (other, decisions.n_other, of_other),
    ):
        body += f'<tr><th scope="row">{name}</th>'
        for number, share, is_right in cells:
            colour = "--for" if is_right else "--against"
            body += (
                f'<td class="number" style="background:color-mix(in srgb, var({colour}) 22%, '
                f'transparent)">'
                + fill(f'{{{number}}}<br><span class="soft">{{{share}}}</span>', texts)
                + "</td>"
            )
        body += f'<td class="number">{n_rows:,}</td></tr>'
    head = (
        f'<tr><th scope="col">true class</th>'
        f'<th scope="col" class="number">says \u201c{label}\u201d</th>'
        '<th scope="col" class="number">does not</th><th scope="col" class="number">rows</th></tr>'
    )
    caption = fill("<caption>At {threshold} or more</caption>", texts)
    return (
        '<div class="wide"><table class="confusion">'
        f"{caption}<thead>{head}</thead><tbody>{body}</tbody></table></div>"
    )


def find_top(cost: float) -> float:
    """Return the end of an axis, at least as high, whose fifths are round numbers.

    >>> find_top(927.0), find_top(0.31), find_top(0.0)
    (1000.0, 0.5, 5.0)
    """
    if cost <= 0.0:
        return 5.0
    power = 10.0 ** np.floor(np.log10(cost / 5.0))
    return float(next(5.0 * k * power for k in (1, 2, 5, 10) if 5.0 * k * power >= cost))


def _draw_curves(decisions: Decisions) -> list[str]:
    label, at = f"\u201c{cut_text(decisions.label, 24)}\u201d", decisions.threshold
    recall = decisions.found / max(decisions.n_event, 1)
    alarms = decisions.alarms / max(decisions.n_other, 1)
    said = decisions.found + decisions.alarms
    precision = np.where(said > 0, decisions.found / np.maximum(said, 1), 1.0)
    share = decisions.n_event / len(decisions.event)
    gain = said / len(decisions.event)
    miss, alarm = decisions.costs
    cost = miss * (decisions.n_event - decisions.found) + alarm * decisions.alarms
    per_1000 = find_top(1000 * float(cost.max()) / len(decisions.event))
    top = per_1000 * len(decisions.event) / 1000

    def show_cost(height: float) -> str:
        return f"{height * per_1000:,.4g}"

    pictures = []
    for name, xs, ys, x_label, y_label, simple, title, about in (
        ("roc", alarms, recall, "false alarms among the others", f"found of {label}",
         [(0, 0), (1, 1)], "ROC", "Dashed: by chance."),
        ("precision", recall, precision, f"found of {label}", "right when it says so",
         [(0, share), (1, share)], "Precision and recall", "Dashed: the share of the class."),
        ("cost", GRID, cost / top, "threshold", "cost for 1,000 rows",
         [], "Cost by threshold", "With the costs above."),
        ("gains", gain, recall, "rows, the highest probability first", f"found of {label}",
         [(0, 0), (1, 1)], "Gains", "Dashed: by chance."),
    ):  # fmt: skip
        text = f"{title}. {about} The dot is the threshold."
        chart = Chart((330, 270), (0, 1), (0, 1), f"{title} of {label}", about)
        y_text = show_cost if name == "cost" else show_threshold
        chart.axes(x_label, y_label, x_text=show_threshold, y_text=y_text)
        if simple:
            chart.curve([x for x, _ in simple], [y for _, y in simple], 4, stroke_width=1)
        points = _thin(xs, ys)
        chart.curve(points[0], points[1], 0, data_curve=name, **chart.box)
        place: dict[str, Any] = {"cx": chart.x(float(xs[at])), "cy": chart.y(float(ys[at]))}
        chart.add("circle", **place, r=5.0, fill="var(--against)", data_dot=name, **chart.box)
        pictures.append(figure(chart, text))
    return pictures


def _thin(xs: Floats, ys: Floats) -> tuple[Floats, Floats]:
    """Return at most `MAX_POINTS` different points of a line, its ends included."""
    moves = np.flatnonzero((np.diff(xs) != 0) | (np.diff(ys) != 0))
    places = np.append(moves, len(xs) - 1)
    if len(places) > MAX_POINTS:
        places = places[np.linspace(0, len(places) - 1, MAX_POINTS).round().astype(int)]
    return xs[places], ys[places]


def _list_thresholds(decisions: Decisions) -> str:
    lines: list[list[Any]] = []
    for threshold in SHOWN:
        at = int(np.abs(GRID - threshold).argmin())
        found, alarms = int(decisions.found[at]), int(decisions.alarms[at])
        shares = [
            show_share(found, decisions.n_event),
            show_share(alarms, decisions.n_other),
            show_share(found, found + alarms),
        ]
        lines.append([Number(show_threshold(threshold)), found + alarms, *map(Number, shares)])
    heads = ["threshold", "says so", "found", "false alarms", "right"]
    caption = (
        f"Other thresholds: the rows of which the model says \u201c{decisions.label}\u201d, the "
        "share of the class that it finds, the share of the others that are false alarms, and the "
        "share of the rows of which it says so where it is right."
    )
    return table(heads, lines, caption)


def _list_lift(decisions: Decisions) -> str:
    order = np.argsort(-decisions.p, kind="stable")
    n_rows, share = len(order), decisions.n_event / len(order)
    lines: list[list[Any]] = []
    for first in SHOWN:
        n_first = max(round(first * n_rows), 1)
        found = int(decisions.event[order[:n_first]].sum())
        lift = found / n_first / share if share else 0.0
        shares = [show_share(found, n_first), show_share(found, decisions.n_event)]
        lines.append(
            [Number(show_threshold(first)), n_first, *map(Number, [*shares, f"{lift:.1f}"])]
        )
    heads = ["first rows", "rows", f"share of \u201c{decisions.label}\u201d", "found", "lift"]
    caption = (
        "The rows of the highest probability. Lift: how many times as many of them are "
        f"\u201c{decisions.label}\u201d as of all rows."
    )
    return table(heads, lines, caption)
