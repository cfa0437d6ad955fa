"""Compiles and runs the C files of models."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from export.cases import list_rows, takes_text
from priorwise.export import export_c
from priorwise.export.c_arrays import write_characters, write_double, write_string
from priorwise.export.c_steps import MAX_TEXT

FLAGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")

MAIN = """
#include <math.h>
#include <stddef.h>
#include <stdio.h>
DECLARATIONS
int main(void)
{
    size_t i;
    int k;
    CALLS
    return 0;
}
"""

DECLARATION = """
#define m{0}_DECLARATIONS
#include "m{0}.c"
static const struct m{0}_row rows_{0}[] = {{{1}}};
"""

CALL = """
    for (i = 0; i < sizeof rows_{0} / sizeof *rows_{0}; ++i) {{
        double proba[m{0}_N_CLASSES];
        const double largest = m{0}_predict_proba(rows_{0} + i, proba);
        for (k = 0; k < m{0}_N_CLASSES; ++k) {{
            printf("%.17g ", proba[k]);
            if (proba[k] > largest) return 1;
        }}
    }}
"""


def write_cell(value: Any, is_nominal: bool) -> str:
    """A value as the C file takes it."""
    if is_nominal:
        text = str(value).encode()
        if len(text) > MAX_TEXT:
            return f"(const char[]){write_characters(text)}"
        return "0" if value is None else write_string(text)
    return "NAN" if value is None else write_double(float(value))


def run_c(
    models: list[Any],
    path: Path,
    X: pd.DataFrame,
    compiler: str = "cc",
    options: tuple[str, ...] = ("-O1",),
) -> list[np.ndarray]:
    """Probabilities of rows by each of several models, whose C files are in one program."""
    declarations, calls = "", ""
    for number, model in enumerate(models):
        text = export_c(model, path / f"m{number}.c", prefix=f"m{number}")
        assert (path / f"m{number}.c").read_text(encoding="utf-8") == text
        cells = [map(write_cell, row.values(), takes_text(model)) for row in list_rows(X)]
        rows = ",\n".join("{" + ",".join(row) + "}" for row in cells)
        declarations += DECLARATION.format(number, rows)
        calls += CALL.format(number)
    main = MAIN.replace("DECLARATIONS", declarations).replace("CALLS", calls)
    (path / "main.c").write_text(main, encoding="utf-8")
    files = ["main.c", *(f"m{number}.c" for number in range(len(models)))]
    subprocess.run([compiler, *FLAGS, *options, *files, "-o", "main", "-lm"], cwd=path, check=True)
    ran = subprocess.run([path / "main"], capture_output=True, check=True)
    numbers = np.array(ran.stdout.split(), dtype=float)
    ends = np.cumsum([len(X) * len(model.classes_) for model in models])
    return [part.reshape(len(X), -1) for part in np.split(numbers, ends[:-1])]
