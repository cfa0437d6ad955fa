"""Child processes that start with the library imported: forks of one process that has imported it.

A new process would import scikit-learn, pandas and the library for some seconds. Where forks do
not work, each child is one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import forkserver, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TextIO

Work = Callable[..., int | None]

PRELOADED = [
    "pytest", "pandas", "pyarrow.parquet", "sklearn.ensemble", "distributed", "dask.dataframe",
    "priorwise.public_names", "priorwise.streaming", "priorwise.cli.fit",
]  # fmt: skip
"""Modules that children need not import; those that are not installed are left out."""

# The thread sanitizer ends forks of a process with threads, and pyarrow has one.
CAN_FORK = hasattr(os, "fork") and os.environ.get("PRIORWISE_SANITIZER") != "thread"
START_METHOD = "forkserver" if CAN_FORK else "spawn"
"""Of the module multiprocessing."""
SECONDS_TO_END = 600.0


@dataclass(frozen=True)
class Ended:
    """Exit code of a child, or minus the number of its signal, and what it has written."""

    returncode: int
    stdout: str
    stderr: str


def start_server() -> None:
    """Start the process that children are forks of, if it does not run yet."""
    if CAN_FORK:
        get_context("forkserver").set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()


def begin(work: Work, *arguments: Any, **streams: Path) -> BaseProcess:
    """Begin work in a child.

    Parameters
    ----------
    work : a function of a module, whose result is the exit code.
    streams : the files that are the child's `stdin`, `stdout` and `stderr`.
    """
    start_server()
    context: Any = get_context(START_METHOD)
    places = {name: str(path) for name, path in streams.items()}
    child: BaseProcess = context.Process(target=_do, args=(work, arguments, os.getcwd(), places))
    child.start()
    return child


@contextmanager
def start(work: Work, *arguments: Any, **streams: Path) -> Iterator[BaseProcess]:
    """Begin work in a child that is killed at the end of the block if it is still at work."""
    child = begin(work, *arguments, **streams)
    try:
        yield child
    finally:
        child.kill()
        child.join()
        child.close()


def run(work: Work, *arguments: Any, folder: Path, **streams: Path) -> Ended:
    """Do work in a child, whose output is kept in files of a folder, and wait for its end."""
    places = {"stdout": folder / "stdout", "stderr": folder / "stderr"} | streams
    for name in ("stdout", "stderr"):
        places[name].write_text("")
    with start(work, *arguments, **places) as child:
        child.join(SECONDS_TO_END)
        assert child.exitcode is not None, f"the child still works after {SECONDS_TO_END} s"
        return Ended(child.exitcode, places["stdout"].read_text(), places["stderr"].read_text())


@contextmanager
def converse(work: Work, folder: Path) -> Iterator[tuple[BaseProcess, TextIO, TextIO]]:
    """Begin work in a child; yields the child, its standard input and its standard output."""
    streams = {"stdin": folder / "to_child", "stdout": folder / "from_child"}
    for path in streams.values():
        os.mkfifo(path)
    with (
        start(work, **streams) as child,
        streams["stdin"].open("w") as to_child,
        streams["stdout"].open() as from_child,
    ):
        yield child, to_child, from_child
        child.kill()


def run_code(code: str, *arguments: object, folder: Path) -> Ended:
    """Run code in a child as a program with arguments."""
    return run(execute, code, [str(argument) for argument in arguments], folder=folder)


def execute(code: str, arguments: list[str]) -> None:
    """Run code in this process as a program with arguments."""
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<code of a test>", "exec"), {"__name__": "__main__"})


def _do(work: Work, arguments: tuple[Any, ...], folder: str, streams: dict[str, str]) -> None:
    os.chdir(folder)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if name in streams:
            # Both outputs may be one file.
            with open(streams[name], "a" if number else "r") as file:
                os.dup2(file.fileno(), number)
            mode = "w" if number else "r"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
    sys.exit(work(*arguments))
