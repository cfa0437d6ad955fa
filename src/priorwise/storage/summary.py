"""What is inside an estimator, and how large it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from priorwise.common.stored.values import StateTypes
from priorwise.common.texts import show_percent
from priorwise.data.encoding.schema import ColumnSchema
from priorwise.storage.states import list_states

N_SHOWN = 20
"""Number of features and classes that are printed."""


@dataclass(frozen=True)
class ModelPart:
    """A part of a model: its name, what it is, and the size of its arrays."""

    name: str
    content: str
    n_bytes: int


@dataclass(frozen=True)
class ModelSummary:
    """What is inside an estimator; printed, it is a text of a few lines.

    Attributes
    ----------
    class_name : str
        Class of the estimator.
    parameters : dict of str to object
        Parameters that differ from their defaults.
    n_rows : float or None
        Weight of the training rows; None if it is not known.
    class_counts : dict of object to float
        Weight of the training rows of each class.
    features : tuple of ColumnSchema
        What each column of training was taken for.
    parts : tuple of ModelPart
        What the estimator consists of.
    n_bytes : int
        Size of all arrays; those that parts share are counted once.
    """

    class_name: str
    parameters: Mapping[str, Any]
    n_rows: float | None
    class_counts: Mapping[Any, float]
    features: tuple[ColumnSchema, ...]
    parts: tuple[ModelPart, ...]
    n_bytes: int

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        lines = [f"{self.class_name}({given:.200})"]
        if self.n_rows is None:
            lines.append("not fitted" if not self.parts else "fitted")
        else:
            n_nominal = sum(column.kind == "nominal" for column in self.features)
            lines.append(
                f"learnt from {self.n_rows:,g} rows of {len(self.features)} features: "
                f"{n_nominal} nominal, {len(self.features) - n_nominal} numeric"
            )
            shares = [
                f"{label} {show_percent(count / max(self.n_rows, 1e-300))}"
                for label, count in list(self.class_counts.items())[:N_SHOWN]
            ]
            more = ", ..." if len(self.class_counts) > N_SHOWN else ""
            lines.append(f"{len(self.class_counts)} classes: {', '.join(shares)}{more}")
        lines += [f"  {p.name:20} {p.content:50} {format_bytes(p.n_bytes):>9}" for p in self.parts]
        return "\n".join([*lines, f"  {'all arrays':71} {format_bytes(self.n_bytes):>9}"])


def summarise(estimator: Any) -> ModelSummary:
    """Return what is inside an estimator of this library, fitted or not."""
    states, step = list_states(), vars(estimator).get("step_")
    features: tuple[ColumnSchema, ...] = ()
    n_rows, counts = None, dict[Any, float]()
    if hasattr(estimator, "step_"):
        features = estimator.feature_schema_
        n_rows = float(estimator.class_count_.sum())
        counts = dict(
            zip(estimator.classes_.tolist(), estimator.class_count_.tolist(), strict=True)
        )
    parts = tuple(
        ModelPart(name, content, count_bytes(value, states, {}))
        for name, content, value in ([] if step is None else step.list_parts())
    )
    if not parts:  # a fitted estimator that is no classifier
        sizes = {name: count_bytes(value, states, {}) for name, value in vars(estimator).items()}
        parts = tuple(
            ModelPart(name.strip("_"), "arrays", n_bytes)
            for name, n_bytes in sizes.items()
            if name.endswith("_") and n_bytes > 0
        )
    return ModelSummary(
        type(estimator).__name__,
        changed_parameters(estimator),
        n_rows,
        counts,
        features,
        parts,
        count_bytes(estimator, states, {}),
    )


def changed_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that differ from their defaults."""
    # Classes of this library have a default for every parameter, but pools for `estimators`.
    own = estimator.get_params(deep=False)
    try:
        defaults = type(estimator)().get_params(deep=False)
    except TypeError:
        defaults = {}
    return {
        name: value
        for name, value in own.items()
        if name not in defaults or repr(value) != repr(defaults[name])
    }


def count_bytes(value: Any, states: StateTypes, known: dict[int, Any]) -> int:
    """Return the size of all arrays inside a value; `known` are those counted before."""
    if id(value) in known:
        return 0
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        # Kept, so that no other array gets its id.
        known[id(value)] = value
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(count_bytes(item, states, known) for item in value.values())
    if isinstance(value, list | tuple):
        return sum(count_bytes(item, states, known) for item in value)
    state = states.get(type(value).__name__)
    if state is None or state.type is not type(value):
        return 0
    known[id(value)] = value
    return count_bytes(state.to_fields(value), states, known)


def format_bytes(n_bytes: int) -> str:
    """Return a size as text.

    >>> format_bytes(1500), format_bytes(2_500_000)
    ('1.5 kB', '2.5 MB')
    """
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.1f} kB"
