"""Models as JSON for the evaluator in JavaScript, in as few bytes as counts and codes take."""

from __future__ import annotations

import json
import math
import os
from base64 import b64encode
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.documents import Description, Document
from priorwise.common.files import write_whole
from priorwise.common.numeric import LEAST_PROBABILITY
from priorwise.common.records import Record
from priorwise.common.registered import full_name
from priorwise.counts.packed_trees import PackedTrees, expand_rows
from priorwise.data.encoding.value_rules import ValueRules
from priorwise.data.tables.label_keys import SPACES
from priorwise.export.assets import read_asset
from priorwise.export.layout import (
    SCORE_UNIT,
    Arrays,
    ExportedModel,
    StepWriter,
    lay_out,
    list_factors,
    trace_entries,
    whole,
)
from priorwise.steps.networks.networks import Networks
from priorwise.steps.pool import Boosted, Pool
from priorwise.steps.step import Step
from priorwise.steps.trees import Trees, list_levels

Floats = NDArray[np.float64]

MAX_DIFFERENCE = 1e-10
"""Largest change of a probability by rows of leaves that are computed from counts."""

MAX_COUNT = 2.0 / float(np.finfo(np.float32).eps)
"""Rows of an entry are known exactly below this number, since they are stored in 32 bits."""


def find_leaf_counts(step: Trees) -> Arrays | None:
    """Return the counts of classes at leaves if the rows of all nodes follow from them.

    A node has the row p = (n + c p_parent) / (N + c), a root (n + 1 / n_classes) / (N + 1), both
    rounded to 32 bits. Leaf i has `n_kinds[i]` classes of `kind`, which rise, each with its
    `count`. Rows of two classes take little room, and browsers read them faster than counts.
    """
    if step.strength == 0.0 or step.n_classes <= 2 or len(step.bandwidth):
        return None
    trees, rows = step.trees, expand_rows(step.rows)
    counts = trees.unsmooth(rows, step.strength)
    if not np.array_equal(np.round(counts), counts) or counts.max(initial=0.0) >= 2**31:
        return None
    smoothed = _smooth(trees, counts, step.strength).astype(np.float32).astype(np.float64)
    difference = np.maximum.reduceat(np.abs(smoothed - rows).max(axis=1), trees.tree_start[:-1])
    if difference.sum() * step.factor / step.n_trees > MAX_DIFFERENCE:
        return None
    leaves = whole(counts[trees.is_leaf])
    row, kind = np.nonzero(leaves)
    n_kinds = np.bincount(row, minlength=len(leaves))
    return Arrays(
        strength=step.strength, n_kinds=whole(n_kinds), kind=whole(kind), count=leaves[row, kind]
    )


def _smooth(trees: PackedTrees, counts: Floats, strength: float) -> Floats:
    parent, total = trees.find_parents(), counts.sum(axis=1, keepdims=True)
    # Right for the roots, the first level; the others follow from those above.
    p = (counts + 1.0 / counts.shape[1]) / (total + 1.0)
    for level in list(list_levels(parent))[1:]:
        above = strength * p[parent[level]]
        p[level] = (counts[level] + above) / (total[level] + strength)
    return p


def find_cell_counts(step: Networks, networks: Arrays) -> Arrays | None:
    """Return the counts of the cells of those factors whose scores follow from them; or None.

    `is_counted` says for which factors. `concentration` and `weight` are those of each level of
    each factor, the root's first, then that of the class. `rest` are the rests of the entries
    `odd_entry`; those of other entries follow from the counts.
    """
    if not step.levels:
        return None
    levels = np.concatenate(step.levels, axis=1)
    n_rows = np.concatenate([product.n_rows for product in step.products]).astype(np.float64)
    is_counted, counts, odd_entry, rests = [], [np.empty(0)], [np.empty(0)], [np.empty(0)]
    first_level = first_entry = 0
    for factor in list_factors(networks):
        own_levels = levels[:, first_level : first_level + len(factor.path) + 2]
        own_rows = n_rows[first_entry : first_entry + len(factor.rest)]
        count, odd = _count_cells(factor, step.n_classes, own_levels, own_rows)
        is_counted.append(count is not None)
        if count is not None:
            counts.append(count)
            odd_entry.append(first_entry + odd)
            rests.append(factor.rest[odd])
        first_level, first_entry = first_level + own_levels.shape[1], first_entry + len(own_rows)
    return Arrays(
        is_counted=whole(is_counted),
        concentration=levels[0],
        weight=levels[1],
        count=whole(np.concatenate(counts)),
        odd_entry=whole(np.concatenate(odd_entry)),
        rest=np.concatenate(rests).astype(np.float32),
    ) if any(is_counted) else None  # fmt: skip


