"""The superparent search against a twin that evaluates every candidate from scratch."""

import numpy as np
import pytest

from priorwise.structure.networks import learn_superparent
from reference import superparent as slow

SCORES = ["cll", "accuracy", "auc"]


def make_rows(seed, n_rows=40, arities=(2, 3, 2, 4), n_classes=3):
    """Rows in which features depend on the class and on each other."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    columns: list[np.ndarray] = []
    for arity in arities:
        source = y if not columns else columns[rng.integers(len(columns))] + y
        noise = rng.integers(0, arity, n_rows)
        columns.append(np.where(rng.random(n_rows) < 0.6, source % arity, noise))
    return [c.astype(np.int32) for c in columns], y.astype(np.int32)


@pytest.mark.parametrize("evaluation", ["leave-one-out", "resubstitution"])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_search_agrees_with_its_slow_twin(score, evaluation, weighted, missing):
    arities = (2, 3, 2, 4)
    n_arcs = 0
    for seed in range(2):
        columns, y = make_rows(seed, arities=arities)
        holes = np.random.default_rng(seed).random((4, len(y))) < missing
        columns = [np.where(hole, np.int32(-1), c) for hole, c in zip(holes, columns, strict=True)]
        weight = np.random.default_rng(seed).integers(0, 4, len(y)) / 2.0 if weighted else None
        found = learn_superparent(
            columns, arities, y, 3, weight=weight, search_score=score, evaluation=evaluation
        )
        parents, scores = slow.search(
            np.column_stack(columns).tolist(),
            y.tolist(),
            [1.0] * len(y) if weight is None else weight.tolist(),
            arities,
            3,
            score,
            evaluation == "leave-one-out",
        )
        expected = tuple(() if p is None else (p,) for p in parents)
        assert found.network.parents == expected
        np.testing.assert_allclose(found.scores, scores, rtol=1e-9)
        n_arcs += len(scores) - 1
    assert n_arcs > 0


@pytest.mark.parametrize("score", SCORES)
def test_the_score_grows_with_every_arc_and_the_arcs_have_no_cycle(score):
    columns, y = make_rows(0, 300, (3,) * 12, 4)
    found = learn_superparent(columns, [3] * 12, y, 4, search_score=score)
    assert (np.diff(found.scores) > 0).all()
    assert len(list(found.network.arcs())) == len(found.scores) - 1 > 2
    assert sorted(found.network.order) == list(range(12))


@pytest.mark.parametrize("score", SCORES)
def test_threads_change_no_bit(score):
    columns, y = make_rows(1, 500, (4,) * 9, 3)
    one = learn_superparent(columns, [4] * 9, y, 3, search_score=score)
    four = learn_superparent(columns, [4] * 9, y, 3, search_score=score, n_jobs=4)
    assert one.network == four.network
    np.testing.assert_array_equal(one.scores, four.scores)


@pytest.mark.parametrize("score", SCORES)
def test_without_leaving_rows_out_weight_two_is_two_rows_and_weight_zero_none(score):
    columns, y = make_rows(2, 120, (3,) * 5, 3)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    repeated = learn_superparent(
        [np.repeat(c, weight) for c in columns],
        [3] * 5,
        np.repeat(y, weight),
        3,
        search_score=score,
        evaluation="resubstitution",
    )
    weighted = learn_superparent(
        columns, [3] * 5, y, 3,
        weight=weight.astype(float), search_score=score, evaluation="resubstitution",
    )  # fmt: skip
    assert weighted.network == repeated.network
    np.testing.assert_allclose(weighted.scores, repeated.scores, rtol=1e-9)


def test_permuted_features_give_the_permuted_network():
    columns, y = make_rows(3, 400, (3,) * 7, 3)
    order = np.random.default_rng(0).permutation(7)
    found = learn_superparent(columns, [3] * 7, y, 3).network
    moved = learn_superparent([columns[i] for i in order], [3] * 7, y, 3).network
    arcs = {(int(order[a]), int(order[b])) for a, b in moved.arcs()}
    assert arcs == set(found.arcs())


def test_values_beyond_a_table_of_pairs_are_counted_alike():
    columns, y = make_rows(4, 200, (3,) * 4, 3)
    # The same values under far codes: pairs no longer fit in a table.
    far = [c * 700 for c in columns]
    near = learn_superparent(columns, [2101] * 4, y, 3)
    assert learn_superparent(far, [2101] * 4, y, 3).network == near.network


def test_features_of_one_value_stay_orphans():
    columns, y = make_rows(5, 100, (2, 3), 2)
    constant = np.zeros(100, dtype=np.int32)
    found = learn_superparent([constant, *columns, constant], [1, 2, 3, 1], y, 2)
    assert found.network.parents[0] == found.network.parents[3] == ()
    assert not any(j in (0, 3) for of in found.network.parents for j in of)


@pytest.mark.parametrize(("option", "value"), [("search_score", "f1"), ("evaluation", "bootstrap")])
def test_unknown_words_are_refused_by_name(option, value):
    columns, y = make_rows(0)
    with pytest.raises(ValueError, match=f"{option} must be one of .*, got '{value}'"):
        learn_superparent(columns, [2, 3, 2, 4], y, 3, **{option: value})


def test_a_code_outside_its_arity_is_refused():
    columns, y = make_rows(0)
    with pytest.raises(ValueError, match=r"columns\[3\] must lie in -1\.\.1, got 3"):
        learn_superparent(columns, [2, 3, 2, 2], y, 3)
