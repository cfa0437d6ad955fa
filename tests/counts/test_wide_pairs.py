"""Structures of wide tables are those of all pairs at once, which are the slow twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from priorwise import ESKDBClassifier, KDBClassifier, TANClassifier
from priorwise.counts import CodedRows, WideInformation, measure_information
from priorwise.models.networks import table_rows
from priorwise.structure.networks import (
    learn_kdb,
    learn_tan,
)

WEIGHTS = ["none", "whole", "large", "real"]


def draw_rows(rng: np.random.Generator, weights: str, *, max_arity: int) -> CodedRows:
    """Coded rows with many ties between pairs; every second feature has missing values."""
    n_rows, n_features, n_classes = 90, 25, 3
    arities = rng.integers(1, max_arity + 1, n_features).astype(np.int32)
    arities[[3, 4, 6]] = 700
    columns = [rng.integers(-(i % 2), arity, n_rows) for i, arity in enumerate(arities)]
    weight: Any = {
        "none": None,
        "whole": rng.integers(0, 3, n_rows),
        "large": rng.integers(0, 90, n_rows),
        "real": rng.uniform(0.0, 2.0, n_rows),
    }[weights]
    y = rng.integers(0, n_classes, n_rows).astype(np.int32)
    return CodedRows([c.astype(np.int32) for c in columns], arities, y, n_classes, weight)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("max_arity", [3, 40])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_structures_without_a_table_of_pairs_are_those_of_the_table(
    rng: np.random.Generator, weights: str, max_arity: int, n_threads: int
) -> None:
    rows = draw_rows(rng, weights, max_arity=max_arity)
    kept = measure_information(
        np.asarray(rows.columns), rows.y, rows.arities, rows.n_classes, rows.weight
    )
    wide = WideInformation(rows, rows.weight, n_threads=n_threads)
    np.testing.assert_array_equal(wide.mutual, kept.mutual)
    np.testing.assert_array_equal(wide.n_seen, kept.n_seen)
    np.testing.assert_array_equal(wide.conditional, kept.conditional)
    assert learn_tan(wide) == learn_tan(kept)
    order = rng.permutation(rows.n_features)
    for max_parents in (0, 1, 4, 100):
        expected = learn_kdb(kept, max_parents)
        assert learn_kdb(wide, max_parents) == expected
        for some in (order, order[:3]):
            expected = learn_kdb(kept, max_parents, subtract_bias=True, order=some)
            network = learn_kdb(wide, max_parents, subtract_bias=True, order=some)
            assert network == expected
            assert network.order == tuple(some.tolist())


@pytest.mark.parametrize(
    "model", [KDBClassifier(2), TANClassifier(), ESKDBClassifier(3, random_state=0)], ids=str
)
@pytest.mark.parametrize("missing", ["value", "ignore"])
def test_a_wide_table_gives_the_model_of_all_pairs(
    model: KDBClassifier, missing: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = clone(model).set_params(missing=missing)
    X, y = rng.normal(size=(40, 60)).round(1), rng.integers(0, 2, 40)
    X[:, ::3] += y[:, None]
    X[rng.random(X.shape) < 0.1] = np.nan
    wide = model.fit(X, y).predict_proba(X)

    def keep_pairs(rows: CodedRows, weight: Any, **options: Any) -> Any:
        columns = np.asarray(rows.columns)
        return measure_information(columns, rows.y, rows.arities, rows.n_classes, weight)

    monkeypatch.setattr(table_rows, "measure_rows", keep_pairs)
    np.testing.assert_array_equal(model.fit(X, y).predict_proba(X), wide)
