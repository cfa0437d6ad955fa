"""The commands that learn, judge, use and show one model, from ``fit`` to ``info``."""

from __future__ import annotations

import json
import statistics
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

from priorwise import NaiveBayesClassifier, export
from priorwise.cli.inputs import (
    LabelledRows,
    check_column,
    find_target,
    label_rows,
    list_reading,
    load_model,
    local_files,
    open_tables,
    parse_model,
    read_for_model,
    read_frame,
    select_features,
)
from priorwise.cli.output import (
    STANDARD,
    check_output,
    describe_output,
    format_scores,
    open_output,
    print_output,
    print_result,
)
from priorwise.common.runtime import Progress
from priorwise.common.texts import count
from priorwise.common.validation import check_number
from priorwise.data import open_source
from priorwise.data.sources.file_list import find_decimal_mark
from priorwise.evaluation import Protocol
from priorwise.evaluation.scores import SCORES, cover_classes
from priorwise.steps.explanation.formats import to_text
from priorwise.storage.model_file import load, read_header
from priorwise.storage.summary import N_SHOWN

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
    opened = open_source(paths, target=None, **list_reading(options))
    names = opened.feature_names
    target = find_target(names, options.target)
    for name in options.drop:
        check_column(name, names, "--drop")
    left_out = {target, *options.drop}
    features = [name for name in options.features or names if name not in left_out]
    verbose = 0 if options.quiet else 1
    model.fit_dataset(opened, target=target, features=features, verbose=verbose)
    model.target_name_ = target


def _fit_rows(options: Namespace, model: Any, paths: Sequence[str]) -> dict[str, dict[str, float]]:
    """Learn from a table in memory; return scores on rows that were not learnt from."""
    parts = open_tables(options, paths)
    rows = label_rows(
        read_frame(parts),
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
        decimal = find_decimal_mark(parts)
        if decimal is not None:
            model.decimal_mark_ = decimal
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


def run_predict(options: Namespace) -> None:
    """Write classes and probabilities of new rows."""
    check_output(options)
    if options.interval is not None:
        check_number("--interval", options.interval, above=0.0, below=1.0)
    model = load_model(options)
    to_standard = options.output == STANDARD
    with local_files(options.data) as paths:
        source = open_source(
            paths,
            target=None,
            missing_values=model.missing_values,
            like=getattr(model, "decimal_mark_", None),
            **list_reading(options),
        )
        n_rows = model.predict_dataset(
            source,
            sys.stdout.buffer if to_standard else options.output,
            keep=options.keep,
            overwrite=options.overwrite,
            interval=options.interval,
            batch_rows=options.batch_rows,
            verbose=0 if options.quiet or to_standard else 1,
        )
    if not to_standard:
        values = {"rows": n_rows, **describe_output(options)}
        print_result(options, f"{count(n_rows, 'row')} in {options.output}", values)


def run_evaluate(options: Namespace) -> None:
    """Print scores of a model, beside those of the class frequencies of its training."""
    model = load_model(options)
    names = options.scores or SCORES_SHOWN
    for name in names:
        if name not in SCORES:
            raise ValueError(f"--scores must be among {', '.join(SCORES)}, got {name!r}")
    with local_files(options.data) as paths:
        rows = read_for_model(options, model, paths)
    frequencies = DummyClassifier()
    frequencies.fit(model.classes_, model.classes_, sample_weight=model.class_count_)
    scores = {
        type(model).__name__: score_rows(model, rows, names),
        "class frequencies": score_rows(frequencies, rows, names),
    }
    values = {"target": rows.target, "rows": rows.n_rows, "scores": scores}
    text = f"{count(rows.n_rows, 'row')}, classes from {rows.target}:\n\n{format_scores(scores)}"
    print_result(options, text, values)


def run_explain(options: Namespace) -> None:
    """Print what each feature adds to the log-odds of the first rows."""
    check_number("--rows", options.rows, least=1, whole=True)
    check_number("--top", options.top, least=1, whole=True)
    model = load_model(options)
    with local_files(options.data) as paths:
        X = select_features(model, read_frame(open_tables(options, paths, model)))
    frame = nw.from_native(X, eager_only=True)
    explanation = model.explain(frame.head(options.rows).to_native())
    if options.against is not None:
        labels = {str(label): label for label in model.classes_.tolist()}
        if options.against not in labels:
            raise ValueError(
                f"--against must be one of {', '.join(labels)}, got {options.against!r}"
            )
        explanation = explanation.against(labels[options.against])
    text = to_text(explanation, max_rows=options.rows, max_features=options.top)
    if len(frame) > options.rows:
        text += f"\n... ({len(frame) - options.rows} more rows; --rows shows them)"
    print_result(options, text, json.loads(explanation.to_json()))


def run_export(options: Namespace) -> None:
    """Write a model as C, SQL, JSON or ONNX."""
    check_output(options)
    model = load_model(options)
    with open_output(options) as path:
        getattr(export, f"export_{options.to}")(model, path)
    print_output(options, format=options.to)


def _describe_feature(feature: dict[str, Any]) -> str:
    labels = ["missing" if one is None else str(one) for one in feature.get("categories", ())]
    shown = ", ".join(labels[:N_SHOWN]) + (", ..." if len(labels) > N_SHOWN else "")
    return f"  {feature['name']}: {feature['kind']}{shown and f' ({shown})'}"


def run_info(options: Namespace) -> None:
    """Print what is in a model file, or the card of the model."""
    with local_files([options.model]) as (path,):
        file = {**read_header(path), "bytes": Path(path).stat().st_size}
        model = load(path)
    if options.card:
        card = model.card()
        print_result(options, card, {"card": card})
        return
    summary = model.summary()
    target = getattr(model, "target_name_", None)
    lines = [str(summary), *([] if target is None else [f"target: {target}"])]
    lines += [_describe_feature(feature) for feature in file.get("features", ())[:N_SHOWN]]
    packed = f", compressed by {file['packed']}" if "packed" in file else ""
    lines.append(
        f"file: {file['bytes']:,} bytes of format {file['format']}{packed}, "
        f"written by priorwise {file['version']}"
    )
    print_result(options, "\n".join(lines), {"target": target, **vars(summary), "file": file})


def run_report(options: Namespace) -> None:
    """Write a report of a model on rows with known classes."""
    check_output(options)
    model = load_model(options)
    with local_files(options.data) as paths:
        rows = read_for_model(options, model, paths)
    with open_output(options) as path:
        model.report(rows.X, rows.y, path)
    print_output(options)


def run_explorer(options: Namespace) -> None:
    """Write a page that holds the model and predicts in the browser."""
    check_output(options)
    model = load_model(options)
    X = y = None
    with local_files(options.data) as paths:
        if paths:
            frame = read_frame(open_tables(options, paths, model))
            target = options.target or getattr(model, "target_name_", None)
            names = nw.from_native(frame, eager_only=True).columns
            # Rows to start from need no classes.
            if target is not None and (options.target or target in names):
                rows = label_rows(frame, target)
                frame, y = rows.X, rows.y
            X = select_features(model, frame)
    with open_output(options) as path:
        model.explorer(path, X, y)
    print_output(options)
