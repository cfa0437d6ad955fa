"""Models in files: saved and read without pickle."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from priorwise import _core
from priorwise.common.container import ContainerError, from_bytes, read_entries, to_bytes
from priorwise.common.documents import Description, Listing
from priorwise.common.estimator import Estimator
from priorwise.common.files import check_regular_file, open_whole
from priorwise.common.records import Record
from priorwise.common.registered import full_name, is_of_library
from priorwise.common.stored.values import StateType, UnstorableError
from priorwise.counts import CountTree
from priorwise.counts.packed_trees import PackedTrees
from priorwise.data.encoding import stored_encoder
from priorwise.data.encoding.schema import UnseenWatch
from priorwise.data.tables.label_keys import MarkKeys
from priorwise.steps.linear.logistic import PiecewiseScore

CORE = (CountTree, PackedTrees, PiecewiseScore, _core.FactorProduct, _core.SparseNodeRows)
"""Classes of the core whose constructors check their arguments."""
WIDENING = (PackedTrees, _core.FactorProduct)
"""Those whose arguments are arrays that the constructor widens."""
NOT_STORED = frozenset({"_metadata_request", "_sklearn_output_config"})
"""Attributes that are no part of what was learnt."""


def list_states() -> dict[str, StateType]:
    """Return all classes that a model file may hold, by their names there.

    They are those of this library, and estimators and steps that the program has defined itself or
    imported; those have their full names, so that none takes the place of another.
    """
    records: Mapping[str, Any] = Record.kinds
    estimators: Mapping[str, Any] = Estimator.kinds
    return {
        **stored_encoder.STATES,
        **{kind.__name__: _core_state(kind) for kind in CORE},
        **{
            name: StateType(kind, kind.to_stored, kind.from_stored)
            for name, kind in records.items()
        },
        **{name: _estimator_state(kind) for name, kind in estimators.items()},
        "RandomState": StateType(
            np.random.RandomState, lambda one: list(one.get_state(legacy=True)), _restore_random
        ),
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

    return StateType(kind, to_fields, from_fields, widens=kind in WIDENING)


def _restore_random(stored: Any) -> np.random.RandomState:
    generator = np.random.RandomState(0)
    generator.set_state(tuple(stored))
    return generator


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
                zip(names, encoder.is_nominal_[:n_features].tolist(), strict=True)
            )
        ]
    if n_classes <= MAX_FEATURES:
        entries["classes"] = _list_plain(model.classes_.tolist())
    return entries


def _describe_feature(name: Any, labels: list[Any] | None, i: int, encoder: Any) -> dict[str, Any]:
    kind = "numeric" if labels is None else "nominal"
    if labels is None and i in encoder.orders_:
        kind, labels = "ordered", encoder.orders_[i].labels
    if i in encoder.forms_:
        kind = encoder.schema_[i].kind
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


KIND = "model"
COPIED_TYPES = (UnseenWatch, MarkKeys, frozenset)
"""Types inside estimators that a model file has no need to name."""


def save_model(model: Any, path: str | os.PathLike[str], *, compress: bool = False) -> None:
    """Write an estimator to a file, as `priorwise.load` reads it."""
    states = list_states()
    try:
        about = describe_estimator(model)
        content = to_bytes(
            model, kind=KIND, states=states, about=about, pack=True, compress=compress
        )
    except UnstorableError as error:
        raise TypeError(
            f"{type(model).__name__} cannot be saved: {error}. A file holds plain values and "
            "objects of classes of priorwise, or derived from these: save a model that has others "
            "with joblib or skops"
        ) from error
    with open_whole(path, "the model") as file:
        file.write(content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that its method `save` has written.

    No code in the file is run, and no class can be built but those of this library that a file may
    hold. A model with a class of your own, such as a smoother, can be read once the program has
    imported the module of that class: nothing is imported because a file names it. Sizes, indices
    and numbers are checked before they are used. The model gives the same probabilities, bit for
    bit, as the one that was saved.

    Parameters
    ----------
    path : path
        A file written by `save`. Its arrays are mapped into memory where that is possible: leave
        the file as it is while the model is in use. To replace it is safe, since `save` writes a
        new file.

    Returns
    -------
    estimator
        The estimator, fitted or not as it was saved.

    Raises
    ------
    ValueError
        If the file is damaged, forged, of a newer format, or has a class of your own that is not
        imported; the message says which file and why.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import priorwise
    >>> model = priorwise.NaiveBayesClassifier().fit([["sun"], ["rain"]], ["out", "in"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "weather.priorwise"
    >>> model.save(path)
    >>> priorwise.load(path).predict([["sun"]])
    array(['out'], dtype='<U3')
    """
    check_regular_file(path)
    with open(path, "rb") as file:
        if os.name == "nt" or os.fstat(file.fileno()).st_size == 0:
            # A file that is mapped cannot be replaced there.
            content: Any = bytearray(file.read())
        else:
            # A private map: writing to an array changes neither the file nor another model.
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    with np.errstate(all="ignore"):
        return from_bytes(
            content, kind=KIND, states=list_states(), source=str(path), describe=_describe
        )


def _describe(model: Any) -> dict[str, Any]:
    if not hasattr(model, "get_params"):
        raise ValueError("the file holds no estimator")
    return describe_estimator(model)


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a model file says of itself, without reading the model.

    Takes the same short time for every size of file, and reads files of formats that `load` does
    not know. Nothing is checked against the content: `load` does that.

    Parameters
    ----------
    path : path
        A file written by `save`.

    Returns
    -------
    dict of str to object
        ``format``, the number of the file format; ``version`` of priorwise that wrote the file;
        ``class``, the name of the estimator's class; ``parameters``, of which those that are no
        numbers or texts are described by their class; ``crc32``, the checksum. For a fitted
        classifier ``n_features`` and ``n_classes``; ``features``, a dictionary for each with its
        ``name``, its ``kind`` (``"nominal"``, ``"numeric"`` or ``"ordered"``), its number of
        categories ``n_categories`` and its ``categories``, None for missing, if there are at most
        100; and ``classes``. Features and classes are left out if there are more than 1,000. For
        a compressed file ``packed``, the method, and ``size``, its bytes once unpacked.

    Raises
    ------
    ValueError
        If the file is no model file; the message says which file and why.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import priorwise
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "weather.priorwise"
    >>> priorwise.NaiveBayesClassifier().save(path)
    >>> priorwise.read_header(path)["class"]
    'NaiveBayesClassifier'
    """
    check_regular_file(path)
    with open(path, "rb") as file:
        header = read_entries(file, source=str(path))
    if header.pop("kind", None) != KIND:
        raise ContainerError("the file holds no model", str(path))
    return Description(header)


def list_trusted_types() -> list[str]:
    """Return the names of all types that estimators of this library are made of, for skops.

    `skops.io.load` builds nothing but types that it is told to trust. These are safe: to build
    them runs no code of the file. Do not trust all names that begin with ``priorwise.`` instead: a
    forged file could name functions that modules of this library import.

    Returns
    -------
    list of str
        Names of modules and classes, in ascending order.

    Examples
    --------
    >>> "priorwise.models.pool.priorwise.PriorwiseClassifier" in list_trusted_types()
    True
    """
    own = {
        state.type
        for state in list_states().values()
        if is_of_library(state.type) or state.type is np.random.RandomState
    }
    return Listing(sorted(map(full_name, own.union(COPIED_TYPES))))
