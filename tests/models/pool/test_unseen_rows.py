"""Pools that learn from a source whose rows do not fit in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from priorwise import NaiveBayesClassifier, PriorwiseClassifier
from priorwise.counts.packed_trees import expand_rows
from priorwise.data import SqlSource
from priorwise.models.correction import BoostingBins, CodedOffsets
from priorwise.models.pool.unseen_rows import OffsetPass
from priorwise.models.pool.weights import PoolWeights
from priorwise.streaming import checkpoint as saving
from priorwise.streaming.passes import ColumnsBatch, ColumnsCoder

POOL = PriorwiseClassifier(estimators=[("bayes", NaiveBayesClassifier())], random_state=0)
LIMIT = "2MB"


def draw_rows(n_rows: int, *, signal: float) -> pd.DataFrame:
    """Numbers and labels whose product says more of the class than either, and missing values."""
    rng = np.random.default_rng(n_rows)
    rows = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.choice(list("xyz"), n_rows)})
    odds = signal * np.where(rows.b == "x", rows.a, -rows.a)
    rows["y"] = np.where(rng.random(n_rows) < 1.0 / (1.0 + np.exp(-odds)), "yes", "no")
    rows.loc[rows.index[::17], "a"] = np.nan
    return rows


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return draw_rows(12_000, signal=3.0)


def learn(source: Any, **options: Any) -> PriorwiseClassifier:
    model = clone(POOL).set_params(n_jobs=options.pop("n_jobs", None))
    with pytest.warns(UserWarning, match="weights and boosting of the pool from"):
        return model.fit_dataset(source, target="y", memory_limit=LIMIT, **options)


def in_parts(rows: pd.DataFrame, *ends: int) -> Any:
    return lambda: (
        rows[first:end] for first, end in zip((0, *ends), (*ends, len(rows)), strict=True)
    )


def as_bytes(model: PriorwiseClassifier, rows: pd.DataFrame) -> list[bytes]:
    """What was learnt, without the number of threads."""
    assert model.boosting_ is not None
    arrays = [
        np.array(list(model.pool_weights_.values())), model.intercept_, model.oof_proba_,
        model.boosting_.trees.trees.node_bytes, expand_rows(model.boosting_.trees.rows),
        model.predict_proba(rows[["a", "b"]]),
    ]  # fmt: skip
    return [array.tobytes() for array in arrays]


def test_boosting_learns_from_all_rows(rows: pd.DataFrame) -> None:
    model = learn(rows)
    assert (model.n_passes_, model.n_sampled_) == (3, len(rows))
    n_members = model.estimators_["bayes"].class_count_.sum()
    n_held = len(model.oof_proba_)
    assert n_members < n_held < len(rows)
    assert model.boosting_ is not None
    report = model.score_report()
    assert report.n_rows == n_held - n_members
    losses = {line.name: line.log_loss for line in report.lines}
    assert losses["boosting"] < 0.7 * losses["pool"]
    fresh = draw_rows(3_000, signal=3.0)
    proba = model.predict_proba(fresh[["a", "b"]])
    own = proba[np.arange(len(fresh)), (fresh.y == "yes").astype(int)]
    assert -np.log(own).mean() == pytest.approx(losses["boosting"], abs=0.06)


@pytest.mark.parametrize(
    ("ends", "options"), [((1_000, 1_001, 9_000), {}), ((6_000,), {"batch_rows": 700, "n_jobs": 3})]
)
def test_batches_and_threads_change_no_bit(
    ends: tuple[int, ...], options: dict[str, Any], rows: pd.DataFrame
) -> None:
    streamed = learn(in_parts(rows, *ends), **options)
    assert as_bytes(streamed, rows) == as_bytes(learn(rows), rows)


def test_partitions_of_a_cluster_change_no_bit(rows: pd.DataFrame) -> None:
    dask_frame = pytest.importorskip("dask.dataframe")
    spread = dask_frame.from_pandas(rows, npartitions=3, sort=False)
    assert as_bytes(learn(spread), rows) == as_bytes(learn(rows), rows)


def test_rows_of_a_database_are_all_learnt_from(rows: pd.DataFrame) -> None:
    duckdb = pytest.importorskip("duckdb")
    database = duckdb.connect()
    database.register("numbers", rows)
    model = learn(SqlSource(database, "SELECT * FROM numbers"))
    assert model.n_sampled_ == len(rows)
    assert model.boosting_ is not None


@pytest.mark.parametrize("n_calls", [1, 6])
def test_interrupted_boosting_is_resumed_and_leaves_nothing(
    n_calls: int, rows: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "BATCHES_BETWEEN_SAVES", 3)
    options = {"batch_rows": 1_000, "checkpoint": tmp_path / "saved"}
    original, calls = OffsetPass.map, list[int]()

    def map_or_raise(self: OffsetPass, batch: ColumnsBatch) -> Any:
        calls.append(batch.first_row)
        if len(calls) == n_calls:
            raise KeyboardInterrupt
        return original(self, batch)

    monkeypatch.setattr(OffsetPass, "map", map_or_raise)
    with pytest.raises(KeyboardInterrupt):
        learn(in_parts(rows), **options)
    resumed = learn(in_parts(rows), **options)
    # What was read before the last save is not read again.
    assert len(calls) - n_calls == 12 - 3 * ((n_calls - 1) // 3)
    assert list((tmp_path / "saved").iterdir()) == []
    assert as_bytes(resumed, rows) == as_bytes(learn(in_parts(rows)), rows)


def test_what_says_nothing_of_the_class_gives_no_better_than_the_prior() -> None:
    rows = draw_rows(15_000, signal=0.0)
    model = learn(rows)
    share = rows.y.value_counts(normalize=True).to_numpy()
    prior = -(share * np.log(share)).sum()
    # Three standard errors of what chance makes of the rows that judge, which are about 1,500.
    for line in model.score_report().lines:
        assert line.log_loss > prior - 0.003
    fresh = draw_rows(9_000, signal=0.0)
    proba = model.predict_proba(fresh[["a", "b"]])
    assert (
        -np.log(proba[np.arange(len(fresh)), (fresh.y == "yes").astype(int)]).mean() > prior - 0.003
    )


def test_a_pass_takes_the_rows_that_are_not_left_out(rows: pd.DataFrame) -> None:
    model = NaiveBayesClassifier().fit(rows[["a", "b"]], rows.y)
    encoder = model.encoder_
    read = encoder.read(rows[["a", "b"]])
    bins = BoostingBins.choose(read.in_feature_order(), 1)
    left_out = np.array([0, 3, 70, 99])
    last = (0, np.zeros((1, 2), np.uint8), np.ones(1, np.int32), np.zeros((1, 1), np.float32))
    work = OffsetPass(
        [model.step_], PoolWeights(np.ones(1), np.zeros(2)), encoder, bins,
        left_out=left_out, share=1.0, seed=5, last=[last],
    )  # fmt: skip

    def code(begin: int, end: int) -> ColumnsBatch:
        y = (rows.y[begin:end] == "yes").to_numpy().astype(np.int32)
        columns = read.take(np.arange(begin, end))
        return ColumnsCoder(encoder, model.classes_)._batch(columns, y, begin, "")

    coded = work.finish(work.merge(work.map(code(50, 100)), work.map(code(0, 50))))
    kept = np.delete(np.arange(100), left_out)
    expected = bins.code(read.take(kept).in_feature_order())
    assert np.array_equal(coded.bins, np.vstack([expected, last[1]]))
    assert coded.y[:-1].tolist() == (rows.y.iloc[kept] == "yes").astype(int).tolist()
    proba = np.maximum(model.predict_proba(rows.iloc[kept][["a", "b"]]), 1e-3)
    score = CodedOffsets.score_of(proba / proba.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(coded.score[:-1], score, rtol=1e-5, atol=1e-6)
    work.share = 0.5
    assert 30 < len(work.finish(work.map(code(0, 100))).y) < 70
