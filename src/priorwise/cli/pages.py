"""``priorwise report`` and ``priorwise explorer``: pages for a browser."""

from __future__ import annotations

from argparse import Namespace

from priorwise.cli.inputs import load_model, local_files, read_for_model
from priorwise.cli.output import check_output, describe_output, open_output, print_result


def run_report(options: Namespace) -> None:
    """Write a report of a model on rows with known classes."""
    check_output(options)
    model = load_model(options)
    with local_files(options.data) as paths:
        rows = read_for_model(options, model, paths)
    with open_output(options) as path:
        model.report(rows.X, rows.y, path)
    _finish(options)


def run_explorer(options: Namespace) -> None:
    """Write a page that holds the model and predicts in the browser."""
    check_output(options)
    model = load_model(options)
    with local_files(options.data) as paths:
        rows = read_for_model(options, model, paths) if paths else None
    with open_output(options) as path:
        if rows is None:
            model.explorer(path)
        else:
            model.explorer(path, rows.X, rows.y)
    _finish(options)


def _finish(options: Namespace) -> None:
    if options.output != "-":
        values = describe_output(options)
        print_result(options, f"{options.output}: {values['bytes']:,} bytes", values)
