"""The nodes and constants of an ONNX graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from priorwise.common.runtime import import_extra

OPSET, ML_OPSET, IR_VERSION = 18, 5, 10
"""Versions of ONNX's operators, of those for machine learning and of the file."""


class OnnxGraph:
    """Collects nodes, whose results are named by what computes them, and constants."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self.onnx = import_extra("onnx", "export_onnx", "priorwise[onnx]")
        self._names = set(reserved)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def reserve(self, name: str) -> str:
        """Return a name that nothing else in the graph has."""
        plain, n = name, 2
        while name in self._names:
            name, n = f"{plain}_{n}", n + 1
        self._names.add(name)
        return name

    def add(self, operator: str, *inputs: Any, output: str = "", **attributes: Any) -> str:
        """Add a node, whose inputs are names or constants; return the name of its result."""
        names = [one if isinstance(one, str) else self.add_constant(one) for one in inputs]
        result = output or self.reserve(operator)
        node = self.onnx.helper.make_node(operator, names, [result], **attributes)
        self._nodes.append(node)
        return result

    def add_constant(self, values: ArrayLike) -> str:
        """Add an array of int64, float64, texts or booleans; return its name."""
        array = np.asarray(values)
        if array.dtype.kind in "fiu":
            array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        name = self.reserve("constant")
        self._constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def cast(self, value: str, kind: str) -> str:
        """Add the conversion to a type such as "INT64"."""
        return self.add("Cast", value, to=getattr(self.onnx.TensorProto, kind))

    def take_columns(self, matrix: str, columns: ArrayLike) -> str:
        """Add the choice of columns, or of other places of the second axis."""
        return self.add("Gather", matrix, columns, axis=1)

    def repeat(self, values: ArrayLike, matrix: str) -> str:
        """Add a matrix whose rows are these values, with as many rows as another matrix."""
        is_missing = self.add("IsNaN", self.take_columns(matrix, [0]))
        constant = self.add_constant(values)
        return self.add("Where", is_missing, constant, constant)

    def add_up(self, values: str, axis: int, *, keep: bool = False) -> str:
        return self.add("ReduceSum", values, [axis], keepdims=int(keep))

    def build(self, inputs: list[Any], outputs: list[Any], **attributes: Any) -> Any:
        """Return the checked model; inputs and outputs are (name, type, shape)."""
        helper = self.onnx.helper

        def declare(value: tuple[str, str, list[Any]]) -> Any:
            name, kind, shape = value
            return helper.make_tensor_value_info(name, getattr(self.onnx.TensorProto, kind), shape)

        graph = helper.make_graph(
            self._nodes, "priorwise", [declare(one) for one in inputs],
            [declare(one) for one in outputs], self._constants,
        )  # fmt: skip
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
            ir_version=IR_VERSION,
            **attributes,
        )
        self.onnx.checker.check_model(model)
        return model


ML = "ai.onnx.ml"
"""Domain of the operators for machine learning."""
