"""How pools, conditional tables, smoothers and transformers are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from priorwise import smoothing
from priorwise.common.stored.checks import check_numbers, require
from priorwise.common.stored.values import StateType, dataclass_state
from priorwise.counts import CountTree
from priorwise.data.cuts.discretise import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
)
from priorwise.data.cuts.entropy_cuts import MDLPDiscretizer, TreeDiscretizer
from priorwise.data.cuts.whole_range import WholeRange
from priorwise.data.tables import DateParts, FrameEncoder
from priorwise.data.tables.categories import Categories
from priorwise.models.conditional_table import ConditionalTable
from priorwise.models.pool.log_linear import LogLinearPool
from priorwise.models.pool.priorwise import PriorwiseClassifier
from priorwise.models.pool.score_report import ScoreLine, ScoreReport
from priorwise.models.trees.offset_boosting import OffsetBoosting
from priorwise.smoothing import Smoother
from priorwise.storage.state_types import Types, estimator_state
from priorwise.storage.table_checks import (
    OUT_OF_FOLD,
    TABLE,
    check_cells,
    check_fitted,
    check_table_classifier,
    is_classifier,
    same_columns,
)
from priorwise.storage.tree_states import check_splits

ROW_MEMBERS, REPORT = "_row_members", "_report"
"""Names of attributes of a pool: the members that take rows of X, and the scores out of fold."""
LARGEST_WEIGHT = 1e6
POOL: Types = {
    **TABLE,
    **OUT_OF_FOLD,
    "estimators_": dict,
    "pool_weights_": dict,
    "intercept_": np.ndarray,
    "boosting_": (OffsetBoosting, type(None)),
    "feature_importances_": np.ndarray,
    ROW_MEMBERS: frozenset,
    REPORT: ScoreReport,
}


def _check_pool(pool: Any) -> None:
    check_fitted(
        pool, "estimators_", "pool_weights_", "intercept_", "boosting_", ROW_MEMBERS, REPORT
    )
    check_table_classifier(pool)
    members, n_classes = pool.estimators_, len(pool.classes_)
    require(len(members) > 0, "a pool must have a member")
    require(list(pool.pool_weights_) == list(members), "every member needs a weight")
    for weight in pool.pool_weights_.values():
        require(isinstance(weight, float) and abs(weight) <= LARGEST_WEIGHT, "weights are numbers")
    check_numbers(
        "intercept_", pool.intercept_, n_classes, least=-LARGEST_WEIGHT, most=LARGEST_WEIGHT
    )
    if hasattr(pool, "feature_importances_"):
        check_numbers("feature_importances_", pool.feature_importances_, pool.n_features_in_)
    for name, member in members.items():
        require(isinstance(name, str) and is_classifier(member), "a member must be a classifier")
        require(
            member.classes_ is pool.classes_ or np.array_equal(member.classes_, pool.classes_),
            "members must have all classes",
        )
        if name in vars(pool)[ROW_MEMBERS]:
            require(
                np.array_equal(member.encoder_.feature_names, pool.encoder_.feature_names)
                and member.n_features_in_ == pool.n_features_in_,
                "members must have the features of the pool",
            )
        else:
            require(
                same_columns(member.encoder_, pool.encoder_),
                "members must read columns as the pool does",
            )
    boosting = pool.boosting_
    if boosting is not None:
        check_splits(boosting.trees, pool.encoder_.is_nominal_)
        require(boosting.values.shape[1] == n_classes, "boosting must have all classes")


LINE_TYPES: Types = {
    "name": str, "rmse": float, "log_loss": float, "error": float,
    "pool_weight": (float, type(None)), "fit_seconds": float, "rmse_error": float,
    "log_loss_error": float, "error_error": float,
}  # fmt: skip


def _store_report(report: ScoreReport) -> dict[str, Any]:
    cells = [getattr(line, name) for line in report.lines for name in LINE_TYPES]
    return {"cells": cells, "n_rows": report.n_rows}


def _restore_report(stored: Any) -> ScoreReport:
    n_rows, width = stored["n_rows"], len(LINE_TYPES)
    # Files of formats before 4 hold a state for each line.
    lines = stored.get("lines")
    if lines is None:
        cells = stored["cells"]
        require(isinstance(cells, list) and len(cells) % width == 0, "a report has lines")
        lines = tuple(ScoreLine(*cells[i : i + width]) for i in range(0, len(cells), width))
    require(isinstance(lines, tuple) and isinstance(n_rows, int), "a report has lines")
    for line in lines:
        require(isinstance(line, ScoreLine), "a report has lines")
        for name, expected in LINE_TYPES.items():
            require(isinstance(getattr(line, name), expected), "scores must be numbers")
    return ScoreReport(lines, n_rows)


def _check_conditional_table(table: ConditionalTable) -> None:
    check_fitted(
        table, "classes_", "count_tree_", "smoothing_", "probabilities_", "target_", "given_",
        "categories_", "library_", "seed_",
    )  # fmt: skip
    tree, categories = table.count_tree_, table.categories_
    require(len(set(table.given_)) == len(table.given_), "columns must have different names")
    require(
        len(categories) == len(table.given_) + 1
        and all(isinstance(one, Categories) for one in categories),
        "every column needs labels",
    )
    require(tree.depth == len(table.given_), "the tree must have a level for each column")
    n_labels = max(1, len(categories[-1].labels))
    require(
        table.classes_.shape == (n_labels,) and tree.n_outcomes == n_labels,
        "the tree must have all values of the target",
    )
    check_cells(tree, table.probabilities_)


def _check_discretizer(discretizer: Any) -> None:
    check_fitted(discretizer, "cut_points_", "n_features_in_")
    require(len(discretizer.cut_points_) == discretizer.n_features_in_, "features need cut points")
    for points in discretizer.cut_points_:
        check_numbers("cut_points_", points, None)
        require((np.diff(points) > 0.0).all(), "cut points must rise")


def _check_date_parts(parts: DateParts) -> None:
    check_fitted(parts, "dates_", "with_hour_")
    require(
        len(parts.dates_) == len(parts.with_hour_)
        and all(isinstance(name, str) for name in parts.dates_),
        "every column of dates needs a name",
    )


def _check_frame_encoder(encoder: FrameEncoder) -> None:
    check_fitted(encoder, "columns_", "n_features_in_")
    require(len(encoder.columns_) == encoder.n_features_in_, "every column needs its values")
    for column in encoder.columns_:
        if isinstance(column, dict):
            require(list(column.values()) == list(range(len(column))), "values need codes")
        else:
            require(isinstance(column, float) and np.isfinite(column), "a mean must be a number")


DISCRETIZED: Types = {"cut_points_": list, "n_features_in_": int, "feature_names_in_": np.ndarray}

STATES: dict[str, StateType] = {
    "ScoreLine": dataclass_state(ScoreLine, None, **LINE_TYPES),
    "ScoreReport": StateType(ScoreReport, _store_report, _restore_report),
    "LogLinearPool": estimator_state(LogLinearPool, POOL, _check_pool),
    "PriorwiseClassifier": estimator_state(PriorwiseClassifier, POOL, _check_pool),
    "ConditionalTable": estimator_state(
        ConditionalTable,
        {
            "classes_": np.ndarray,
            "count_tree_": CountTree,
            "smoothing_": Smoother,
            "probabilities_": np.ndarray,
            "target_": (str, int),
            "given_": list,
            "categories_": list,
            "library_": (str, type(None)),
            "seed_": int,
        },
        _check_conditional_table,
    ),
    **{
        cls.__name__: estimator_state(cls, {**DISCRETIZED, "n_iter_": int}, _check_discretizer)
        for cls in (
            EqualWidthDiscretizer, EqualFrequencyDiscretizer, KMeansDiscretizer, MDLPDiscretizer,
            TreeDiscretizer,
        )
    },
    "WholeRange": estimator_state(WholeRange, {"cut_points_": list}),
    "DateParts": estimator_state(
        DateParts, {"dates_": list, "with_hour_": list}, _check_date_parts
    ),
    "FrameEncoder": estimator_state(
        FrameEncoder, {"columns_": list, "n_features_in_": int}, _check_frame_encoder
    ),
    **{
        name: estimator_state(getattr(smoothing, name))
        for name in smoothing.__all__
        if name != "Smoother"
    },
}  # fmt: skip
