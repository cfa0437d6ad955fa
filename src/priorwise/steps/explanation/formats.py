"""Explanations as text, frame, JSON and for the package shap."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import softmax
from priorwise.common.texts import count, show_probability

if TYPE_CHECKING:
    from priorwise.steps.explanation.explanation import Explanation

MAX_PRINTED_ROWS, MAX_PRINTED_FEATURES = 3, 5


def as_text(value: Any) -> str:
    """Return the value of a feature as text."""
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def as_numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values of a feature as numbers: labels as places among the sorted labels."""
    if all(value is None or isinstance(value, float) for value in column):
        return np.array(column, dtype=np.float64)
    texts = np.array([as_text(value) for value in column])
    return np.unique(texts, return_inverse=True)[1].astype(np.float64)


def to_frame(explanation: Explanation, backend: str, members: bool, level: float) -> Any:
    """Return a frame with one line for each row, class and feature."""
    names = ["(prior)", *explanation.feature_names]
    if explanation.remainder.any():
        names.append("(remainder)")
    n_features, n_classes = len(explanation.feature_names), len(explanation.classes)
    shape = (explanation.n_rows, n_classes, len(names))
    row, class_code, line = (grid.ravel() for grid in np.indices(shape))
    columns: dict[str, Any] = {
        "row": row,
        "class": explanation.classes[class_code].tolist(),
        "feature": [names[i] for i in line],
    }
    if explanation.values is not None:
        texts = np.full(shape[::2], "", dtype=object)
        texts[:, 1 : 1 + n_features] = _as_texts(explanation.values)
        columns["value"] = texts[row, line].tolist()
    columns["contribution"] = _add_up(explanation, len(names))
    details = {**_ends(explanation, level), "support": explanation.support}
    for name, counts in {**details, "backoff": explanation.backoff}.items():
        if counts is not None:
            numbers = np.full(shape, np.nan)
            numbers[:, :, 1 : 1 + n_features] = counts.transpose(0, 2, 1)
            columns[name] = numbers.ravel()
    for name, member in explanation.members.items() if members else ():
        columns[name] = explanation.member_weights[name] * _add_up(member, len(names))
    chosen: Any = backend
    return nw.from_dict(columns, backend=chosen).to_native()


def to_json(explanation: Explanation, level: float) -> str:
    """Return the explanation as a JSON text."""
    parts = {
        "values": explanation.values, "log_odds": explanation.log_odds,
        "contributions": explanation.contributions, "remainder": explanation.remainder,
        "support": explanation.support, **_ends(explanation, level),
    }  # fmt: skip
    rows = [
        {name: part[i].tolist() for name, part in parts.items() if part is not None}
        for i in range(explanation.n_rows)
    ]
    whole = {
        "classes": explanation.classes.tolist(),
        "feature_names": list(explanation.feature_names),
        "reference": explanation.reference,
        "bias": explanation.bias.tolist(),
        "level": None if explanation.probability_interval is None else level,
        "rows": rows,
    }
    return json.dumps(whole, default=str)


def to_shap(explanation: Explanation) -> Any:
    """Return the explanation as a `shap.Explanation`."""
    try:
        shap: Any = importlib.import_module("shap")
    except ImportError as error:
        raise ImportError("to_shap needs shap: pip install priorwise[shap]") from error
    values, data, texts = explanation.values, None, None
    if values is not None:
        data, texts = np.column_stack([as_numbers(v) for v in values.T]), _as_texts(values)
    return shap.Explanation(
        values=explanation.contributions,
        base_values=explanation.bias + explanation.remainder,
        data=data,
        display_data=texts,
        feature_names=list(explanation.feature_names),
        output_names=[str(label) for label in explanation.classes.tolist()],
    )


def to_text(
    explanation: Explanation,
    max_rows: int = MAX_PRINTED_ROWS,
    max_features: int = MAX_PRINTED_FEATURES,
) -> str:
    """Return the first rows with their largest contributions."""
    lines = [repr(explanation)]
    for row in range(min(explanation.n_rows, max_rows)):
        lines += _describe_row(explanation, row, max_features)
    if explanation.n_rows > max_rows:
        lines.append("... (to_frame() has all rows)")
    return "\n".join(lines)


def _describe_row(explanation: Explanation, row: int, max_features: int) -> list[str]:
    """The most probable class of a row and its largest contributions."""
    odds = explanation.log_odds[row]
    k = int(odds.argmax())
    against = "" if explanation.reference is None else f" against {explanation.reference}"
    lines = [
        f"row {row}: {explanation.classes[k]}, p = {show_probability(softmax(odds[None])[0, k])}, "
        f"log-odds{against} {odds[k]:+.2f} = prior {explanation.bias[k]:+.2f}"
    ]
    parts = explanation.contributions[row, :, k]
    ranked = np.argsort(-np.abs(parts), kind="stable")
    for i in ranked[:max_features]:
        lines.append(f"  {parts[i]:+.2f}  {explanation.value_text(row, int(i))}")
    if len(rest := ranked[max_features:]):
        lines.append(f"  {parts[rest].sum():+.2f}  {count(len(rest), 'other feature')}")
    if explanation.remainder[row, k] != 0.0:
        lines.append(f"  {explanation.remainder[row, k]:+.2f}  (remainder)")
    return lines


def _ends(explanation: Explanation, level: float) -> dict[str, Any]:
    """Ends of the intervals of contributions, if they are known."""
    if explanation.probability_interval is None:
        return {}
    return dict(zip(("lower", "upper"), explanation.interval(level), strict=True))


def _as_texts(values: NDArray[Any]) -> NDArray[Any]:
    texts = np.empty(values.shape, dtype=object)
    for place in np.ndindex(values.shape):
        texts[place] = as_text(values[place])
    return texts


def _add_up(explanation: Explanation, n_lines: int) -> NDArray[np.float64]:
    """Prior, contributions and remainder by row, class and line of the frame."""
    shape = (explanation.n_rows, 1, len(explanation.classes))
    parts = [np.broadcast_to(explanation.bias, shape), explanation.contributions]
    parts.append(explanation.remainder[:, None])
    return np.concatenate(parts, axis=1)[:, :n_lines].transpose(0, 2, 1).ravel()
