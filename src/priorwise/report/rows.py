"""Rows that a model predicts worst, or with least certainty, for a report."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.texts import FEW, count, show_percent
from priorwise.report.html import Number, paragraph, section, table
from priorwise.report.values import take_rows

N_ROWS, LEVEL = 10, 0.9
CERTAINTY = (0.5, 0.7, 0.9, 0.99)
"""Largest probabilities between which rows are counted together."""

Floats = NDArray[np.float64]
Classes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows with their classes and probabilities, and what each row is called under `head`."""

    model: Any
    X: Any
    labels: list[str]
    y: Classes
    proba: Floats
    names: list[str]
    head: str
    note: str


def row_sections(judged: JudgedRows, drawn: NDArray[np.intp] | None) -> str:
    """Return the rows it gets most wrong, and those it is least certain of with their intervals.

    `drawn` are some of the rows, which say how wide intervals are; None if the probabilities are
    not those of the model itself.
    """
    y, proba = judged.y, judged.proba
    true = proba[np.arange(len(y)), y]
    wrong = np.argsort(true, kind="stable")[:N_ROWS]
    wrong = wrong[proba[wrong].argmax(axis=1) != y[wrong]]
    unsure = np.argsort(proba.max(axis=1), kind="stable")[:N_ROWS]
    return section(
        "wrong", "Where it is most wrong",
        _row_table(judged, wrong)
        if len(wrong) else paragraph("It predicts the class of every row."),
    ) + section(
        "unsure", "Where it is unsure", _certainty_table(y, proba),
        _unsure_rows(judged, unsure, drawn),
    )  # fmt: skip


def _unsure_rows(judged: JudgedRows, rows: NDArray[np.intp], drawn: NDArray[np.intp] | None) -> str:
    """Return how wide intervals are, and the rows whose largest probabilities are least."""
    if drawn is None:
        note = "Intervals of probabilities are shown for rows that the model has not learnt from."
        return _row_table(judged, rows) + paragraph(note, "soft")
    ends = _find_ends(judged, drawn)
    widths = [show_percent(w) for w in np.quantile(ends[:, 1] - ends[:, 0], [0.1, 0.5, 0.9])]
    note = (
        "The true probability of the class that is predicted lies in its interval with a chance of "
        f"{LEVEL:.0%}. Of {count(len(drawn), 'row')}, a tenth have intervals narrower than "
        f"{widths[0]}, half narrower than {widths[1]}, and a tenth wider than {widths[2]}. The "
        "rows with the least certain predictions:"
    )
    found = _find_ends(judged, rows)
    spans = [f"{show_percent(low, 0)} to {show_percent(high, 0)}" for low, high in found]
    return paragraph(note) + _row_table(judged, rows, spans)


def _find_ends(judged: JudgedRows, rows: NDArray[np.intp]) -> Floats:
    """Return the ends of the interval of the most probable class of rows (n_rows, 2)."""
    lower, upper = judged.model.predict_interval(take_rows(judged.X, rows), LEVEL)
    best = judged.proba[rows].argmax(axis=1)
    return np.column_stack([one[np.arange(len(rows)), best] for one in (lower, upper)])


def _row_table(judged: JudgedRows, rows: NDArray[np.intp], spans: list[str] | None = None) -> str:
    explanation = judged.model.explain(take_rows(judged.X, rows))
    lines = []
    for place, row in enumerate(rows.tolist()):
        own, proba = judged.y[row], judged.proba[row]
        best = int(proba.argmax())
        parts = explanation.contributions[place, :, best]
        reasons = [i for i in np.argsort(-parts, kind="stable")[:FEW] if parts[i] > 0]
        line: list[Any] = [judged.names[row]]
        for k in (own, best):
            line += [judged.labels[k], Number(show_percent(proba[k]))]
        line += [Number(spans[place])] if spans else []
        said = ", ".join(explanation.value_text(place, int(i)) for i in reasons)
        lines.append([*line, said or "no feature"])
    heads = [judged.head, "true class", "its probability", "predicted", "probability"]
    heads += [f"{LEVEL:.0%} interval"] if spans else []
    return table([*heads, "what spoke for it"], lines, judged.note)


def _certainty_table(y: Classes, proba: Floats) -> str:
    best = proba.max(axis=1)
    right = proba.argmax(axis=1) == y
    bins = np.searchsorted(CERTAINTY, best, side="right")
    spans = [
        f"below {CERTAINTY[0]:.0%}",
        *(f"{low:.0%} to {high:.0%}" for low, high in pairwise(CERTAINTY)),
        f"{CERTAINTY[-1]:.0%} or more",
    ]
    lines = []
    for k, span in enumerate(spans):
        own = bins == k
        if own.any():
            shares = [
                Number(show_percent(s)) for s in (own.mean(), best[own].mean(), right[own].mean())
            ]
            lines.append([span, *shares])
    heads = ["largest probability", "share of the rows", "mean", "predicted right"]
    return table(heads, lines)
