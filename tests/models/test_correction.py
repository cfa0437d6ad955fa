"""Boosting on an offset: the kernel, and what the classifier makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import LEAST_PROBABILITY
from priorwise.common.runtime import Deadline
from priorwise.models.correction import (
    BoostingBins,
    BoostingPlan,
    CodedOffsets,
    OffsetBoosting,
)
from priorwise.steps.pool import Boosted, Pool
from priorwise.steps.step import Names
from priorwise.structure.trees import PackedTrees
from reference import boosting as twin
from reference.boosting_cases import SCALES, as_columns, make_rows, make_rules, run
from reference.log_odds import against_others

PLAN = BoostingPlan(3, rate=0.3, max_rounds=40, n_boosters=5)


def fit(
    columns: list[NDArray[Any]],
    y: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    proba: NDArray[np.float64],
    plan: BoostingPlan = PLAN,
) -> tuple[OffsetBoosting | None, NDArray[np.float64]]:
    return OffsetBoosting.fit(
        columns, y, weight, proba, plan, seed=0, n_threads=1, deadline=Deadline.after(None)
    )


def as_step(boosting: OffsetBoosting, n_classes: int = 3) -> Boosted:
    none = Pool((), (), np.empty(0), np.zeros(n_classes), LEAST_PROBABILITY)
    return boosting.as_step(none)


@pytest.mark.parametrize(
    ("n_classes", "weighted", "direction", "share", "n_folds", "growth"),
    [
        (2, False, 0, 1.0, 5, {}), (2, True, 0, 0.7, 5, {}),
        (3, False, 0, 0.6, 5, {"max_leaves": 5}), (3, True, 0, 1.0, 5, {}),
        (2, True, 1, 1.0, 5, {"max_leaves": 4}), (2, False, -1, 0.6, 5, {}),
        (3, True, 0, 0.7, 1, {}), (2, True, 0, 1.0, 1, {"max_leaves": 3}),
        (3, False, 0, 1.0, 5, {"max_leaves": 1000}), (2, True, 0, 1.0, 5, {"symmetric": True}),
        (2, False, 1, 0.7, 5, {"symmetric": True}), (3, True, 0, 0.6, 5, {"symmetric": True}),
        (3, False, 0, 1.0, 1, {"symmetric": True}),
    ],
)  # fmt: skip
def test_kernel_does_what_the_definition_says(
    n_classes: int,
    weighted: bool,
    direction: int,
    share: float,
    n_folds: int,
    growth: dict[str, Any],
    rng: np.random.Generator,
) -> None:
    # With a single fold, and rows that no booster leaves out, the second booster learns from all.
    columns, y, offset, fold = make_rows(rng, 70, n_classes)
    fold[fold >= n_folds] = 5
    weight = rng.uniform(0.2, 3.0, len(y)) if weighted else np.ones(len(y))
    monotone: tuple[int, ...] = ()
    if direction:
        monotone = tuple(0 if column.dtype == np.int32 else direction for column in columns)
    trees, values, loss = run(
        columns, y, offset, fold, weight, n_boosters=2, monotone=monotone,
        depth=4 if growth else 3, row_share=share, column_share=share, **growth,
    )  # fmt: skip
    rules = twin.Rules(
        4 if growth else 3, monotone=monotone, row_share=share, column_share=share, seed=7, **growth
    )
    expected, expected_loss = twin.boost(
        columns, y, weight, offset, fold, 2, 6, SCALES.tolist(), rules
    )
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-6)
    n_best = int(loss.min(axis=1).argmin())
    assert n_best > 0
    assert trees.n_trees == 2 * n_best
    flat = [tree for booster in expected for tree in booster[:n_best]]
    for t, tree in enumerate(flat):
        own = trees.nodes[trees.tree_start[t] : trees.tree_start[t + 1]]
        value = values[trees.tree_start[t] : trees.tree_start[t + 1]]
        assert len(own) == len(tree)
        for node, kernel in zip(tree, own, strict=True):
            assert bool(node.children) == bool(kernel["split"] & 15)
            if node.children:
                assert kernel["split"] >> 4 == node.feature
                assert kernel["first"] == node.children[0]
                assert kernel["threshold"] == pytest.approx(node.threshold)
        by_class = np.array([node.value for node in tree])
        if n_classes == 2:
            by_class = np.hstack([-0.5 * by_class, 0.5 * by_class])
        np.testing.assert_allclose(value, by_class, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("n_classes", "weighted", "direction", "n_threads", "symmetric"),
    [
        (2, False, 0, 1, True),
        (2, True, 1, 2, False),
        (3, False, 0, 3, True),
        (3, True, 0, 1, False),
    ],
)  # fmt: skip
def test_rows_in_bins_give_the_same_trees(
    n_classes: int,
    weighted: bool,
    direction: int,
    n_threads: int,
    symmetric: bool,
    rng: np.random.Generator,
) -> None:
    columns, y, offset, _ = make_rows(rng, 12_000, n_classes)
    columns.append(rng.integers(0, 700, len(y)).astype(np.int32))
    weight = rng.uniform(0.2, 3.0, len(y)) if weighted else None
    monotone: tuple[int, ...] = ()
    if direction:
        monotone = tuple(0 if column.dtype == np.int32 else direction for column in columns)
    score = CodedOffsets.score_of(np.exp(offset))
    wide = np.hstack([np.zeros_like(score), score]) if n_classes == 2 else score
    fold = np.where(np.arange(len(y)) < 10_000, 1, 0).astype(np.int32)
    rules: dict[str, Any] = {
        "row_share": 0.7, "column_share": 0.7, "monotone": monotone, "n_rounds": 9,
        "symmetric": symmetric,
    }  # fmt: skip
    trees, values, loss = run(columns, y, wide.astype(float), fold, weight, n_boosters=1, **rules)
    bins = BoostingBins.choose(columns, n_threads)
    start, nodes, *coded = _core.boost_coded(
        bins.code(columns), bins.edges, bins.is_nominal, y, weight, score, 2000,
        make_rules(**rules), n_threads,
    )  # fmt: skip
    np.testing.assert_array_equal(trees.tree_start, start)
    assert trees.node_bytes.tobytes() == nodes.tobytes()
    np.testing.assert_array_equal(values, coded[0])
    np.testing.assert_array_equal(loss, coded[1])


def test_slopes_of_millions_of_rows_are_right_on_average() -> None:
    # The least step of a slope is larger than every slope of the first class.
    n, n_held = 2**21 + 10_000, 10_000
    bins = (np.arange(n) % 2).astype(np.uint8)[:, None]
    y = (np.arange(n) % 2_000 == 1).astype(np.int32)
    prior = np.log(1 / 2_000)
    _, _, values, loss, _ = _core.boost_coded(
        bins, [np.array([0.5])], np.zeros(1, dtype=np.int32), y, None,
        np.full((n, 1), prior, dtype=np.float32), n_held,
        make_rules(depth=1, rate=1.0, n_rounds=1, scales=np.ones(1)), 1,
    )  # fmt: skip
    assert loss[1, 0] < loss[0, 0]
    # Half of the rows have no positives, the other half twice the share: steps of -1 and 1.
    assert np.diff(values[1:], axis=1).ravel() == pytest.approx([-1.0, 1.0], abs=0.1)


@pytest.mark.parametrize("n_rows", [400, 9000])
@pytest.mark.parametrize(
    ("n_classes", "growth"),
    [(2, {}), (3, {}), (2, {"max_leaves": 6}), (2, {"symmetric": True}), (3, {"symmetric": True})],
)
def test_threads_change_no_bit(
    n_rows: int, n_classes: int, growth: dict[str, Any], rng: np.random.Generator
) -> None:
    columns, y, offset, fold = make_rows(rng, n_rows, n_classes)

    def grow(n_threads: int) -> tuple[PackedTrees, NDArray[np.float64], NDArray[np.float64]]:
        return run(
            columns, y, offset, fold, n_threads=n_threads, row_share=0.5, column_share=0.6, **growth
        )

    one, *alone = grow(1)
    for n_threads in (2, 7):
        many, *shared = grow(n_threads)
        assert one.node_bytes.tobytes() == many.node_bytes.tobytes()
        for a, b in zip(alone, shared, strict=True):
            assert a.tobytes() == b.tobytes()


def test_a_weight_of_two_is_a_row_twice(rng: np.random.Generator) -> None:
    columns, y, offset, fold = make_rows(rng, 300, 3)
    weight = rng.integers(1, 4, len(y)).astype(float)
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    _, _, loss = run(columns, y, offset, fold, weight)
    _, _, repeated = run([c[again] for c in columns], y[again], offset[again], fold[again])
    np.testing.assert_allclose(loss, repeated, rtol=1e-5)


def test_only_the_order_of_numbers_matters(rng: np.random.Generator) -> None:
    columns, y, offset, fold = make_rows(rng, 300, 3)
    _, values, loss = run(columns, y, offset, fold)
    _, bent_values, bent_loss = run(
        [np.exp(c) if c.dtype == float else c for c in columns], y, offset, fold
    )
    np.testing.assert_array_equal(loss, bent_loss)
    np.testing.assert_array_equal(values, bent_values)


def test_names_of_classes_do_not_matter(rng: np.random.Generator) -> None:
    columns, y, offset, fold = make_rows(rng, 300, 3)
    turn = np.array([2, 0, 1])
    back = np.argsort(turn)
    _, _, loss = run(columns, y, offset, fold)
    _, _, turned = run(
        columns, turn[y].astype(np.int32), np.ascontiguousarray(offset[:, back]), fold
    )
    np.testing.assert_allclose(loss, turned, rtol=1e-6)


def test_many_numbers_and_many_codes_share_bins(rng: np.random.Generator) -> None:
    n = 4000
    number, code = rng.normal(size=n), rng.integers(0, 600, n).astype(np.int32)
    y = ((number > 0.3) ^ (code == 7)).astype(np.int32)
    code[y == 1] = np.where(rng.random((y == 1).sum()) < 0.2, 7, code[y == 1])
    offset = np.full((n, 2), np.log(0.5))
    fold = (np.arange(n) % 5).astype(np.int32)
    trees, _, loss = run([number, code], y, offset, fold, n_rounds=20)
    assert loss.min() < 0.1 * loss[0, 0]
    inner = trees.nodes[(trees.nodes["split"] & 15) != 0]
    cuts = inner["threshold"][inner["split"] >> 4 == 0]
    assert len(np.unique(cuts)) <= 254
    assert not np.isin(cuts, number).any()


def test_a_value_of_most_rows_leaves_the_other_bins_to_the_rest(rng: np.random.Generator) -> None:
    n = 5000
    number = np.where(rng.random(n) < 0.95, 0.0, rng.uniform(1.0, 2.0, n))
    y = (np.floor(number * 16) % 2).astype(np.int32)
    offset = np.full((n, 2), np.log(0.5))
    _, _, loss = run([number], y, offset, (np.arange(n) % 5).astype(np.int32), n_rounds=40)
    assert loss.min() < 0.03


def test_trees_end_at_the_round_of_the_least_loss(rng: np.random.Generator) -> None:
    columns, y, offset, fold = make_rows(rng, 300, 2)
    y = rng.permutation(y)
    trees, _, loss = run(columns, y, offset, fold, n_rounds=50, patience=4)
    n_best = int(loss.min(axis=1).argmin())
    assert len(loss) == n_best + 5
    assert trees.n_trees == 5 * n_best


def test_no_round_begins_after_the_time_is_up(rng: np.random.Generator) -> None:
    columns, y, offset, fold = make_rows(rng, 300, 2)
    assert len(run(columns, y, offset, fold, max_seconds=0.0)[2]) == 1
    out_of_time = Deadline.after(1e-12)
    boosting, held_out = OffsetBoosting.fit(
        columns, y, None, np.exp(offset), PLAN, seed=0, n_threads=1, deadline=out_of_time
    )
    assert boosting is None
    assert np.isnan(held_out).all()


def test_kernel_refuses_what_makes_no_sense(rng: np.random.Generator) -> None:
    columns, y, offset, fold = make_rows(rng, 100, 3)
    with pytest.raises(ValueError, match="every booster needs rows to learn from"):
        run(columns, y, offset, np.zeros_like(fold))
    with pytest.raises(ValueError, match="some booster needs rows held out"):
        run(columns, y, offset, np.full_like(fold, 5))
    with pytest.raises(ValueError, match="offset must be finite"):
        run(columns, y, np.where(offset < -1.0, -np.inf, offset), fold)
    with pytest.raises(ValueError, match=r"columns\[0\] must lie in 0\.\.\d+, got -1"):
        run([columns[1] - 1], y, offset, fold)
    with pytest.raises(ValueError, match="offset needs one entry per row: 100, got 50"):
        run(columns, y, offset[:50], fold)


def test_rules_are_refused_without_names_and_out_of_bounds() -> None:
    make: Any = _core.BoostingRules
    with pytest.raises(TypeError, match="incompatible function arguments"):
        make(3, 0)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        make(max_depth=3)
    with pytest.raises(ValueError, match="rate must be finite and above 0"):
        make_rules(rate=0.0)
    with pytest.raises(ValueError, match=r"monotone must lie in -1\.\.1, got 2"):
        make_rules(monotone=(2,))


def test_kernel_refuses_rows_that_are_in_no_bin() -> None:
    def run_coded(
        largest: int = 3, n_held: int = 2, edges: Any = (0.5, 1.5), width: int = 1
    ) -> None:
        bins = np.arange(8, dtype=np.uint8)[:, None] % (largest + 1)
        _core.boost_coded(
            bins, [np.array(edges)], np.zeros(1, dtype=np.int32), np.zeros(8, dtype=np.int32), None,
            np.zeros((8, width), dtype=np.float32), n_held, make_rules(n_rounds=1), 1,
        )  # fmt: skip

    run_coded()
    with pytest.raises(ValueError, match=r"bins of feature 0 must lie in 0\.\.3, got 4"):
        run_coded(largest=4)
    with pytest.raises(ValueError, match=r"edges\[0\] must ascend"):
        run_coded(edges=(0.5, 0.5))
    with pytest.raises(ValueError, match="n_held"):
        run_coded(n_held=8)
    with pytest.raises(ValueError, match="offset of two classes must be their difference"):
        run_coded(width=2)


def test_true_probabilities_are_left_nearly_alone(rng: np.random.Generator) -> None:
    X = rng.normal(size=(4000, 3))
    p = 1.0 / (1.0 + np.exp(-X[:, 0] - X[:, 1]))
    proba = np.stack([1.0 - p, p], axis=1)
    y = (rng.random(4000) < p).astype(np.int32)
    boosting, _ = fit(list(X.T), y, None, proba)
    corrected = proba if boosting is None else boosting.predict_proba(list(X.T), proba, 1)
    assert np.abs(corrected - proba).mean() < 0.02


def test_what_the_offset_misses_is_learnt(rng: np.random.Generator) -> None:
    X = rng.integers(0, 2, size=(3000, 4)).astype(float)
    y = (X[:, 0] + X[:, 1] + X[:, 2] + (rng.random(3000) < 0.02)).astype(np.int32) % 2
    offset = np.full((3000, 2), 0.5)
    fitted, held_out = fit(list(X[:2000].T), y[:2000], None, offset[:2000])
    assert fitted is not None
    own = held_out[np.arange(2000), y[:2000]]
    assert -np.log(own).mean() < 0.25 * np.log(2.0)
    proba = fitted.predict_proba(list(X[2000:].T), offset[2000:], 1)
    loss = -np.log(proba[np.arange(1000), y[2000:]]).mean()
    assert loss < 0.25 * np.log(2.0)
    assert np.allclose(proba.sum(axis=1), 1.0)


@pytest.mark.parametrize("n_boosters", [2, 5])
def test_a_booster_of_all_rows_has_its_share(n_boosters: int, rng: np.random.Generator) -> None:
    columns, y, offset, _ = make_rows(rng, 600, 3)
    plan = replace(PLAN, n_boosters=n_boosters, column_share=0.7)
    folds, honest = fit(columns, y, None, np.exp(offset), plan)
    shared, held_out = fit(columns, y, None, np.exp(offset), replace(plan, whole_share=0.25))
    assert folds is not None
    assert shared is not None
    # The boosters of the folds stay as they are, and so does what they say of rows not seen.
    np.testing.assert_array_equal(held_out, honest)
    rows = as_columns(columns)
    last = as_step(shared._take_booster(n_boosters)).trees.sum(rows, 1)
    whole = 0.25 * last / (0.25 * (n_boosters + 1)) + 0.75 * as_step(folds).trees.sum(rows, 1)
    np.testing.assert_allclose(as_step(shared).trees.sum(rows, 1), whole, atol=1e-5)


def test_rows_without_an_opinion_are_left_out(rng: np.random.Generator) -> None:
    columns, y, offset, _ = make_rows(rng, 1200, 3)
    proba = np.exp(offset)
    unknown = np.where(np.arange(1200)[:, None] < 800, proba, np.nan)
    some, held_out = fit(columns, y, None, unknown)
    alone, held_out_alone = fit([c[:800] for c in columns], y[:800], None, proba[:800])
    assert some is not None
    assert alone is not None
    np.testing.assert_array_equal(
        some.predict_proba(columns, proba, 1), alone.predict_proba(columns, proba, 1)
    )
    np.testing.assert_array_equal(held_out[:800], held_out_alone)
    assert np.isnan(held_out[800:]).all()


def test_held_out_probabilities_do_not_know_their_row(rng: np.random.Generator) -> None:
    X = rng.normal(size=(800, 8))
    p = 1.0 / (1.0 + np.exp(-X[:, 0]))
    y = (rng.random(800) < p).astype(np.int32)
    proba = np.full((800, 2), 0.5)
    fitted, held_out = fit(list(X.T), y, None, proba, replace(PLAN, depth=8, rate=0.5))
    assert fitted is not None
    own = np.arange(800), y
    least = -np.log(np.where(y == 1, p, 1.0 - p)).mean()
    assert -np.log(held_out[own]).mean() > least
    assert -np.log(fitted.predict_proba(list(X.T), proba, 1)[own]).mean() < 0.95 * least


def test_rows_that_all_boosters_have_seen_have_no_held_out_probabilities(
    rng: np.random.Generator,
) -> None:
    columns, y, offset, _ = make_rows(rng, 1000, 2)
    _, held_out = fit(columns, y, None, np.exp(offset), replace(PLAN, n_boosters=2))
    assert np.isnan(held_out).any(axis=1).sum() == 600


def test_steps_on_the_paths_add_up_to_what_boosting_adds(rng: np.random.Generator) -> None:
    columns, y, offset, _ = make_rows(rng, 1000, 3)
    proba = np.exp(offset)
    fitted, _ = fit(columns, y, None, proba)
    assert fitted is not None
    names = Names(np.arange(3), tuple(f"x{i}" for i in range(len(columns))))
    explanation = as_step(fitted).explain(as_columns(columns), names, 1)
    corrected = fitted.predict_proba(columns, proba, 1)
    added = against_others(np.log(corrected) - np.log(proba))
    np.testing.assert_allclose(explanation.log_odds, added, atol=1e-9)
