"""Passes: states merge in any grouping, and survive being pickled."""

from __future__ import annotations

import pickle
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from priorwise.counts import CodedRows, Information, measure_rows
from priorwise.data.encoding import TableEncoder
from priorwise.data.sources import Batch, open_source
from priorwise.smoothing.base import as_smoother
from priorwise.streaming.passes import (
    CodedBatch,
    Coder,
    CollectPass,
    CountPass,
    PairPass,
    SelectionPass,
)
from priorwise.streaming.survey_pass import SurveyPass
from priorwise.structure.networks import NetworkCounts, SubmodelScorer, learn_kdb


@pytest.fixture
def batches(rng: np.random.Generator, tmp_path: Path) -> list[Batch]:
    y = rng.integers(0, 2, 300)
    frame = pd.DataFrame(
        {
            f"f{i}": np.array([f"v{j}" for j in np.sort((y + rng.integers(0, 5, 300)) % 6)[::-1]])
            for i in range(4)
        }
    )
    frame["label"] = np.where(np.arange(300) > 150, y, 2 + y)
    frame.to_parquet(tmp_path / "rows.parquet")
    return list(open_source(tmp_path / "rows.parquet", target="label", batch_rows=23).read())


def merge_chain(work: Any, states: list[Any]) -> Any:
    return reduce(work.merge, states)


def merge_tree(work: Any, states: list[Any]) -> Any:
    while len(states) > 1:
        states = [reduce(work.merge, states[i : i + 2]) for i in range(0, len(states), 2)]
    return states[0]


def merge_pickled(work: Any, states: list[Any]) -> Any:
    return merge_tree(work, [pickle.loads(pickle.dumps(state)) for state in states])


MERGES = [merge_chain, merge_tree, merge_pickled]
NAMES = [f"f{i}" for i in range(4)]


def survey(batches: list[Batch], merge: Any) -> Any:
    work = SurveyPass(TableEncoder(), pairs=True, max_cells=10**6, max_value_bytes=10**9)
    # Every batch alone, as on a worker that knows nothing of the others.
    states = [pickle.loads(pickle.dumps(work)).map(batch) for batch in batches]
    return work.finish(merge(work, states))


def code(batches: list[Batch]) -> list[CodedBatch]:
    state = survey(batches, merge_chain)
    encoder, _ = TableEncoder.of_survey(state.survey, {}, NAMES)
    coder = Coder(encoder, state.survey.classes)
    return [coder.code(batch) for batch in batches]


def join(coded: list[CodedBatch]) -> CodedRows:
    work = CollectPass()
    return work.finish(merge_chain(work, [work.map(batch) for batch in coded]))


@pytest.mark.parametrize("merge", MERGES)
def test_pairs_of_a_survey_are_those_of_the_coded_rows(batches: list[Batch], merge: Any) -> None:
    state = survey(batches, merge)
    rows = join(code(batches))
    encoder, codes = TableEncoder.of_survey(state.survey, {}, NAMES)
    n_classes = len(state.survey.classes)
    pairs = state.pairs.recode(codes, encoder.arities_, np.arange(n_classes), n_classes)
    found, expected = pairs.information(), measure_rows(rows, None)
    np.testing.assert_array_equal(found.mutual, expected.mutual)
    np.testing.assert_array_equal(found.conditional, expected.conditional)
    assert isinstance(expected, Information)
    np.testing.assert_array_equal(found.n_seen, expected.n_seen)


@pytest.mark.parametrize("merge", MERGES)
def test_coded_passes_give_the_result_of_one_batch(batches: list[Batch], merge: Any) -> None:
    coded = code(batches)
    rows = join(coded)
    whole = [CodedBatch(rows, 0, "all rows")]

    def run(work: Any, parts: list[CodedBatch]) -> Any:
        return work.finish(merge(work, [work.map(part) for part in parts]))

    pairs = PairPass(range(rows.n_features), 10**6)
    information = run(pairs, whole).information()
    np.testing.assert_array_equal(
        run(pairs, coded).information().conditional, information.conditional
    )
    network = learn_kdb(information, 2)
    sample, left_out = np.array([0, 22, 23, 150, 299]), np.array([21, 22, 298, 299])
    tables = CountPass([network], rows.arities, rows.n_classes, sample=sample, left_out=left_out)
    found = run(tables, coded)
    counts = NetworkCounts.count(network, rows.take(np.delete(np.arange(rows.n_rows), left_out)))
    for tree, other in zip(found.counts[0].trees, counts.trees, strict=True):
        np.testing.assert_array_equal(tree.counts, other.counts)
    np.testing.assert_array_equal(found.sample.y, rows.y[sample])
    np.testing.assert_array_equal(found.sample.columns[1], rows.columns[1][sample])
    scorer = SubmodelScorer.prepare(NetworkCounts.count(network, rows), as_smoother("hdp"))
    selection = SelectionPass(scorer)
    np.testing.assert_array_equal(run(selection, coded), run(selection, whole))


@pytest.mark.parametrize("loss", ["squared", "log"])
@pytest.mark.parametrize("smoothing", ["hdp", "laplace", "m-branch"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_losses_by_table_are_those_by_walking_the_trees(
    n_classes: int, smoothing: str, loss: str, rng: np.random.Generator
) -> None:
    y = rng.integers(0, n_classes, 700).astype(np.int32)
    arities = np.array([4, 2, 7, 3, 5], dtype=np.int32)
    columns = [((y + rng.integers(0, 3, 700)) % arity).astype(np.int32) for arity in arities]
    rows = CodedRows(columns, arities, y, n_classes)
    information = measure_rows(rows, None)
    network = learn_kdb(information, 3)
    counts = NetworkCounts.count(network, rows)
    scorer = SubmodelScorer.prepare(counts, as_smoother(smoothing), loss=loss)
    quick = scorer.score(columns, y)
    slow = scorer.score(columns, y, by_table=False)
    # Each row's loss is rounded to a multiple of 2 ** -32.
    losses = [scorer.choose(sums, 1.0).losses for sums in (quick, slow)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=0, atol=700 * 2.0**-32)
    np.testing.assert_array_equal(quick, scorer.score(columns, y, n_jobs=3))
    halves = [
        scorer.score([column[part] for column in columns], y[part])
        for part in np.split(np.arange(700), 2)
    ]
    np.testing.assert_array_equal(quick, halves[0] + halves[1])
