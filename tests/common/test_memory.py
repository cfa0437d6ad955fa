"""Lack of memory is a MemoryError, and the process goes on."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from common.tight_memory import MODELS

LIMITS: dict[str, list[float]] = {"flagship": [0, 1, 3, 10, 30, 60]}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of address space")


def fit_with_limits(name: str, limits: list[float]) -> Counter[str]:
    """How often each outcome came of fitting a model with these limits, in MB."""
    script = Path(__file__).with_name("tight_memory.py")
    command = [sys.executable, str(script), name, *map(str, limits)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Counter(ended.stdout.splitlines())


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_without_memory_raises_memory_error_and_the_process_goes_on(name: str) -> None:
    limits = LIMITS.get(name, [0.5 * i for i in range(12)])
    outcomes = fit_with_limits(name, limits)
    assert set(outcomes) <= {"fitted", "MemoryError"}
    assert outcomes["MemoryError"] > 0
    assert outcomes.total() == len(limits)


def test_a_fit_goes_on_with_the_threads_that_can_be_started() -> None:
    # 200 threads would need 1,600 MB for their stacks.
    assert fit_with_limits("network with 200 threads", [150, 200, 250]) == {"fitted": 3}
