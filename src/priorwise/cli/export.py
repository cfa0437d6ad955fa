"""``priorwise export`` and ``priorwise info``: what is in a model file, for people and programs."""

from __future__ import annotations

from argparse import Namespace

from priorwise import export
from priorwise.cli.inputs import load_model
from priorwise.cli.output import check_output, describe_output, open_output, print_result


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
    """Print a summary of a model, or its card."""
    model = load_model(options)
    if options.card:
        card = model.card()
        print_result(options, str(card), {"card": str(card)})
        return
    summary = model.summary()
    print_result(options, str(summary), {"summary": str(summary)})
