"""Fuzz target: every function, constructor and method of the core with hostile arguments.

A valid call is taken, and a few of its arguments are changed. Whatever they are, the call returns
or is refused by an exception that names what is wrong, and a refused call changes no argument. A
call that may work for long is interrupted, as by Ctrl-C, and must end soon.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fuzz.corpus import (
    Call,
    Corpus,
    argument_names,
    bound_class,
    constructor_arguments,
    copy_argument,
    takes_names_only,
    valid_calls,
)
from fuzz.mutate import OTHERS, Mutator
from fuzz.outcomes import ACCEPTED, INTERRUPTED, REFUSALS, attempt

AMOUNTS_OF_WORK = {"n_sweeps", "n_burn_in", "n_draws", "max_passes", "max_rounds", "patience"}
"""Arguments that say how long to work."""
MAX_WORK = 1000
"""Calls with a larger amount of work are interrupted."""
SECONDS_TO_INTERRUPT = 0.02
SECONDS_TO_ANSWER = 15.0 if "PRIORWISE_SANITIZER" in os.environ else 1.5
THREADS = (-(2**31), -1, 0, 1, 2, 3, 8, 2**31 - 1, 2**31)


prepare = valid_calls
"""What is done once, before the first input."""


def case(seed: int, index: int) -> str:
    """Make one call, and return "accepted" or the name of the exception that refused it."""
    corpus = valid_calls()
    rng = random.Random(f"{seed} {index}")
    names = sorted(corpus.calls)
    call = rng.choice(corpus.calls[names[index % len(names)]])
    arguments = change_arguments(call, corpus, rng)
    before = [copy_argument(value) for value in arguments]
    results: list[Any] = []

    def run() -> None:
        results.append(call.run(arguments))

    outcome = interrupt(run) if works_long(call, arguments) else attempt(run)
    if outcome == ACCEPTED:
        check_structures(results)
    else:
        assert all(map(same, before, arguments)), (
            f"{call.name} was {outcome}, but changed arguments"
        )
    return outcome


def works_long(call: Call, arguments: list[Any]) -> bool:
    """Whether a call is asked for so much work that it may not end by itself.

    Rules may ask for any amount.
    """
    if any(takes_names_only(type(value).__name__) for value in arguments):
        return True
    amounts = [
        value
        for name, value in zip(argument_names(call.name), arguments, strict=False)
        if name in AMOUNTS_OF_WORK and isinstance(value, int)
    ]
    return max(amounts, default=0) > MAX_WORK


def interrupt(run: Callable[[], None]) -> str:
    """Run a call that is interrupted if it is not over by then, and check that it ends soon."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGALRM, stop)
    started, worked = time.monotonic(), time.process_time()
    try:
        signal.setitimer(signal.ITIMER_REAL, SECONDS_TO_INTERRUPT)
        try:
            return attempt(run)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    except KeyboardInterrupt:
        # The clock goes on while other processes work, and threads work at the same time.
        seconds = min(time.monotonic() - started, time.process_time() - worked)
        assert seconds < SECONDS_TO_ANSWER, f"an interrupt was answered after {seconds:.1f} s"
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGALRM, earlier)


def change_arguments(call: Call, corpus: Corpus, rng: random.Random) -> list[Any]:
    """Arguments of a call, of which up to three have been changed."""
    arguments = [copy_argument(value) for value in call.arguments]
    names = argument_names(call.name)
    mutator = Mutator(rng, corpus.relatives, partial(rebuild, rng))
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3))):
        place = rng.randrange(len(arguments))
        name = names[place] if names else ""
        value = mutator.change(arguments[place])
        if name == "n_threads":
            value = rng.choice(THREADS)
        arguments[place] = value
    ask_for_work(arguments, names, rng)
    if rng.random() < 0.01:
        arguments = [*arguments, rng.choice(OTHERS)] if rng.random() < 0.5 else arguments[:-1]
    return arguments


def ask_for_work(arguments: list[Any], names: list[str], rng: random.Random) -> None:
    """Make some amounts of work large."""
    for place, name in enumerate(names):
        if name in AMOUNTS_OF_WORK and rng.random() < 0.2:
            arguments[place] = rng.randrange(MAX_WORK, 2 ** rng.randrange(11, 32))


def rebuild(rng: random.Random, value: Any, change: Callable[[list[Any]], None]) -> Any:
    """A structure from changed arguments, or the same one if these are refused."""
    kind = bound_class(value)
    arguments = constructor_arguments(value)
    if kind is not None and takes_names_only(kind.__name__):
        arguments = valid_calls().calls[kind.__name__][0].arguments
    if kind is None or arguments is None:
        return None
    changed = [copy_argument(argument) for argument in arguments]
    change(changed)
    ask_for_work(changed, argument_names(kind.__name__), rng)
    try:
        return Call(kind.__name__, kind, arguments).run(changed)
    except REFUSALS:
        return value


def check_structures(result: Any) -> None:
    """Structures of a result are accepted by their own constructors."""
    if isinstance(result, list | tuple):
        for entry in result:
            check_structures(entry)
    elif constructor_arguments(result) is not None:
        kind, arguments = result.__reduce__()
        kind(*arguments)


def same(before: Any, after: Any) -> bool:
    """Whether arrays hold the same bits."""
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(map(same, before, after))
    if isinstance(before, np.ndarray) and before.dtype != object:
        return before.tobytes() == np.asarray(after).tobytes()
    return True
