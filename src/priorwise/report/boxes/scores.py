"""Scores out of fold as notebooks show them."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise.common.texts import ERROR, FEW, LOG_LOSS, MANY, RMSE, count
from priorwise.evaluation import ReliabilityCurve
from priorwise.report.boxes.box import MAX_PARAMETERS, MAX_TEXT, bar, box, cut_text, scrolled, soft
from priorwise.report.html import Number, table
from priorwise.report.svg import Chart, Picture


def draw_scores(report: Any) -> str:
    """Return the scores of a pool and its members as HTML."""
    return box("Scores out of fold", list_scores(report))


def draw_curve(curve: ReliabilityCurve) -> str:
    """Return a reliability curve as HTML."""
    gap = float(np.average(np.abs(curve.observed - curve.predicted), weights=curve.weight))
    text = f"On average the line is {gap:.3f} away from the diagonal."
    chart = Chart((360, 300), (0, 1), (0, 1), "Reliability curve", text)
    chart.axes("predicted probability", "observed frequency")
    chart.curve([0, 1], [0, 1], 4, stroke_width=1)
    chart.curve(curve.predicted, curve.observed)
    return box(f"Reliability of the probability of {curve.event}", scrolled(chart), soft(text))


def list_scores(report: Any) -> str:
    """Return a table of the members of a pool with their weights and scores."""
    weights = [abs(line.pool_weight) for line in report.lines if line.pool_weight is not None]
    rows = []
    for line in report.lines[-MANY:]:
        weight = line.pool_weight
        text = "" if weight is None else format(weight, "z.2f").replace("-", "\u2212")
        none = Picture(1.0, 1.0, "no weight", "")
        picture = none if weight is None else bar(weight, max(weights), text)
        scores = [Number(f"{score:.3f}") for score in (line.log_loss, line.rmse, line.error)]
        rows.append([cut_text(line.name, MAX_TEXT), Number(text), picture, *scores])
    notes = [cut_text(note, MAX_PARAMETERS) for note in report.notes[:FEW]]
    if len(report.lines) > len(rows):
        notes.insert(0, f"{count(len(report.lines) - len(rows), 'more line')} in print(...)")
    more = "".join(f" {note[0].upper()}{note[1:]}." for note in notes)
    return table(["member", "weight", "", LOG_LOSS, RMSE, ERROR], rows) + soft(
        f"Scores of {count(report.n_rows, 'row')} of training, each predicted by members that "
        f"have not seen it; the last line is what the model gives.{more}"
    )
