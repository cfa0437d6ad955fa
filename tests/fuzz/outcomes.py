"""What may come of a fuzzed call: it is accepted, refused by a clear exception, or interrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from priorwise.common.container import ContainerError
from priorwise.data import ArffError, SourceError

ACCEPTED, INTERRUPTED = "accepted", "interrupted"
REFUSALS = (ValueError, TypeError, OverflowError, ArffError, SourceError, ContainerError)
OUTCOMES = (ACCEPTED, INTERRUPTED, *(kind.__name__ for kind in REFUSALS))


def attempt(call: Callable[[], Any], *refusals: type[Exception], naming: str = "") -> str:
    """Call a function that may refuse.

    Returns "accepted" or the name of the exception that refused, which is one of `refusals` (of
    all of `REFUSALS` by default) and has a message that contains `naming`. Other exceptions are
    raised: they are faults, and so is a refusal that names nothing. A MemoryError is no refusal:
    what asks for too much memory is to be refused by name before any is taken.
    """
    allowed = refusals or REFUSALS
    try:
        call()
    except UnicodeError:  # a ValueError that tells users nothing
        raise
    except allowed as error:
        if not str(error) or naming not in str(error):
            raise AssertionError(f"{error!r} does not name {naming or 'anything'}") from error
        return next(kind.__name__ for kind in REFUSALS[::-1] if isinstance(error, kind))
    return ACCEPTED
