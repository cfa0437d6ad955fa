"""Lack of memory is a MemoryError, and the process goes on."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from common.resources.tight_memory import MODELS

MANY_THREADS = "network with 200 threads"
LIMITS: dict[str, list[float]] = {
    "flagship": [0, 1, 3, 10, 30, 60],
    # Models that need little: the first that lacks memory may be the data of a new thread.
    "selective network": [0] * 10,
    "forest of best splits": [0] * 10,
}
pytestmark = [
    pytest.mark.usefixtures("address_space_limits"),
    pytest.mark.xdist_group("one child fits all models"),
]

Fit = Callable[[str, list[float]], Counter[str]]


@pytest.fixture(scope="module")
def fit_with_limits(address_space_limits: None) -> Iterator[Fit]:
    """A function that fits a model with limits in MB and counts what came of it."""
    script = Path(__file__).with_name("tight_memory.py")
    child = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    to_child, from_child = child.stdin, child.stdout

    def run(name: str, limits: list[float]) -> Counter[str]:
        print(name, *limits, sep="\t", file=to_child, flush=True)
        return Counter(from_child.readline().rstrip("\n") for _ in limits)

    with child:
        yield run
        child.kill()


@pytest.mark.parametrize("name", [name for name in MODELS if name != MANY_THREADS])
def test_a_fit_without_memory_raises_memory_error_and_the_process_goes_on(
    fit_with_limits: Fit, name: str
) -> None:
    limits = LIMITS.get(name, [0, 0.5, 1, 2, 3, 4])
    outcomes = fit_with_limits(name, limits)
    assert set(outcomes) <= {"fitted", "MemoryError", "no thread-local data"}
    assert outcomes["MemoryError"] > 0


def test_a_fit_goes_on_with_the_threads_that_can_be_started(fit_with_limits: Fit) -> None:
    # 200 threads would need 1,600 MB for their stacks. Those of the pool, at most seven here or one
    # for each processor, reserve 72 MB each with what they allocate from.
    assert fit_with_limits(MANY_THREADS, [600, 700, 800]) == {"fitted": 3}
