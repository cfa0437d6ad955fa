"""A target with every kind of failure, to test the runner."""

from __future__ import annotations

import os
import time

import numpy as np

CRASH, HANG, GROWTH, WRONG_EXCEPTION, REFUSAL, TOO_LARGE = 2, 4, 6, 8, 9, 11
N_INPUTS = 13
GROWN_BYTES = 2**29


def case(seed: int, index: int) -> str:
    """Fail at some indices."""
    if index == CRASH:
        os.abort()
    if index == HANG:
        time.sleep(600)
    if index == GROWTH:
        memory = np.ones(GROWN_BYTES, np.uint8)
        time.sleep(600)
        assert memory.all()
    if index == TOO_LARGE:
        np.zeros(2**36, np.uint8)  # which would not be touched
    if index == WRONG_EXCEPTION:
        raise KeyError("a name")
    return "ValueError" if index == REFUSAL else "accepted"
