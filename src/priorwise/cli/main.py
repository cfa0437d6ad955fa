"""The entry point: reads the arguments, runs one command, and turns errors into one line."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any

from priorwise.cli.parser import UsageError, build_parser
from priorwise.cli.words import find_swapped, translate


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code.

    0 is success, 1 a bench in which every cell failed, 2 a wrong argument or data that cannot be
    used, or a standard output that is closed, 130 an interruption, 143 a termination. Both leave
    no temporary file.
    """
    if sys.stderr is None:
        # It is closed: messages must not go to standard output, which `print` would take instead.
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        return _fail("standard output is closed")
    try:
        options: Any = None
        with _raise_on_termination(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", UserWarning)
            parser = build_parser()
            if not (sys.argv[1:] if arguments is None else arguments):
                parser.print_help()
                return 0
            options = parser.parse_args(arguments)
            warnings.showwarning = partial(_show_warning, options)
            module, function = options.run
            # Only now: other libraries take a second to load.
            command = getattr(import_module(f"priorwise.cli.{module}"), function)
            code = int(command(options) or 0)
            sys.stdout.flush()
            return code
    except BrokenPipeError:
        # The reader, such as head, has seen enough.
        _discard_output()
        return 0
    except UsageError as error:
        return _fail(str(error))
    except OSError as error:
        _discard_output()
        return _fail(_describe(error))
    except (ValueError, TypeError, ImportError, ArithmeticError, LookupError) as error:
        return _fail(find_swapped(options) or translate(str(error), options))
    except MemoryError as error:
        return _fail(f"not enough memory {error}")
    except KeyboardInterrupt:
        return _fail("interrupted", code=130)
    except _TerminatedError:
        return _fail("terminated", code=143)


class _TerminatedError(BaseException):
    """The system asks the program to end."""


@contextmanager
def _raise_on_termination() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP, which end a process at once, into an error that cleans up.

    Further ones are ignored meanwhile. Signals belong to the main thread: elsewhere, as in a
    program that calls `main` from a thread, they stay what they are.
    """

    def end(number: int, _frame: Any) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise _TerminatedError

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # What was ignored before, as SIGHUP by nohup, stays so.
    before = {n: signal.getsignal(n) for n in numbers if signal.getsignal(n) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fail(message: str, code: int = 2) -> int:
    print(f"priorwise: {' '.join(message.split())}", file=sys.stderr)
    return code


def _describe(error: OSError) -> str:
    """Name the file first; without one it is standard output that cannot be written."""
    if error.errno is None:
        return str(error)
    return f"{error.filename or 'standard output'}: {error.strerror}"


def _show_warning(
    options: Any, message: object, category: Any, *_place: Any, **_other: Any
) -> None:
    kind = "note" if category.__name__ == "FileNotice" else "warning"
    text = translate(" ".join(str(message).split()), options)
    print(f"priorwise: {kind}: {text}", file=sys.stderr)


def _discard_output() -> None:
    """Let Python write nothing more to standard output, which would fail again at its end.

    A stream that a program has put in its place is the program's to care for.
    """
    original = sys.__stdout__
    if original is not None and sys.stdout is original:
        with suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), original.fileno())
