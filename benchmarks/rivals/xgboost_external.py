"""XGBoost with external memory: batches go to a cache on disk, and trees are grown from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.data.encoding import TableEncoder
from priorwise.data.sources import Source

N_ROUNDS = 100


def train(
    source: Source, encoder: TableEncoder, classes: NDArray[Any], cache: str, n_jobs: int
) -> Any:
    """A booster with the defaults of XGBoost: 100 rounds of histogram trees of depth 6.

    The encoder says what codes nominal values have; it is fitted on a few batches, as XGBoost
    needs the codes beforehand.
    """
    try:
        import xgboost
    except ImportError as error:
        raise ImportError("this benchmark needs xgboost: pip install xgboost") from error

    class Batches(xgboost.DataIter):
        def __init__(self) -> None:
            self.batches: Iterator[Any] = iter(())
            super().__init__(cache_prefix=cache)

        def reset(self) -> None:
            self.batches = source.read()

        def next(self, input_data: Any) -> bool:
            batch = next(self.batches, None)
            if batch is None:
                return False
            input_data(
                data=as_matrix(encoder, batch.X),
                label=np.searchsorted(classes, batch.y),
                feature_types=["c" if nominal else "q" for nominal in encoder.is_nominal_],
            )
            return True

    data = xgboost.ExtMemQuantileDMatrix(Batches(), enable_categorical=True, nthread=n_jobs)
    binary = len(classes) == 2
    options = {"objective": "binary:logistic"} if binary else {"objective": "multi:softprob"}
    if not binary:
        options["num_class"] = str(len(classes))
    return xgboost.train(
        {"tree_method": "hist", "nthread": n_jobs, **options}, data, num_boost_round=N_ROUNDS
    )


def predict(booster: Any, encoder: TableEncoder, X: Any) -> NDArray[np.float64]:
    """Probabilities of the classes."""
    proba = np.asarray(booster.inplace_predict(as_matrix(encoder, X)), dtype=np.float64)
    if proba.ndim == 1:
        return np.column_stack([1 - proba, proba])
    return np.asarray(proba / proba.sum(axis=1, keepdims=True))


def as_matrix(encoder: TableEncoder, X: Any) -> NDArray[np.float32]:
    """Labels as codes and numbers as they are, NaN where missing or unknown."""
    columns = encoder.read(X)
    matrix = np.empty((columns.n_rows, len(encoder.is_nominal_)), dtype=np.float32)
    codes = columns.nominal_codes.T.astype(np.float32)
    codes[codes < 0] = np.nan
    matrix[:, encoder.is_nominal_] = codes
    matrix[:, ~encoder.is_nominal_] = columns.values.T
    return matrix
