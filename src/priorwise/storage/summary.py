"""What is inside an estimator and how large it is, and the model card that tells it in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from inspect import signature
from typing import Any

import numpy as np

from priorwise.common.documents import Document
from priorwise.common.registered import stored_name, with_registered_methods
from priorwise.common.stored.values import StateTypes
from priorwise.common.texts import ERROR, LOG_LOSS, MANY, RMSE, SEVERAL, count, show_percent
from priorwise.data.encoding.schema import ColumnSchema
from priorwise.data.tables.dates import show_date
from priorwise.data.tables.parts import part_labels
from priorwise.data.tables.texts import TEXT
from priorwise.storage.model_file import list_states

RARE_ROWS = 5
"""Labels of fewer rows of training are called rare: they may tell of persons."""


@dataclass(frozen=True)
class ModelPart:
    """A part of a model: its name, what it is, and the size of its arrays."""

    name: str
    content: str
    n_bytes: int


@with_registered_methods
@dataclass(frozen=True, repr=False)
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
    n_labels : int
        Number of labels of training that the model, and whatever is written of it, holds by name.
    n_rare_labels : int
        Number of these that fewer than 5 rows of training have.
    n_kept_rows : int
        Number of rows of training that the model holds, as the landmarks of a kernel.
    n_words : int
        Number of words and pieces of words of texts of training that the model holds.
    """

    class_name: str
    parameters: Mapping[str, Any]
    n_rows: float | None
    class_counts: Mapping[Any, float]
    features: tuple[ColumnSchema, ...]
    parts: tuple[ModelPart, ...]
    n_bytes: int
    n_labels: int = 0
    n_rare_labels: int = 0
    n_kept_rows: int = 0
    n_words: int = 0

    @property
    def holdings(self) -> str:
        """What the model holds of training: labels, rare ones, rows."""
        held = f"holds {count(self.n_labels, 'label')} of training"
        if self.n_rare_labels:
            held += f", {self.n_rare_labels:,} of them of fewer than {RARE_ROWS} rows"
        if self.n_words:
            held += f", {count(self.n_words, 'word or piece', 'words and pieces')} of its texts"
        if self.n_kept_rows:
            held += f", and {count(self.n_kept_rows, 'row')} of it as landmarks"
        return held

    def __repr__(self) -> str:
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
                for label, count in list(self.class_counts.items())[:MANY]
            ]
            more = ", ..." if len(self.class_counts) > MANY else ""
            lines.append(f"{len(self.class_counts)} classes: {', '.join(shares)}{more}")
            lines.append(self.holdings)
        lines += [
            f"  {p.name:20} {p.content:50} {format_bytes(p.n_bytes):>9}" for p in self.parts[:MANY]
        ]
        if len(self.parts) > MANY:
            lines.append(f"  and {count(len(self.parts) - MANY, 'more part')}")
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
        *_count_labels(estimator),
        0 if step is None else step.count_kept_rows(),
        _count_words(estimator),
    )


def _count_labels(estimator: Any) -> tuple[int, int]:
    """Return the number of labels of features, and of those that few rows have."""
    encoder = vars(estimator).get("encoder_")
    rows = [
        n_rows
        for categories in getattr(encoder, "categories_", ())
        for label, n_rows in zip(categories.labels, categories.counts, strict=True)
        if label is not None
    ]
    return len(rows), sum(n_rows < RARE_ROWS for n_rows in rows)


def _count_words(estimator: Any) -> int:
    """Return the number of words and pieces of words of texts that a model knows."""
    encoder = vars(estimator).get("encoder_")
    forms, parts = getattr(encoder, "forms_", {}), getattr(encoder, "parts_", [])
    chosen = {(i, part) for i, part in parts if forms[i] == TEXT and part_labels(TEXT, part)}
    scored = {
        (i, word) for i, scores in getattr(encoder, "scores_", {}).items() for word in scores.words
    }
    return len(chosen | scored)


