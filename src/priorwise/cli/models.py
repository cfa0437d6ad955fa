"""The commands that learn, judge, use and show one model, from ``fit`` to ``info``."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.dummy import DummyClassifier

from priorwise import export
from priorwise.cli.inputs import (
    check_column,
    check_columns,
    find_scores,
    find_target,
    label_rows,
    list_reading,
    load_model,
    local_files,
    name_rows,
    open_tables,
    read_columns,
    read_for_model,
    read_frame,
    select_features,
)
from priorwise.cli.model_spec import parse_model
from priorwise.cli.output import (
    STANDARD,
    announce,
    check_output,
    describe_output,
    format_scores,
    open_output,
    print_note,
    print_output,
    print_result,
)
from priorwise.cli.scoring import (
    SCORES_SHOWN,
    describe_out_of_fold,
    describe_scoring,
    score_models,
    score_out_of_fold,
    score_rows,
)
from priorwise.cli.words import OPTIONS
from priorwise.common.texts import MANY, count
from priorwise.common.validation import check_number
from priorwise.data import open_source
from priorwise.data.sources.file_list import find_decimal_mark
from priorwise.report.values import describe_unknown, find_classes
from priorwise.steps.explanation.formats import to_text
from priorwise.storage.model_file import load, read_header


def run_fit(options: Namespace) -> None:
    """Learn a model, score it if asked for, and save it if it has a name."""
    if options.output is None and options.cv is None and options.test_size is None:
        raise ValueError("fit needs --output, or --cv or --test-size to score only")
    if options.cv is not None and options.test_size is not None:
        raise ValueError("--cv and --test-size exclude each other")
    check_output(options, *options.data)
    model = _build_model(options)
    if options.target is None:
        names = ", ".join(map(repr, open_source(options.data, target=None).feature_names))
        raise ValueError(f"--target must name the column of the classes, one of {names}")
    with local_files(options.data) as paths:
        if options.stream:
            _fit_stream(options, model, paths)
            scores: dict[str, dict[str, float]] = {}
        else:
            scores = _fit_rows(options, model, paths)
    values: dict[str, Any] = {"model": type(model).__name__, "scores": scores}
    lines: list[str] = []
    if scores:
        lines += [describe_scoring(options), "", format_scores(scores)]
        values["scoring"] = describe_scoring(options)
    held_out = {} if scores or options.output is None else score_out_of_fold(model)
    if held_out:
        values["out_of_fold"] = held_out
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
        values["holds"] = model.summary().holdings
        lines.append(values["holds"])
        if not scores:
            lines.append(describe_out_of_fold(model, held_out))
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
    for parameter, value in {**given, **read_columns(options)}.items():
        if value is not None:
            if parameter not in known:
                option = OPTIONS.get(parameter, f"--{parameter.replace('_', '-')}")
                raise ValueError(f"{option} is no option of {name}")
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
    with announce(options, "reading"):
        parts = open_tables(options, paths)
        frame = read_frame(parts)
    rows = label_rows(
        frame,
        options.target,
        features=options.features,
        drop=options.drop,
        weights=options.weights,
    )
    check_columns(options, rows.names)
    scores: dict[str, dict[str, float]] = {}
    if options.cv is not None or options.test_size is not None:
        scores = score_models(options, model, rows)
    if options.output is not None:
        known = model.get_params(deep=False)
        if "verbose" in known and not options.quiet:
            model.set_params(verbose=1)
        says_more = "verbose" in known
        with nullcontext() if says_more else announce(options, f"fitting {type(model).__name__}"):
            model.fit(rows.X, rows.y, **rows.weights)
        # How to report is a matter of this command, not of the model.
        model.set_params(**{name: known[name] for name in ("verbose",) if name in known})
        model.target_name_ = rows.target
        decimal = find_decimal_mark(parts)
        if decimal is not None:
            model.decimal_mark_ = decimal
    return scores


def run_predict(options: Namespace) -> None:
    """Write classes and probabilities of new rows."""
    check_output(options, options.model, *options.data)
    if options.interval is not None:
        check_number("--interval", options.interval, above=0.0, below=1.0)
    model = load_model(options)
    to_standard = options.output == STANDARD
    says_more = options.quiet or not to_standard
    with (
        local_files(options.data) as paths,
        nullcontext() if says_more else announce(options, "predicting"),
    ):
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
    """Print scores of a model, beside those of the class shares of its training."""
    model = load_model(options)
    names = find_scores(options.scores or SCORES_SHOWN)
    with local_files(options.data) as paths:
        rows = read_for_model(options, model, paths)
    codes = find_classes(model.classes_, rows.y, rows.n_rows)
    left_out = describe_unknown(rows.y, codes)
    if left_out:
        print_note(left_out)
        rows = rows.take(np.flatnonzero(codes >= 0))
    frequencies = DummyClassifier()
    frequencies.fit(model.classes_, model.classes_, sample_weight=model.class_count_)
    with announce(options, "predicting"):
        scores = {
            type(model).__name__: score_rows(model, rows, names),
            "class shares": score_rows(frequencies, rows, names),
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
    with announce(options, "explaining"):
        explanation = model.explain(frame.head(options.rows).to_native())
    if options.against is not None:
        explanation = explanation.against(find_class(model, options.against, "--against"))
    text = to_text(explanation, max_rows=options.rows, max_features=options.top)
    if len(frame) > options.rows:
        text += f"\n... ({len(frame) - options.rows} more rows; --rows shows them)"
    print_result(options, text, json.loads(explanation.to_json()))


def find_class(model: Any, text: str | None, option: str) -> Any:
    """Return the class label that an option names; None if it is not given."""
    labels = {str(label): label for label in model.classes_.tolist()}
    if text is not None and text not in labels:
        raise ValueError(f"{option} must be one of {', '.join(labels)}, got {text!r}")
    return labels.get(text) if text is not None else None


def run_export(options: Namespace) -> None:
    """Write a model as C, SQL, JSON or ONNX."""
    check_output(options, options.model)
    model = load_model(options)
    with announce(options, "writing"), open_output(options) as path:
        getattr(export, f"export_{options.to}")(model, path)
    print_output(options, format=options.to, holds=model.summary().holdings)


def _describe_feature(feature: dict[str, Any]) -> str:
    labels = ["missing" if one is None else str(one) for one in feature.get("categories", ())]
    shown = ", ".join(labels[:MANY]) + (", ..." if len(labels) > MANY else "")
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
    lines += [_describe_feature(feature) for feature in file.get("features", ())[:MANY]]
    packed = f", compressed by {file['packed']}" if "packed" in file else ""
    lines.append(
        f"file: {file['bytes']:,} bytes of format {file['format']}{packed}, "
        f"written by priorwise {file['version']}"
    )
    print_result(options, "\n".join(lines), {"target": target, **vars(summary), "file": file})


def run_report(options: Namespace) -> None:
    """Write a report of a model on rows with known classes."""
    check_output(options, options.model, *options.data)
    model = load_model(options)
    with local_files(options.data) as paths:
        rows = read_for_model(options, model, paths)
    model.target_name_ = rows.target
    with announce(options, "writing the report"), open_output(options) as path:
        model.report(
            rows.X, rows.y, path,
            event=find_class(model, options.event, "--event"), keys=rows.keys,
            source=", ".join(Path(name).name for name in options.data),
        )  # fmt: skip
    print_output(options)


def run_explorer(options: Namespace) -> None:
    """Write a page that holds the model and predicts in the browser."""
    check_output(options, options.model, *options.data)
    model = load_model(options)
    X = y = keys = None
    with local_files(options.data) as paths:
        if paths:
            frame = read_frame(open_tables(options, paths, model))
            target = options.target or getattr(model, "target_name_", None)
            names = nw.from_native(frame, eager_only=True).columns
            keys = name_rows(frame, options.key)
            # Rows to start from need no classes.
            if target is not None and (options.target or target in names):
                rows = label_rows(frame, target, key=options.key)
                frame, y, keys = rows.X, rows.y, rows.keys
                model.target_name_ = rows.target
            X = select_features(model, frame)
    with announce(options, "writing the page"), open_output(options) as path:
        model.explorer(path, X, y, fixed=options.fixed or (), keys=keys, max_rows=options.rows)
    print_output(options, holds=model.summary().holdings)
