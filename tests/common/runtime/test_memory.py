"""Lack of memory is a MemoryError, and the process goes on."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

import children
from common.runtime import tight_memory

MANY_THREADS = "network with 200 threads"
LIMITS: dict[str, list[float]] = {"flagship": [0, 1, 3, 10, 20, 30]}
pytestmark = [
    pytest.mark.usefixtures("address_space_limits"),
    pytest.mark.xdist_group("one child fits all models"),
]

Fit = Callable[[str, list[float]], Counter[str]]


@pytest.fixture(scope="module")
def fit_with_limits(
    address_space_limits: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fit]:
    """A function that fits a model with limits in MB and counts what came of it."""
    folder = tmp_path_factory.mktemp("memory")
    with children.converse(tight_memory.main, folder) as (_, to_child, from_child):

        def run(name: str, limits: list[float]) -> Counter[str]:
            print(name, *limits, sep="\t", file=to_child, flush=True)
            return Counter(from_child.readline().rstrip("\n") for _ in limits)

        yield run


@pytest.mark.parametrize("name", [name for name in tight_memory.MODELS if name != MANY_THREADS])
def test_a_fit_without_memory_raises_memory_error_and_the_process_goes_on(
    fit_with_limits: Fit, name: str
) -> None:
    limits = LIMITS.get(name, [0, 0.5, 1, 2, 3, 4])
    outcomes = fit_with_limits(name, limits)
    assert set(outcomes) <= {"fitted", "MemoryError"}
    assert outcomes["MemoryError"] > 0


def test_a_fit_goes_on_with_the_threads_that_can_be_started(fit_with_limits: Fit) -> None:
    # 200 threads would need 1,600 MB for their stacks. Those of the pool, at most seven here or one
    # for each processor, reserve 72 MB each with what they allocate from.
    assert fit_with_limits(MANY_THREADS, [600, 700, 800]) == {"fitted": 3}
