"""What a network, a product of packed factors, says of coded rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.counts.factor import Codes

Floats = NDArray[np.float64]


def log_joint(product: _core.FactorProduct, codes: Codes, n_threads: int = 1) -> Floats:
    """Return log p(class, features of the row), of shape (n_rows, n_classes)."""
    return _core.predict_joint(product, codes, False, n_threads)


def class_proba(product: _core.FactorProduct, codes: Codes, n_threads: int = 1) -> Floats:
    """Return p(class | features of the row), of shape (n_rows, n_classes)."""
    return _core.predict_joint(product, codes, True, n_threads)


def log_terms(product: _core.FactorProduct, codes: Codes, n_threads: int = 1) -> Floats:
    """Return log p(feature | class, parents), of shape (n_rows, n_features, n_classes).

    The terms of features that the network does not use are zero.
    """
    terms = np.zeros((len(codes[0]), len(codes), len(product.log_prior)))
    for place, feature in enumerate(product.column.tolist()):
        terms[:, feature] = log_joint(_core.take_factor(product, place), codes, n_threads)
    return terms
