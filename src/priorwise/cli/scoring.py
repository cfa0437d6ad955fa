"""Scores of a model on rows that it has not learnt from, beside those of simple models."""

from __future__ import annotations

import statistics
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from priorwise import NaiveBayesClassifier
from priorwise.cli.inputs import LabelledRows, read_columns
from priorwise.common.runtime import Progress
from priorwise.common.texts import ERROR, LOG_LOSS, show_percent
from priorwise.common.validation import check_number
from priorwise.evaluation import Protocol
from priorwise.evaluation.scores import SCORES, cover_classes

SCORES_SHOWN = ("cross_entropy", "brier", "zero_one_loss", "hand_till_auc")
Splits = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]


def score_out_of_fold(model: Any) -> dict[str, dict[str, float]]:
    """Log-loss and error of a model, and of the class shares, on rows held out of the learning.

    Nothing for a model that holds no rows out.
    """
    if not hasattr(model, "score_report"):
        return {}
    line, shares = model.score_report().lines[-1], model.class_count_ / model.class_count_.sum()
    known = shares[shares > 0]
    return {
        type(model).__name__: {"cross_entropy": line.log_loss, "zero_one_loss": line.error},
        "class shares": {
            "cross_entropy": float(-(known * np.log(known)).sum()),
            "zero_one_loss": float(1.0 - shares.max()),
        },
    }


def describe_out_of_fold(model: Any, scores: dict[str, dict[str, float]]) -> str:
    """Return the line by which a fit ends: how good the model is on rows that it has not seen."""
    if not scores:
        return f"{type(model).__name__} holds no rows out of learning: --cv 5 scores it"
    words = [
        f"{LOG_LOSS} {each['cross_entropy']:.3f}, {ERROR} {show_percent(each['zero_one_loss'])}"
        for each in scores.values()
    ]
    return f"out of fold: {words[0]}; class shares alone: {words[1]}"


def score_models(options: Namespace, model: Any, rows: LabelledRows) -> dict[str, dict[str, float]]:
    """Mean scores of the model and of two simple ones, on rows that they have not seen."""
    reading = {name: value for name, value in read_columns(options).items() if value is not None}
    models = {
        type(model).__name__: model,
        "naive Bayes": NaiveBayesClassifier(**reading, n_jobs=options.jobs),
        "class shares": DummyClassifier(),
    }
    splits = _split(options, rows)
    progress = Progress(len(splits) * len(models), not options.quiet, unit="models")
    scores = {}
    for name, each in models.items():
        folds = []
        for train, test in splits:
            learnt, held_out = rows.take(train), rows.take(test)
            fitted = clone(each).fit(learnt.X, learnt.y, **learnt.weights)
            folds.append(score_rows(fitted, held_out))
            progress.step(name)
        scores[name] = {key: statistics.fmean(fold[key] for fold in folds) for key in folds[0]}
    progress.close()
    return scores


def _split(options: Namespace, rows: LabelledRows) -> Splits:
    codes = np.unique(rows.y, return_inverse=True)[1]
    if options.cv is not None:
        check_number("--cv", options.cv, least=2, most=rows.n_rows, whole=True)
        return Protocol(1, options.cv).split(codes, options.seed)
    check_number("--test-size", options.test_size, above=0.0, below=1.0)
    train, test = train_test_split(
        np.arange(rows.n_rows),
        test_size=options.test_size,
        random_state=options.seed,
        stratify=codes,
    )
    return [(train, test)]


def score_rows(
    model: Any, rows: LabelledRows, names: Sequence[str] = SCORES_SHOWN
) -> dict[str, float]:
    """Scores of a model on rows; a class that it does not know has probability zero."""
    proba, labels = cover_classes(model.predict_proba(rows.X), model.classes_, rows.y)
    return {
        name: SCORES[name](rows.y, proba, labels=labels, sample_weight=rows.weight)
        for name in names
    }


def describe_scoring(options: Namespace) -> str:
    if options.cv is not None:
        return f"Means over {options.cv} folds; each model learnt from the other folds:"
    return f"On {options.test_size:.0%} of the rows; each model learnt from the others:"
