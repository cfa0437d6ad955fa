"""What may come of a fuzzed call: it is accepted, or refused by a clear exception."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from priorwise.common.container import ContainerError
from priorwise.data import ArffError, SourceError

ACCEPTED = "accepted"
REFUSALS = (
    ValueError, TypeError, OverflowError, MemoryError, ArffError, SourceError, ContainerError,
)  # fmt: skip
OUTCOMES = (ACCEPTED, *(kind.__name__ for kind in REFUSALS))


def attempt(call: Callable[[], Any], *refusals: type[Exception], naming: str = "") -> str:
    """Call a function that may refuse.

    Returns "accepted" or the name of the exception that refused, which is one of `refusals` (of
    all of `REFUSALS` by default) and has a message that contains `naming`. Other exceptions are
    raised: they are faults, and so is a refusal that names nothing.
    """
    allowed = refusals or REFUSALS
    try:
        call()
    except UnicodeError:  # a ValueError that tells users nothing
        raise
    except allowed as error:
        text = str(error) or type(error).__name__ * isinstance(error, MemoryError)
        if not text or naming not in text:
            raise AssertionError(f"{error!r} does not name {naming or 'anything'}") from error
        return next(kind.__name__ for kind in REFUSALS[::-1] if isinstance(error, kind))
    return ACCEPTED
