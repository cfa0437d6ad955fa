"""``priorwise export`` and ``priorwise info``: what is in a model file, for people and programs."""

from __future__ import annotations

from argparse import Namespace

from priorwise import export
from priorwise.cli.inputs import load_model
from priorwise.cli.output import check_output, describe_output, open_output, print_result


def run_export(options: Namespace) -> None:
    """Write a model as C, SQL, JSON or ONNX."""
    check_output(options)
    model = load_model(options)
    with open_output(options) as path:
        getattr(export, f"export_{options.to}")(model, path)
    if options.output != "-":
        values = {"format": options.to, **describe_output(options)}
        print_result(options, f"{options.output}: {values['bytes']:,} bytes", values)


def run_info(options: Namespace) -> None:
    """Print what is in a model file, or the card of the model."""
    model = load_model(options, any_estimator=True)
    if options.card:
        card = model.card()
        print_result(options, card, {"card": card})
        return
    summary = model.summary()
    target = getattr(model, "target_name_", None)
    text = str(summary) if target is None else f"{summary}\ntarget: {target}"
    print_result(options, text, {"target": target, **vars(summary)})
