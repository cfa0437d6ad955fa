"""Scores, calibration and confusion of predictions, for a report."""

from __future__ import annotations

import warnings
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.texts import (
    AUC,
    BRIER,
    ERROR,
    LOG_LOSS,
    MANY,
    RMSE,
    SEVERAL,
    count,
    show_percent,
    show_probability,
)
from priorwise.counts.draws import N_FOLDS, deal_into_folds
from priorwise.evaluation import consistency_band, hand_till_auc, reliability_curve
from priorwise.evaluation.auc import auc_interval
from priorwise.evaluation.scores import brier_scale
from priorwise.report.html import MAX_NARROW, Number, figure, grid, paragraph, section, table
from priorwise.report.svg import MAX_POINTS, Chart, cut_text, show_interval
from priorwise.report.values import take_rows

MAX_BASELINE_ROWS = 20_000
"""Most rows that the naive Bayes classifier beside the model is cross-validated on."""

MAX_CONFUSED = 10
"""Most classes that have a table of confusions; of more, the commonest pairs are listed."""

Floats = NDArray[np.float64]
Classes = NDArray[np.intp]


def summarise(y: Classes, proba: Floats) -> dict[str, tuple[float, float]]:
    """Return the mean of each loss over the rows, and 1.96 standard errors of that mean."""
    p = proba[np.arange(len(y)), y]
    with np.errstate(divide="ignore"):
        log_loss = -np.log(p)
    truth = np.eye(proba.shape[1])[y]
    losses = {
        LOG_LOSS: log_loss,
        BRIER: brier_scale(proba.shape[1]) * ((proba - truth) ** 2).sum(axis=1),
        ERROR: (proba.argmax(axis=1) != y).astype(np.float64),
    }
    with np.errstate(invalid="ignore"):
        return {
            name: (float(loss.mean()), 1.96 * float(loss.std()) / np.sqrt(len(y)))
            for name, loss in losses.items()
        }


def score_section(
    model: Any, X: Any, y: Classes, proba: Floats, baseline: Any, random_state: int
) -> str:
    """Return the table of scores beside those of two baselines."""
    shares = np.asarray(model.class_count_) / model.class_count_.sum()
    rows = np.sort(np.random.default_rng(random_state).permutation(len(y))[:MAX_BASELINE_ROWS])
    naive = _cross_validate(baseline, model, take_rows(X, rows), y[rows], random_state)
    lines = [
        (f"this model ({type(model).__name__})", y, proba),
        (f"naive Bayes, {N_FOLDS}-fold cross-validated on these rows", y[rows], naive),
        ("the shares of the classes in training", y, np.tile(shares, (len(y), 1))),
    ]
    cells = []
    for name, truth, predicted in lines:
        scores = summarise(truth, predicted)
        known = np.arange(len(shares))
        auc = show_probability(float(hand_till_auc(truth, predicted, labels=known)))
        if np.ptp(predicted, axis=0).any():
            low, high = auc_interval(truth, predicted, labels=known)
            auc += f" ({show_probability(low, 2)}\u00a0to\u00a0{show_probability(high, 2)})"
        shown = [*(Number(show_interval(*score)) for score in scores.values()), Number(auc)]
        cells.append([name, *shown, len(truth)])
    heads = ["", *summarise(y, proba), AUC, "rows"]
    return section(
        "scores", "How good it is",
        table(heads, cells),
        paragraph(
            "Lower is better, but for the area under the ROC curve (AUC), with its 95% interval "
            "beside it. \u00b1 is half of a 95% interval of the mean over the rows.", "soft",
        ),
    )  # fmt: skip


def member_table(model: Any) -> str:
    if not hasattr(model, "score_report"):
        return ""
    report = model.score_report()
    lines = []
    for line in report.lines:
        weight = (
            "" if line.pool_weight is None else f"{line.pool_weight:.2f}".replace("-", "\u2212")
        )
        scores = [
            show_interval(score, 1.96 * error)
            for score, error in (
                (line.log_loss, line.log_loss_error),
                (line.rmse, line.rmse_error),
                (line.error, line.error_error),
            )
        ]
        lines.append([line.name, *map(Number, [weight, *scores])])
    heads = ["member", "weight", LOG_LOSS, RMSE, ERROR]
    return (
        "<h3>Members and their weights</h3>"
        + table(heads, lines)
        + paragraph(
            f"Scores on {count(report.n_rows, 'row')} of training, each by members that have not "
            "seen it. Weights multiply the members' log probabilities; a negative one corrects "
            "what other members share. Weights and boosting were chosen on these rows, which makes "
            "the last lines a little too good.",
            "soft",
        )
    )


def _cross_validate(baseline: Any, model: Any, X: Any, y: Classes, random_state: int) -> Floats:
    """Return probabilities of rows by classifiers of a class that have not seen them."""
    folds = deal_into_folds(y.astype(np.int32), N_FOLDS, np.random.default_rng(random_state))
    n_classes = len(model.classes_)
    proba = np.full((len(y), n_classes), 1.0 / n_classes)
    reading = {
        name: getattr(model, name) for name in ("categorical_features", "missing_values", "missing")
    }
    # A text in a column of numbers is missing, as the model reads it.
    kinds = [column.kind for column in model.feature_schema_]
    reading["numeric_features"] = [i for i, kind in enumerate(kinds) if kind == "numeric"] or None
    for fold in range(N_FOLDS):
        held, others = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        if len(held) and len(np.unique(y[others])) > 1:
            with warnings.catch_warnings():
                # What the columns are like was said of the model itself.
                warnings.simplefilter("ignore")
                learnt = baseline(**reading).fit(take_rows(X, others), y[others])
                predicted = learnt.predict_proba(take_rows(X, held))
            proba[held] = 0.0
            proba[np.ix_(held, learnt.classes_)] = predicted
    return proba


