"""Networks learnt from Dask frames, on real workers."""

import os
import signal
import threading
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import children
from priorwise import KDBClassifier, NaiveBayesClassifier, SelectiveKDBClassifier
from priorwise.counts import CountTree
from priorwise.data import SourceError
from priorwise.smoothing import HDP
from priorwise.streaming.runners import dask as dask_runner

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.xdist_group("one cluster")

N_PARTS = 12


@pytest.fixture(scope="module")
def cluster():
    children.start_server()
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": children.START_METHOD}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def rows(rng):
    n_rows = 3000
    y = rng.integers(3, size=n_rows)
    frame = {"size": (y + rng.normal(size=n_rows)).round(2)}
    previous = y
    for i in range(4):
        previous = np.where(rng.random(n_rows) < 0.5, previous, rng.integers(4, size=n_rows))
        frame[f"word{i}"] = np.array(["a", "b", "c", "d"], dtype=object)[previous]
    frame["label"] = np.array(["low", "middle", "high"], dtype=object)[y]
    # Values that few partitions have, the first of them among the last rows.
    frame["word0"][-3:] = "new"
    return pd.DataFrame(frame)


def read_slowly(number, frame, folder, seconds):
    """A partition; leaves a note of the process that read it."""
    with open(f"{folder}/{number}-{os.getpid()}-{time.time_ns()}", "w"):
        pass
    time.sleep(seconds)
    size = len(frame) // N_PARTS
    return frame.iloc[number * size : (number + 1) * size]


def spread(rows, folder, seconds=0.0):
    return dd.from_map(
        read_slowly, range(N_PARTS), frame=rows, folder=str(folder), seconds=seconds, meta=rows[:0]
    )


