"""Other tools that store models."""

import numpy as np
import pytest

import priorwise
from contract.rows.tables import mixed
from priorwise import smoothing


def test_skops_stores_an_estimator_that_is_not_fitted() -> None:
    io = pytest.importorskip("skops.io")
    content = io.dumps(priorwise.KDBClassifier(2, smoothing=smoothing.HDP()))
    types = io.get_untrusted_types(data=content)
    assert sorted(types) == [
        "priorwise.models.networks.kdb.KDBClassifier",
        "priorwise.smoothing.hdp.HDP",
    ]
    X, y = mixed()
    proba = io.loads(content, trusted=types).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(proba, priorwise.KDBClassifier(2).fit(X, y).predict_proba(X))
