"""``priorwise predict``, ``evaluate`` and ``explain``: a fitted model and other rows."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

import narwhals as nw
from sklearn.dummy import DummyClassifier

from priorwise.cli.fit import SCORES_SHOWN, score_rows
from priorwise.cli.inputs import (
    load_model,
    local_files,
    read_for_model,
    read_frame,
    select_features,
)
from priorwise.cli.output import (
    STANDARD,
    check_output,
    describe_output,
    format_scores,
    print_result,
)
from priorwise.common.texts import count
from priorwise.common.validation import check_number
from priorwise.evaluation.scores import SCORES
from priorwise.steps.explanation.formats import to_text


def run_predict(options: Namespace) -> None:
    """Write classes and probabilities of new rows."""
    check_output(options)
    if options.interval is not None:
        check_number("--interval", options.interval, above=0.0, below=1.0)
    model = load_model(options)
    to_standard = options.output == STANDARD
    with local_files(options.data) as paths:
        n_rows = model.predict_dataset(
            paths,
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
        X = select_features(model, read_frame(paths))
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
