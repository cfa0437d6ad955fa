"""Estimates of the memory of a fit, and what is lowered to make it less."""

from typing import Any

import pytest

from priorwise import (
    AODEClassifier,
    ESKDBClassifier,
    KDBClassifier,
    KernelLogisticClassifier,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
    SplineLogisticClassifier,
)
from priorwise.models.memory import PoolReduction, Reduction, TableSize
from priorwise.structure.networks import Network

NORMAL = TableSize(20_000, 28, (), 2)
MIXED = TableSize(20_000, 15, (8,) * 15, 2)
MANY_CLASSES = TableSize(5_000, 10, (), 20)
WIDE = TableSize(2_000, 300, (), 2)


def reduce(model: Any, size: TableSize, limit: float) -> Reduction:
    return Reduction.find(model, size, limit)


@pytest.mark.parametrize(
    ("model", "size", "megabytes"),
    [
        (ProbabilityForestClassifier(25, splitter="random"), NORMAL, 26),
        (ProbabilityForestClassifier(100, splitter="random"), NORMAL, 59),
        (ProbabilityForestClassifier(25, splitter="random", min_samples_leaf=20), NORMAL, 22),
        (ProbabilityForestClassifier(10), MIXED, 29),
        (ProbabilityForestClassifier(10), MANY_CLASSES, 21),
        (ESKDBClassifier(max_parents=4), NORMAL, 78),
        (ESKDBClassifier(max_parents=4), MIXED, 58),
        (ESKDBClassifier(max_parents=4), MANY_CLASSES, 42),
        (KDBClassifier(5), MIXED, 105),
        (NaiveBayesClassifier(), NORMAL, 12),
        (NaiveBayesClassifier(), WIDE, 13),
        (AODEClassifier(), MIXED, 9),
        (KernelLogisticClassifier(400), NORMAL, 59),
        (ProbabilityTreeClassifier(teacher=None), MIXED, 21),
        (ProbabilityTreeClassifier(teacher=None), MANY_CLASSES, 14),
        (ProbabilityTreeClassifier(), MIXED, 53),
        (ProbabilityTreeClassifier(), MANY_CLASSES, 34),
        (SplineLogisticClassifier(), NORMAL, 99),
        (SplineLogisticClassifier(), WIDE, 29),
    ],
)
def test_estimates_are_near_peaks_that_were_measured(
    model: Any, size: TableSize, megabytes: float
) -> None:
    assert 0.7 < reduce(model, size, float("inf")).before / (1e6 * megabytes) < 1.7


@pytest.mark.parametrize(
    ("effort", "size", "megabytes"),
    [
        ("balanced", TableSize(50_000, 15, (8,) * 15, 2), 193),
        ("fast", TableSize(50_000, 15, (8,) * 15, 2), 140),
        ("fast", TableSize(67_557, 0, (3,) * 42, 3), 179),
        ("fast", TableSize(48_842, 6, (9, 16, 7, 15, 6, 5, 2, 42), 2), 77),
        ("fast", TableSize(100_000, 10, (4, 40), 7), 173),
    ],
)
def test_estimates_of_pools_are_near_peaks_that_were_measured(
    effort: str, size: TableSize, megabytes: float
) -> None:
    members = dict(
        PriorwiseClassifier.default_estimators(effort, n_rows=size.n_rows, n_classes=size.n_classes)
    )
    pool = PoolReduction.find(members, len(members), size, float("inf"))
    assert 0.7 < pool.before / (1e6 * megabytes) < 1.7
    assert not pool.texts


def test_nothing_is_lowered_within_the_limit() -> None:
    forest = ProbabilityForestClassifier(100, splitter="random")
    whole = reduce(forest, NORMAL, float("inf"))
    assert reduce(forest, NORMAL, whole.before).new == {}
    assert reduce(forest, NORMAL, whole.before - 1.0).new != {}


def test_leaves_grow_before_trees_are_left_out() -> None:
    forest = ProbabilityForestClassifier(100, splitter="random")
    assert reduce(forest, NORMAL, 60e6).new == {"min_samples_leaf": 2}
    tight = reduce(forest, NORMAL, 24e6)
    assert tight.new == {"min_samples_leaf": 64, "n_estimators": 50}
    assert tight.after <= 24e6 < tight.before
    assert str(tight) == "min_samples_leaf=64 instead of 1, n_estimators=50 instead of 100"


def test_threads_are_given_up_before_parents() -> None:
    ensemble = ESKDBClassifier(max_parents=5, n_jobs=4)
    whole = reduce(ensemble, NORMAL, float("inf"))
    assert reduce(ensemble, NORMAL, 0.8 * whole.before).new == {"n_jobs": 2}
    assert set(reduce(ensemble, NORMAL, 75e6).new) == {"n_jobs", "max_parents"}


def test_the_parents_of_a_given_structure_are_not_lowered() -> None:
    chain = Network(parents=((), *((i,) for i in range(29))), order=tuple(range(30)))
    given = reduce(KDBClassifier(5, structure=chain), MIXED, 1.0)
    assert given.new == {}
    assert given.before < reduce(KDBClassifier(5), MIXED, 1.0).before


def test_a_member_that_does_not_fit_is_left_out() -> None:
    members = dict(PriorwiseClassifier.default_estimators("fast", n_rows=20_000))
    pool = PoolReduction.find(members, len(members), NORMAL, 44e6)
    assert pool.left_out == {"linear", "networks"}
    assert pool.texts["linear"] == "left out"
    assert pool.members["forest"].min_samples_leaf > 1


def test_a_member_keeps_its_own_limit_too() -> None:
    members = {
        "free": ProbabilityForestClassifier(100, splitter="random"),
        "bound": ProbabilityForestClassifier(100, splitter="random", memory_limit="24MB"),
    }
    pool = PoolReduction.find(members, 2, NORMAL, float("inf"))
    assert set(pool.members) == {"bound"}
    assert pool.members["bound"].n_estimators == 50
    assert members["bound"].n_estimators == 100