def calibration_section(
    labels: list[str], y: Classes, proba: Floats, event: int, random_state: int
) -> str:
    """Return reliability diagrams with bands, and distributions; of two classes, of `event`."""
    order = np.argsort(-np.bincount(y, minlength=len(labels)), kind="stable")
    shown = [event] if len(labels) == 2 else order[:SEVERAL].tolist()
    figures = []
    for k in shown:
        figures.append(_reliability(labels[k], y == k, proba[:, k], random_state))
        figures.append(_distribution(labels[k], y == k, proba[:, k]))
    left_out = len(labels) - len(shown)
    note = f" The {SEVERAL} commonest classes are shown." if len(labels) > 2 and left_out else ""
    return section(
        "calibration", "Whether its probabilities can be trusted",
        paragraph(
            "A probability can be trusted if events predicted with it happen that often: the line "
            "then lies on the diagonal. In the shaded band lie 90% of the lines of calibrated "
            "predictions for as many rows." + note
        ),
        grid(figures),
    )  # fmt: skip


def _reliability(label: str, event: NDArray[np.bool_], p: Floats, random_state: int) -> str:
    curve = reliability_curve(event.astype(int), p, event=1, labels=[0, 1])
    band = consistency_band(curve, level=0.9, n_resamples=100, random_state=random_state)
    place = np.unique(np.linspace(0, len(curve.predicted) - 1, MAX_POINTS).round().astype(int))
    gap = float(np.average(np.abs(curve.observed - curve.predicted), weights=curve.weight))
    text = f"On average the line is {gap:.3f} away from the diagonal."
    title = f"Reliability of the probability of \u201c{label}\u201d"
    chart = Chart((360, 300), (0, 1), (0, 1), title, text)
    chart.axes("predicted probability", "observed frequency")
    chart.band(curve.predicted[place], band[0][place], band[1][place])
    chart.curve([0, 1], [0, 1], 4, stroke_width=1)
    chart.curve(curve.predicted[place], curve.observed[place])
    return figure(chart, f"{title}. {text}")


def _distribution(label: str, event: NDArray[np.bool_], p: Floats) -> str:
    edges = np.linspace(0, 1, 21)
    own = np.histogram(p[event], edges)[0] / max(event.sum(), 1)
    other = np.histogram(p[~event], edges)[0] / max((~event).sum(), 1)
    means = [float(part.mean()) if len(part) else np.nan for part in (p[event], p[~event])]
    text = (
        f"Mean probability: {show_probability(means[0], 2)} in rows of the class (solid), "
        f"{show_probability(means[1], 2)} in others (dashed)."
    )
    high = max(own.max(), other.max(), 1e-9)
    title = f"Distribution of the probability of \u201c{label}\u201d"
    chart = Chart((360, 300), (0, 1), (0, float(high)), title, text)
    chart.axes("predicted probability", "share of rows")
    steps = np.repeat(edges, 2)[1:-1]
    chart.curve(steps, np.repeat(own, 2))
    chart.curve(steps, np.repeat(other, 2), 1)
    return figure(chart, f"{title}. {text}")


def confusion_section(labels: list[str], y: Classes, proba: Floats) -> str:
    """Return the table of true and of predicted classes."""
    n = len(labels)
    counts = np.bincount(y * n + proba.argmax(axis=1), minlength=n * n).reshape(n, n)
    if n > MAX_CONFUSED:
        return section("confusion", "Which classes it confuses", _list_confused(labels, counts))
    lines = []
    for k, row in enumerate(counts):
        cells = []
        for j, n_rows in enumerate(row):
            if not n_rows:
                cells.append('<td class="number soft">0</td>')
                continue
            share = n_rows / max(row.sum(), 1)
            style = f"background:color-mix(in srgb, var({'--for' if j == k else '--against'}) "
            percent = f'<span class="soft">{escape(show_percent(share, 0))}</span>'
            cells.append(
                f'<td class="number" style="{style}{45 * share:.0f}%, transparent)" '
                f'title="{escape(show_percent(share))}">{n_rows:,}<br>{percent}</td>'
            )
        lines.append(f'<tr><th scope="row">{_safe(labels[k])}</th>{"".join(cells)}</tr>')
    heads = "".join(f'<th scope="col" class="number">{_safe(label)}</th>' for label in labels)
    caption = "<caption>Rows: true class. Columns: most probable class.</caption>"
    content = f"<table class='confusion'>{caption}<tr><td></td>{heads}</tr>{''.join(lines)}</table>"
    whole = f'<div class="wide">{content}</div>'
    if 1 + n > MAX_NARROW:  # a narrow screen has the list instead
        pairs = _list_confused(labels, counts)
        whole = f'<div class="broad">{whole}</div><div class="narrow">{pairs}</div>'
    return section("confusion", "Which classes it confuses", whole)


def _list_confused(labels: list[str], counts: NDArray[np.intp]) -> str:
    """Return the pairs of classes that are confused most often."""
    wrong = counts * (1 - np.eye(len(labels), dtype=counts.dtype))
    lines = []
    for place in np.argsort(-wrong, axis=None, kind="stable")[:MANY]:
        true, predicted = divmod(int(place), len(labels))
        n_rows = int(wrong[true, predicted])
        share = Number(show_percent(n_rows / counts[true].sum()) if n_rows else "")
        lines.append([labels[true], labels[predicted], n_rows, share])
    lines = [line for line in lines if line[2]]
    if not lines:
        return paragraph("It predicts the class of every row.")
    heads = ["true class", "most probable class", "rows", "share of the true class"]
    return table(heads, lines, "The pairs of classes that are confused most often.")


def _safe(label: str) -> str:
    return escape(cut_text(label, 24))
