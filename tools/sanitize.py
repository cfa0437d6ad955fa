"""Run tests with a core that was built with sanitizers; fail if these report anything.

    python tools/sanitize.py address [slice | test ...]
    python tools/sanitize.py thread [slice | test ...]

"address" looks for wrong use of memory and for undefined behaviour, "thread" for data races.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

# Python itself is not instrumented: the library must be loaded before it, and libstdc++ with it,
# whose function that throws the library replaces.
LIBRARIES = {"address": "libasan.so", "thread": "libtsan.so"}
# Importing polars ends a process that the thread sanitizer watches, and these folders import it.
TEST_FILES = sorted(Path("tests").rglob("test_*.py"))
WITH_POLARS = [str(file) for file in TEST_FILES if "import polars" in file.read_text()]
ALL_TESTS = {
    "address": ["tests", "--ignore=tests/statistical"],
    "thread": [
        *("tests", "--ignore=tests/statistical", "-k", "thread or jobs or interrupt"),
        *(f"--ignore={path}" for path in ["tests/fuzz", "tests/mistakes", *WITH_POLARS]),
    ],
}
# At least one test of each folder of src/core.
SLICE = {
    "address": [
        "tests/counts",
        "tests/structure",
        "tests/common/stored/test_stored_checks.py",
        "tests/common/stored/test_stored_values.py",
        "tests/common/runtime/test_threads.py",
        "tests/data/cuts/test_extreme_weights.py",
        "tests/smoothing/test_hgs.py",
        "tests/steps/linear/test_pieces.py",
        "tests/models/networks/test_batches.py",
        "tests/models/test_correction.py",
        "tests/models/trees/test_random_forests.py",
    ],
    "thread": ["tests/common/runtime/test_threads.py"],
}
# Libraries that are not instrumented, so that what they lock is not seen.
NOT_WATCHED = ("libarrow", "libparquet")
OPTIONS = ["-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]
MARKS = ("runtime error:", "ERROR: AddressSanitizer", "WARNING: ThreadSanitizer")


def find_library(name: str) -> str:
    """Return the path of a library of the compiler."""
    result = subprocess.run(
        ["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    return str(Path(result.stdout.strip()).resolve())


def count_tests(results: Path) -> str:
    """Return how many tests ran, failed and were skipped, in words."""
    if not results.exists():
        return "no test ended"
    suite = ElementTree.parse(results).getroot()[0]
    total, failures, errors, skipped = (
        int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")
    )
    return f"{total - skipped} tests run, {failures + errors} failed, {skipped} skipped"


def run(kind: str, tests: list[str]) -> int:
    """Run tests and print what the sanitizers reported; returns the exit status."""
    reports = Path("build") / kind / "reports"
    results = Path("build") / kind / "results.xml"
    reports.mkdir(parents=True, exist_ok=True)
    for old in [*reports.iterdir(), *results.parent.glob(results.name)]:
        old.unlink()
    suppressions = reports.parent / "suppressions"
    suppressions.write_text("".join(f"race:{library}\n" for library in NOT_WATCHED))
    options = f"log_path={reports.resolve()}/report:print_stacktrace=1:detect_leaks=0"
    environment = os.environ | {
        "LD_PRELOAD": f"{find_library(LIBRARIES[kind])} {find_library('libstdc++.so.6')}",
        "ASAN_OPTIONS": options,
        "UBSAN_OPTIONS": options,
        # Arrow holds more locks when a process is copied than the search for deadlocks can count.
        "TSAN_OPTIONS": f"log_path={reports.resolve()}/report:halt_on_error=0:exitcode=0"
        f":detect_deadlocks=0:suppressions={suppressions.resolve()}",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # Tells tests what they run with, see tests/conftest.py.
        "PRIORWISE_SANITIZER": kind,
    }
    command = [sys.executable, "-m", "pytest", *tests, *OPTIONS, f"--junitxml={results}"]
    print("sanitizer", kind, "runs:", *tests, flush=True)
    status = subprocess.run(command, env=environment).returncode
    texts = [report.read_text(errors="replace") for report in sorted(reports.iterdir())]
    n_reports = sum(text.count(mark) for text in texts for mark in MARKS)
    print(*texts, sep="\n")
    print(
        f"sanitizer {kind}: {count_tests(results)}, {n_reports} reports of the sanitizer; "
        f"{'failed' if status or n_reports else 'passed'}"
    )
    return 1 if status or n_reports else 0


if __name__ == "__main__":
    chosen = sys.argv[2:]
    sys.exit(
        run(
            sys.argv[1],
            SLICE[sys.argv[1]] if chosen == ["slice"] else chosen or ALL_TESTS[sys.argv[1]],
        )
    )
