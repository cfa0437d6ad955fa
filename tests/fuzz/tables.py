"""Fuzz target: the public classifiers on odd tables, and on changed tables to predict.

A table is learnt from and answered by finite probabilities that sum to one, or it is refused for
what is named; a changed table, with other columns or types, is answered or refused.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from contract.laws import assert_valid
from contract.rows.odd_tables import COLUMNS, make_odd_table
from contract.settings import BY_NAME, TargetLast
from fuzz.outcomes import attempt


def case(seed: int, index: int) -> str:
    """Learn from one table, and return "accepted" or the name of the exception."""
    rng = np.random.default_rng([seed, index])
    name = sorted(BY_NAME)[index % len(BY_NAME)]
    setting = BY_NAME[name]
    table = make_odd_table.__wrapped__(int(rng.integers(2**62)))  # which keeps no table
    is_label = isinstance(setting.model, TargetLast) and table.refusal == "infinity"
    refusal = "" if is_label else table.refusal
    if name == "KDB Gibbs" and table.weight is not None and np.any(table.weight % 1.0 != 0.0):
        refusal = refusal or "whole counts"
    options = {} if table.weight is None else {"sample_weight": table.weight}
    fitted: list[Any] = []
    with warnings.catch_warnings(action="ignore"):
        outcome = attempt(
            lambda: fitted.append(setting.fit(table.X, table.y, **options)),
            ValueError,
            naming=refusal,
        )
        if not fitted:
            assert refusal, "an odd table was refused that is none of those to refuse"
            return outcome
        assert not refusal, f"the table was accepted in spite of {refusal}"
        check(fitted[0], table.X)
        changed = change_table(table.X, rng)
        return attempt(lambda: check(fitted[0], changed), ValueError, TypeError)


def check(model: Any, X: Any) -> None:
    """Probabilities are those of valid rows."""
    proba = model.predict_proba(X)
    assert proba.shape == (len(X), len(model.classes_))
    assert_valid(proba)


def change_table(X: pd.DataFrame, rng: np.random.Generator) -> Any:
    """A table to predict: other rows, columns, names or types than those learnt from."""
    way = int(rng.integers(8))
    n_rows = int(rng.choice([0, 1, 2, 7]))
    name = str(rng.choice(list(X.columns)))
    if way == 0:
        return X.iloc[:n_rows]
    if way == 1:
        return X.drop(columns=name)
    if way == 2:
        return X.rename(columns={name: "another name"})
    if way == 3:
        return X.to_numpy()
    if way == 4:
        return X.iloc[::-1].reset_index(drop=True).astype(object)
    if way == 5 and not any(X[column].dtype == object for column in X):
        return pl.from_pandas(X)
    values = COLUMNS[str(rng.choice(list(COLUMNS)))](rng, len(X))
    return X.assign(**{name: values})
