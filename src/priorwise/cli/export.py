"""``priorwise export`` and ``priorwise info``: what is in a model file, for people and programs."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from priorwise import export
from priorwise.cli.inputs import load_model
from priorwise.cli.output import (
    check_output,
    describe_output,
    format_table,
    open_output,
    print_result,
)

_NOT_SHOWN = ("n_jobs", "verbose")
"""Parameters that say nothing of what was learnt."""


def run_export(options: Namespace) -> None:
    """Write a model as C, SQL, JSON or ONNX."""
    check_output(options)
    write = getattr(export, f"export_{options.to}", None)
    if write is None:
        raise ValueError(f"--to {options.to} is not supported by this version")
    model = load_model(options)
    with open_output(options) as path:
        write(model, path)
    if options.output != "-":
        values = {"format": options.to, **describe_output(options)}
        print_result(options, f"{options.output}: {values['bytes']:,} bytes", values)


def run_info(options: Namespace) -> None:
    """Print what is in a model file, or the card of the model."""
    model = load_model(options)
    if options.card:
        card = str(model.card())
        print_result(options, card, {"card": card})
        return
    values = _describe_model(model)
    print_result(options, _format_info(options.model, values), values)


def _describe_model(model: Any) -> dict[str, Any]:
    """Class, parameters that are not the usual ones, classes and features of a model."""
    usual = type(model)().get_params(deep=False)
    given = model.get_params(deep=False)
    count = zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True)
    return {
        "model": type(model).__name__,
        "parameters": {
            name: value
            for name, value in given.items()
            if name not in _NOT_SHOWN and repr(value) != repr(usual[name])
        },
        "target": getattr(model, "target_name_", None),
        "classes": [{"label": label, "rows": n_rows} for label, n_rows in count],
        "features": [
            {
                "name": column.name,
                "kind": column.kind,
                "labels": None if column.labels is None else len(column.labels),
                "least": column.least,
                "largest": column.largest,
                "missing_share": column.missing_share,
            }
            for column in model.feature_schema_
        ],
    }


def _format_info(path: str, values: dict[str, Any]) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in values["parameters"].items())
    classes = [[str(row["label"]), f"{row['rows']:g}"] for row in values["classes"]]
    features = [
        [column["name"], column["kind"], _format_values(column), f"{column['missing_share']:.1%}"]
        for column in values["features"]
    ]
    return "\n\n".join(
        [
            f"{path}: {values['model']}({options})",
            format_table([values["target"] or "class", "rows"], classes),
            format_table(["feature", "kind", "values", "missing"], features),
        ]
    )


def _format_values(column: dict[str, Any]) -> str:
    if column["labels"] is not None:
        return f"{column['labels']} labels"
    return "-" if column["least"] is None else f"{column['least']:g} to {column['largest']:g}"
