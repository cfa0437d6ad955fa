"""Work ahead on a thread: the next batches are decoded while this one is counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
_END: Any = object()


def prefetch(items: Iterable[T], depth: int = 2) -> Generator[T, None, None]:
    """The same items in the same order, up to `depth` of them made ahead on a thread.

    An error of `items` is raised in its place. The thread ends when the iterator is exhausted,
    closed or dropped. A depth of zero makes nothing ahead.

    >>> list(prefetch(iter(range(5)), depth=2))
    [0, 1, 2, 3, 4]
    """
    if depth < 0:
        raise ValueError(f"depth must not be negative, got {depth}")
    iterator = iter(items)
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(1)
    try:
        for _ in range(depth):
            waiting.append(pool.submit(next, iterator, _END))
    except RuntimeError:  # no thread can be started: make nothing ahead
        depth = 0
    if depth == 0:
        yield from iterator
        return
    try:
        while (item := waiting.popleft().result()) is not _END:
            waiting.append(pool.submit(next, iterator, _END))
            yield item
    finally:
        pool.shutdown(cancel_futures=True)
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
