"""Models as JSON, for the evaluator in JavaScript."""

from __future__ import annotations

import json
import math
import os
from dataclasses import fields
from typing import Any

import numpy as np

from priorwise.common.files import write_whole
from priorwise.common.numeric import LEAST_PROBABILITY
from priorwise.common.records import Record
from priorwise.counts.packed_trees import expand_rows
from priorwise.data.encoding.value_rules import ValueRules
from priorwise.data.tables.label_keys import SPACES
from priorwise.export.assets import read_asset
from priorwise.export.json_counts import find_cell_counts, find_leaf_counts
from priorwise.export.layout import Arrays, ExportedModel, lay_out
from priorwise.export.packed_arrays import pack_array
from priorwise.steps.networks.networks import Networks
from priorwise.steps.pool import Boosted, Pool
from priorwise.steps.step import Step
from priorwise.steps.trees import Trees

FORMAT = 6
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
    ['classes', 'features', 'format', 'model', 'readers']
    """
    description = describe_model(model, inner_rows=explanations, plain_records=True)
    if path is not None:
        text = json.dumps(description, separators=(",", ":"), allow_nan=False)
        write_whole(path, "the JSON", text)
    return description


def describe_model(model: Any, *, inner_rows: bool, plain_records: bool) -> dict[str, Any]:
    """Return the description of a classifier; trees have rows of inner nodes if asked for.

    With `plain_records` steps that have no layout are records of their fields; else a TypeError.
    """
    exported = ExportedModel(model)
    classes = [
        label if isinstance(label, str | int | float | bool) else str(label)
        for label in exported.classes
    ]
    return {
        "format": FORMAT,
        "classes": classes,
        "features": exported.features,
        "readers": [[_list_rules(rules) for rules in reader] for reader in exported.readers],
        "model": _Describer(exported, inner_rows, plain_records).describe(exported.step, 0),
    }


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


class _Describer:
    """Describes the steps of a model, of which `describe_model` has the options."""

    def __init__(self, model: ExportedModel, inner_rows: bool, plain_records: bool) -> None:
        self.model = model
        self.inner_rows = inner_rows
        self.plain_records = plain_records

    def describe(self, step: Step, reader: int) -> dict[str, Any]:
        """Return the description of a step, and by which of the readers its rows are read."""
        step, reader = self.model.unwrap(step, reader)
        return {"reader": reader, "step": as_json(self._list_content(step, reader))}

    def _list_content(self, step: Step, reader: int) -> dict[str, Any]:
        if isinstance(step, Pool):
            members = [self.describe(member, reader) for member in step.members]
            return {
                "kind": "Pool", "members": members, "weight": step.weight,
                "intercept": step.intercept, "floor": step.floor,
            }  # fmt: skip
        if isinstance(step, Boosted):
            base, trees = (self._list_content(one, reader) for one in (step.base, step.trees))
            return {"kind": "Boosted", "base": base, "trees": trees, "floor": LEAST_PROBABILITY}
        if self.plain_records and lay_out.dispatch(type(step)) is lay_out.dispatch(object):
            return _list_fields(step)
        arrays = self.model.lay_out(step, reader)
        content: dict[str, Any] = vars(arrays)
        if content["kind"] == "Trees":
            _join_nodes(content)
        if isinstance(step, Trees) and (leaf_counts := find_leaf_counts(step)):
            # The rows of leaves and of inner nodes follow from the counts.
            del content["values"]
            content["counts"] = leaf_counts
        elif isinstance(step, Trees) and self.inner_rows:
            content["inner"] = expand_rows(step.rows)[~step.trees.is_leaf]
        elif isinstance(step, Networks) and (counts := find_cell_counts(step, arrays)):
            is_counted = counts.is_counted.astype(bool)
            for name, sizes in (("rest", "n_entries"), ("score", "n_cells")):
                content[name] = content[name][np.repeat(~is_counted, content[sizes])]
            content["counts"] = counts
        return content


def _join_nodes(trees: dict[str, Any]) -> None:
    """Replace children by the way of each node, plus 4 if the first is a leaf, 8 if the second is.

    Their numbers follow from the order of nodes and leaves.
    """
    way, below, above = (trees.pop(name) for name in ("way", "below", "above"))
    trees["split"] = way + 4 * (below < 0) + 8 * (above < 0)


def _list_fields(record: Record) -> dict[str, Any]:
    """Return the fields of a record that predictions need: all but the calibration of a step."""
    content = {one.name: getattr(record, one.name) for one in fields(record)}
    content.pop("calibration", None)
    return {"kind": type(record).__name__, **content}


def _list_rules(rules: ValueRules) -> dict[str, Any]:
    """Return how a value is read, with pairs of a value and its number for tables."""
    content = {
        name: list(one.items()) if isinstance(one, dict) else one
        for name, one in vars(rules).items()
    }
    return as_json(content)


def as_json(value: Any) -> Any:
    """Return a value, or what it holds, as JSON has it: arrays packed, null for NaN."""
    if isinstance(value, np.ndarray):
        return pack_array(value)
    if isinstance(value, Record):
        return as_json(_list_fields(value))
    if isinstance(value, Arrays):
        return as_json(vars(value))
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    if isinstance(value, dict):
        return {name: as_json(one) for name, one in value.items()}
    if value is None or isinstance(value, str | int | float):
        return None if isinstance(value, float) and math.isnan(value) else value
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON")
