"""Fuzz the boundary of the library in child processes, and report what came of each input.

    make fuzz [TARGET=kernels] [SEED=0] [COUNT=100000] [SECONDS=120] [INDEX=17]

An input is drawn from a seed and an index. A crash, a hang, a growth of memory or an exception that
is no clear refusal is a failure: it is printed with the command that repeats it, and the inputs
after it go on, in a new child process if need be. Growth is memory beyond `MAX_BYTES`, which the
process uses or asks for: a MemoryError. Prints counts for each target; the exit status is 1 if
anything failed.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

import children

SHARES = {
    "kernels": 0.8, "smoothers": 0.1, "readers": 0.058, "model_files": 0.04, "checkpoints": 0.0005,
    "tables": 0.0015,
}  # fmt: skip
"""Targets, which are modules of this folder, and their shares of the inputs."""
N_CHILDREN = 2
CHILD_INPUTS = 50_000
"""Inputs of one child process at most."""
SECONDS_PER_INPUT = 30.0
SECONDS_TO_START = 300.0
WAITS = 5
"""A process that has not worked for so many times its limit hangs, too."""
MAX_BYTES = 2 * 2**30
"""Memory that a child process may use beyond what it began with; allocations beyond it fail."""
M_ARENA_MAX = -8
"""An option of the allocator of the GNU C library."""
NOT_RUN, FAILED, FIRST_OUTCOME = 0, 1, 2
"""What the byte of an input in the report of a child says; others are places in OUTCOMES."""


@dataclass
class Total:
    """What came of the inputs of one target."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


@dataclass
class Child:
    """A process that works on the inputs first..last - 1 of a target."""

    target: str
    seed: int
    first: int
    last: int
    seconds: float | None

    def start(self, folder: Path) -> None:
        """Start the process, which writes one byte per input to a file and texts to another."""
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.report = np.memmap(self.folder / "report", np.uint8, "w+", shape=self.size)
        self.began = self.moved = time.monotonic()
        self.moved_work = 0.0
        self.done = 0
        streams = dict.fromkeys(("stdout", "stderr"), self.folder / "texts")
        work_on = (self.target, self.seed, self.first, self.folder / "report")
        self.process = children.begin(work, *work_on, **streams)

    @property
    def size(self) -> int:
        """Number of inputs."""
        return self.last - self.first

    def watch(self) -> str | None:
        """Why the process is at its end, or None if it works on: "done" or a kind of failure."""
        ended = self.process.exitcode
        before = self.done
        self.done += int(np.count_nonzero(self.report[self.done : self.done + CHILD_INPUTS]))
        now = time.monotonic()
        used, memory = measure(self.process.pid or 0)
        if self.done > before:
            self.moved, self.moved_work = now, used
        if ended is not None:
            return "done" if ended == 0 else "crash"
        if self.seconds is not None and now - self.began > self.seconds and self.done > 0:
            return self._kill("done")
        # On a busy machine a process may wait for long without being in a loop.
        limit = SECONDS_PER_INPUT if self.done > 0 else SECONDS_TO_START
        if used - self.moved_work > limit or now - self.moved > WAITS * limit:
            return self._kill("hang")
        if memory > MAX_BYTES:
            return self._kill("growth")
        return None

    def _kill(self, reason: str) -> str:
        self.process.kill()
        self.process.join()
        return reason

    def texts(self) -> str:
        """What the process has printed."""
        return (self.folder / "texts").read_text(errors="replace")


def measure(process: int) -> tuple[float, int]:
    """Seconds of work and bytes of memory of a process; zeros where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return seconds, int(fields[21]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0.0, 0


def limit_memory() -> None:
    """Let allocations fail that would take this process over the limit."""
    # A core with sanitizers reserves most of the address space.
    if "san.so" not in os.environ.get("LD_PRELOAD", ""):
        status = Path("/proc/self/statm")
        used = int(status.read_text().split()[0]) * resource.getpagesize() if status.exists() else 0
        resource.setrlimit(resource.RLIMIT_AS, (used + MAX_BYTES, used + MAX_BYTES))


def start_target(target: str) -> Callable[[int, int], str]:
    """The function of a target that runs an input, with the memory limited from now on."""
    # The limit is of addresses, and arenas of allocators, one for each thread, would use it up.
    if hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(M_ARENA_MAX, 2)
    pa.set_memory_pool(pa.system_memory_pool())
    threadpool_limits(1)
    module = import_module(f"fuzz.{target}")
    getattr(module, "prepare", lambda: None)()
    limit_memory()
    return module.case


def work(target: str, seed: int, first: int, report: Path) -> None:
    """Run the inputs of a child process."""
    from fuzz.outcomes import OUTCOMES

    faulthandler.enable()
    warnings.simplefilter("ignore")
    case = start_target(target)
    places = {name: FIRST_OUTCOME + place for place, name in enumerate(OUTCOMES)}
    outcomes = np.memmap(report, np.uint8, "r+")
    for place in range(len(outcomes)):
        try:
            outcomes[place] = places[case(seed, first + place)]
        except Exception as error:
            kind = "growth" if isinstance(error, MemoryError) else "wrong exception"
            text = f"{type(error).__name__}: {error!s:.300}"
            print("failure", first + place, kind, text, sep="|", flush=True)
            outcomes[place] = FAILED


def repeat(target: str, seed: int, index: int) -> None:
    """Run one input in this process and print what comes of it."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(WAITS * SECONDS_PER_INPUT, exit=True)
    case = start_target(target)
    try:
        print(f"{target}, seed {seed}, index {index}: {case(seed, index)}")
    except Exception:
        traceback.print_exc()
        sys.exit(1)


