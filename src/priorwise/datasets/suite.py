"""Named collections of data sets, downloaded by OpenML number."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.documents import Catalogue, Collection
from priorwise.common.validation import check_choice


def _read_suites() -> Mapping[str, Mapping[str, int]]:
    """Read `suites.csv`, which has a line for each data set of each suite."""
    suites: dict[str, dict[str, int]] = {}
    lines = files(__package__).joinpath("suites.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(lines):
        suites.setdefault(row["suite"], {})[row["name"]] = int(row["number"])
    return Catalogue({name: Catalogue(suite) for name, suite in suites.items()})


SUITES = _read_suites()
"""OpenML numbers of the data sets of each suite, by name.

>>> sorted(SUITES)
['uci', 'weka36']
"""

_OPENML_NAMES = {"anneal.ORIG": "anneal", "colic.ORIG": "colic", "credit-a": "credit-approval"}
"""Names on OpenML of data sets that have another name in a suite."""


@dataclass(frozen=True)
class OpenMLDataset:
    """A data set of OpenML, downloaded when first called: ``dataset()`` returns ``(X, y)``.

    Needs pandas. Raises a ValueError if OpenML has another name for this number.

    Parameters
    ----------
    number : int
        Number of the data set on OpenML.
    name : str
        Name of the data set on OpenML.
    cache : str, optional
        Folder that downloaded files are kept in; by default scikit-learn's data home.

    Examples
    --------
    >>> iris = OpenMLDataset(61, "iris")  # ``X, y = iris()`` downloads it
    >>> iris.name
    'iris'
    """

    number: int
    name: str
    cache: str | None = None

    def __call__(self) -> tuple[Any, NDArray[Any]]:
        from sklearn.datasets import fetch_openml

        try:
            bunch = fetch_openml(data_id=self.number, data_home=self.cache, as_frame=True)
        except ImportError as error:
            raise ImportError(
                "downloading from OpenML needs pandas: pip install priorwise[pandas]"
            ) from error
        if bunch.details["name"] != self.name:
            raise ValueError(
                f"OpenML number {self.number} must be the data set {self.name!r}, "
                f"got {bunch.details['name']!r}"
            )
        present = bunch.target.notna().to_numpy()
        return bunch.data[present], np.asarray(bunch.target[present], dtype=object)


def fetch_suite(
    name: str, *, cache: str | os.PathLike[str] | None = None
) -> dict[str, OpenMLDataset]:
    """Data sets of a suite, each downloaded from OpenML when it is first called, and cached.

    The name of a data set is checked, but not its version.

    Parameters
    ----------
    name : {"uci", "weka36"}
        Name of the suite: 35 data sets of UCI, or the 36 of Weka's distribution.
    cache : path, optional
        Folder that downloaded files are kept in; by default scikit-learn's data home.

    Returns
    -------
    dict of str to OpenMLDataset
        By name; ``dataset()`` returns ``(X, y)``.

    Examples
    --------
    >>> suite = fetch_suite("weka36")
    >>> len(suite), suite["iris"].number
    (36, 61)
    """
    check_choice("name", name, sorted(SUITES))
    home = None if cache is None else os.fspath(cache)
    return Collection(
        (key, OpenMLDataset(number, _OPENML_NAMES.get(key, key), home))
        for key, number in SUITES[name].items()
    )
