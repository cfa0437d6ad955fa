"""Model files that were written once, and what the models in them predict.

    PYTHONPATH=tests python -m storage.golden_files

writes a file of the present format for each family that has none yet. Files that are there are
never written again: they show that files of released formats stay readable. Run it where zstandard
is not installed: one file is compressed, and every installation must be able to read it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import priorwise
from priorwise.common.container import FORMAT

FOLDER = Path(__file__).parent / "golden"


def training_rows() -> tuple[pd.DataFrame, NDArray[Any]]:
    """Labels, numbers, booleans and missing values, computed without random numbers."""
    place = np.arange(60)
    y = place % 3
    frame = pd.DataFrame(
        {
            "colour": np.array(["red", "blue", "grün", None], dtype=object)[(y + place // 7) % 4],
            "size": np.where(place % 11 == 0, np.nan, y + (place * 37 % 20) / 10.0),
            "open": (place // 2 + y) % 2 == 0,
            "age": 20 + (place * 17 + 9 * y) % 45,
        }
    )
    return frame, np.array(["no", "perhaps", "yes"])[y]


def rows_to_predict() -> pd.DataFrame:
    """Rows of training, and rows with unseen and missing values."""
    frame = training_rows()[0].iloc[:8].copy()
    frame.loc[1, "colour"] = "unseen"
    frame.loc[2, "size"] = np.nan
    frame.loc[3, "size"] = 1e9
    return frame


def families() -> dict[str, Any]:
    """A small classifier for each kind of step, not fitted."""
    forest = priorwise.ProbabilityForestClassifier(
        3, splitter="random", max_depth=3, random_state=0
    )
    return {
        "network": priorwise.KDBClassifier(1),
        "aode": priorwise.AODEClassifier(keep_counts=False),
        "ensemble": priorwise.ESKDBClassifier(2, max_parents=1, random_state=0),
        "tree": priorwise.ProbabilityTreeClassifier("m-branch", max_depth=3, random_state=0),
        "forest": priorwise.ProbabilityForestClassifier(2, max_depth=3, random_state=0),
        "boosting": priorwise.BoostingClassifier(3, max_depth=2, random_state=0),
        "spline": priorwise.SplineLogisticClassifier(random_state=0),
        "kernel": priorwise.KernelLogisticClassifier(5, random_state=0),
        "gaussian": priorwise.GaussianNetworkClassifier(random_state=0),
        "pool": priorwise.LogLinearPool(
            [("bayes", priorwise.NaiveBayesClassifier()), ("forest", forest)], random_state=0
        ),
        "reread": priorwise.LogLinearPool(
            [("imputed", priorwise.NaiveBayesClassifier(missing="impute"))], random_state=0
        ),
    }


def write_files() -> None:
    """Write the files that are not there, and what their models predict."""
    FOLDER.mkdir(exist_ok=True)
    X, y = training_rows()
    for name, model in families().items():
        path = FOLDER / f"{name}-{FORMAT}.model"
        if not path.exists():
            model.fit(X, y)
            if hasattr(model, "set_scores_"):  # so that the file stays small
                model.set_scores_ = model.set_scores_[::100].copy()
            model.save(path, compress=name == "pool")
            np.savetxt(path.with_suffix(".csv"), model.predict_proba(rows_to_predict()), "%.17g")


if __name__ == "__main__":
    write_files()
