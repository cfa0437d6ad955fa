"""Models in files: saved and read without pickle."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from priorwise.common.container import ContainerError, from_bytes, read_entries, to_bytes
from priorwise.common.files import check_regular_file, open_whole
from priorwise.common.stored.values import UnstorableError
from priorwise.data.encoding.schema import UnseenWatch
from priorwise.data.tables.label_keys import MarkKeys
from priorwise.storage.header_entries import describe_estimator
from priorwise.storage.states import list_states

KIND = "model"
COPIED_TYPES = (UnseenWatch, MarkKeys, frozenset)
"""Types inside estimators that a model file has no need to name."""


def save_model(model: Any, path: str | os.PathLike[str], *, compress: bool = False) -> None:
    """Write an estimator of this library to a file, as `priorwise.load` reads it."""
    states = list_states()
    if not any(state.type is type(model) for state in states.values()):
        raise TypeError(
            f"{type(model).__name__} cannot be saved: it is no class of priorwise that a file may "
            "hold; save an object of a class of your own with joblib or skops"
        )
    try:
        about = describe_estimator(model)
        content = to_bytes(
            model, kind=KIND, states=states, about=about, pack=True, compress=compress
        )
    except UnstorableError as error:
        raise TypeError(
            f"{type(model).__name__} cannot be saved: {error}. A file holds estimators of "
            "priorwise and plain values alone: save a pool of other classifiers with joblib or "
            "skops, or pool classifiers of priorwise"
        ) from error
    with open_whole(path, "the model") as file:
        file.write(content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that its method `save` has written.

    No code in the file is run, and no class can be built but those of this library that a file may
    hold. Sizes, indices and numbers are checked before they are used. The model gives the same
    probabilities, bit for bit, as the one that was saved.

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
        If the file is damaged, forged, or of a newer format; the message says which file and why.

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
    return header


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
    types = {*COPIED_TYPES, *(state.type for state in list_states().values())}
    return sorted(f"{one.__module__}.{one.__qualname__}" for one in types)
