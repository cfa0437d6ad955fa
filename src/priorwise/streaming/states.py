"""The states of passes as they are stored in files, and the checks of what is read back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.stored.checks import is_array, require
from priorwise.common.stored.values import StateType, dataclass_state
from priorwise.counts import CodedRows, CountTree, PairCounts, Tally, TreePlan
from priorwise.data.survey import LabelCounts, NumberCounts, Survey, ValueSummary
from priorwise.data.tables.label_keys import label_key
from priorwise.data.tables.texts import WordScores
from priorwise.streaming.passes import CountState
from priorwise.streaming.survey_pass import SurveyState


def _lies_in(codes: NDArray[Any], least: int, end: int) -> bool:
    return codes.size == 0 or bool(codes.min() >= least and codes.max() < end)


TREE_FIELDS = (
    "parent", "value", "level_start", "row_start", "outcome", "parent_cell", "counts", "n_outcomes",
)  # fmt: skip


def _to_tree_fields(tree: CountTree) -> dict[str, Any]:
    return {name: getattr(tree, name) for name in TREE_FIELDS}


def _from_tree_fields(stored: Any) -> CountTree:
    require(isinstance(stored, dict) and set(stored) == set(TREE_FIELDS), "a tree has its fields")
    return CountTree(**stored)  # which validates


def _check_plan(plan: TreePlan) -> None:
    columns = [*plan.targets, *(column for path in plan.paths for column in path)]
    require(len(plan.targets) == len(plan.paths), "a tree needs a target and a path")
    require(all(type(n) is int and n > 0 for n in plan.arities), "arities must be positive")
    require(
        all(type(i) is int and 0 <= i < len(plan.arities) for i in columns),
        "trees must be of columns that there are",
    )


def _check_tally(tally: Tally) -> None:
    counted = sorted({*tally.tables, *tally.runs})
    require(counted == list(range(len(tally.plan.targets))), "each tree must be counted once")
    for i, table in tally.tables.items():
        require(is_array(table, np.int64, tally.plan.n_cells(i)), "a table must fit its tree")
    for runs in tally.runs.values():
        require(
            isinstance(runs, list) and runs and all(type(tree) is CountTree for tree in runs),
            "runs must be trees",
        )


def _check_labels(feature: LabelCounts) -> None:
    require(is_array(feature.counts, np.int64, len(feature.labels), None), "labels need counts")
    keys = set(map(label_key, feature.labels))
    require(len(keys) == len(feature.labels), "labels must differ")


def _check_values(summary: ValueSummary) -> None:
    n = summary.n_classes
    require(is_array(summary.missing, np.int64, n), "missing values are counted by class")
    for values, counts in summary.runs:
        require(is_array(values, np.float64, None), "values must be numbers")
        require(is_array(counts, np.int64, len(values), n), "values are counted by class")


def _check_survey(survey: Survey) -> None:
    n = len(survey.class_counts)
    require(is_array(survey.class_counts, np.int64, None), "classes need counts")
    require(survey.classes.shape == (n,), "classes need labels")
    require(len(survey.names) == len(survey.features), "features need names")
    for feature in survey.features:
        known = isinstance(feature, LabelCounts | NumberCounts)
        require(known, "a feature must be nominal or numeric")
        if isinstance(feature, LabelCounts):
            width = feature.counts.shape[1]
        else:
            width = -1 if feature.summary is None else feature.summary.n_classes
        require(width == n, "features are counted by class")


def _check_sample(state: CountState) -> None:
    for first_row, codes in state.sample:
        require(type(first_row) is int, "rows of a sample need a place")
        require(is_array(codes, np.int32, None, None), "rows of a sample need codes")


def _check_rows(rows: CodedRows) -> None:
    n = len(rows.y)
    require(is_array(rows.y, np.int32, None), "rows need a class")
    require(_lies_in(rows.y, 0, rows.n_classes), "classes must be known")
    require(is_array(rows.arities, np.int32, len(rows.columns)), "columns need an arity")
    for column, arity in zip(rows.columns, rows.arities.tolist(), strict=True):
        require(is_array(column, np.int32, n), "columns must be of equal length")
        require(_lies_in(column, -1, arity), "codes must be known")
    require(rows.weight is None or is_array(rows.weight, np.float64, n), "weights must be numbers")


STATES: dict[str, StateType] = {
    "count tree": StateType(CountTree, _to_tree_fields, _from_tree_fields),
    "tree plan": dataclass_state(TreePlan, _check_plan, arities=tuple, targets=tuple, paths=tuple),
    "tally": dataclass_state(Tally, _check_tally, plan=TreePlan, tables=dict, runs=dict),
    "pair counts": StateType(PairCounts, PairCounts.to_fields, PairCounts.from_fields),
    "coded rows": dataclass_state(CodedRows, _check_rows, columns=list, n_classes=int),
    "label counts": dataclass_state(LabelCounts, _check_labels, labels=list),
    "value summary": dataclass_state(
        ValueSummary, _check_values, n_classes=int, runs=list, is_exact=bool
    ),
    "number counts": dataclass_state(
        NumberCounts,
        least=float,
        largest=float,
        n_known=float,
        n_missing=float,
        summary=ValueSummary,
    ),
    "survey": dataclass_state(
        Survey,
        _check_survey,
        names=list,
        classes=np.ndarray,
        features=list,
        orders=dict,
        forms=dict,
        parts=list,
        scores=dict,
    ),
    "word scores": dataclass_state(WordScores, names=list, words=list, table=np.ndarray),
    "survey state": dataclass_state(SurveyState, survey=Survey, pairs=(PairCounts, type(None))),
    "count state": dataclass_state(
        CountState, _check_sample, tally=Tally, sample=list, n_merged=int
    ),
}
"""Every class that a saved state may contain, by its name in the file."""
