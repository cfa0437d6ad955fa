"""Functions called on several threads, and the pool of threads that kernels share."""

import _thread
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from priorwise import KDBClassifier
from priorwise.common.runtime import map_in_threads


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 7, 200])
def test_results_keep_the_order_of_the_items(n_jobs):
    assert map_in_threads(lambda i: i * i, range(50), n_jobs=n_jobs) == [i * i for i in range(50)]


def test_functions_of_several_arguments_take_one_of_each():
    assert map_in_threads(pow, [2, 3], [3, 2], n_jobs=2) == [8, 9]
    with pytest.raises(ValueError, match="shorter"):
        map_in_threads(pow, [2, 3], [3], n_jobs=2)


@pytest.mark.parametrize("n_items", [0, 1])
def test_few_items_are_no_special_case(n_items):
    assert map_in_threads(str, range(n_items), n_jobs=3) == ["0"][:n_items]


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_the_first_exception_is_raised_and_no_further_item_is_begun(n_jobs):
    begun = []

    def fail_at_two(i):
        begun.append(i)
        if i == 2:
            raise KeyError("two")
        time.sleep(0.002)

    with pytest.raises(KeyError, match="two"):
        map_in_threads(fail_at_two, range(1000), n_jobs=n_jobs)
    assert len(begun) < 100


def test_several_threads_work_at_once():
    both = threading.Barrier(2, timeout=30.0)
    map_in_threads(lambda _: both.wait(), range(2), n_jobs=2)


def test_calls_may_be_nested_and_come_from_several_threads():
    def total(n):
        def inner(i):
            return sum(map_in_threads(abs, [i, n], n_jobs=2))

        return sum(map_in_threads(inner, range(n), n_jobs=3))

    callers = map_in_threads(total, [5, 6, 7, 8, 9], n_jobs=5)
    assert callers == [total(n) for n in [5, 6, 7, 8, 9]]


@pytest.mark.parametrize("n_startable", [0, 1])
def test_work_goes_on_with_the_threads_that_can_be_started(monkeypatch, n_startable):
    started: list[int] = []

    def start(run, arguments):
        if len(started) == n_startable:
            raise RuntimeError("can't start new thread")
        started.append(real_start(run, arguments))

    real_start = _thread.start_new_thread
    monkeypatch.setattr(_thread, "start_new_thread", start)
    assert map_in_threads(abs, range(-9, 0), n_jobs=4) == list(range(9, 0, -1))
    assert len(started) == n_startable


def test_kernels_called_from_several_threads_at_once_agree_with_one_call(some_table):
    X, y = some_table
    expected = KDBClassifier().fit(X, y).predict_proba(X)
    fitted = map_in_threads(
        lambda _: KDBClassifier(n_jobs=3).fit(X, y).predict_proba(X), range(6), n_jobs=3
    )
    for proba in fitted:
        np.testing.assert_array_equal(proba, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_threads_of_its_own(some_table):
    X, y = some_table
    expected = KDBClassifier(n_jobs=3).fit(X, y).predict_proba(X)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        equal = np.array_equal(KDBClassifier(n_jobs=3).fit(X, y).predict_proba(X), expected)
        os._exit(0 if equal else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_process_ends_while_threads_of_the_pool_wait():
    code = (
        "import numpy as np, priorwise\n"
        "X = np.array(list('abcde'))[np.random.default_rng(0).integers(0, 5, (5000, 9))]\n"
        "priorwise.KDBClassifier(n_jobs=7).fit(X[:, 1:], X[:, 0])\n"
        "print('fitted')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert (ended.stdout, ended.stderr) == ("fitted\n", "")


@pytest.fixture
def some_table():
    generator = np.random.default_rng(8)
    X = np.array(list("abcdef"))[generator.integers(0, 6, (6000, 10))]
    return X, (generator.random(6000) < 0.3 + 0.1 * (X[:, 1] == "d")).astype(int)


WORK = {
    "a kernel": "KDBClassifier(max_parents=4, n_jobs=2).fit(X[:, 1:], y)",
    "a shared function": "map_in_threads(lambda i: sum(range(1000)), range(1000), n_jobs=2)",
}
END = """
import threading, time
import numpy as np
from priorwise import KDBClassifier
from priorwise.common.runtime import map_in_threads

class SlowEnd:
    def __del__(self, sleep=time.sleep):
        sleep(0.3)

X = np.random.default_rng(0).integers(0, 4, (2_000, 8))
y = X[:, 0]
begun, slow = threading.Event(), SlowEnd()

def work():
    while True:
        {work}
        begun.set()

threading.Thread(target=work, daemon=True).start()
begun.wait()
"""


@pytest.mark.parametrize("work", WORK)
def test_a_process_ends_well_while_a_daemon_thread_works(work):
    code = END.format(work=WORK[work])
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, b"")
