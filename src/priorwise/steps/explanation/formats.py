"""Explanations as text, frame, JSON and for the package shap."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.documents import Document
from priorwise.common.texts import FEW, count, show_probability, show_value

if TYPE_CHECKING:
    from priorwise.steps.explanation.explanation import Explanation


def as_text(value: Any) -> str:
    """Return the value of a feature as text."""
    if value is None:
        return "missing"
    return show_value(value) if isinstance(value, float) else str(value)


def as_numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    """Return the values of a feature as numbers: labels as places among the sorted labels."""
    if all(value is None or isinstance(value, float) for value in column):
        return np.array(column, dtype=np.float64)
    texts = np.array([as_text(value) for value in column])
    return np.unique(texts, return_inverse=True)[1].astype(np.float64)


class ExplanationFormats:
    """The methods of an `Explanation` that turn it into text, frames and other types."""

    def to_frame(
        self: Any, backend: str = "pandas", *, members: bool = False, level: float = 0.9
    ) -> Any:
        """Return a frame with one line for each row, class and feature.

        The lines of a row and a class add up to their log-odds: the first has the feature
        "(prior)", the last "(remainder)" if there is one.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
            The kind of frame.
        members : bool
            Whether there is one more column for each member of a pool: its part of the
            contribution. The rest of "(prior)" is the intercept of the pool.
        level : float
            Level of the intervals.

        Returns
        -------
        frame
            Columns "row", "class", "feature", "value" (as text), "contribution", and "lower" and
            "upper" (ends of its interval), "support" and "backoff" where they are known.
        """
        names = ["(prior)", *self.feature_names]
        if self.remainder.any():
            names.append("(remainder)")
        n_features, n_classes = len(self.feature_names), len(self.classes)
        shape = (self.n_rows, n_classes, len(names))
        row, class_code, line = (grid.ravel() for grid in np.indices(shape))
        columns: dict[str, Any] = {
            "row": row,
            "class": self.classes[class_code].tolist(),
            "feature": [names[i] for i in line],
        }
        if self.values is not None:
            texts = np.full(shape[::2], "", dtype=object)
            texts[:, 1 : 1 + n_features] = _as_texts(self.values)
            columns["value"] = texts[row, line].tolist()
        columns["contribution"] = _add_up(self, len(names))
        details = {**_ends(self, level), "support": self.support}
        for name, counts in {**details, "backoff": self.backoff}.items():
            if counts is not None:
                numbers = np.full(shape, np.nan)
                numbers[:, :, 1 : 1 + n_features] = counts.transpose(0, 2, 1)
                columns[name] = numbers.ravel()
        for name, member in self.members.items() if members else ():
            columns[name] = self.member_weights[name] * _add_up(member, len(names))
        chosen: Any = backend
        return nw.from_dict(columns, backend=chosen).to_native()

    def to_json(self: Any, level: float = 0.9) -> str:
        """Return the explanation as a JSON text.

        Parameters
        ----------
        level : float
            Level of the intervals.

        Returns
        -------
        str
            An object with "classes", "feature_names", "reference", "bias" (by class) and "rows";
            each row with "log_odds" and "remainder" (by class), "contributions" (by feature, then
            class), and where they are known "values" (by feature) and, as contributions,
            "support", "lower" and "upper", the ends of intervals of the level "level".
        """
        parts = {
            "values": self.values, "log_odds": self.log_odds,
            "contributions": self.contributions, "remainder": self.remainder,
            "support": self.support, **_ends(self, level),
        }  # fmt: skip
        rows = [
            {name: part[i].tolist() for name, part in parts.items() if part is not None}
            for i in range(self.n_rows)
        ]
        whole = {
            "classes": self.classes.tolist(),
            "feature_names": list(self.feature_names),
            "reference": self.reference,
            "bias": self.bias.tolist(),
            "level": None if self.probability_interval is None else level,
            "rows": rows,
        }
        return Document(json.dumps(whole, default=str))

    def to_shap(self: Any) -> Any:
        """Return the explanation as a `shap.Explanation`, for the plots of that package.

        Needs the package shap (``pip install priorwise[shap]``).

        Returns
        -------
        shap.Explanation
            `values` are the contributions, `base_values` bias plus remainder of each row; they are
            log-odds. `data` are the numbers, and places among their sorted labels for labels;
            `display_data` are texts.
        """
        try:
            shap: Any = importlib.import_module("shap")
        except ImportError as error:
            raise ImportError("to_shap needs shap: pip install priorwise[shap]") from error
        values, data, texts = self.values, None, None
        if values is not None:
            data, texts = np.column_stack([as_numbers(v) for v in values.T]), _as_texts(values)
        return shap.Explanation(
            values=self.contributions,
            base_values=self.bias + self.remainder,
            data=data,
            display_data=texts,
            feature_names=list(self.feature_names),
            output_names=[str(label) for label in self.classes.tolist()],
        )

    def __str__(self: Any) -> str:
        return to_text(self)


def to_text(
    explanation: Explanation,
    max_rows: int = FEW,
    max_features: int = 5,
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
    p = show_probability(explanation.probabilities[row, k])
    against = "" if explanation.reference is None else f" against {explanation.reference}"
    lines = [
        f"row {row}: {explanation.classes[k]}, p = {p}, "
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
