"""Work ahead on a thread: the next batches are decoded while this one is counted."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
_END = object()
_POLL_SECONDS = 0.05


def prefetch(items: Iterable[T], depth: int = 2) -> Generator[T, None, None]:
    """The same items in the same order, up to `depth` of them made ahead on a thread.

    An error of `items` is raised in its place. The thread ends when the iterator is exhausted,
    closed or dropped. A depth of zero makes nothing ahead.

    >>> list(prefetch(iter(range(5)), depth=2))
    [0, 1, 2, 3, 4]
    """
    if depth < 0:
        raise ValueError(f"depth must not be negative, got {depth}")
    if depth == 0:
        yield from items
        return
    made: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(depth)
    stop = threading.Event()
    maker = threading.Thread(target=_make, args=(items, made, stop), daemon=True)
    try:
        maker.start()
    except RuntimeError:  # no thread can be started: make nothing ahead
        yield from items
        return
    try:
        while True:
            item, error = made.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stop.set()
        maker.join()


def _make(items: Iterable[Any], made: queue.Queue[Any], stop: threading.Event) -> None:
    error: BaseException | None = None
    iterator = iter(items)
    try:
        for item in iterator:
            if not _put(made, (item, None), stop):
                break
    except BaseException as raised:  # handed over, not swallowed
        error = raised
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
    _put(made, (_END, error), stop)


def _put(made: queue.Queue[Any], pair: Any, stop: threading.Event) -> bool:
    while not stop.is_set():
        try:
            made.put(pair, timeout=_POLL_SECONDS)
        except queue.Full:
            continue
        return True
    return False
