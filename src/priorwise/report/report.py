"""A report of a model and of its predictions."""

from __future__ import annotations

import os
import re
from html import escape
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.files import open_whole
from priorwise.common.texts import count, show_percent
from priorwise.common.validation import check_number
from priorwise.report.explorer import find_classes, read_asset, take_rows
from priorwise.report.features import (
    importance_section,
    pair_section,
    permute_features,
    shape_section,
)
from priorwise.report.read_values import read_values
from priorwise.report.rows import JudgedRows, row_sections, value_section
from priorwise.report.scores import calibration_section, confusion_section, score_section
from priorwise.report.structures import structure_section


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
