"""Fuzz target: every function, constructor and method of the core with hostile arguments.

A valid call is taken, and a few of its arguments are changed. Whatever they are, the call returns
or is refused by an exception that names what is wrong, and a refused call changes no argument.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from fuzz.corpus import (
    Call,
    Corpus,
    argument_names,
    bound_class,
    constructor_arguments,
    copy_argument,
    valid_calls,
)
from fuzz.mutate import OTHERS, Mutator
from fuzz.outcomes import ACCEPTED, REFUSALS, attempt

AMOUNTS_OF_WORK = {"n_sweeps", "n_burn_in", "n_draws", "max_passes", "max_rounds", "patience"}
"""Arguments that say how long to work. What takes centuries by request is not called."""
MAX_WORK = 1000
THREADS = (-(2**31), -1, 0, 1, 2, 3, 8, 2**31 - 1, 2**31)


def case(seed: int, index: int) -> str:
    """Make one call, and return "accepted" or the name of the exception that refused it."""
    corpus = valid_calls()
    rng = random.Random(f"{seed} {index}")
    names = sorted(corpus.calls)
    call = rng.choice(corpus.calls[names[index % len(names)]])
    arguments = change_arguments(call, corpus, rng)
    before = [copy_argument(value) for value in arguments]
    results: list[Any] = []
    outcome = attempt(lambda: results.append(call.function(*arguments)))
    if outcome == ACCEPTED:
        with suppress(MemoryError):
            check_structures(results)
    else:
        assert all(map(same, before, arguments)), f"{call.name} was refused, but changed arguments"
    return outcome


def change_arguments(call: Call, corpus: Corpus, rng: random.Random) -> list[Any]:
    """Arguments of a call, of which up to three have been changed."""
    arguments = [copy_argument(value) for value in call.arguments]
    names = argument_names(call.name)
    mutator = Mutator(rng, corpus.relatives, rebuild)
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 2, 3))):
        place = rng.randrange(len(arguments))
        name = names[place] if names else ""
        value = mutator.change(arguments[place])
        if name == "n_threads":
            value = rng.choice(THREADS)
        if name in AMOUNTS_OF_WORK and isinstance(value, int) and MAX_WORK < value < 2**31:
            value = rng.randrange(MAX_WORK)
        arguments[place] = value
    if rng.random() < 0.01:
        arguments = [*arguments, rng.choice(OTHERS)] if rng.random() < 0.5 else arguments[:-1]
    return arguments


def rebuild(value: Any, change: Callable[[list[Any]], None]) -> Any:
    """A structure from changed arguments, or the same one if these are refused."""
    arguments = constructor_arguments(value)
    if arguments is None:
        return None
    changed = list(arguments)
    change(changed)
    kind = bound_class(value)
    assert kind is not None
    try:
        return kind(*changed)
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
