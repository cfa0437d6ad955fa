"""Bounds on memory, caches and bad input of learning in passes."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from priorwise import (
    KDBClassifier,
    NaiveBayesClassifier,
    SelectiveKDBClassifier,
    SuperParentClassifier,
)
from priorwise.common.runtime import parse_bytes
from priorwise.counts import tally
from priorwise.data import SourceError
from priorwise.streaming import cache as coded_cache
from priorwise.streaming.row_stream import MemoryPlan
from reference.trees import validate


def make_rows(rng: np.random.Generator, n_rows: int = 400, n_values: int = 4) -> pd.DataFrame:
    y = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame(
        {
            f"f{i}": [f"v{v}" for v in (y + rng.integers(0, n_values - 1, n_rows)) % n_values]
            for i in range(5)
        }
    )
    frame["label"] = np.array(["no", "yes"], dtype=object)[y]
    return frame


@pytest.fixture
def frame(rng: np.random.Generator) -> pd.DataFrame:
    return make_rows(rng)


@pytest.fixture
def path(frame: pd.DataFrame, tmp_path: Path) -> Path:
    frame.to_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


def probabilities(model: Any, path: Path, frame: pd.DataFrame, **options: Any) -> np.ndarray:
    fitted = clone(model).fit_dataset(path, "label", **options)
    return fitted.predict_proba(frame.drop(columns="label"))


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("cache", ["on", "off", "auto"])
def test_neither_the_cache_nor_threads_change_the_model(
    cache: str, n_jobs: int, path: Path, frame: pd.DataFrame, tmp_path: Path
) -> None:
    model = SelectiveKDBClassifier(max_parents=2)
    expected = clone(model).fit(frame.drop(columns="label"), frame["label"])
    found = probabilities(
        model.set_params(n_jobs=n_jobs), path, frame,
        batch_rows=30, cache=cache, scratch=tmp_path / "scratch",
    )  # fmt: skip
    np.testing.assert_array_equal(found, expected.predict_proba(frame.drop(columns="label")))
    assert cache == "off" or list((tmp_path / "scratch").iterdir()) == []


def test_later_passes_read_the_cache_and_not_the_source(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[int] = []
    original = coded_cache.CodedCache.unpack

    def unpack(self: Any, stored: Any, coder: Any) -> Any:
        unpacked.append(stored.first_row)
        return original(self, stored, coder)

    monkeypatch.setattr(coded_cache.CodedCache, "unpack", unpack)
    model = SelectiveKDBClassifier(max_parents=2)
    model.fit_dataset(path, "label", batch_rows=100, cache="on", scratch=tmp_path / "scratch")
    assert sorted(unpacked) == [0, 0, 100, 100, 200, 200, 300, 300]


@pytest.mark.parametrize("cache", ["on", "auto"])
def test_a_full_disk_ends_a_cache_that_was_asked_for_and_no_other(
    cache: str, path: Path, frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Any] = []

    def fill_disk(*_: Any, **__: Any) -> None:
        written.append(None)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fill_disk)
    scratch = tmp_path / "scratch"
    model = KDBClassifier()
    options = {"batch_rows": 50, "cache": cache, "scratch": scratch}
    if cache == "on":
        with pytest.raises(OSError, match="cache cannot be written: No space left"):
            probabilities(model, path, frame, **options)
    else:
        expected = probabilities(model, path, frame, cache="off")
        np.testing.assert_array_equal(probabilities(model, path, frame, **options), expected)
    assert list(scratch.iterdir()) == []


def test_pairs_that_do_not_fit_are_counted_in_more_passes(
    path: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = KDBClassifier(max_parents=2)
    expected = clone(model).fit(frame.drop(columns="label"), frame["label"])
    make = MemoryPlan.make
    monkeypatch.setattr(
        MemoryPlan, "make", lambda *arguments: MemoryPlan(
            *(150 if name == "max_cells" else value
              for name, value in vars(make(*arguments)).items())
        )
    )  # fmt: skip
    found = clone(model).fit_dataset(path, "label", batch_rows=90)
    assert found.n_passes_ > 2
    assert found.structure_ == expected.structure_


@pytest.mark.parametrize("model_class", [KDBClassifier, SelectiveKDBClassifier])
def test_more_contexts_than_the_limit_are_an_error_or_become_one(
    model_class: type,
    rng: np.random.Generator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tally, "MAX_TABLE_CELLS", 0)
    frame = make_rows(rng, n_rows=2000, n_values=9)
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    model = model_class(max_parents=3, max_contexts=1500)
    with pytest.raises(ValueError, match="max_contexts must be at least the contexts that occur"):
        clone(model).fit_dataset(path, "label", batch_rows=100)
    with pytest.warns(UserWarning, match=r"max_contexts has room .* of the rarest contexts were"):
        merged = clone(model).fit_dataset(path, "label", batch_rows=100, on_limit="merge")
    assert sum(tree.n_nodes for tree in merged.count_trees_) <= 1500
    for tree in merged.count_trees_:
        validate(tree)
        assert tree.totals[0] == 2000
    proba = merged.predict_proba(frame.drop(columns="label"))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    # Fewer contexts, but still a model: far from blind chance.
    right = np.where(frame["label"] == "yes", proba[:, 1], proba[:, 0])
    assert right.mean() > 0.5
    shown = [merged.conditional_table(i) for i in merged.structure_.order]
    assert len(shown) == len(merged.count_trees_) > 0


def test_contexts_beyond_the_memory_limit_are_told_as_such(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, "MAX_TABLE_CELLS", 0)
    with pytest.raises(MemoryError, match="memory_limit has room for 97 contexts, but"):
        KDBClassifier(max_parents=3).fit_dataset(path, "label", memory_limit="50kB")


def test_a_model_that_needs_all_rows_says_so_where_they_do_not_fit(path: Path) -> None:
    with pytest.raises(MemoryError, match="memory_limit must allow all coded rows at once"):
        SuperParentClassifier().fit_dataset(path, "label", memory_limit="20kB")


def test_numeric_values_beyond_the_limit_are_summarised(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    y = rng.integers(0, 2, 5000)
    frame = pd.DataFrame({"u": y + rng.normal(size=5000), "label": np.array(["n", "y"])[y]})
    frame.to_parquet(tmp_path / "rows.parquet")
    model = KDBClassifier(max_parents=1, discretizer="equal-frequency")
    exact = clone(model).fit_dataset(tmp_path / "rows.parquet", "label")
    near = clone(model).fit_dataset(tmp_path / "rows.parquet", "label", memory_limit="100kB")
    assert exact.has_exact_cuts_
    assert not near.has_exact_cuts_
    np.testing.assert_allclose(
        near.encoder_.cut_points_[0], exact.encoder_.cut_points_[0], atol=0.05
    )


@pytest.mark.parametrize("limit", ["lots", "1XB", -5, 0, True, "1..5GB", None.__class__])
def test_limits_that_are_no_size_are_refused(limit: Any) -> None:
    with pytest.raises(ValueError, match="memory_limit must be a number of bytes or a text"):
        parse_bytes(limit)


def test_batches_shrink_with_the_limit() -> None:
    rows = [MemoryPlan.make(limit, 140, 2).batch_rows for limit in ("10GB", "1GB", "100MB", "1kB")]
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] == 1


def test_more_labels_than_the_limit_allows_are_refused(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame["id"] = [f"row {i}" for i in range(len(frame))]
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=r"column 'id' has \d+ labels so far"):
        KDBClassifier().fit_dataset(
            tmp_path / "rows.parquet", "label", batch_rows=50, memory_limit="100kB"
        )


def test_a_failure_leaves_the_model_as_it_was(
    frame: pd.DataFrame, path: Path, tmp_path: Path
) -> None:
    X = frame.drop(columns="label")
    model = KDBClassifier().fit_dataset(path, "label")
    before = model.predict_proba(X)
    frame.assign(label="yes").to_parquet(tmp_path / "bad.parquet")
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit_dataset(tmp_path / "bad.parquet", "label")
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_one_class_is_refused(tmp_path: Path, frame: pd.DataFrame) -> None:
    frame["label"] = "yes"
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="y must hold at least 2 classes"):
        KDBClassifier().fit_dataset(tmp_path / "rows.parquet", "label", batch_rows=50)


def test_a_value_that_cannot_be_used_is_told_with_its_place(
    tmp_path: Path, frame: pd.DataFrame
) -> None:
    frame["u"] = 1.0
    frame.loc[230, "u"] = np.inf
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(SourceError, match=r"rows\.parquet, rows 200\.\.249: .*infinity.*'u'"):
        KDBClassifier().fit_dataset(tmp_path / "rows.parquet", "label", batch_rows=50)


def test_progress_tells_passes_and_rows(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    KDBClassifier().fit_dataset(path, "label", batch_rows=50, verbose=1)
    told = capsys.readouterr().err
    assert "400/400 rows in pass 1" in told
    assert "200/400 rows in pass 2" in told
    assert "s left" in told


@pytest.mark.parametrize("numeric", [False, True])
def test_streamed_naive_bayes_obeys_the_limit_on_contexts(numeric: bool) -> None:
    x = np.arange(40) % 4
    frame = pd.DataFrame(
        {"a": x.astype(float) if numeric else x.astype(str).astype(object) + "th", "label": x % 2}
    )
    frame["b"] = frame["a"]
    n_contexts = 7  # of the class alone; of each feature, alone and in each class
    NaiveBayesClassifier(max_contexts=n_contexts).fit_dataset(frame, "label")
    with pytest.raises(ValueError, match=r"max_contexts must be at least .* got 6 for 7"):
        NaiveBayesClassifier(max_contexts=n_contexts - 1).fit_dataset(frame, "label")
