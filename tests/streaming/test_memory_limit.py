"""Learning from a stream keeps to its memory limit, measured in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

LIMIT = 40e6
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


def write_arff(frame: pd.DataFrame, path: Path) -> None:
    names = [f"@attribute {name} numeric\n" for name in frame.columns[:-1]]
    lines = frame.to_csv(header=False, index=False)
    head = ["@relation rows\n", *names, "@attribute label {no,yes}\n", "@data\n"]
    path.write_text("".join(head) + lines)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("ending", "n_rows", "n_columns"),
    [("csv", 80_000, 30), ("parquet", 200_000, 30), ("arff", 6_000, 300)],
)
def test_the_peak_of_a_stream_keeps_to_the_limit(
    ending: str, n_rows: int, n_columns: int, tmp_path: Path, rng: np.random.Generator
) -> None:
    y = rng.integers(0, 2, n_rows)
    values = (rng.normal(size=(n_rows, n_columns)) + y[:, None]).round(4)
    frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(n_columns)])
    frame["label"] = np.array(["no", "yes"])[y]
    paths = [tmp_path / f"few.{ending}", tmp_path / f"rows.{ending}"]
    for rows, path in zip((frame.head(200), frame), paths, strict=True):
        if ending == "csv":
            rows.to_csv(path, index=False)
        elif ending == "parquet":
            rows.to_parquet(path)
        else:
            write_arff(rows, path)
    command = [sys.executable, "-c", SCRIPT, *map(str, paths), str(LIMIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 1.25 * LIMIT + CONSTANT
