"""``priorwise check``: what may be wrong with a table, before or after a model is learnt."""

from __future__ import annotations

from argparse import Namespace

import narwhals as nw

from priorwise import check
from priorwise.cli.inputs import (
    check_column,
    check_columns,
    find_target,
    load_model,
    local_files,
    open_tables,
    read_columns,
    read_frame,
)
from priorwise.cli.output import announce, check_output, open_output, print_note, print_result
from priorwise.cli.words import translate
from priorwise.data.tables.column_kinds import read_labels


def run_check(options: Namespace) -> None:
    """Print what is found in a table and its target, or how it differs from a model's training."""
    check_output(options, *options.data, *filter(None, [options.model]))
    if options.model is not None:
        _compare(options)
        return
    with announce(options, "reading"), local_files(options.data) as paths:
        frame = nw.from_native(read_frame(open_tables(options, paths)), eager_only=True)
    names = frame.columns
    for name in options.drop:
        check_column(name, names, "--drop")
    check_columns(options, names)
    y, left_out = None, set(options.drop)
    if options.target is not None:
        target = find_target(names, options.target)
        labels, missing = read_labels(frame.to_native(), target)
        y = labels.astype(object)
        y[missing] = None
        left_out.add(target)
    reading = {name: value for name, value in read_columns(options).items() if value is not None}
    chosen = frame.select([name for name in names if name not in left_out]).to_native()
    with announce(options, "checking"):
        findings = check(chosen, y, **reading)
    if options.output is not None:
        with open_output(options) as path:
            page = findings.to_html(f"Check of {', '.join(options.data)}")
            path.write_text(translate(page, options), encoding="utf-8")
        if options.output == "-":
            return
    if y is None:
        print_note("without --target neither the classes nor leaks of them are checked")
    values = {
        "rows": findings.n_rows,
        "columns": findings.n_columns,
        "findings": [vars(finding) for finding in findings],
    }
    print_result(options, translate(str(findings), options), values)


def _compare(options: Namespace) -> None:
    """Print how a table differs from the training of a model, in the columns of the model."""
    given = {"--target": options.target, "--drop": options.drop, "--html": options.output}
    for option, value in {**given, "--categorical": options.categorical}.items():
        if value:
            raise ValueError(f"{option} must not be given with --model, which knows its columns")
    model = load_model(options)
    with announce(options, "reading"), local_files(options.data) as paths:
        frame = nw.from_native(read_frame(open_tables(options, paths, model)), eager_only=True)
    names = [name for name in model.feature_names_in_.tolist() if name in frame.columns]
    if not names:
        raise ValueError(f"{', '.join(options.data)}: none of the columns of the model is there")
    with announce(options, "checking"):
        found = model.check(frame.select(names).to_native())
    values = {"rows": len(frame), "problems": found.problems, "notes": found.notes}
    print_result(options, translate(str(found), options), values)
