"""How estimators and structures of the core are stored: the parts that all classes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

from priorwise.common.stored.checks import require
from priorwise.common.stored.values import StateType, UnstorableError
from priorwise.models.base import TableClassifier

Types = dict[str, Any]
"""The type, or types, of each fitted attribute."""
FITTED_NAMES = "_fitted_names"
"""Attribute of a classifier that lists the fitted ones, which the next `fit` forgets."""
NOT_STORED = frozenset({FITTED_NAMES, "_metadata_request", "_sklearn_output_config"})
"""Attributes that are no part of what was learnt."""


def bound_state(cls: Any, *, takes_narrow: bool = False) -> StateType:
    """Store an object of the core as the arguments of its constructor, which checks them."""

    def to_fields(structure: Any) -> list[Any]:
        return list(structure.__reduce__()[1])

    def from_fields(stored: Any) -> Any:
        require(isinstance(stored, list), f"a {cls.__name__} is stored as a list")
        return cls(*stored)

    return StateType(cls, to_fields, from_fields, takes_narrow)


def estimator_state(
    cls: Any, fitted: Types | None = None, check: Callable[[Any], object] | None = None
) -> StateType:
    """Store an estimator as its parameters and the fitted attributes that `fitted` lists.

    When an estimator is read, its attributes must be of the types listed, and `check`, which is
    called for fitted ones, raises if they do not fit together.
    """
    types = fitted or {}

    def to_fields(estimator: Any) -> dict[str, Any]:
        parameters = estimator.get_params(deep=False)
        learnt = {
            name: value
            for name, value in estimator.__getstate__().items()
            if name not in parameters and name not in NOT_STORED
        }
        for name in learnt:
            if name not in types:
                raise UnstorableError(
                    f"a {cls.__name__} has an attribute {name!r} that is none of its own: delete it"
                )
        return {"parameters": parameters, "fitted": learnt}

    def from_fields(stored: Any) -> Any:
        parameters, learnt = stored["parameters"], stored["fitted"]
        require(isinstance(parameters, dict) and isinstance(learnt, dict), "it has no attributes")
        for name, value in learnt.items():
            require(isinstance(name, str), "attributes must have names")
            if name not in types:
                raise ValueError(f"a {cls.__name__} has no attribute {name!r:.40}")
            if not isinstance(value, types[name]):
                raise TypeError(
                    f"{name} of a {cls.__name__} must not be of type {type(value).__name__}"
                )
        estimator: BaseEstimator = cls(**parameters)
        if learnt:
            names = {FITTED_NAMES: tuple(learnt)} if issubclass(cls, TableClassifier) else {}
            estimator.__setstate__({**vars(estimator), **learnt, **names})
            if check is not None:
                check(estimator)
        return estimator

    return StateType(cls, to_fields, from_fields)
