"""Programs as JSON, for the evaluator in JavaScript."""

from __future__ import annotations

import json
import math
import os
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from priorwise.common.whole_file import write_whole
from priorwise.data.tables.label_keys import SPACES
from priorwise.export.assets import read_asset
from priorwise.export.layout import lay_out_model
from priorwise.export.packed_arrays import pack_array
from priorwise.steps.programs.program import CellCounts, Networks, PlainRecord, Trees

FORMAT = 5
_PARTS = ("arrays.js", "values.js", "trees.js", "networks.js", "linear.js")
"""Parts of the evaluator, which share its scope."""


def export_json(
    model: Any, path: str | os.PathLike[str] | None = None, *, explanations: bool = False
) -> dict[str, Any]:
    """Write a classifier as JSON, for browsers.

    The evaluator (`javascript_evaluator`) needs nothing else to predict in a page or in Node::

        const model = priorwise.load(description);
        model.predictProba({ sky: "sun", degrees: 21.5 });  // one probability for each class

    Rows are objects of values by the names of the features ("x0", "x1" and so on if X had none).
    Values that are not there, null and NaN are missing; dates are seconds since 1970. Probabilities
    are those of `predict_proba` to 1e-9, and an error is thrown where that raises one.

    A kind of step that the evaluator does not know is written as its arrays. The evaluator loads it
    once `priorwise.steps` has a class of that name, with a constructor that takes these arrays and
    the classes, and a method `predict(x)` that takes a row as numbers.

    Parameters
    ----------
    model : classifier
        Any fitted classifier of this library, or a pool of such classifiers.
    path : path, optional
        File to write.
    explanations : bool
        Whether trees have the rows of their inner nodes too, which are not needed to predict but
        to explain predictions, as the page of the method `explorer` does.

    Returns
    -------
    dict
        The description, of values that `json.dumps` takes. Arrays are base64.

    Examples
    --------
    >>> from priorwise import NaiveBayesClassifier
    >>> model = NaiveBayesClassifier().fit([["sun"], ["rain"]] * 9, ["out", "in"] * 9)
    >>> sorted(export_json(model))
    ['classes', 'features', 'format', 'kind', 'model', 'readers']
    """
    description = describe_model(model, inner_rows=explanations, plain_records=True)
    if path is not None:
        text = json.dumps(description, separators=(",", ":"), allow_nan=False)
        write_whole(path, "the JSON", text)
    return description


def describe_model(model: Any, *, inner_rows: bool, plain_records: bool) -> dict[str, Any]:
    """Return the description of a classifier; `lay_out_model` says what the options are."""
    program = lay_out_model(model, inner_rows=inner_rows, plain_records=plain_records)
    description = {"format": FORMAT, **_plain(program)}
    description["classes"] = [_plain_class(label) for label in program.classes]
    return description


def javascript_evaluator() -> str:
    """Return the JavaScript that evaluates the description that `export_json` writes.

    Returns
    -------
    str
        A script without dependencies: in a page it defines ``priorwise``, in Node it is a module.

    Examples
    --------
    >>> "predictProba" in javascript_evaluator()
    True
    """
    spaces = "".join(f"\\u{ord(space):04x}" for space in SPACES)
    parts = "\n".join(map(read_asset, _PARTS)).replace("WHITE_SPACE", spaces)
    return read_asset("evaluator.js").replace("// PARTS\n", parts)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: tables as pairs, null for NaN, classes of steps as "kind"."""
    if isinstance(value, PlainRecord):
        return {"kind": value.kind, **{name: _plain(one) for name, one in value.content.items()}}
    if is_dataclass(value):
        content = _join_nodes(value) if isinstance(value, Trees) else dict(vars(value))
        if isinstance(value, Networks) and value.counts is not None:
            content |= _leave_out_scores(value, value.counts)
        if isinstance(value, Networks | Trees):
            content = {name: one for name, one in content.items() if one is not None}
        plain = {name: _plain(one) for name, one in content.items()}
        return {"kind": type(value).__name__, **plain}
    if isinstance(value, np.ndarray):
        return pack_array(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return [[key, _plain(one)] for key, one in value.items()]
    return None if isinstance(value, float) and math.isnan(value) else value


def _join_nodes(trees: Trees) -> dict[str, Any]:
    """Return the way of each node, plus 4 if its first child is a leaf and 8 if its second one is.

    Their numbers follow from the order of nodes and leaves. No rows are needed where counts are.
    """
    content = vars(trees) | {"split": trees.way + 4 * (trees.below < 0) + 8 * (trees.above < 0)}
    left_out = {"way", "below", "above", *(("values", "inner") if trees.counts else ())}
    return {name: one for name, one in content.items() if name not in left_out}


def _leave_out_scores(networks: Networks, counts: CellCounts) -> dict[str, Any]:
    """Return the scores of factors that have no counts."""
    is_counted = counts.is_counted.astype(bool)
    return {
        "rest": networks.rest[np.repeat(~is_counted, networks.n_entries)],
        "score": networks.score[np.repeat(~is_counted, networks.n_cells)],
    }


def _plain_class(label: Any) -> Any:
    return label if isinstance(label, str | int | float | bool) else str(label)
