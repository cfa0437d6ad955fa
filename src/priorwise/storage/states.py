"""How what an estimator consists of is stored: records, objects of the core, estimators."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from priorwise import _core
from priorwise.common.estimator import Estimator
from priorwise.common.records import Record
from priorwise.common.stored.values import StateType, UnstorableError
from priorwise.counts import CountTree
from priorwise.counts.packed_trees import PackedTrees
from priorwise.data.encoding import stored_encoder
from priorwise.steps.linear.logistic import PiecewiseScore

CORE = (CountTree, PackedTrees, PiecewiseScore, _core.FactorProduct, _core.SparseNodeRows)
"""Classes of the core whose constructors check their arguments."""
WIDENING = (PackedTrees, _core.FactorProduct)
"""Those whose arguments are arrays that the constructor widens."""
NOT_STORED = frozenset({"_metadata_request", "_sklearn_output_config"})
"""Attributes that are no part of what was learnt."""


def list_states() -> dict[str, StateType]:
    """Return all classes that a model file may hold, by their names."""
    records: Mapping[str, Any] = Record.kinds
    estimators: Mapping[str, Any] = Estimator.kinds
    return {
        **stored_encoder.STATES,
        **{kind.__name__: _core_state(kind) for kind in CORE},
        **{name: _record_state(kind) for name, kind in records.items()},
        **{name: _estimator_state(kind) for name, kind in estimators.items()},
        "RandomState": StateType(np.random.RandomState, _store_random, _restore_random),
    }


@cache
def _core_state(kind: Any) -> StateType:
    """Store an object of the core as the arguments of its constructor, which checks them."""

    def to_fields(structure: Any) -> list[Any]:
        return list(structure.__reduce__()[1])

    def from_fields(stored: Any) -> Any:
        if not isinstance(stored, list):
            raise ValueError(f"a {kind.__name__} is stored as a list")
        return kind(*stored)

    return StateType(kind, to_fields, from_fields, widens=kind in WIDENING)


@cache
def _record_state(kind: Any) -> StateType:
    return StateType(kind, kind.to_stored, kind.from_stored)


@cache
def _estimator_state(kind: Any) -> StateType:
    """Store an estimator as its parameters and the fitted attributes that `learnt` lists."""

    def to_fields(estimator: Any) -> dict[str, Any]:
        parameters = estimator.get_params(deep=False)
        learnt = {
            name: value
            for name, value in estimator.__getstate__().items()
            if name not in parameters and name not in NOT_STORED
        }
        for name in learnt:
            if name not in kind.learnt:
                raise UnstorableError(
                    f"a {kind.__name__} has an attribute {name!r} that is none of its own: "
                    "delete it"
                )
        return {"parameters": parameters, "fitted": learnt}

    def from_fields(stored: Any) -> Any:
        parameters, learnt = stored["parameters"], stored["fitted"]
        if not isinstance(parameters, dict) or not isinstance(learnt, dict):
            raise ValueError(f"a {kind.__name__} must have parameters and attributes")
        for name, value in learnt.items():
            if name not in kind.learnt:
                raise ValueError(f"a {kind.__name__} has no attribute {name!r:.40}")
            if not isinstance(value, kind.learnt[name]):
                raise TypeError(
                    f"{name} of a {kind.__name__} must not be of type {type(value).__name__}"
                )
        estimator = kind(**parameters)
        if learnt:
            estimator.__setstate__({**vars(estimator), **learnt})
            estimator.check_learnt()
        return estimator

    return StateType(kind, to_fields, from_fields)


def _store_random(generator: np.random.RandomState) -> list[Any]:
    return list(generator.get_state(legacy=True))


def _restore_random(stored: Any) -> np.random.RandomState:
    generator = np.random.RandomState(0)
    generator.set_state(tuple(stored))
    return generator
