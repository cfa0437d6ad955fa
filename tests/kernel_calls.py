"""Watching the calls of compiled kernels."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import priorwise
from priorwise import _core

STUB = Path(priorwise.__file__).with_name("_core.pyi")


@dataclass(frozen=True)
class KernelCall:
    """One call of a kernel.

    Attributes
    ----------
    name : str
        Name of the kernel.
    n_threads : int or None
        Number of threads it was given; None for kernels that take none.
    stack : list of str
        Functions of the package that were running, from the outermost to the one that called.
    """

    name: str
    n_threads: int | None
    stack: list[str]


@contextmanager
def kernel_calls() -> Iterator[list[KernelCall]]:
    """Return a list that every kernel call is added to, of functions and of methods alike."""
    calls: list[KernelCall] = []
    places = _thread_places()
    replaced: list[tuple[Any, str, Any]] = []
    for owner_name, owner in [("", _core), *inspect.getmembers(_core, inspect.isclass)]:
        for name, function in list(vars(owner).items()):
            full = f"{owner_name}.{name}".lstrip(".")
            if name.startswith("__") and name != "__init__":
                continue
            if callable(function) and not inspect.isclass(function):
                replaced.append((owner, name, function))
                setattr(owner, name, _watched(function, full, places.get(full), calls))
    try:
        yield calls
    finally:
        for owner, name, function in replaced:
            setattr(owner, name, function)


def _watched(
    function: Callable[..., Any], name: str, place: int | None, calls: list[KernelCall]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def watch(*arguments: Any, **options: Any) -> Any:
        n_threads = options.get("n_threads", options.get("n_jobs"))
        if n_threads is None and place is not None and place < len(arguments):
            n_threads = int(arguments[place])
        calls.append(KernelCall(name, n_threads, _package_stack()))
        return function(*arguments, **options)

    return watch


def _package_stack() -> list[str]:
    stack: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("priorwise"):
            stack.append(f"{module}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return stack[::-1]


def _thread_places() -> dict[str, int]:
    """Return the place of the number of threads among the arguments of each kernel."""
    places: dict[str, int] = {}
    for node in ast.parse(STUB.read_text()).body:
        members = [("", node)] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.ClassDef):
            members = [(f"{node.name}.", m) for m in node.body if isinstance(m, ast.FunctionDef)]
        for prefix, function in members:
            for place, argument in enumerate(function.args.args):
                if argument.arg in ("n_threads", "n_jobs"):
                    places[prefix + function.name] = place
    return places
