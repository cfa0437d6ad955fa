"""``priorwise fit``: learn a model, score it on rows that it has not seen, save it."""

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
from priorwise.cli.inputs import (
    LabelledRows,
    check_column,
    find_target,
    label_rows,
    local_files,
    read_frame,
)
from priorwise.cli.model_spec import parse_model
from priorwise.cli.output import (
    check_output,
    describe_output,
    format_scores,
    open_output,
    print_result,
)
from priorwise.common.progress import Progress
from priorwise.common.texts import count
from priorwise.common.validation import check_number
from priorwise.data import open_source
from priorwise.evaluation import Protocol
from priorwise.evaluation.scorers import cover_classes
from priorwise.evaluation.scores import SCORES

SCORES_SHOWN = ("cross_entropy", "rmse", "zero_one_loss", "hand_till_auc")
Splits = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]


def run_fit(options: Namespace) -> None:
    """Learn a model, score it if asked for, and save it if it has a name."""
    if options.output is None and options.cv is None and options.test_size is None:
        raise ValueError("fit needs --output, or --cv or --test-size to score only")
    if options.cv is not None and options.test_size is not None:
        raise ValueError("--cv and --test-size exclude each other")
    check_output(options)
    model = _build_model(options)
    with local_files(options.data) as paths:
        if options.stream:
            _fit_stream(options, model, paths)
            scores: dict[str, dict[str, float]] = {}
        else:
            scores = _fit_rows(options, model, paths)
    values: dict[str, Any] = {"model": type(model).__name__, "scores": scores}
    lines: list[str] = []
    if scores:
        lines += [_describe_scoring(options), "", format_scores(scores)]
        values["scoring"] = _describe_scoring(options)
    if options.output is not None:
        # Threads are a matter of the machine, not of the model.
        model.set_params(n_jobs=None)
        with open_output(options) as path:
            model.save(path)
        if options.output == "-":
            return
        values |= {
            "target": model.target_name_,
            "classes": model.classes_,
            "rows": float(np.sum(model.class_count_)),
            "features": model.feature_labels_,
            **describe_output(options),
        }
        lines += [""] if lines else []
        classes = ", ".join(map(str, model.classes_[:5])) + ", ..." * (len(model.classes_) > 5)
        lines.append(
            f"{options.output}: {values['model']} of {model.target_name_} ({classes}), "
            f"{count(model.n_features_in_, 'feature')}, {count(values['rows'], 'row')}, "
            f"{count(values['bytes'], 'byte')}"
        )
    print_result(options, "\n".join(lines), values)


def _build_model(options: Namespace) -> Any:
    """The model that is described by ``--model`` and the options that set its parameters."""
    model = parse_model(options.model)[1]
    name = type(model).__name__
    if options.output is not None and not hasattr(model, "save"):
        raise ValueError(
            f"--model {options.model!r} cannot be saved; leave out --output to score it"
        )
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"--model must be a classifier, got {name}")
    known = model.get_params(deep=False)
    given = {"effort": options.effort, "max_seconds": options.max_seconds}
    given["categorical_features"] = options.categorical
    for parameter, value in given.items():
        if value is not None:
            if parameter not in known:
                option = {"categorical_features": "categorical"}.get(parameter, parameter)
                raise ValueError(f"--{option.replace('_', '-')} is no option of {name}")
            model.set_params(**{parameter: value})
    usual = {"random_state": options.seed, "n_jobs": options.jobs}
    unset = {key: usual[key] for key in usual if known.get(key, 0) is None}
    return model.set_params(**unset)


def _fit_stream(options: Namespace, model: Any, paths: Sequence[str]) -> None:
    """Learn in passes over files that need not fit in memory."""
    if not hasattr(model, "fit_dataset"):
        raise ValueError(f"--stream needs a classifier of this library, got {type(model).__name__}")
    if options.weights or options.cv or options.test_size:
        raise ValueError("--stream excludes --weights, --cv and --test-size")
    names = open_source(paths, target=None).feature_names
    target = find_target(names, options.target)
    for name in options.drop:
        check_column(name, names, "--drop")
    left_out = {target, *options.drop}
    features = [name for name in options.features or names if name not in left_out]
    verbose = 0 if options.quiet else 1
    model.fit_dataset(paths, target=target, features=features, verbose=verbose)
    model.target_name_ = target


def _fit_rows(options: Namespace, model: Any, paths: Sequence[str]) -> dict[str, dict[str, float]]:
    """Learn from a table in memory; return scores on rows that were not learnt from."""
    rows = label_rows(
        read_frame(paths),
        options.target,
        features=options.features,
        drop=options.drop,
        weights=options.weights,
    )
    for name in options.categorical or ():
        check_column(name, rows.names, "--categorical")
    scores: dict[str, dict[str, float]] = {}
    if options.cv is not None or options.test_size is not None:
        scores = _score_models(options, model, rows)
    if options.output is not None:
        known = model.get_params(deep=False)
        if "verbose" in known and not options.quiet:
            model.set_params(verbose=1)
        model.fit(rows.X, rows.y, **rows.weights)
        # How to report is a matter of this command, not of the model.
        model.set_params(**{name: known[name] for name in ("verbose",) if name in known})
        model.target_name_ = rows.target
    return scores


def _score_models(
    options: Namespace, model: Any, rows: LabelledRows
) -> dict[str, dict[str, float]]:
    """Mean scores of the model and of two simple ones, on rows that they have not seen."""
    reading = {"categorical_features": options.categorical} if options.categorical else {}
    models = {
        type(model).__name__: model,
        "naive Bayes": NaiveBayesClassifier(**reading, n_jobs=options.jobs),
        "class frequencies": DummyClassifier(),
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


def _describe_scoring(options: Namespace) -> str:
    if options.cv is not None:
        return f"Means over {options.cv} folds; each model learnt from the other folds:"
    return f"On {options.test_size:.0%} of the rows; each model learnt from the others:"
