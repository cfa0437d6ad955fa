"""Fitted classifiers as programs."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from priorwise.steps.programs.layout import Layout, refuse_model
from priorwise.steps.programs.program import Program


def lay_out_model(model: Any, *, inner_rows: bool = False, plain_records: bool = False) -> Program:
    """Return the program of a fitted classifier; trees have rows of inner nodes if asked for.

    With `plain_records`, steps that have no layout are records of their fields; else a TypeError.
    TypeError, which names the classifier, if there is none: only classifiers of this library and
    pools of them have one.
    """
    step = getattr(model, "step_", None)
    if step is None and hasattr(model, "fit_table"):
        check_is_fitted(model)
    if step is None:
        raise refuse_model(type(model).__name__)
    names = model.feature_labels_
    layout = Layout(model.encoder_, names, inner_rows=inner_rows, plain_records=plain_records)
    root = step.lay_out(layout)
    return Program(model.classes_.tolist(), [str(name) for name in names], layout.readers, root)
