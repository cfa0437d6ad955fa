"""XGBoost with its defaults: 100 rounds, native categorical features."""

from __future__ import annotations

from typing import Any


def make(n_jobs: int) -> Any:
    try:
        import xgboost
    except ImportError as error:
        raise ImportError("this benchmark needs xgboost: pip install xgboost") from error
    return xgboost.XGBClassifier(n_jobs=n_jobs, enable_categorical=True)
