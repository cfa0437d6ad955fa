"""Scores of networks, packed for prediction: what is left out, and what stands behind them."""

import pickle

import numpy as np
import pytest

from priorwise import AODEClassifier, KDBClassifier, NaiveBayesClassifier, _core
from priorwise.counts import CodedRows, Factor, count_trees
from priorwise.models.networks.network_model import build_factors
from priorwise.smoothing import MBranch
from priorwise.smoothing.base import Shrinkage
from priorwise.structure import Network
from priorwise.structure.networks import NetworkCounts
from reference.network_cases import as_frame, make_codes

PARENTS = (1, 0)


@pytest.fixture
def rows(rng: np.random.Generator) -> CodedRows:
    y = rng.integers(0, 3, 60)
    columns = [(arity * rng.random(60) ** 2).astype(np.int32) for arity in (3, 4, 7)]
    return CodedRows(columns, np.array([3, 4, 7], np.int32), y.astype(np.int32), 3)


def factor_of(rows: CodedRows) -> Factor:
    """The factor of the last feature, which has the other two as parents."""
    counts = NetworkCounts.count(Network(((), (), PARENTS), (0, 1, 2)), rows)
    smoother = MBranch(2.0)
    *_, factor = build_factors(counts, [smoother.smooth(tree) for tree in counts.trees], smoother)
    return factor


def context_of(rows: CodedRows, row: int, n_parents: int) -> np.ndarray:
    """Which rows have the same values of the first parents as a row has."""
    same = np.ones(rows.n_rows, dtype=bool)
    for parent in PARENTS[:n_parents]:
        same &= rows.columns[parent] == rows.columns[parent][row]
    return same


def score(factor: _core.FactorProduct, columns: list[np.ndarray]) -> np.ndarray:
    return _core.predict_joint(factor, columns, False, 1)


@pytest.mark.parametrize("min_rows", [1, 2, 5, 12, 1000])
def test_the_context_above_answers_for_contexts_with_too_few_rows(
    rows: CodedRows, min_rows: int
) -> None:
    factor = factor_of(rows)
    packed = score(_core.pack_scores(factor, min_rows), rows.columns)
    whole = _core.pack_scores(factor, 0.0)
    for row in range(rows.n_rows):
        n_kept = sum(context_of(rows, row, n).sum() >= min_rows for n in (1, 2))
        columns = [column[row : row + 1].copy() for column in rows.columns]
        for parent in PARENTS[n_kept:]:
            columns[parent][0] = -1
        np.testing.assert_array_equal(packed[row], score(whole, columns)[0])


def test_fewer_contexts_take_less_memory(rows: CodedRows) -> None:
    factor = factor_of(rows)
    sizes = [len(pickle.dumps(_core.pack_scores(factor, n))) for n in (0.0, 2.0, 5.0, 1000.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0] / 2


def test_support_counts_the_rows_that_a_score_was_learnt_from(rows: CodedRows) -> None:
    columns = [column.copy() for column in rows.columns]
    columns[2][::10] = -1
    support, n_unused = _core.find_support(_core.pack_scores(factor_of(rows), 0.0), 0, columns)
    for row in range(rows.n_rows):
        for y in range(3):
            in_class = [context_of(rows, row, n) & (rows.y == y) for n in (0, 1, 2)]
            deepest = max(n for n in (0, 1, 2) if in_class[n].any())
            known = columns[2][row] >= 0
            assert support[row, y] == (in_class[deepest].sum() if known else 0)
            assert n_unused[row, y] == (2 - deepest if known else 0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outcome", [0, 2])
@pytest.mark.parametrize("min_rows", [1, 2, 5, 12, 1000])
def test_contexts_that_are_not_counted_are_those_that_are_not_packed(
    rows: CodedRows, min_rows: int, outcome: int, weighted: bool, rng: np.random.Generator
) -> None:
    weight = rng.integers(1, 4, rows.n_rows).astype(float) if weighted else None
    columns, arities = [*rows.columns, rows.y], [*rows.arities, 3]
    path = [3, 1, 2 - outcome]
    trees = [
        count_trees(columns, arities, [outcome], [path], weight=weight, min_rows=least)[0]
        for least in (0.0, min_rows)
    ]
    packed = []
    for tree in trees:
        weights = np.array([1.0, 2.0, 0.5, 3.0])[tree.level]
        p = Shrinkage(weights, towards_parent=True).apply(tree)
        factor = _core.build_factor(Factor, outcome, path[1:], tree, p, True, 3, True)
        packed.append(_core.pack_scores(factor, min_rows))
    assert pickle.dumps(packed[0]) == pickle.dumps(packed[1])
    assert trees[1].n_nodes < trees[0].n_nodes or min_rows <= 2


@pytest.mark.parametrize("parent", [0, 1])
def test_rows_of_contexts_are_those_of_all_classes(rows: CodedRows, parent: int) -> None:
    counts = NetworkCounts.count(Network(((), (), PARENTS), (0, 1, 2)), rows)
    block = np.zeros(rows.n_rows, np.int32)
    *_, (_, _, context_rows) = _core.cross_fit_network(
        counts.factor_trees, rows.columns, rows.y, None, block, 1, 3, rows.n_rows, None
    )
    row = 7 * (parent + 1)
    assert context_rows[row].tolist() == [context_of(rows, row, n).sum() for n in (0, 1, 2)]


@pytest.mark.parametrize(
    "model", [NaiveBayesClassifier(), KDBClassifier(2), AODEClassifier()], ids=repr
)
def test_a_model_without_counts_is_smaller_and_predicts_the_same(model) -> None:
    codes, y = make_codes(n_rows=300)
    X = as_frame(codes)
    whole = model.set_params(keep_counts=True).fit(X, y)
    expected, size = whole.predict_proba(X), len(pickle.dumps(whole))
    light = model.set_params(keep_counts=False).fit(X, y)
    np.testing.assert_array_equal(light.predict_proba(X), expected)
    assert len(pickle.dumps(light)) < 0.8 * size


def test_a_model_without_counts_says_what_it_needs_them_for() -> None:
    codes, y = make_codes(n_rows=60)
    X = as_frame(codes)
    model = NaiveBayesClassifier(keep_counts=False).fit(X, y)
    before = model.predict_proba(X)
    for call in (
        lambda: model.partial_fit(X, y),
        lambda: model.conditional_table(0),
        lambda: model.count_trees_,
        lambda: model.class_tree_,
    ):
        with pytest.raises(ValueError, match="keep_counts must be True"):
            call()
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(ValueError, match=r"keep_counts must be True or False, got 'no'"):
        NaiveBayesClassifier().set_params(keep_counts="no").fit(X, y)
