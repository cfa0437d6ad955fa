"""Names of features as members of a C structure."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from export.c_program import FLAGS, run_c
from priorwise import NaiveBayesClassifier
from priorwise.export import export_c
from priorwise.export.c_arrays import name_fields

HEADERS = (
    *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits"),
    *("locale", "math", "setjmp", "signal", "stdalign", "stdarg", "stdbool", "stddef", "stdint"),
    *("stdio", "stdlib", "stdnoreturn", "string", "tgmath", "time", "uchar", "wchar", "wctype"),
)

TAKEN = [
    *("NAN", "NULL", "INFINITY", "EOF", "I", "M_PI", "INT_MAX", "HUGE_VAL", "BUFSIZ", "PREFETCH"),
    *("linux", "unix", "errno", "complex", "bool", "true", "false", "stdin", "assert", "isnan"),
    *("int", "class", "new", "template", "and", "typeof", "nullptr", "_Bool", "__x86_64__"),
    *("N_CLASSES", "N_FEATURES", "softmax", "row", "proba", "m0_row", "m0_ROW", "m0_N_CLASSES"),
    *("m0_DECLARATIONS", "rank_t", "x_NAN", "NaN", "2nd", "", "*/", "\u00e4", "a b", "a-b", "y"),
]
"""Names that mean something in C, in C++ or in the file."""


@pytest.fixture(scope="module")
def taken():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, len(TAKEN))), columns=TAKEN)
    return NaiveBayesClassifier().fit(X, np.arange(60) % 2), X[:5]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("standard", ["c99", "c11", "gnu17"])
def test_features_may_have_the_names_of_macros_and_keywords(compiler, standard, taken, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    model, X = taken
    (found,) = run_c([model], tmp_path, X, compiler, (f"-std={standard}",))
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_c_plus_plus_takes_the_declarations(taken, tmp_path):
    model, X = taken
    export_c(model, tmp_path / "model.c", prefix="m0")
    numbers = ", ".join(map(repr, X.iloc[0].tolist()))
    (tmp_path / "main.cpp").write_text(
        "#include <complex>\n#include <cstdio>\n#include <iostream>\n#include <cmath>\n"
        '#define m0_DECLARATIONS\n#include "model.c"\n'
        f"int main() {{\n    m0_row row = {{{numbers}}};\n    double proba[m0_N_CLASSES];\n"
        '    m0_predict_proba(&row, proba);\n    std::printf("%.17g", proba[0]);\n}\n'
    )
    flags = [flag for flag in FLAGS if not flag.startswith("-std")]
    for command in (
        ["gcc", *FLAGS, "-c", "model.c"],
        ["g++", *flags, "main.cpp", "model.o", "-o", "main", "-lm"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True)
    ran = subprocess.run([tmp_path / "main"], capture_output=True, check=True)
    assert abs(float(ran.stdout) - model.predict_proba(X[:1])[0, 0]) < 1e-12


def list_macros(compiler, standard):
    """Names of the macros of standard headers that mean something without arguments."""
    text = "".join(
        f"#if __has_include(<{name}.h>)\n#include <{name}.h>\n#endif\n" for name in HEADERS
    )
    ran = subprocess.run(
        [compiler, "-x", "c", f"-std={standard}", "-dM", "-E", "-"],
        input=text, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return re.findall(r"^#define ([A-Za-z]\w*)\s", ran.stdout, flags=re.MULTILINE)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("standard", ["c99", "c11", "c2x"])
def test_no_macro_of_a_standard_header_is_a_member(compiler, standard):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    macros = list_macros(compiler, standard)
    assert "EOF" in macros
    members = set(name_fields(macros, "model")) & set(macros)
    # Formats are used in texts alone.
    assert {name for name in members if not name.startswith(("PRI", "SCN"))} == set()


def test_plain_names_stay_plain():
    names = ["age", "Age", "bodyMass", "a1", "x2"]
    assert name_fields(names, "model") == names
