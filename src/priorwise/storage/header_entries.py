"""What the header of a model file says of an estimator, for people and other programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

MAX_LABELS, MAX_FEATURES = 100, 1000
"""A feature with more labels, or a model with more features or classes, is not listed."""
_PLAIN = frozenset({type(None), bool, int, str})


def describe_estimator(model: Any) -> dict[str, Any]:
    """Return class, parameters, features and classes of an estimator as plain values.

    A parameter that is no plain value is described by its class. Features have names, kinds and, if
    they are nominal, categories, of which None is missing.
    """
    parameters = model.get_params(deep=False)
    entries = {
        "class": type(model).__name__,
        "parameters": {name: _to_plain(parameters[name]) for name in sorted(parameters)},
    }
    if {"encoder_", "classes_"} <= vars(model).keys():
        entries |= _describe_table(model)
    return entries


def _describe_table(model: Any) -> dict[str, Any]:
    encoder = model.encoder_
    n_features, n_classes = int(encoder.n_features_in_), len(model.classes_)
    entries: dict[str, Any] = {"n_features": n_features, "n_classes": n_classes}
    if n_features <= MAX_FEATURES:
        categories = iter(encoder.categories_)
        names = getattr(encoder, "feature_names_in_", np.arange(n_features)).tolist()
        entries["features"] = [
            _describe_feature(name, next(categories).labels if nominal else None, i, encoder)
            for i, (name, nominal) in enumerate(
                zip(names, encoder.is_nominal_.tolist(), strict=True)
            )
        ]
    if n_classes <= MAX_FEATURES:
        entries["classes"] = _list_plain(model.classes_.tolist())
    return entries


def _describe_feature(name: Any, labels: list[Any] | None, i: int, encoder: Any) -> dict[str, Any]:
    kind = "numeric" if labels is None else "nominal"
    if labels is None and i in encoder.orders_:
        kind, labels = "ordered", encoder.orders_[i].labels
    entry: dict[str, Any] = {"name": name, "kind": kind}
    if labels is not None:
        entry["n_categories"] = len(labels)
        if len(labels) <= MAX_LABELS:
            entry["categories"] = _list_plain(labels)
    return entry


def _list_plain(labels: list[Any]) -> list[Any]:
    """Return labels, of which those that JSON does not know are written as text."""
    if _PLAIN.issuperset(map(type, labels)):
        return labels
    return [label if _is_plain(label) else str(label) for label in labels]


def _is_plain(value: Any) -> bool:
    return type(value) in _PLAIN or (type(value) is float and math.isfinite(value))


def _to_plain(value: Any) -> Any:
    """Return a value that JSON gives back: what is none is described by its class."""
    if _is_plain(value):
        return value
    if isinstance(value, list | tuple) and len(value) <= MAX_LABELS:
        return [_to_plain(one) for one in value]
    return str(value) if type(value) is float else type(value).__name__
