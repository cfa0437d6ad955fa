"""How steps are laid out as programs, and by which rules the rows of each are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.records import Record
from priorwise.data.encoding import TableEncoder
from priorwise.data.encoding.value_rules import ValueRules, describe_reading
from priorwise.steps.programs.program import PlainRecord


class Layout:
    """What steps need to know to be laid out; collects the ways to read a row.

    `nominal` and `numeric` are the places of such features, `reader` is the place among `readers`
    of the rules by which rows are read. With `inner_rows` trees have the rows of inner nodes; with
    `plain_records` a step that exports cannot write is a record of its arrays.
    """

    def __init__(
        self,
        encoder: TableEncoder,
        names: tuple[str, ...],
        *,
        inner_rows: bool,
        plain_records: bool,
    ) -> None:
        self.readers: list[list[ValueRules]] = []
        self.inner_rows = inner_rows
        self._plain_records = plain_records
        self._names = names
        self._use(encoder)

    def _use(self, encoder: TableEncoder) -> None:
        """Read rows by an encoder from now on."""
        self.nominal = whole(np.flatnonzero(encoder.is_nominal_))
        self.numeric = whole(np.flatnonzero(~encoder.is_nominal_))
        self._encoder = encoder
        rules = describe_reading(encoder, self._names)
        # NaN differs from itself, its text does not.
        texts = [repr(known) for known in self.readers]
        if repr(rules) not in texts:
            self.readers.append(rules)
            texts.append(repr(rules))
        self.reader = texts.index(repr(rules))

    @contextmanager
    def reading(self, encoder: TableEncoder) -> Iterator[None]:
        """Read rows by another encoder in between."""
        outer = self._encoder
        self._use(encoder)
        yield
        self._use(outer)

    def lay_out_plain(self, step: Record) -> PlainRecord:
        """Return a step as its arrays; TypeError unless plain records are asked for."""
        if self._plain_records:
            return lay_out_record(step)
        raise TypeError(
            f"a step of the kind {type(step).__name__} has no layout: export it as JSON instead"
        )


def lay_out_record(record: Record) -> PlainRecord:
    """Return the fields of a record that predictions need: all but the calibration of a step."""

    def lay_out(value: Any) -> Any:
        if isinstance(value, Record):
            return lay_out_record(value)
        if isinstance(value, tuple | list):
            return [lay_out(one) for one in value]
        if value is None or isinstance(value, np.ndarray | str | int | float):
            return value
        raise TypeError(f"a {type(value).__name__} cannot be written as JSON")

    content = {one.name: getattr(record, one.name) for one in fields(record)}
    return PlainRecord(
        type(record).__name__,
        {name: lay_out(value) for name, value in content.items() if name != "calibration"},
    )


def refuse_model(name: str) -> TypeError:
    """Return the error of a classifier that has no program."""
    return TypeError(
        f"model must be a classifier of priorwise or a pool of such classifiers, got a {name}"
    )


def whole(values: Any) -> NDArray[np.int32]:
    """Return numbers as the whole numbers of programs."""
    return np.asarray(values, dtype=np.int32)
