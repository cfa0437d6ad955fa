"""Ten small sets, and their trees by Weka's J48 without pruning and collapsing.

    PYTHONPATH=. python tests/structure/trees/j48_sets.py weka.jar

writes the trees again; weka.jar is part of the package python-weka-wrapper3.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.problems import games
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from priorwise.datasets import make_led, make_waveform

TREES = Path(__file__).with_name("j48_trees.txt")


def make_sets() -> dict[str, tuple[list[NDArray[Any]], NDArray[np.int32]]]:
    """Columns, numbers or codes, and classes of each set."""
    given = {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "balance": games.make_balance_scale(),
        "monks 1": games.make_monks(1),
        "monks 2": games.make_monks(2),
        "monks 3": games.make_monks(3),
        "tic-tac-toe": games.make_tic_tac_toe(),
        "led": make_led(300, n_irrelevant=3, random_state=0),
        "waveform": make_waveform(200, n_noise=2, random_state=0),
    }
    sets = {}
    for name, (X, y) in given.items():
        columns = [np.ascontiguousarray(column) for column in np.asarray(X).T]
        if columns[0].dtype == object:
            columns = [_codes(column) for column in columns]
        sets[name] = columns, _codes(y)
    return sets


def _codes(labels: Any) -> NDArray[np.int32]:
    return np.unique(np.asarray(labels).astype(str), return_inverse=True)[1].astype(np.int32)


def read_trees() -> dict[str, list[str]]:
    """The lines of each tree: depth, feature, branch, and the rows of a leaf."""
    sections = TREES.read_text().strip().split("\n\n")
    return {text.split("\n")[0]: text.split("\n")[1:] for text in sections}


def grow_with_weka(jar: str, columns: list[NDArray[Any]], y: NDArray[np.int32]) -> list[str]:
    """Return the lines of the tree that J48 grows."""
    kinds = [
        "numeric" if c.dtype != np.int32 else "{" + ",".join(map(str, range(c.max() + 1))) + "}"
        for c in [*columns, y]
    ]
    header = "".join(f"@attribute x{i} {kind}\n" for i, kind in enumerate(kinds))
    cells = zip(*(column.tolist() for column in [*columns, y]), strict=True)
    rows = "\n".join(",".join(map(repr, row)) for row in cells)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.arff"
        path.write_text(f"@relation rows\n{header}@data\n{rows}\n")
        command = ["java", "-cp", jar, "weka.classifiers.trees.J48", "-t", str(path), "-U", "-O"]
        command += ["-doNotMakeSplitPointActualValue", "-no-cv", "-num-decimal-places", "9"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = []
    for line in re.findall(r"^(?:\|   )*x\d+ .*$", output, flags=re.M):
        found = re.fullmatch(r"((?:\|   )*)x(\d+) (<=|>|=) ([^:]+)(?:: .* \(([\d.]+).*\))?", line)
        assert found, line
        bars, feature, sign, value, n_rows = found.groups()
        if n_rows is None or float(n_rows) > 0:
            size = "" if n_rows is None else f" {float(n_rows):g}"
            lines.append(f"{len(bars) // 4} {feature} {sign} {float(value):.6g}{size}")
    return lines


if __name__ == "__main__":
    texts = [
        "\n".join([name, *grow_with_weka(sys.argv[1], columns, y)])
        for name, (columns, y) in make_sets().items()
    ]
    TREES.write_text("\n\n".join(texts) + "\n")
