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

# Python itself is not instrumented: the library must be loaded before it, and libstdc++ with it,
# whose function that throws the library replaces.
LIBRARIES = {"address": "libasan.so", "thread": "libtsan.so"}
ALL_TESTS = {
    "address": ["tests", "--ignore=tests/statistical"],
    "thread": ["tests", "-k", "thread or jobs or interrupt"],
}
SLICE = {
    "address": ["tests/counts", "tests/structure", "tests/smoothing/test_hgs.py"],
    "thread": ["tests/common/test_threads.py"],
}
# Tests that limit the address space can't run: the sanitizers reserve most of it.
LEFT_OUT = ["--deselect", "tests/common/test_memory.py", "-p", "no:cacheprovider"]


def find_library(name: str) -> str:
    """Return the path of a library of the compiler."""
    result = subprocess.run(
        ["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True
    )
    return str(Path(result.stdout.strip()).resolve())


def run(kind: str, tests: list[str]) -> int:
    """Run tests and print what the sanitizers reported; returns the exit status."""
    reports = Path("build") / kind / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    for old in reports.iterdir():
        old.unlink()
    options = f"log_path={reports.resolve()}/report:print_stacktrace=1:detect_leaks=0"
    environment = os.environ | {
        "LD_PRELOAD": f"{find_library(LIBRARIES[kind])} {find_library('libstdc++.so.6')}",
        "ASAN_OPTIONS": options,
        "UBSAN_OPTIONS": options,
        "TSAN_OPTIONS": f"log_path={reports.resolve()}/report:halt_on_error=0:exitcode=0",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "pytest", *tests, *LEFT_OUT]
    print("sanitizer", kind, "runs:", *tests, flush=True)
    status = subprocess.run(command, env=environment).returncode
    texts = [report.read_text() for report in sorted(reports.iterdir())]
    n_reports = sum(
        text.count(mark)
        for text in texts
        for mark in ("runtime error:", "ERROR: AddressSanitizer", "WARNING: ThreadSanitizer")
    )
    print(*texts, sep="\n")
    print(f"sanitizer {kind}: {n_reports} reports, tests {'failed' if status else 'passed'}")
    return 1 if status or n_reports else 0


if __name__ == "__main__":
    chosen = sys.argv[2:]
    sys.exit(
        run(
            sys.argv[1],
            SLICE[sys.argv[1]] if chosen == ["slice"] else chosen or ALL_TESTS[sys.argv[1]],
        )
    )