def _count_cells(factor: Arrays, n_classes: int, levels: Floats, n_rows: Floats) -> Any:
    """Return the counts of a factor's cells, and the entries whose rest does not follow from them.

    With q, the parent's estimate, and the concentration c and the weight C of its level, a cell
    with n of the N rows of its entry has::

        p = (n + c q) / (N + c),    score = parent's score + C (log p - log q)

    Scores are rounded, so that n is the nearest whole number; None if one of them differs then.
    """
    above, level, _ = trace_entries(factor, n_classes)
    n_cells = np.diff(factor.cell_start)
    entry = np.repeat(np.arange(len(above)), n_cells)
    place = entry * factor.n_outcomes + factor.outcome
    wanted = above[entry] * factor.n_outcomes + factor.outcome
    up = np.minimum(np.searchsorted(place, wanted), len(place) - 1)
    is_full = n_cells == factor.n_outcomes
    if (place[up] != wanted).any() or not (factor.rest_towards_parent or is_full.all()):
        return None, None
    (c, weight), score = levels[:, level], factor.score.astype(np.float64)
    count, p, exact = np.zeros((3, len(score)))
    with np.errstate(all="ignore"):
        for one in range(int(level.max(initial=-1)) + 1):
            cell = np.flatnonzero(level[entry] == one)
            own, total = entry[cell], n_rows[entry[cell]]
            q = p[up[cell]] if one else np.full(len(cell), 1.0 / factor.n_outcomes)
            log_q = np.log(q) if one else 0.0
            estimate = np.exp(log_q + (score[cell] - exact[up[cell]]) / weight[own])
            n = np.round(np.nan_to_num(estimate * (total + c[own]) - c[own] * q, nan=-1.0))
            count[cell] = np.clip(n, -1.0, MAX_COUNT)
            p[cell] = (count[cell] + c[own] * q) / (total + c[own])
            exact[cell] = exact[up[cell]] + weight[own] * (np.log(p[cell]) - log_q)
    n_counted = np.bincount(entry, count, minlength=len(n_rows))
    is_right = (n_counted == n_rows) & (n_counted < MAX_COUNT)
    if not (is_right.all() and (count >= 0.0).all() and (_round(exact) == score).all()):
        return None, None
    # C++ has rests from sums of probabilities, which are rounded.
    rest = weight * np.log(c / (n_rows + c)) - np.where(level == 0, np.log(factor.n_outcomes), 0.0)
    return count, np.flatnonzero(~is_full & (_round(rest) != factor.rest))


def _round(score: Floats) -> NDArray[np.float32]:
    """Return scores as C++ rounds them, half a unit away from zero."""
    rounded = np.sign(score) * np.floor(np.abs(score) / SCORE_UNIT + 0.5) * SCORE_UNIT
    return rounded.astype(np.float32)


APART_BYTES, ARRAY_BYTES = 5, 100
"""About what a number stored apart takes more than others, and what an array takes at least."""

MAX_PART = 0.8
"""Numbers are replaced by places in a table of the different ones if both take at most this part
of the room that the numbers take."""


def pack_array(array: NDArray[Any]) -> dict[str, Any]:
    """Return an array of int32, float32 or float64 for JSON; arrays.js has the reverse."""
    pack = _pack_floats if array.dtype.kind == "f" else _pack_integers
    return {"shape": list(array.shape), **pack(array.ravel())}


def _pack_floats(numbers: NDArray[Any]) -> dict[str, Any]:
    """Return numbers as they are, or as the "places" of numbers in a table of different ones."""
    size = numbers.dtype.itemsize
    # As whole numbers, so that NaN equals itself and -0 differs from 0.
    table, places = np.unique(np.ascontiguousarray(numbers).view(f"i{size}"), return_inverse=True)
    n_bytes = size * len(table) + len(places) * len(table).bit_length() / 8 + ARRAY_BYTES
    if n_bytes > MAX_PART * size * len(numbers):
        return {"type": f"f{size}", "data": _encode(numbers, f"f{size}")}
    return {"type": f"f{size}", "places": pack_array(places), "data": _encode(table, f"i{size}")}


def _pack_integers(numbers: NDArray[Any]) -> dict[str, Any]:
    """Return numbers in one or two bytes, or in four.

    All bits of these bytes set stand for the next number of "more".
    """
    best: dict[str, Any] = {"type": "i4", "data": _encode(numbers, "i4")}
    least = 4 * len(numbers)
    for size in (1, 2):
        escape = 256**size - 1
        apart = (numbers < 0) | (numbers >= escape)
        n_apart = int(apart.sum())
        n_bytes = size * len(numbers) + n_apart * (4 + APART_BYTES) + ARRAY_BYTES * (n_apart > 0)
        if n_bytes < least:
            data = _encode(np.where(apart, escape, numbers), f"u{size}")
            best, least = {"type": f"u{size}", "data": data}, n_bytes
            if n_apart:
                best["more"] = pack_array(numbers[apart])
    return best


def _encode(values: NDArray[Any], kind: str) -> str:
    return b64encode(values.astype(f"<{kind}").tobytes()).decode("ascii")


FORMAT = 7
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
    null, NaN and the texts that mean missing are missing; dates are seconds since 1970.
    Probabilities are those of `predict_proba` to 1e-9, and an error is thrown where that raises
    one: a row that lacks a feature, or has a key that is none, is refused by name.

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
        The description, of values that `json.dumps` takes. Arrays are base64. Its bare value names
        the parts only.

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
    return Description(description, path=path)


def describe_model(model: Any, *, inner_rows: bool, plain_records: bool) -> dict[str, Any]:
    """Return the description of a classifier; trees have rows of inner nodes if asked for.

    With `plain_records` steps that have no layout are records of their fields; else a TypeError.
    """
    exported = ExportedModel(model)
    classes = [
        label if isinstance(label, str | int | float | bool) else str(label)
        for label in exported.classes
    ]
    shares = exported.blank_proba
    return {
        "format": FORMAT,
        **({} if shares is None else {"blank": shares.tolist()}),
        "classes": classes,
        "features": exported.columns,
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
    return Document(read_asset("evaluator.js").replace("// PARTS\n", parts))


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
            content = _list_fields(step)
            if content["kind"] in (*StepWriter.METHODS, "Pool", "Boosted"):
                raise TypeError(
                    f"{full_name(type(step))} cannot be written as JSON: the evaluator has a kind "
                    f"of steps of its own with the name {content['kind']!r}; rename the class"
                )
            return content
        arrays = self.model.lay_out(step, reader)
        content = vars(arrays)
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
