"""Checks of what all classifiers have that were read from a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise.common.stored.checks import check_numbers, is_array, require
from priorwise.common.validation import check_n_jobs
from priorwise.counts import CountTree
from priorwise.data.tables import TableEncoder
from priorwise.models.base import TableClassifier
from priorwise.storage.state_types import Types

TABLE: Types = {
    "encoder_": TableEncoder,
    "classes_": np.ndarray,
    "class_count_": np.ndarray,
    "n_features_in_": int,
    "feature_names_in_": np.ndarray,
    "set_scores_": np.ndarray,
    "n_passes_": int,
    "n_sampled_": int,
    "target_name_": str,
}
"""Fitted attributes of all classifiers."""
OUT_OF_FOLD: Types = {"oof_proba_": np.ndarray}


def check_table_classifier(model: Any) -> None:
    """Raise unless rows can be read, and classes and names are those of the encoder.

    Parameters that `fit` alone uses are checked by the next `fit`.
    """
    check_fitted(model, "encoder_", "classes_", "class_count_")
    check_n_jobs(model.n_jobs)
    check_n_jobs(model.encoder_.n_jobs)
    encoder, classes = model.encoder_, model.classes_
    require(classes.ndim == 1 and len(classes) >= model.min_classes, "it has too few classes")
    check_numbers("class_count_", model.class_count_, len(classes), least=0.0)
    require(
        getattr(model, "n_features_in_", None) == encoder.n_features_in_,
        "the model and its encoder must have the same number of features",
    )
    names, known = (getattr(one, "feature_names_in_", None) for one in (model, encoder))
    require(
        names is known or np.array_equal(names, known),  # type: ignore[arg-type]
        "the model and its encoder must have the same names of features",
    )
    if hasattr(model, "set_scores_"):
        check_numbers("set_scores_", model.set_scores_, None, 2)
    if hasattr(model, "oof_proba_"):
        proba = model.oof_proba_
        require(is_array(proba, np.float32, None, len(classes)), "oof_proba_ has a wrong shape")


def check_cells(tree: CountTree, cells: Any) -> None:
    """Raise unless the numbers of the cells of a tree are distributions, node by node."""
    check_numbers("probabilities", cells, tree.n_cells, least=0.0, most=1.0 + 1e-6)
    sums = np.add.reduceat(np.append(cells, 0.0), tree.row_start[:-1])
    n_listed = np.diff(tree.row_start)
    sums[n_listed == 0] = 0.0
    require((sums <= 1.0 + 1e-6).all(), "probabilities of a context must sum to at most one")
    require(
        (sums[n_listed == tree.n_outcomes] >= 1.0 - 1e-6).all(),
        "probabilities of a context must sum to one",
    )


def same_columns(first: TableEncoder, second: TableEncoder) -> bool:
    """Whether rows that one encoder has read can be given to a model of the other."""
    return first is second or (
        np.array_equal(first.is_nominal_, second.is_nominal_)
        and [len(one.labels) for one in first.categories_]
        == [len(one.labels) for one in second.categories_]
    )


def check_fitted(model: Any, *names: str) -> None:
    """Raise unless a model has all fitted attributes that it needs to predict."""
    attributes = vars(model)
    for name in names:
        if name not in attributes:
            raise ValueError(f"a {type(model).__name__} must have an attribute {name!r}")


def is_classifier(model: Any) -> bool:
    """Whether a value is a fitted classifier of this library."""
    return isinstance(model, TableClassifier) and "encoder_" in vars(model)
