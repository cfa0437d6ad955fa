"""Ctrl-C stops long work soon, and the process goes on."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from select import select

import pytest

import children
from common import long_work

SECONDS_TO_ANSWER = 15.0 if "PRIORWISE_SANITIZER" in os.environ else 3.0
"""CPU seconds of all threads, which a busy machine does not change."""
SECONDS_OF_WORK = 0.2
"""CPU seconds after which work is interrupted."""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads the child's CPU time"),
    pytest.mark.xdist_group("one child does all work"),
]


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used, by the clock that Linux keeps for it."""
    return time.clock_gettime(~pid << 3 | 2)


@pytest.fixture(scope="module")
def interrupt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """A function that starts named work in a child and interrupts it; returns the answer."""
    folder = tmp_path_factory.mktemp("interrupts")
    sent = folder / "sent"
    with children.converse(long_work.main, folder) as (child, to_child, from_child):
        pid = child.pid
        assert pid is not None

        def run(name: str) -> str:
            print(name, sent, sep="\t", file=to_child, flush=True)
            assert from_child.readline() == "begun\n"
            begun = cpu_seconds(pid)
            while cpu_seconds(pid) < begun + SECONDS_OF_WORK:
                if select([from_child], [], [], 0.01)[0]:  # it has ended by itself
                    return from_child.readline()
            sent.write_text(repr(cpu_seconds(pid)))
            os.kill(pid, signal.SIGINT)
            return from_child.readline()

        yield run


@pytest.mark.parametrize("name", long_work.WORK)
def test_work_is_stopped_and_the_process_goes_on(
    interrupt: Callable[[str], str], name: str
) -> None:
    assert float(interrupt(name)) < SECONDS_TO_ANSWER
