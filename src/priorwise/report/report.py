"""A report of a model and of its predictions."""

from __future__ import annotations

import os
import re
from datetime import date
from html import escape
from importlib.metadata import version
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import entropy
from sklearn.utils.validation import check_is_fitted

from priorwise.common.files import open_whole
from priorwise.common.texts import SEVERAL, count, show_percent
from priorwise.common.validation import check_number, take_target
from priorwise.data.tables import RawTable
from priorwise.report.features import (
    importance_section,
    pair_section,
    permute_features,
    shape_section,
)
from priorwise.report.groups import find_groups, group_section
from priorwise.report.html import Number, long_table, paragraph, read_asset, section
from priorwise.report.rows import JudgedRows, row_sections
from priorwise.report.scores import (
    calibration_section,
    confusion_section,
    score_section,
)
from priorwise.report.structures import structure_section
from priorwise.report.thresholds import MIN_CLASS_ROWS, Decisions, threshold_section
from priorwise.report.values import (
    FeatureValues,
    as_table,
    describe_unknown,
    find_classes,
    name_rows,
    name_target,
    read_values,
    take_rows,
)
from priorwise.report.verdict import verdict_section

LEAST = np.finfo(np.float64).tiny


def value_section(model: Any, X: Any, features: list[FeatureValues]) -> str:
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
    for feature, schema, column in zip(
        features[: model.n_features_in_], model.feature_schema_, checked.columns, strict=True
    ):
        if schema.labels is not None:
            span = count(len(schema.labels), "label")
        else:
            span = (
                "no numbers"
                if schema.least is None
                else " to ".join(map(feature.show, (schema.least, schema.largest)))
            )
        shares = [schema.missing_share, column.missing_share]
        shares += [column.unseen_share, column.outside_share]
        if any(shares):
            cells = [Number(show_percent(s, 2) if s else "0") for s in shares]
            lines.append([schema.name, span, *cells])
    heads = ["feature", "in training", "missing in training", "missing here", "unseen here"]
    heads.append("outside the range here")
    problems = [f"<li>{escape(problem)}</li>" for problem in checked.problems[:SEVERAL]]
    if len(checked.problems) > len(problems):
        problems.append(f"<li>and {len(checked.problems) - len(problems):,} more</li>")
    same = "The rows hold nothing that training did not."
    return section(
        "values", "Missing and unseen values", paragraph(f"{missing} {unseen}"),
        long_table(heads, lines, "more features") if lines else paragraph("No value is missing."),
        f"<p>Differences from training:</p><ul>{''.join(problems)}</ul>"
        if problems else paragraph(same),
    )  # fmt: skip


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    baseline: Any,
    event: Any,
    keys: Any,
    source: str | None,
    max_rows: int,
    random_state: int,
) -> None:
    """Write the report of a fitted classifier; the method `report` describes it.

    `baseline` is the class of a simple classifier, naive Bayes, whose scores stand beside.
    """
    check_is_fitted(model)
    check_number("max_rows", max_rows, least=1, whole=True)
    X, y = take_target(X, y)
    table = as_table(model, X)
    n_rows = RawTable(table).n_rows
    names, head, row_note = name_rows(X, keys, n_rows)
    X, truth = table, find_classes(model.classes_, y, n_rows)
    unknown = describe_unknown(y, truth)
    if unknown:
        judged = np.flatnonzero(truth >= 0)
        X, truth, names = take_rows(X, judged), truth[judged], [names[row] for row in judged]
    features = read_values(model, X)
    labels = [str(label) for label in model.classes_.tolist()]
    chosen = _choose_event(model.classes_, event, truth)
    proba, note = choose_probabilities(model, X, truth)
    is_own = proba is not getattr(model, "oof_proba_", None)
    judged = np.flatnonzero(~np.isnan(proba).any(axis=1))
    if len(judged) < len(truth):
        X, truth, proba = take_rows(X, judged), truth[judged], proba[judged]
        names = [names[row] for row in judged.tolist()]
        features = read_values(model, X)
    proba = proba.astype(np.float64)
    drawn = np.sort(np.random.default_rng(random_state).permutation(len(truth))[:max_rows])
    overall = model.explain_global(take_rows(X, drawn))
    permuted = permute_features(model, X, truth, random_state)
    shares = np.asarray(model.class_count_) / np.sum(model.class_count_)
    losses = -np.log(np.maximum(proba[np.arange(len(truth)), truth], LEAST))
    prior = -np.log(np.maximum(shares[truth], LEAST))
    groups = find_groups(features, labels[chosen], truth == chosen, proba[:, chosen], losses)
    decisions = _list_decisions(labels, chosen, truth, proba)
    chosen_one = next((one for one in decisions if one.place == chosen), None)
    note = f"{unknown}. {note}" if unknown else note
    body = "\n".join(
        [
            verdict_section(
                labels, truth, proba, chosen, chosen_one, groups, (losses, prior), note
            ),
            threshold_section(decisions) if decisions else "",
            score_section(model, X, truth, proba, baseline, random_state),
            calibration_section(labels, truth, proba, chosen, random_state),
            confusion_section(labels, truth, proba) if len(labels) > 2 else "",
            group_section(groups),
            importance_section(overall, permuted, len(drawn)),
            shape_section(overall, features, labels, chosen),
            pair_section(overall),
            row_sections(
                JudgedRows(model, X, labels, truth, proba, names, head, row_note),
                drawn if is_own else None,
            ),
            value_section(model, X, features),
            structure_section(model),
        ]
    )  # fmt: skip
    titles = re.findall(r'<section id="(\w+)"><h2>(.*?)</h2>', body)
    target = name_target(model, y)
    page = Template(read_asset("report.html")).substitute(
        title=escape(f"Report: predictions of {target}"),
        origin=escape(
            f"{f'{source}, ' if source else ''}{date.today():%-d %B %Y}, "
            f"{type(model).__name__} of priorwise {version('priorwise')}"
        ),
        summary=escape(_describe_rows(model, labels, truth)),
        links=" ".join(f'<a href="#{name}">{title}</a>' for name, title in titles),
        style=read_asset("page.css") + read_asset("report.css"),
        script=read_asset("numbers.js") + read_asset("thresholds.js") if decisions else "",
        body=body,
    )
    with open_whole(path, "the report") as file:
        file.write(page.encode())


