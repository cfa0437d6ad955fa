"""``priorwise report`` and ``priorwise explorer``: pages for a browser."""

from __future__ import annotations

from argparse import Namespace

import narwhals as nw

from priorwise.cli.inputs import (
    label_rows,
    load_model,
    local_files,
    read_for_model,
    read_frame,
    select_features,
)
from priorwise.cli.output import check_output, open_output, print_output


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
            frame = read_frame(paths)
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
