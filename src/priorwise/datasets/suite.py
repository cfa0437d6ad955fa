"""Named collections of data sets, downloaded by OpenML number."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.validation import check_choice

_WEKA36 = {
    **{"anneal.ORIG": 2, "anneal": 1, "audiology": 7, "autos": 9, "balance-scale": 11},
    **{"breast-cancer": 13, "breast-w": 15, "colic.ORIG": 25, "colic": 27, "credit-a": 29},
    **{"credit-g": 31, "diabetes": 37, "glass": 41, "heart-c": 49, "heart-h": 51},
    **{"heart-statlog": 53, "hepatitis": 55, "hypothyroid": 57, "ionosphere": 59, "iris": 61},
    **{"kr-vs-kp": 3, "labor": 4, "letter": 6, "lymph": 10, "mushroom": 24},
    **{"primary-tumor": 171, "segment": 36, "sick": 38, "sonar": 40, "soybean": 42},
    **{"splice": 46, "vehicle": 54, "vote": 56, "vowel": 307, "waveform-5000": 60, "zoo": 62},
}
_UCI = {
    **{"audiology": 7, "balance-scale": 11, "breast-w": 15, "car": 21, "cmc": 23},
    **{"credit-g": 31, "diabetes": 37, "ecoli": 39, "heart-statlog": 53, "hepatitis": 55},
    **{"ionosphere": 59, "iris": 61, "kr-vs-kp": 3, "letter": 6, "mfeat-fourier": 14},
    **{"mushroom": 24, "nursery": 26, "page-blocks": 30, "pendigits": 32, "sonar": 40},
    **{"splice": 46, "tic-tac-toe": 50, "vehicle": 54, "vote": 56, "waveform-5000": 60},
    **{"zoo": 62, "bank-marketing": 1461, "banknote-authentication": 1462, "cnae-9": 1468},
    **{"eeg-eye-state": 1471, "ilpd": 1480, "phoneme": 1489, "qsar-biodeg": 1494},
    **{"wall-robot-navigation": 1497, "wdbc": 1510},
}
SUITES: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {"uci": MappingProxyType(_UCI), "weka36": MappingProxyType(_WEKA36)}
)
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
    return {
        key: OpenMLDataset(number, _OPENML_NAMES.get(key, key), home)
        for key, number in SUITES[name].items()
    }
