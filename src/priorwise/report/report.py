"""A report of a model and of its predictions."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from html import escape
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.files import open_whole
from priorwise.common.texts import count, show_percent
from priorwise.common.validation import check_number
from priorwise.report.explorer import find_classes, read_asset, read_values, take_rows
from priorwise.report.features import (
    importance_section,
    pair_section,
    permute_features,
    shape_section,
)
from priorwise.report.html import Number, paragraph, section, table
from priorwise.report.scores import calibration_section, confusion_section, score_section
from priorwise.report.structures import structure_section
from priorwise.report.svg import show_number

N_ROWS, N_REASONS, LEVEL = 10, 3, 0.9
CERTAINTY = (0.0, 0.5, 0.7, 0.9, 0.99, 1.0)

Floats = NDArray[np.float64]
Classes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows with their classes and probabilities; `numbers` are their places in the table given."""

    model: Any
    X: Any
    labels: list[str]
    y: Classes
    proba: Floats
    numbers: NDArray[np.intp]


def row_sections(judged: JudgedRows, drawn: NDArray[np.intp] | None) -> str:
    """Return the rows it gets most wrong, and those it is least certain of.

    `drawn` are some of the rows, whose intervals are found; None if the probabilities are not those
    of the model itself.
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
        "unsure", "Where it is unsure", _certainty_table(y, proba), _row_table(judged, unsure),
        "<h3>Where it knows least</h3>", _widest_rows(judged, drawn),
    )  # fmt: skip


def _widest_rows(judged: JudgedRows, drawn: NDArray[np.intp] | None) -> str:
    """Return how wide intervals are, and the rows with the widest ones."""
    if drawn is None:
        return paragraph(
            "Intervals of probabilities are shown for rows that the model has not learnt from.",
            "soft",
        )
    lower, upper = judged.model.predict_interval(take_rows(judged.X, drawn), LEVEL)
    best = judged.proba[drawn].argmax(axis=1)
    ends = np.column_stack([one[np.arange(len(drawn)), best] for one in (lower, upper)])
    width = ends[:, 1] - ends[:, 0]
    quartiles = [show_percent(q) for q in np.quantile(width, [0.1, 0.5, 0.9])]
    place = np.argsort(-width, kind="stable")[:N_ROWS]
    note = (
        f"The true probability of a row's class lies in its interval with a chance of {LEVEL:.0%}. "
        f"Of {count(len(drawn), 'row')}, a tenth have intervals narrower than {quartiles[0]}, half "
        f"narrower than {quartiles[1]}, and a tenth wider than {quartiles[2]}. The widest ones:"
    )
    spans = [f"{show_percent(low)} to {show_percent(high)}" for low, high in ends[place]]
    return paragraph(note) + _row_table(judged, drawn[place], spans)


def _row_table(judged: JudgedRows, rows: NDArray[np.intp], spans: list[str] | None = None) -> str:
    explanation = judged.model.explain(take_rows(judged.X, rows))
    lines = []
    for place, row in enumerate(rows.tolist()):
        own, proba = judged.y[row], judged.proba[row]
        best = int(proba.argmax())
        parts = explanation.contributions[place, :, best]
        reasons = [i for i in np.argsort(-parts, kind="stable")[:N_REASONS] if parts[i] > 0]
        line: list[Any] = [int(judged.numbers[row])]
        for k in (own, best):
            line += [judged.labels[k], Number(show_percent(proba[k]))]
        line += [Number(spans[place])] if spans else []
        lines.append([*line, ", ".join(explanation.value_text(place, int(i)) for i in reasons)])
    heads = ["row", "true class", "its probability", "predicted", "probability"]
    heads += [f"{LEVEL:.0%} interval"] if spans else []
    return table([*heads, "what spoke for it"], lines, "Rows count from 0.", "stack")


def _certainty_table(y: Classes, proba: Floats) -> str:
    best = proba.max(axis=1)
    right = proba.argmax(axis=1) == y
    bins = np.clip(np.searchsorted(CERTAINTY, best, side="right") - 1, 0, len(CERTAINTY) - 2)
    lines = []
    for k in range(len(CERTAINTY) - 1):
        own = bins == k
        if own.any():
            span = f"{CERTAINTY[k]:.0%} to {CERTAINTY[k + 1]:.0%}"
            shares = [
                Number(show_percent(s)) for s in (own.mean(), best[own].mean(), right[own].mean())
            ]
            lines.append([span, *shares])
    heads = ["largest probability", "share of rows", "its mean", "share predicted right"]
    return table(heads, lines)


def value_section(model: Any, X: Any) -> str:
    """Return what was done with missing and unseen values, and how often rows have them."""
    missing = {
        "value": "A missing value is a value of its own.",
        "impute": "Missing values were replaced by the mean, or by the commonest label.",
        "ignore": "A feature whose value is missing is left out.",
    }.get(str(model.missing), f"Missing values: {model.missing}.")
    unseen = {
        "backoff": "A label that training did not have is ignored: the model answers without it.",
        "error": "A label that training did not have is an error.",
    }.get(str(model.unseen), f"Unseen labels: {model.unseen}.")
    checked = model.check(X)
    lines = []
    for schema, column in zip(model.feature_schema_, checked.columns, strict=True):
        if schema.labels is not None:
            span = count(len(schema.labels), "label")
        else:
            span = (
                "no numbers"
                if schema.least is None
                else f"{show_number(schema.least)} to {show_number(schema.largest)}"
            )
        shares = [schema.missing_share, column.missing_share]
        shares += [column.unseen_share, column.outside_share]
        lines.append(
            [schema.name, span, *(Number(show_percent(s, 2) if s else "") for s in shares)]
        )
    heads = ["feature", "in training", "missing in training", "missing here", "unseen here"]
    heads.append("outside the range here")
    note = " ".join(checked.problems[:5]) and (
        "Differences from training: " + "; ".join(checked.problems[:5]) + "."
    )
    return section(
        "values", "Missing and unseen values", paragraph(f"{missing} {unseen}"),
        table(heads, lines), paragraph(note or "The rows hold nothing that training did not."),
    )  # fmt: skip


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    baseline: Any,
    max_rows: int,
    random_state: int,
) -> None:
    """Write the report of a fitted classifier; the method `report` describes it.

    `baseline` is the class of a simple classifier, naive Bayes, whose scores stand beside.
    """
    check_is_fitted(model)
    check_number("max_rows", max_rows, least=1, whole=True)
    features = read_values(model, X)
    n_rows = len(features[0].cells)
    truth = find_classes(model.classes_, y, n_rows)
    labels = [str(label) for label in model.classes_.tolist()]
    proba, note = _predict(model, X, truth)
    is_own = proba is not getattr(model, "oof_proba_", None)
    judged = np.flatnonzero(~np.isnan(proba).any(axis=1))
    if len(judged) < n_rows:
        X, truth, proba = take_rows(X, judged), truth[judged], proba[judged]
        features = read_values(model, X)
    drawn = np.sort(np.random.default_rng(random_state).permutation(len(truth))[:max_rows])
    overall = model.explain_global(take_rows(X, drawn))
    permuted = permute_features(model, X, truth, random_state)
    body = "\n".join(
        [
            score_section(model, X, truth, proba, note, baseline, random_state),
            calibration_section(labels, truth, proba, random_state),
            confusion_section(labels, truth, proba),
            importance_section(overall, permuted, len(drawn)),
            shape_section(overall, features, labels),
            pair_section(overall),
            structure_section(model),
            row_sections(
                JudgedRows(model, X, labels, truth, proba, judged), drawn if is_own else None
            ),
            value_section(model, X),
        ]
    )
    shares = np.bincount(truth, minlength=len(labels)) / len(truth)
    common = np.argsort(-shares, kind="stable")[:5]
    classes = ", ".join(f"{labels[k]} ({show_percent(shares[k], 0)})" for k in common)
    more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
    n_trained = float(np.sum(model.class_count_))
    titles = re.findall(r'<section id="(\w+)"><h2>(.*?)</h2>', body)
    page = Template(read_asset("report.html")).substitute(
        title=escape(f"Report of a {type(model).__name__}"),
        summary=escape(
            f"Learnt from {count(n_trained, 'row')} with {count(len(features), 'feature')}; judged "
            f"on {count(len(truth), 'row')} of {len(labels)} classes: {classes}{more}."
        ),
        links=" ".join(f'<a href="#{name}">{title}</a>' for name, title in titles),
        style=read_asset("page.css") + read_asset("report.css"),
        body=body,
    )
    with open_whole(path, "the report") as file:
        file.write(page.encode())


def _predict(model: Any, X: Any, truth: NDArray[np.intp]) -> tuple[NDArray[np.float64], str]:
    """Return probabilities to judge, and what they are; NaN for rows that have none.

    Rows with as many of each class as training are taken for the rows of training.
    """
    counts = np.bincount(truth, minlength=len(model.classes_))
    if not np.array_equal(counts, model.class_count_):
        return model.predict_proba(X), "Scores are those of the rows of this report."
    proba = getattr(model, "oof_proba_", None)
    if proba is None or len(proba) != len(truth) or np.isnan(proba).any(axis=1).all():
        return model.predict_proba(X), (
            "These seem to be the rows that the model learnt from, so its scores are too good: "
            "give rows that it has not seen."
        )
    return proba, (
        "These seem to be the rows that the model learnt from: scores, diagrams and the rows below "
        "use the probabilities that each row got from models that have not seen it (out of fold)."
    )
