"""Networks learnt from Spark frames, on real worker processes; needs pyspark and Java."""

import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from priorwise import NaiveBayesClassifier, TANClassifier
from priorwise.data import SourceError
from priorwise.streaming.runners.spark import SparkRunner

sql = pytest.importorskip("pyspark.sql")
if shutil.which("java") is None:
    pytest.skip("needs Java, for Spark", allow_module_level=True)

pytestmark = [
    pytest.mark.xdist_group("one Spark"),
    # Those of Spark's own code and its open sockets.
    pytest.mark.filterwarnings("ignore"),
]

N_PARTS = 3


# Tests of other files may come between those of this one.
@pytest.fixture(scope="session")
def spark():
    # Two worker processes; a task may fail once.
    builder = (
        sql.SparkSession.builder.master("local[2,2]")
        # A short life: less is compiled than for a server.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.python.daemon.module", "warm_spark")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "localhost")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.sql.adaptive.enabled", "false")
    )
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        environment.setenv("PYTHONPATH", str(Path(__file__).parent))
        environment.setenv("PYTHONWARNINGS", "ignore")
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def rows(rng):
    n_rows = 600
    y = rng.integers(3, size=n_rows)
    frame = {"the size": (y + rng.normal(size=n_rows)).round(1)}
    previous = y
    for i in range(3):
        previous = np.where(rng.random(n_rows) < 0.5, previous, rng.integers(4, size=n_rows))
        frame[f"word{i}"] = np.array(["a", "b", "c", "d"], dtype=object)[previous]
    frame["label"] = np.array(["low", "middle", "high"], dtype=object)[y]
    return pd.DataFrame(frame)


def spread(spark, rows, folder=None, seconds=0.0):
    """A frame of `N_PARTS` partitions; with a folder, readers sleep and leave a note there."""
    frame = spark.createDataFrame(rows).repartition(N_PARTS).persist()
    if folder is None:
        return frame
    folder = str(folder)

    def read_slowly(batches):
        Path(f"{folder}/{os.getpid()}-{time.time_ns()}").touch()
        time.sleep(seconds)
        yield from batches

    return frame.mapInArrow(read_slowly, frame.schema)


def assert_same(found, expected, X):
    assert found.structure_ == expected.structure_
    for mine, yours in zip(found.count_trees_, expected.count_trees_, strict=True):
        np.testing.assert_array_equal(mine.counts, yours.counts)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_workers_learn_the_model_that_memory_gives(rows, spark):
    rows = rows.rename(columns={"word0": "a `word`.0"})
    X, y = rows.drop(columns="label"), rows["label"].to_numpy(dtype=object)
    data = spread(spark, rows)
    expected = NaiveBayesClassifier().fit(X, y)
    found = NaiveBayesClassifier().fit_dataset(data, "label", batch_rows=100)
    assert_same(found, expected, X)


def test_a_worker_killed_in_each_pass_changes_nothing(rows, spark, tmp_path, monkeypatch):
    X, y = rows.drop(columns="label"), rows["label"].to_numpy(dtype=object)
    expected = TANClassifier().fit(X, y)
    killed = []

    def kill_a_reader(n_before):
        while len(notes := os.listdir(tmp_path)) < n_before + 2:
            time.sleep(0.01)
        notes.sort(key=lambda note: note.split("-")[1])
        killed.append(int(notes[-1].split("-")[0]))
        os.kill(killed[-1], signal.SIGKILL)

    sum_partitions = SparkRunner._sum

    def sum_while_one_dies(self, work, coder):
        killer = threading.Thread(target=kill_a_reader, args=[len(os.listdir(tmp_path))])
        killer.start()
        total = sum_partitions(self, work, coder)
        killer.join(timeout=60)
        assert not killer.is_alive()
        return total

    monkeypatch.setattr(SparkRunner, "_sum", sum_while_one_dies)
    found = TANClassifier().fit_dataset(spread(spark, rows, tmp_path, seconds=0.2), target="label")
    assert_same(found, expected, X)
    assert found.n_passes_ == len(killed) == 3
    assert str(os.getpid()) not in {note.split("-")[0] for note in os.listdir(tmp_path)}
    # A worker that dies costs its own work and not that of others.
    assert len(os.listdir(tmp_path)) <= 3 * (N_PARTS + 2)


def test_a_missing_target_is_an_error_that_names_the_partition(rows, spark):
    rows.loc[7, "label"] = None
    with pytest.raises(Exception, match=r"partition \d, rows .*: target 'label' must not be"):
        NaiveBayesClassifier().fit_dataset(spread(spark, rows), target="label")
    with pytest.raises(SourceError, match="target 'other' is missing"):
        NaiveBayesClassifier().fit_dataset(spread(spark, rows), target="other")
