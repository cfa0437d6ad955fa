"""Rows of a database as codes, and the counts of their combinations."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise.data.sources import SourceError
from priorwise.data.sources.sql.grouping import COUNTED, count_groups
from priorwise.data.tables import TableEncoder
from priorwise.streaming.runners.sql_blocks import MAX_BLOCK_CELLS, plan_blocks, split_key
from priorwise.streaming.runners.sql_survey import SqlSurvey, Totals, case_of_labels

CODED = "priorwise_coded"
"""Name of the coded rows in the WITH clause."""
MAX_CASE_LABELS = 32
"""Most labels that are compared one after the other; more are looked up in a table."""


@dataclass(frozen=True)
class CountedBlock:
    """Distinct rows of some columns with the number, or the weight, of the rows that have them."""

    columns: tuple[int, ...]  # places of the features
    codes: NDArray[np.int32]  # of these columns, -1 where missing
    y: NDArray[np.int32]
    totals: Totals


class SqlCodes:
    """The coded rows of a database: codes are expressions of what the survey has found."""

    def __init__(self, survey: SqlSurvey, encoder: TableEncoder, n_classes: int) -> None:
        self.survey = survey
        self.encoder = encoder
        self.n_classes = n_classes
        self.arities = encoder.arities_.tolist()
        # Missing values without a code are counted behind the others.
        self.radices = [arity + int(encoder.ignores_missing) for arity in self.arities]
        self._table: str | None = None
        """The temporary table of codes, once there is one."""
        self._kept: list[CountedBlock] = []
        """Small blocks that are counted already: contexts of few parents are often within one."""

    def drop(self) -> None:
        """Remove the temporary table of codes, if there is one."""
        if self._table is not None:
            # A failed transaction, which refuses the statement, takes the table with it.
            with suppress(SourceError):
                self.survey.source.run(f"DROP TABLE IF EXISTS {self._table}")
            self._table = None

    def count(self, sets: Iterable[frozenset[int]], n_rows: float) -> Iterator[CountedBlock]:
        """Count the rows of blocks of columns, such that each set is within one of them.

        ValueError if the rows of a block are not as many as `n_rows`.
        """
        left = list(sets)
        for kept in list(self._kept):
            others = [one for one in left if not one <= {*kept.columns}]
            if len(others) < len(left):
                yield kept
            left = others
        if left:
            yield from self._count_anew(left, n_rows)

    def _count_anew(self, sets: list[frozenset[int]], n_rows: float) -> Iterator[CountedBlock]:
        blocks = plan_blocks(sets, self.radices, self.n_classes)
        # The class comes first in every key; columns of one code are no part of it.
        keys = [[(-1, self.n_classes), *self._varying(block)] for block in blocks]
        parts = [split_key([radix for _, radix in key]) for key in keys]
        slots = {f"part{p}": "BIGINT" for p in range(max(map(len, parts)))}
        sets_of_keys, expressions = [], []
        for b, (key, runs) in enumerate(zip(keys, parts, strict=True)):
            for p, run in enumerate(runs):
                expressions.append(f"{_write_key([key[at] for at in run])} AS k{b}_{p}")
            last_first = range(len(runs) - 1, -1, -1)
            sets_of_keys.append({f"part{p}": f"k{b}_{p}" for p in last_first})
        weight = "" if self.survey.source.weight is None else ", w"
        keys_of_rows = f"(SELECT {', '.join(expressions)}{weight} FROM"
        keeps = self.survey.source.dialect.is_columnar
        if keeps:
            # Reading codes is cheaper than keeping all keys of all rows.
            steps = [f"{COUNTED} AS NOT MATERIALIZED {keys_of_rows} {self._keep()})"]
        else:
            used = sorted({column for block in blocks for column in block})
            steps = [*self._write_steps(used), f"{COUNTED} AS {keys_of_rows} {CODED})"]
        total = self.survey.total
        found: dict[int, list[tuple[list[NDArray[np.int64]], Totals]]] = {}
        for b, values, totals in count_groups(
            self.survey.source, steps, sets_of_keys, slots, total, one_by_one=keeps
        ):
            pieces = [values[f"part{p}"].values.astype(np.int64) for p in range(len(parts[b]))]
            found.setdefault(b, []).append((pieces, totals))
        for b, block in enumerate(blocks):
            groups = found.pop(b, [])
            totals = np.concatenate([np.zeros(0, np.int64), *(t for _, t in groups)])
            if not np.isclose(totals.sum(), n_rows, rtol=1e-9, atol=0.0):
                raise ValueError(
                    f"source must hold the same rows in every query, got {totals.sum():g} where "
                    f"there were {n_rows:g}: begin a transaction first"
                )
            pieces = [np.concatenate(part) for part in zip(*(p for p, _ in groups), strict=True)]
            counted = self._decode(block, keys[b], parts[b], pieces, totals)
            if len(totals) <= MAX_BLOCK_CELLS:
                self._kept.append(counted)
            yield counted

    def _varying(self, block: Sequence[int]) -> list[tuple[int, int]]:
        return [(column, self.radices[column]) for column in block if self.radices[column] > 1]

    def _decode(
        self,
        block: tuple[int, ...],
        key: list[tuple[int, int]],
        runs: list[list[int]],
        pieces: list[NDArray[np.int64]],
        totals: Totals,
    ) -> CountedBlock:
        y = np.zeros(len(totals), dtype=np.int32)
        codes = np.zeros((len(block), len(totals)), dtype=np.int32)
        for run, piece in zip(runs, pieces, strict=True):
            for at in run:
                column, radix = key[at]
                piece, code = np.divmod(piece, radix)
                if column < 0:
                    y[:] = code
                else:
                    codes[block.index(column)] = code
        if self.encoder.ignores_missing:
            missing = np.array([self.arities[column] for column in block], dtype=np.int32)
            codes[codes == missing[:, None]] = -1
        return CountedBlock(block, codes, y, totals)

    def _keep(self) -> str:
        """Return the name of the temporary table of codes, which is made the first time."""
        if self._table is None:
            table = f"priorwise_codes_{secrets.token_hex(8)}"
            every = [i for i, radix in enumerate(self.radices) if radix > 1]
            sizes = {"y": self.n_classes, **{f"c{i}": self.radices[i] for i in every}}
            codes = ", ".join(f"CAST({c} AS {_type_of(n)}) AS {c}" for c, n in sizes.items())
            weight = "" if self.survey.source.weight is None else ", w"
            steps = ", ".join(self._write_steps(every))
            self.survey.source.run(
                f"CREATE TEMPORARY TABLE {table} AS WITH {steps} "
                f"SELECT {codes}{weight} FROM {CODED}"
            )
            self._table = table
        return self._table

    def _write_steps(self, used: Sequence[int]) -> list[str]:
        """Return the clauses of WITH that read rows and code columns."""
        steps, joins = [self.survey.read_step], []
        columns = [f"{self.survey.coded_class} AS y"]
        for i in used:
            if self.radices[i] == 1:
                continue
            column = self.survey.columns[i]
            (missing,) = self.encoder.label_codes(i, [None]).tolist()
            otherwise = self.arities[i] if missing < 0 else missing
            if column.is_number:
                columns.append(f"{self._cut(i, otherwise)} AS c{i}")
                continue
            labels = self.survey.labels[i]
            codes = self._codes_of(i, otherwise)
            if len(labels) <= MAX_CASE_LABELS:
                case = case_of_labels(f"x{i}", labels, codes, otherwise, self.survey.source)
                columns.append(f"{case} AS c{i}")
                continue
            constant = self.survey.source.dialect.constant
            rows = ", ".join(
                f"({constant(la)}, {co})" for la, co in zip(labels, codes, strict=True)
            )
            steps.append(f"priorwise_labels{i}(label, code) AS (VALUES {rows})")
            joins.append(f" LEFT JOIN priorwise_labels{i} AS d{i} ON x{i} = d{i}.label")
            columns.append(f"COALESCE(d{i}.code, {otherwise}) AS c{i}")
        weight = "" if self.survey.source.weight is None else ", w"
        steps.append(
            f"{CODED} AS (SELECT {', '.join(columns)}{weight} FROM priorwise_read{''.join(joins)})"
        )
        return steps

    def _codes_of(self, i: int, otherwise: int) -> list[int]:
        """The code of each label that the database has."""
        codes = self.encoder.label_codes(i, self.survey.spelled[i]).tolist()
        return [otherwise if code < 0 else code for code in codes]

    def _cut(self, i: int, missing: int) -> str:
        """The expression of the bin of a number: a search by halves."""
        constant = self.survey.source.dialect.constant
        place = int((~self.encoder.is_nominal_[:i]).sum())
        points = self.encoder.cut_points_[place].tolist()

        def search(first: int, last: int) -> str:
            if first == last:
                return str(first)
            middle = (first + last) // 2
            return (
                f"CASE WHEN x{i} <= {constant(points[middle])} THEN {search(first, middle)} "
                f"ELSE {search(middle + 1, last)} END"
            )

        return f"CASE WHEN x{i} IS NULL THEN {missing} ELSE {search(0, len(points))} END"


def _write_key(key: Sequence[tuple[int, int]]) -> str:
    """The expression of codes as digits of one number, the first the lowest."""
    kind = "INTEGER" if math.prod(radix for _, radix in key) < 1 << 31 else "BIGINT"
    terms, unit = [], 1
    for column, radix in key:
        code = "y" if column < 0 else f"c{column}"
        terms.append(f"CAST({unit} AS {kind}) * CAST({code} AS {kind})")
        unit *= radix
    return " + ".join(terms)


def _type_of(n_codes: int) -> str:
    return "UTINYINT" if n_codes <= 1 << 8 else "USMALLINT" if n_codes <= 1 << 16 else "INTEGER"
