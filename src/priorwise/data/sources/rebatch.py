"""Streams of frames cut to one size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import narwhals as nw


def rebatch(frames: Iterable[Any], batch_rows: int, first_row: int = 0) -> Iterator[Any]:
    """Cut a stream of frames of any sizes into frames of one size, from row `first_row` on.

    The frames must have the same columns and types; the last one may be shorter.

    >>> import polars as pl
    >>> frames = [pl.DataFrame({"a": [0, 1, 2]}), pl.DataFrame({"a": [3, 4]})]
    >>> [frame["a"].to_list() for frame in rebatch(frames, 2, first_row=1)]
    [[1, 2], [3, 4]]
    """
    held: list[Any] = []
    n_held, skip = 0, first_row
    for native in frames:
        frame = nw.from_native(native, eager_only=True)
        if skip >= len(frame):
            skip -= len(frame)
            continue
        at, skip = skip, 0
        while at < len(frame):
            take = min(batch_rows - n_held, len(frame) - at)
            held.append(frame[at : at + take])
            at, n_held = at + take, n_held + take
            if n_held == batch_rows:
                yield _join(held)
                held, n_held = [], 0
    if held:
        yield _join(held)


def _join(frames: list[Any]) -> Any:
    return (frames[0] if len(frames) == 1 else nw.concat(frames)).to_native()
