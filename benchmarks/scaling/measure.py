"""Run a task in a process of its own: its time, and its memory above the start."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent


def run_apart(task: str, timeout: float | None = None, **arguments: Any) -> dict[str, Any]:
    """Call ``module:function`` with those arguments in a new process; it returns a dict.

    ``seconds``, ``processor`` (seconds of all threads) and ``peak`` (bytes of resident memory above
    those after the imports, at most) are added. Linux only.
    """
    command = [sys.executable, "-m", "scaling.measure", task, json.dumps(arguments)]
    done = subprocess.run(command, cwd=FOLDER, stdout=subprocess.PIPE, timeout=timeout, check=True)
    return dict(json.loads(done.stdout.decode().splitlines()[-1]))


def resident(field: str) -> int:
    """``VmRSS`` (now) or ``VmHWM`` (most so far) of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


def main() -> None:
    task, arguments = sys.argv[1], json.loads(sys.argv[2])
    module, _, name = task.partition(":")
    function = getattr(importlib.import_module(module), name)
    start_bytes = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the largest size so far
    start, before = time.perf_counter(), os.times()
    found = function(**arguments)
    found["seconds"], after = time.perf_counter() - start, os.times()
    found["processor"] = after.user + after.system - before.user - before.system
    found["peak"] = resident("VmHWM") - start_bytes
    print(json.dumps(found))


if __name__ == "__main__":
    main()