def split_work(counts: dict[str, int], seed: int, seconds: float | None) -> list[Child]:
    """The processes to run; the time is dealt to the targets in equal parts."""
    children = []
    for target, count in counts.items():
        n_parts = 1 if seconds is not None else -(-count // CHILD_INPUTS)
        bounds = np.linspace(0, count, n_parts + 1).astype(int).tolist()
        share = None if seconds is None else seconds * min(1.0, N_CHILDREN / len(counts))
        children += [Child(target, seed, first, last, share) for first, last in pairwise(bounds)]
    return children


def run(counts: dict[str, int], seed: int, seconds: float | None) -> dict[str, Total]:
    """Run all inputs, and print failures as they come."""
    from fuzz.outcomes import OUTCOMES

    totals = {target: Total() for target in counts}
    waiting = split_work(counts, seed, seconds)
    running: list[Child] = []
    with tempfile.TemporaryDirectory(prefix="priorwise-fuzz-") as folder:
        while waiting or running:
            while waiting and len(running) < N_CHILDREN:
                running.append(waiting.pop(0))
                running[-1].start(Path(folder))
            time.sleep(0.05)
            for child in list(running):
                reason = child.watch()
                if reason is None:
                    continue
                running.remove(child)
                total = totals[child.target]
                total.seconds += time.monotonic() - child.began
                for code, n in zip(*np.unique(child.report, return_counts=True), strict=True):
                    if code >= FIRST_OUTCOME:
                        total.outcomes[OUTCOMES[code - FIRST_OUTCOME]] += int(n)
                lines = [x for x in child.texts().splitlines() if x.startswith("failure|")]
                for line in lines:
                    _, index, kind, text = line.split("|", 3)
                    tell(total, child, int(index), kind, text)
                if reason != "done":
                    at = child.first + child.done
                    tell(total, child, at, reason, child.texts()[-2000:])
                    if at + 1 < child.last:
                        left = child.seconds
                        if left is not None:
                            left = max(5.0, left - (time.monotonic() - child.began))
                        waiting.insert(0, Child(child.target, seed, at + 1, child.last, left))
    return totals


def tell(total: Total, child: Child, index: int, kind: str, text: str) -> None:
    """Count a failure, and print it with the command that repeats it."""
    total.failures[kind] += 1
    print(f"{kind}: make fuzz TARGET={child.target} SEED={child.seed} INDEX={index}\n  {text}")
    sys.stdout.flush()


def print_table(totals: dict[str, Total]) -> bool:
    """Print the counts of each target; returns whether nothing failed."""
    kinds = ("wrong exception", "crash", "hang", "growth")
    ended = ("accepted", "interrupted")
    refusals = sorted({name for total in totals.values() for name in total.outcomes} - {*ended})
    columns = ["target", "inputs", *ended, "refused", *refusals, *kinds, "seconds"]
    lines = [columns]
    for target, total in totals.items():
        counts = [total.outcomes[name] for name in refusals]
        failed = [total.failures[kind] for kind in kinds]
        n_ended = [total.outcomes[name] for name in ended]
        n_inputs = sum(n_ended) + sum(counts) + sum(failed)
        numbers = [n_inputs, *n_ended, sum(counts), *counts, *failed]
        lines.append([target, *(f"{n:,}" for n in numbers), f"{total.seconds:.0f}"])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join([line[0].ljust(widths[0]), *cells[1:]]))
    n_failed = sum(sum(total.failures.values()) for total in totals.values())
    print(f"{n_failed} failures")
    return n_failed == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", help=f"one of {', '.join(SHARES)}; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, help="inputs of all targets; 100,000 by default")
    parser.add_argument("--seconds", type=float, help="time for all targets; unlimited by default")
    parser.add_argument("--index", type=int, help="run this input alone, in this process")
    chosen = parser.parse_args()
    if chosen.index is not None:
        repeat(chosen.target or "kernels", chosen.seed, chosen.index)
        return
    shares = SHARES if chosen.target is None else {chosen.target: 1.0}
    count = chosen.count or (5_000_000 if chosen.seconds else 100_000)
    counts = {target: max(1, round(share * count)) for target, share in shares.items()}
    sys.exit(not print_table(run(counts, chosen.seed, chosen.seconds)))


if __name__ == "__main__":
    main()