def assert_same(found, expected, X):
    assert found.structure_ == expected.structure_
    for mine, yours in zip(found.count_trees_, expected.count_trees_, strict=True):
        np.testing.assert_array_equal(mine.counts, yours.counts)
    np.testing.assert_allclose(
        found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize(
    "model",
    [
        SelectiveKDBClassifier(3),
        KDBClassifier(2, smoothing=HDP(inference="gibbs", n_iter=150), random_state=0),
    ],
    ids=["SkDB", "kDB by sampling"],
)
def test_workers_learn_the_model_that_memory_gives(model, rows, client, tmp_path):
    X, y = rows.drop(columns="label"), rows["label"].to_numpy(dtype=object)
    expected = type(model)(**model.get_params(deep=False)).fit(X, y)
    model.fit_dataset(spread(rows, tmp_path), target="label", batch_rows=100)
    assert_same(model, expected, X)
    readers = {name.split("-")[1] for name in os.listdir(tmp_path)}
    assert readers
    assert str(os.getpid()) not in readers, "a partition was brought to the client"


def test_any_scheduler_of_dask_will_do(rows, tmp_path):
    X, y = rows.drop(columns="label"), rows["label"].to_numpy(dtype=object)
    expected = SelectiveKDBClassifier(2).fit(X, y)
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            found = SelectiveKDBClassifier(2).fit_dataset(spread(rows, tmp_path), target="label")
        assert_same(found, expected, X)


def test_a_worker_killed_in_each_pass_changes_nothing(rows, client, tmp_path, monkeypatch):
    X, y = rows.drop(columns="label"), rows["label"].to_numpy(dtype=object)
    expected = SelectiveKDBClassifier(2).fit(X, y)
    killed = {}

    def run_and_kill(method):
        def run(self, work, *coder):
            before = set(os.listdir(tmp_path))
            is_done = threading.Event()

            def kill_in_the_middle():
                # The victim has counted one partition of this pass and is busy with another.
                victim = None
                while victim is None and not is_done.is_set():
                    time.sleep(0.01)
                    victim = find_busy(set(os.listdir(tmp_path)) - before)
                if victim is not None and not is_done.is_set():
                    os.kill(victim, signal.SIGKILL)
                    killed[work.title] = victim

            killer = threading.Thread(target=kill_in_the_middle)
            killer.start()
            try:
                return method(self, work, *coder)
            finally:
                is_done.set()
                killer.join()

        return run

    for name in ("survey", "run"):
        method = getattr(dask_runner.DaskRunner, name)
        monkeypatch.setattr(dask_runner.DaskRunner, name, run_and_kill(method))
    found = SelectiveKDBClassifier(2).fit_dataset(
        spread(rows, tmp_path, seconds=0.1), target="label"
    )
    assert list(killed) == ["values", "pairs of features", "tables", "selection"]
    assert not {*killed.values()} & {*client.run(os.getpid).values()}
    assert_same(found, expected, X)


def find_busy(notes):
    """The process that has left two notes; None if none has."""
    processes = Counter(int(note.split("-")[1]) for note in notes)
    return next((process for process, n_read in processes.items() if n_read > 1), None)


def test_an_error_names_the_partition(rows, client, tmp_path):
    rows.loc[rows.index[-10], "label"] = None
    with pytest.raises(SourceError, match=r"partition 11, rows .*: target 'label' must not be"):
        NaiveBayesClassifier().fit_dataset(spread(rows, tmp_path), target="label")


def test_interrupted_work_goes_on_after_the_last_pass(rows, tmp_path, monkeypatch):
    X, y = rows.drop(columns="label"), rows["label"].to_numpy(dtype=object)
    expected = SelectiveKDBClassifier(2).fit(X, y)
    data, saved = spread(rows, tmp_path), tmp_path / "saved"
    merge, n_left = dask_runner.merge_sums, [8]

    def fail_at_last(sums, shared):
        n_left[0] -= 1
        if n_left[0] < 0:
            raise KeyboardInterrupt
        return merge(sums, shared)

    with dask.config.set(scheduler="synchronous"):
        monkeypatch.setattr(dask_runner, "merge_sums", fail_at_last)
        with pytest.raises(KeyboardInterrupt):
            SelectiveKDBClassifier(2).fit_dataset(data, target="label", checkpoint=saved)
        monkeypatch.setattr(dask_runner, "merge_sums", merge)
        before = len(os.listdir(tmp_path))
        found = SelectiveKDBClassifier(2).fit_dataset(data, target="label", checkpoint=saved)
    # Two of four passes were done: the others are read again, after the rows were read once to tell
    # them from others.
    assert len(os.listdir(tmp_path)) - before == 3 * N_PARTS
    assert found.n_passes_ == 4
    assert_same(found, expected, X)
    assert os.listdir(saved) == []


def smooth_and_sign(tree, seed):
    """The counts of a tree that travelled, and the process that has them now."""
    return tree.counts.copy(), os.getpid()


def test_smoothing_that_takes_time_is_done_by_the_workers(rows, client, tmp_path, monkeypatch):
    seen = []
    smooth_on_workers = dask_runner.smooth_on_workers

    def spy(smooth, trees, seeds):
        seen.append(len(trees))
        return smooth_on_workers(smooth, trees, seeds)

    monkeypatch.setattr(dask_runner, "smooth_on_workers", spy)
    KDBClassifier(1, smoothing="m-estimate").fit_dataset(spread(rows, tmp_path), target="label")
    assert seen == []
    KDBClassifier(1, smoothing="hdp").fit_dataset(spread(rows, tmp_path), target="label")
    assert seen == [6], "one tree for the class and one for each feature"


def test_trees_travel_to_the_workers_whole(client):
    tree = CountTree.from_rows([[0, 1, 2, 1]], [0, 1, 1, 0], n_outcomes=2)
    answers = dask_runner.smooth_on_workers(smooth_and_sign, [tree] * 4, [0, 1, 2, 3])
    for counts, process in answers:
        np.testing.assert_array_equal(counts, tree.counts)
        assert process != os.getpid()