def _choose_event(classes: NDArray[Any], event: Any, truth: NDArray[np.intp]) -> int:
    """Return the place of the class that matters: the one given, or the rarest in the rows.

    If there are such, it is one of those with rows enough for a threshold.
    """
    if event is None:
        counts = np.bincount(truth, minlength=len(classes))
        enough = np.minimum(counts, len(truth) - counts) >= MIN_CLASS_ROWS
        present = np.flatnonzero(enough if enough.any() else counts)
        # Of classes that are as rare, the last one: 1 rather than 0, "yes" rather than "no".
        return int(present[counts[present] == counts[present].min()][-1])
    if event not in classes.tolist():
        raise ValueError(f"event must be one of the classes {classes.tolist()}, got {event!r}")
    return classes.tolist().index(event)


def _list_decisions(
    labels: list[str], chosen: int, truth: NDArray[np.intp], proba: NDArray[np.float64]
) -> list[Decisions]:
    """Return the counts of the class that matters and of others, if rows enough have them."""
    counts = np.bincount(truth, minlength=len(labels))
    common = [k for k in np.argsort(-counts, kind="stable").tolist() if k != chosen]
    shown = [chosen, *common[: SEVERAL - 1]]
    enough = np.minimum(counts, len(truth) - counts) >= MIN_CLASS_ROWS
    return [Decisions.count(labels, k, truth, proba) for k in shown if enough[k]]


def _describe_rows(model: Any, labels: list[str], truth: NDArray[np.intp]) -> str:
    shares = np.bincount(truth, minlength=len(labels)) / len(truth)
    common = np.argsort(-shares, kind="stable")[:5]
    classes = ", ".join(f"\u201c{labels[k]}\u201d ({show_percent(shares[k], 0)})" for k in common)
    more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
    return (
        f"Learnt from {count(float(np.sum(model.class_count_)), 'row')} with "
        f"{count(model.n_features_in_, 'feature')}; judged on {count(len(truth), 'row')} of "
        f"{len(labels)} classes: {classes}{more}."
    )


def choose_probabilities(
    model: Any, X: Any, truth: NDArray[np.intp]
) -> tuple[NDArray[np.float64], str]:
    """Return probabilities to judge, and what they are; NaN for rows that have none.

    Rows with as many of each class as training are taken for the rows of training, unless their
    classes do not fit to the probabilities out of fold.
    """
    counts = np.bincount(truth, minlength=len(model.classes_))
    new = "Judged as rows that the model has not seen. All statements hold for rows like these."
    if not np.array_equal(counts, model.class_count_):
        return model.predict_proba(X), new
    proba = getattr(model, "oof_proba_", None)
    if proba is None or len(proba) != len(truth) or np.isnan(proba).any(axis=1).all():
        return model.predict_proba(X), (
            "These seem to be the rows that the model learnt from, so its scores are too good: "
            "give rows that it has not seen."
        )
    if not _fits(proba, truth):
        return model.predict_proba(X), new
    return proba, (
        "These are the rows that the model learnt from. All numbers are of the probabilities that "
        "each row got from models that have not seen it (out of fold): they hold for new rows."
    )


def _fits(proba: NDArray[np.floating[Any]], truth: NDArray[np.intp]) -> bool:
    """Return whether probabilities out of fold can be of rows of these classes, in this order.

    For shuffled rows the log-loss is near that of random classes and above that of class shares,
    both by more than chance.
    """
    known = np.flatnonzero(~np.isnan(proba).any(axis=1))
    logs = -np.log(np.maximum(proba[known].astype(np.float64), LEAST))
    losses = logs[np.arange(len(known)), truth[known]]
    shares = np.bincount(truth[known], minlength=proba.shape[1]) / len(known)
    chance = 3.0 * float(losses.std()) / np.sqrt(len(known))
    random = float(logs.mean(axis=0) @ shares)
    simple = float(entropy(shares))
    return bool(losses.mean() <= simple + chance or losses.mean() < random - chance)