def changed_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that differ from their defaults."""
    own, defaults = estimator.get_params(deep=False), signature(type(estimator)).parameters
    return {
        name: value for name, value in own.items() if repr(value) != repr(defaults[name].default)
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
    state = states.get(stored_name(type(value)))
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


FEW_ROWS = 50
"""Classes with fewer rows are named among the limits."""


def write_card(model: Any) -> str:
    """Return the model card of an estimator as Markdown."""
    summary = summarise(model)
    sections = {
        f"# {summary.class_name}": _describe_model(model, summary),
        "## Training data": _describe_data(summary),
        "## Scores out of fold": _describe_scores(model),
        "## Features": _describe_features(summary),
        "## Limits": _describe_limits(summary),
        "## How to reproduce": _describe_call(model, summary),
    }
    texts = [f"{title}\n\n{text}" for title, text in sections.items() if text]
    return Document("\n\n".join(texts) + "\n", is_markdown=True)


def _describe_model(model: Any, summary: ModelSummary) -> str:
    doc = (type(model).__doc__ or "").strip().splitlines()
    lines = [doc[0] if doc else "", ""]
    lines += [
        f"- {part.name}: {part.content}, {format_bytes(part.n_bytes)}" for part in summary.parts
    ]
    return "\n".join([*lines, f"- size of all arrays: {format_bytes(summary.n_bytes)}"]).strip()


def _describe_data(summary: ModelSummary) -> str:
    if summary.n_rows is None:
        return "" if summary.parts else "The estimator has not learnt from rows."
    rows = [
        f"| {_cell(label)} | {count:,g} | {show_percent(count / max(summary.n_rows, 1e-300))} |"
        for label, count in summary.class_counts.items()
    ]
    head = f"{summary.n_rows:,g} rows of {len(summary.features)} features."
    return "\n".join([head, "", "| class | rows | share |", "|---|---:|---:|", *rows])


def _describe_scores(model: Any) -> str:
    if not hasattr(model, "encoder_"):
        return ""
    if not hasattr(model, "score_report"):
        return (
            "The model keeps no scores. `priorwise.evaluation.cross_validate` gives scores on rows "
            "that it has not seen."
        )
    report = model.score_report()
    rows = [
        f"| {line.name} | {line.rmse:.4f} | {line.log_loss:.4f} | {line.error:.4f} |"
        for line in report.lines
    ]
    return "\n".join(
        [
            f"On {report.n_rows:,} training rows, each judged by members that have not seen it; "
            "the last line is what the model gives.",
            "",
            f"| member | {RMSE} | {LOG_LOSS} | {ERROR} |",
            "|---|---:|---:|---:|",
            *rows,
        ]
    )


def _describe_features(summary: ModelSummary) -> str:
    if not summary.features:
        return ""
    rows = [
        f"| {_cell(column.name)} | {column.kind} | {_describe_values(column)} "
        f"| {show_percent(column.missing_share)} |"
        for column in summary.features
    ]
    return "\n".join(["| feature | kind | values | missing |", "|---|---|---|---:|", *rows])


def _describe_values(column: ColumnSchema) -> str:
    if column.labels is not None:
        shown = ", ".join(_cell(label) for label in column.labels[:SEVERAL])
        n_more = len(column.labels) - SEVERAL
        return f"{shown} and {n_more} more" if n_more > 0 else shown
    if column.least is None or column.largest is None:
        return "no dates" if column.kind == "date" else "no numbers"
    if column.kind == "date":
        return f"{show_date(column.least)} to {show_date(column.largest)}"
    return f"{column.least:.7g} to {column.largest:.7g}"


def _describe_limits(summary: ModelSummary) -> str:
    if summary.n_rows is None:
        return ""
    lines = [
        "- Probabilities hold for rows that come from where the training rows came from. "
        "`model.check(X)` compares a table with training.",
        "- If classes are more or less frequent elsewhere, give `predict_proba` a `class_prior`.",
        "- Numbers outside of the ranges above, and labels that are not listed, were never seen: "
        "the model answers by what it knows without them.",
        "- What a feature adds to a prediction is an association, not an effect.",
    ]
    rare = [_cell(label) for label, count in summary.class_counts.items() if count < FEW_ROWS]
    if rare:
        lines.append(f"- Few rows (less than {FEW_ROWS}) of the classes {', '.join(rare[:20])}.")
    gaps = [_cell(column.name) for column in summary.features if column.missing_share > 0.3]
    if gaps:
        lines.append(f"- More than 30 % of the values are missing in {', '.join(gaps[:20])}.")
    return "\n".join(lines)


def _describe_call(model: Any, summary: ModelSummary) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in summary.parameters.items())
    library, layer, *_ = type(model).__module__.split(".")
    package = library if layer == "models" else f"{library}.{layer}"
    code = f"```python\nfrom {package} import {summary.class_name}  # {version('priorwise')}\n\n"
    code += f"model = {summary.class_name}({given})\n"
    code += "model.fit(X, y)\n```" if hasattr(model, "encoder_") else "```"
    if getattr(model, "random_state", 0) is None:
        code += "\n\n`random_state` is None: another fit draws other random numbers."
    return code


def _cell(value: Any) -> str:
    """Return a value as text of a cell of a table."""
    return str(value).replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")[:60]
