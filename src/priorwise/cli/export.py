"""``priorwise export`` and ``priorwise info``: what is in a model file, for people and programs."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from priorwise import export
from priorwise.cli.inputs import load_model, local_files
from priorwise.cli.output import check_output, open_output, print_output, print_result
from priorwise.storage.model_file import load, read_header

N_SHOWN = 20
"""Number of features, and of labels of each, that are printed."""


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
