"""Compiles and runs the C file of a model."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from export.cases import list_rows, takes_text
from priorwise.export import export_c
from priorwise.export.c_literals import write_double, write_string

FLAGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")

MAIN = """
#include "model.c"
#include <stdio.h>
static const struct model_row rows[] = {ROWS};
int main(void)
{
    double proba[model_N_CLASSES];
    size_t i;
    int k;
    for (i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const double largest = model_predict_proba(rows + i, proba);
        for (k = 0; k < model_N_CLASSES; ++k) {
            printf("%.17g ", proba[k]);
            if (proba[k] > largest) return 1;
        }
    }
    return 0;
}
"""


def write_cell(value: Any, is_nominal: bool) -> str:
    """A value as the C file takes it."""
    if is_nominal:
        return "0" if value is None else write_string(str(value).encode())
    return "NAN" if value is None else write_double(float(value))


def run_c(
    model: Any,
    path: Path,
    X: pd.DataFrame,
    compiler: str = "cc",
    options: tuple[str, ...] = ("-O1",),
) -> np.ndarray:
    """Probabilities of rows by the compiled C file of a model."""
    text = export_c(model, path / "model.c")
    assert (path / "model.c").read_text(encoding="utf-8") == text
    nominal = takes_text(model)
    rows = ["{" + ",".join(map(write_cell, row.values(), nominal)) + "}" for row in list_rows(X)]
    (path / "main.c").write_text(MAIN.replace("ROWS", ",\n".join(rows)), encoding="utf-8")
    subprocess.run(
        [compiler, *FLAGS, *options, "main.c", "-o", "main", "-lm"], cwd=path, check=True
    )
    ran = subprocess.run([path / "main"], capture_output=True, check=True)
    return np.array(ran.stdout.split(), dtype=float).reshape(len(X), -1)
