"""Learning from a stream keeps to its memory limit, measured in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import children

LIMIT = 20e6
CONSTANT = 50e6
"""For what readers and allocators take of their own."""

SCRIPT = """
import sys
import numpy as np
from priorwise import NaiveBayesClassifier

def resident(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))

few, path, limit = sys.argv[1:]
# A first call imports what readers need.
NaiveBayesClassifier().fit_dataset(few, "label")
start = resident("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
NaiveBayesClassifier().fit_dataset(path, "label", memory_limit=float(limit))
print(resident("VmHWM") - start)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_of_a_stream_keeps_to_the_limit(tmp_path: Path, rng: np.random.Generator) -> None:
    y = rng.integers(0, 2, 40_000)
    values = (rng.normal(size=(len(y), 30)) + y[:, None]).round(2)
    frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])
    frame["label"] = np.array(["no", "yes"])[y]
    few, path = tmp_path / "few.csv", tmp_path / "rows.csv"
    frame.head(200).to_csv(few, index=False)
    frame.to_csv(path, index=False)
    child = children.run_code(SCRIPT, few, path, LIMIT, folder=tmp_path)
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) <= LIMIT + CONSTANT
