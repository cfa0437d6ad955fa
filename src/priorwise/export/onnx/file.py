"""Classifiers as ONNX models."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.files import open_whole
from priorwise.data.encoding.value_rules import ValueRules
from priorwise.data.tables.dates import SECONDS_OF_DAY
from priorwise.export.layout import ExportedModel
from priorwise.export.onnx.graph import ML, OnnxGraph
from priorwise.export.onnx.steps import OnnxSteps
from priorwise.export.reading import (
    SURROGATES,
    refuse_labels,
    refuse_texts,
    require_backoff,
    require_one_kind,
    spell_labels,
    split_columns,
)
from priorwise.steps.networks.networks import Networks


def export_onnx(model: Any, path: str | os.PathLike[str] | None = None) -> Any:
    """Write a classifier without Bayesian networks as an ONNX model.

    The model has an input of shape (rows, 1) for each feature, with its name ("x0", "x1" and so on
    if X had none): doubles for a numeric feature, NaN if missing, and texts for another, an empty
    one if missing. Labels that are numbers or booleans are given as text. Its outputs are
    ``probabilities``, of shape (rows, classes), and ``label``, the class with the largest one. All
    computations are in double precision, so that the probabilities are those of `predict_proba`
    to 1e-9.

    Spaces around a text are not left out, and an infinite number is no error. A forest needs
    memory for rows times trees times classes numbers: give it a few thousand rows at a time.

    Needs the package onnx (``pip install priorwise[onnx]``), and to run the model a runtime with
    the operator TreeEnsemble for doubles, such as onnxruntime 1.21.

    Parameters
    ----------
    model : classifier
        A fitted `ProbabilityTreeClassifier`, `ProbabilityForestClassifier`, `BoostingClassifier`,
        `SplineLogisticClassifier`, `KernelLogisticClassifier` or `GaussianNetworkClassifier`, or a
        pool of them, with boosting or without. Networks are refused: ONNX has no operator that
        looks a context up and backs off. So is ``unseen="error"``: a graph cannot raise an
        error for a row.
    path : path, optional
        File to write.

    Returns
    -------
    onnx.ModelProto
        The model.

    Examples
    --------
    >>> from priorwise import ProbabilityTreeClassifier
    >>> tree = ProbabilityTreeClassifier().fit([["sun"], ["rain"]] * 9, ["out", "in"] * 9)
    >>> graph = export_onnx(tree).graph  # doctest: +SKIP
    >>> [one.name for one in (*graph.input, *graph.output)]  # doctest: +SKIP
    ['x0', 'label', 'probabilities']
    """
    exported = ExportedModel(model)
    require_backoff(exported, "ONNX")
    require_one_kind(exported, "ONNX")
    refuse_texts(exported, "ONNX")
    if any(isinstance(step, Networks) for step in exported.steps):
        raise ValueError(
            f"model must not hold Bayesian networks to be written as ONNX, whose operators do not "
            f"look up contexts, got a {type(model).__name__} with networks: use export_c, "
            f"export_json or export_sql, or a pool of other members"
        )
    if "" in exported.features:
        raise ValueError("ONNX cannot have an input of the name '': rename the column")
    graph = OnnxGraph(exported.features)
    rows = [_add_reader(graph, rules, exported.columns) for rules in exported.readers]
    proba = OnnxSteps(exported, graph, rows).add_step(exported.step)
    if exported.blank_proba is not None:
        is_blank = _find_blank(graph, rows[0], *split_columns(exported))
        proba = graph.add("Where", is_blank, exported.blank_proba[None], proba)
    label, proba_name = graph.reserve("label"), graph.reserve("probabilities")
    graph.add("Identity", proba, output=proba_name)
    classes = _list_classes(exported.classes)
    best = graph.add("ArgMax", proba, axis=1, keepdims=0)
    graph.add("Gather", classes, best, output=label)
    inputs = [
        (rules.name, "STRING" if rules.is_nominal else "DOUBLE", ["rows", 1])
        for rules in exported.readers[0][: len(exported.columns)]
    ]
    kinds = {"b": "BOOL", "i": "INT64", "f": "DOUBLE", "O": "STRING"}
    outputs = [
        (label, kinds[classes.dtype.kind], ["rows"]),
        (proba_name, "DOUBLE", ["rows", len(classes)]),
    ]
    result = graph.build(inputs, outputs, producer_name="priorwise")
    if path is not None:
        with open_whole(path, "the ONNX model") as file:
            file.write(result.SerializeToString())
    return result


def _find_blank(graph: OnnxGraph, rows: str, coded: list[int], numeric: list[int]) -> str:
    """Add whether nothing is known of each row."""
    unknown = [graph.add("Less", graph.take_columns(rows, coded), 0.0)] if coded else []
    unknown += [graph.add("IsNaN", graph.take_columns(rows, numeric))] if numeric else []
    known = graph.add("Not", graph.add("Concat", *unknown, axis=1))
    return graph.add("Less", graph.add_up(graph.cast(known, "DOUBLE"), 1, keep=True), 0.5)


def _add_reader(graph: OnnxGraph, reader: list[ValueRules], names: list[str]) -> str:
    """Add the matrix of numbers that rows are read as."""
    columns = [
        _add_labels(graph, rules)
        if rules.is_nominal
        else _add_numbers(graph, rules, names[rules.source])
        for rules in reader
    ]
    return graph.add("Concat", *columns, axis=1)


def _add_labels(graph: OnnxGraph, rules: ValueRules) -> str:
    refuse_labels(rules, "ONNX", SURROGATES)
    labels = {"": rules.missing} | spell_labels(rules)
    missing = -2  # the code of an ordered label that is read as missing
    whole = [int(code) if float(code).is_integer() else missing for code in labels.values()]
    codes = graph.add(
        "LabelEncoder", rules.name, domain=ML, keys_strings=list(labels), values_int64s=whole,
        default_int64=missing if rules.is_ordered else int(rules.unknown),
    )  # fmt: skip
    numbers = graph.cast(codes, "DOUBLE")
    if rules.is_ordered:
        is_missing = graph.add("Equal", numbers, float(missing))
        rank = graph.add_constant(float(rules.missing))
        numbers = graph.add("Where", is_missing, rank, numbers)
    return numbers


def _add_numbers(graph: OnnxGraph, rules: ValueRules, source: str) -> str:
    missing = graph.add_constant(float(rules.missing))
    numbers = source if rules.part is None else _add_part(graph, rules.part, source)
    for mark in rules.numbers:
        is_mark = graph.add("Equal", numbers, float(mark))
        numbers = graph.add("Where", is_mark, missing, numbers)
    return graph.add("Where", graph.add("IsNaN", numbers), missing, numbers)


def _add_part(graph: OnnxGraph, part: str, seconds: str) -> str:
    """Add the part of dates that `take_part` returns."""

    def divide(values: str, divisor: float) -> str:
        return graph.add("Floor", graph.add("Div", values, divisor))

    def rest(values: str, divisor: float) -> str:
        whole = graph.add("Mul", divide(values, divisor), divisor)
        return graph.add("Sub", values, whole)

    if part == "hour":
        return graph.add("Div", rest(seconds, SECONDS_OF_DAY), 3600.0)
    days = divide(seconds, SECONDS_OF_DAY)
    if part == "weekday":
        return rest(graph.add("Add", days, 3.0), 7.0)
    # Years are taken to begin in March, so that leap days come last.
    in_era = rest(graph.add("Add", days, 719_468.0), 146_097.0)
    leap_days = graph.add("Sub", divide(in_era, 36_524.0), divide(in_era, 1_460.0))
    leap_days = graph.add("Sub", leap_days, divide(in_era, 146_096.0))
    year = divide(graph.add("Add", in_era, leap_days), 365.0)
    before = graph.add("Sub", divide(year, 4.0), divide(year, 100.0))
    before = graph.add("Add", graph.add("Mul", year, 365.0), before)
    in_year = graph.add("Mul", graph.add("Sub", in_era, before), 5.0)
    month = divide(graph.add("Add", in_year, 2.0), 153.0)
    return rest(graph.add("Add", month, 2.0), 12.0)


def _list_classes(classes: list[Any]) -> NDArray[Any]:
    """Return the classes as booleans, whole numbers, numbers or else texts."""
    for kinds, dtype in ((bool, np.bool_), (int, np.int64), ((int, float), np.float64)):
        if all(isinstance(one, kinds) for one in classes):
            return np.array(classes, dtype=dtype)
    texts = [str(one) for one in classes]
    for text in texts:
        if re.search(f"[{SURROGATES}]", text):
            raise ValueError(f"ONNX cannot have the class {text!r}: rename it")
    return np.array(texts, dtype=object)
