"""Inference in a network: exact, by elimination of variables, or that of other libraries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import import_extra
from priorwise.data.bif import BifVariable

MAX_CLIQUE_CELLS = 16_000_000
"""Most cells of a product of tables; beyond, inference is left to other libraries."""

ROWS = -1
"""The axis of a factor that stands for rows of evidence."""


@dataclass(frozen=True)
class Factor:
    """A function of some variables; the axis `ROWS`, if there is one, comes first."""

    variables: tuple[int, ...]
    array: NDArray[np.float64]


def query(
    parents: Sequence[Sequence[int]],
    arities: Sequence[int],
    table_of: Callable[[int], NDArray[np.float64]],
    evidence: Mapping[int, NDArray[np.int32]],
    target: int | None,
    n_rows: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the joint probability of the target and the evidence of each row.

    The first result, of shape (rows, states of the target), or (rows, 1) without a target, has to
    be multiplied by exp of the second, one number per row, which keeps products of many small
    numbers above zero. All rows know the same variables. Variables that are no ancestors of these
    sum to one and are left out.
    """
    relevant = _ancestors(parents, [*evidence, *([] if target is None else [target])])
    hidden = relevant - {*evidence} - {target}
    sizes = dict(enumerate(arities))
    order, width = _plan_elimination(
        [{v for v in (*parents[i], i) if v not in evidence} for i in relevant], hidden, sizes
    )
    if width > MAX_CLIQUE_CELLS:
        raise ValueError(
            f"exact inference would need a table of {width:.3g} cells, more than "
            f"{MAX_CLIQUE_CELLS}: use to_pyagrum() or to_pgmpy() and their approximate inference"
        )
    step = max(1, MAX_CLIQUE_CELLS // max(1, int(width)))
    tables = {i: table_of(i) for i in sorted(relevant)}
    parts, scales = [], []
    for start in range(0, n_rows, step):
        rows = {i: codes[start : start + step] for i, codes in evidence.items()}
        scale = np.zeros(min(step, n_rows - start))
        factors = [_reduce((*parents[i], i), table, rows) for i, table in tables.items()]
        for variable in order:
            joined = [factor for factor in factors if variable in factor.variables]
            factors = [factor for factor in factors if variable not in factor.variables]
            factors.append(_rescale(_multiply(joined, leave_out=variable), scale))
        kept = (ROWS,) if target is None else (ROWS, target)
        result = Factor((ROWS,), np.ones(len(scale)))
        for factor in factors:
            both = tuple(sorted({*result.variables, *factor.variables}))
            result = _rescale(_join(result, factor, both), scale)
        parts.append(_join(result, Factor((), np.ones(())), kept).array.reshape(len(scale), -1))
        scales.append(scale)
    return np.concatenate(parts), np.concatenate(scales)


def _rescale(factor: Factor, scale: NDArray[np.float64]) -> Factor:
    """Divide each row of a factor by its largest value, whose logarithm is added to `scale`."""
    if factor.variables[:1] != (ROWS,):
        return factor
    flat = factor.array.reshape(len(scale), -1)
    largest = flat.max(axis=1)
    largest[largest == 0.0] = 1.0
    scale += np.log(largest)
    return Factor(factor.variables, (flat / largest[:, None]).reshape(factor.array.shape))


def _ancestors(parents: Sequence[Sequence[int]], variables: Sequence[int]) -> set[int]:
    """Return the variables and all that they depend on."""
    reached: set[int] = set()
    waiting = list(variables)
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            waiting += parents[one]
    return reached


def _plan_elimination(
    scopes: list[set[int]], hidden: set[int], sizes: Mapping[int, int]
) -> tuple[list[int], float]:
    """Order the hidden variables so that products stay small; also return the largest product."""
    neighbours: dict[int, set[int]] = {i: set() for scope in scopes for i in scope}
    for scope in scopes:
        for i in scope:
            neighbours[i] |= scope - {i}
    cells = {i: _size({i, *neighbours[i]}, sizes) for i in hidden}
    largest = max((_size(scope, sizes) for scope in scopes), default=1.0)
    order: list[int] = []
    while cells:
        best = min(cells, key=lambda i: (cells[i], i))
        largest = max(largest, cells.pop(best))
        order.append(best)
        around = neighbours.pop(best)
        for i in around:
            neighbours[i] |= around
            neighbours[i] -= {i, best}
        for i in around & cells.keys():
            cells[i] = _size({i, *neighbours[i]}, sizes)
    return order, largest


def _size(variables: set[int], sizes: Mapping[int, int]) -> float:
    return math.prod(float(sizes[i]) for i in variables)


def _reduce(
    variables: tuple[int, ...],
    table: NDArray[np.float64],
    evidence: Mapping[int, NDArray[np.int32]],
) -> Factor:
    """Return the table of a family for the evidence of each row."""
    if not any(i in evidence for i in variables):
        return Factor(variables, table)
    known = [axis for axis, i in enumerate(variables) if i in evidence]
    free = [axis for axis, i in enumerate(variables) if i not in evidence]
    moved = np.transpose(table, [*known, *free])
    array = moved[tuple(evidence[variables[axis]] for axis in known)]
    return Factor((ROWS, *(variables[axis] for axis in free)), array)


def _multiply(factors: Sequence[Factor], *, leave_out: int) -> Factor:
    """Multiply factors and sum a variable out."""
    result = factors[0]
    for factor in factors[1:]:
        result = _join(result, factor, tuple(sorted({*result.variables, *factor.variables})))
    kept = tuple(sorted({*result.variables} - {leave_out}))  # ROWS is the least
    return _join(result, Factor((), np.ones(())), kept)


def _join(a: Factor, b: Factor, out: tuple[int, ...]) -> Factor:
    label = {i: place for place, i in enumerate(sorted({*a.variables, *b.variables}))}
    operands: list[Any] = [a.array, [label[i] for i in a.variables]]
    operands += [b.array, [label[i] for i in b.variables], [label[i] for i in out]]
    return Factor(out, np.einsum(*operands))


def list_variables(
    network: Any, table_of: Callable[[int], NDArray[np.float64]]
) -> list[BifVariable]:
    """Return the variables of a network with names and states as texts, which must differ."""
    names = [str(name) for name in network.variables_]
    _check_distinct("names of variables", names)
    variables = []
    for i, categories in enumerate(network.categories_):
        states = ["missing" if one is None else str(one) for one in categories.labels]
        _check_distinct(f"states of {names[i]!r}", states)
        parents = tuple(names[parent] for parent in network.structure_.parents[i])
        variables.append(BifVariable(names[i], tuple(states), parents, table_of(i)))
    return variables


def _check_distinct(what: str, texts: list[str]) -> None:
    if len(set(texts)) < len(texts):
        raise ValueError(f"{what} must differ as texts, got {texts!r:.80}")


def as_pyagrum(variables: Sequence[BifVariable]) -> Any:
    pyagrum = import_extra("pyagrum", "to_pyagrum", "pyagrum")
    network = pyagrum.BayesNet()
    for one in variables:
        network.add(pyagrum.LabelizedVariable(one.name, one.name, list(one.states)))
    for one in variables:
        for parent in one.parents:
            network.addArc(parent, one.name)
    for one in variables:
        # There the axes of a table are the variable's parents in reverse order of their addition.
        tensor = network.cpt(one.name)
        axes = {name: place for place, name in enumerate((*one.parents, one.name))}
        order = [axes[name] for name in reversed(tensor.names)]
        tensor[:] = np.ascontiguousarray(np.transpose(one.table, order))
    return network


def as_pgmpy(variables: Sequence[BifVariable]) -> Any:
    models = import_extra("pgmpy.models", "to_pgmpy", "pgmpy")
    factors = import_extra("pgmpy.factors.discrete", "to_pgmpy", "pgmpy")
    arcs = [(parent, one.name) for one in variables for parent in one.parents]
    model = models.DiscreteBayesianNetwork(arcs)
    model.add_nodes_from([one.name for one in variables])
    states = {one.name: list(one.states) for one in variables}
    for one in variables:
        values = np.moveaxis(one.table, -1, 0).reshape(len(one.states), -1)
        model.add_cpds(
            factors.TabularCPD(
                one.name, len(one.states), values, list(one.parents) or None,
                [len(states[parent]) for parent in one.parents] or None,
                state_names={name: states[name] for name in (one.name, *one.parents)},
            )
        )  # fmt: skip
    return model
