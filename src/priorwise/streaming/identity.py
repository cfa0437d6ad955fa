"""Identity of a piece of work: the data, the model and its parameters."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from priorwise.data.sources import Source


def identify_work(model: Any, source: Source, limits: list[Any]) -> str:
    """Return a digest of all that the states of passes depend on.

    `model` holds the name and the parameters of a model, nested in lists, tuples and dictionaries;
    TypeError if one cannot be identified, such as a function without a name.
    """
    described = [_describe(model), source.fingerprint(), _describe(limits)]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()


def _describe(value: Any) -> Any:
    """JSON that is equal for equal parameters only."""
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if value is None or isinstance(value, bool | int | str):
        return [name, value]
    if isinstance(value, float):
        return [name, repr(value)]
    if isinstance(value, list | tuple):
        return [name, [_describe(item) for item in value]]
    if isinstance(value, dict):
        return [name, [[_describe(key), _describe(item)] for key, item in value.items()]]
    if isinstance(value, np.random.RandomState):
        return [name, _describe(value.get_state(legacy=True))]
    if isinstance(value, np.ndarray | np.generic):
        return [name, value.dtype.str, _describe(value.tolist())]
    if hasattr(value, "get_params"):
        # The parameters of an estimator are listed by their own names.
        return [name]
    if is_dataclass(value) and not isinstance(value, type):
        return [name, [_describe(getattr(value, field.name)) for field in fields(value)]]
    if isinstance(value, type) or inspect.isroutine(value):
        place = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', '<')}"
        if "<" not in place:
            return [name, place]
    elif hasattr(value, "tolist"):
        return [name, _describe(value.tolist())]
    raise TypeError(
        f"checkpoint needs parameters that can be identified, got one of type {name}: {value!r:.80}"
    )
