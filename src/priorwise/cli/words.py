"""What commands say in the words of the command line: options instead of parameters, and hints."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path

OPTIONS = {
    "categorical_features": "--categorical",
    "numeric_features": "--numeric",
    "ordinal_features": "--ordinal",
    "date_features": "--dates",
    "text_features": "--text",
    "missing_values": "--missing-values",
    "min_rows_per_label": "--min-rows-per-label",
    "sample_weight": "--weights",
    "max_seconds": "--max-seconds",
    "random_state": "--seed",
    "n_jobs": "--jobs",
}
"""The option that sets each parameter of the library that messages name."""

ADVICE = {
    " If they are independent, pass groups=range(len(X)) to fit.": "",
    "; the method check(X) says how X differs": (
        "; 'priorwise check DATA --model MODEL' says how the table differs"
    ),
    "priorwise.data.DateParts adds month, weekday and hour; ": "",
    # An error of Python's interface that the command line has no words for.
    " in X": "",
}
"""Advice that only holds in Python, and what the command line says instead."""

FILE_OPTION = re.compile(
    r"(?:\bthe option |(^|: )(?=\w+ must be))(separator|decimal|encoding|sheet)\b"
)
"""How messages on files name the option that decides."""


def translate(text: str, options: Namespace | None) -> str:
    """Return a message of the library with the names that the command line has.

    A command without the option names the one of ``priorwise fit``, by which the model has to be
    learnt again.

    >>> translate("name it in numeric_features", Namespace(command="fit", numeric=None))
    'name it in --numeric'
    >>> translate("name it in numeric_features", Namespace(command="predict"))
    "name it in 'priorwise fit --numeric'"
    """
    for python, words in ADVICE.items():
        text = text.replace(python, words)
    text = FILE_OPTION.sub(lambda match: f"{match[1] or ''}--{match[2]}", text)
    given = set() if options is None else set(vars(options))

    def replace(match: re.Match[str]) -> str:
        option = OPTIONS[match[0]]
        is_here = option.removeprefix("--").replace("-", "_") in given
        return option if is_here else f"'priorwise fit {option}'"

    return re.sub(rf"\b({'|'.join(OPTIONS)})\b(?!=)", replace, text)


def find_swapped(options: Namespace | None) -> str:
    """Return what is wrong if a table, a model and a target stand in each other's places."""
    from priorwise.data.sources.file_list import find_ending

    given = vars(options) if options is not None else {}
    data = [given["data"]] if isinstance(given.get("data"), str) else given.get("data") or []
    models = [path for path in data if is_model(path)]
    model = given.get("model") if isinstance(given.get("model"), str) else None
    command = f"priorwise {given.get('command')}"
    for path in data:
        is_name = not Path(path).exists() and find_ending(Path(path)) is None and path != "-"
        if "target" in given and given["target"] is None and is_name and len(data) > 1:
            rest = " ".join(other for other in data if other != path)
            return f"{path} is no file; if it is the target: {command} {rest} --target {path}"
    if command == "priorwise fit":
        model = None  # the description of a class
    if model is not None and Path(model).is_file() and not is_model(model):
        if models:
            return f"the model comes first: {command} {models[0]} {model}"
        if find_ending(Path(model)):
            where = "DATA" if "data" in given else ""
            return f"{model} is a table, not a model; usage: {command} MODEL {where}".rstrip()
    if models and command == "priorwise check":
        tables = " ".join(path for path in data if path not in models) or "DATA"
        return f"{models[0]} is a model, not a table: {command} {tables} --model {models[0]}"
    if models:
        return f"{models[0]} is a model, not a table; usage: {command} --help"
    return ""


def is_model(path: str) -> bool:
    """Whether a file has the head of a model."""
    from priorwise.storage.model_file import read_header

    if not Path(path).is_file():
        return False
    try:
        read_header(path)
    except (OSError, ValueError, TypeError):
        return False
    return True
