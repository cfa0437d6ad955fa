"""A table or a query of a database, as a source of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from priorwise.data.sources.part import SourceError, naming_the_file
from priorwise.data.sources.sql.dialect import find_dialect, quote_name

FETCH_ROWS = 1 << 18
"""Rows of a result that are fetched at a time."""


class Fetched(NamedTuple):
    """A column of a result; the values of rows that are not known, NULL, mean nothing."""

    values: NDArray[Any]
    known: NDArray[np.bool_]


class SqlSource:
    """A table or a query of a database, for `fit_dataset` and `priorwise.data.open_source`.

    Naive Bayes, TAN, kDB, AODE, KDF and `BayesianNetwork` are learnt by queries that count
    (``GROUP BY``), so that only counts leave the database; joins of a query stay there too. Models
    that need the rows themselves fetch them in batches, sorted by all columns.

    The model is that of `fit` on the fetched rows. NULL is missing. Integers, decimals, floats,
    dates, times and intervals are numbers, booleans and enumerations are labels, and texts are what
    their values are, as in a frame. Nothing is written to the database; DuckDB keeps the codes of
    the rows, about a byte for each value, in a temporary table while it counts. If others write to
    the database, begin a transaction first: an error is raised if the number of rows changes
    between queries.

    Parameters
    ----------
    connection : DB-API or ADBC connection
        A connection to DuckDB, PostgreSQL or SQLite: of `duckdb`, `sqlite3`, `psycopg`, `psycopg2`,
        or an ADBC driver. It stays open.
    query : str
        A table, such as ``"trips"`` or ``"archive.trips"``, or a query that begins with SELECT,
        WITH, FROM or VALUES. The name of a table is taken as it is, upper and lower case included.
    weight : str, optional
        A column of weights, for models that only count. It is no feature. Rows of weight zero are
        left out.
    dialect : {"duckdb", "postgresql", "sqlite"}, optional
        The kind of database, if the connection does not say.

    Raises
    ------
    ValueError
        A connection whose dialect is not known, or an empty query.
    SourceError
        A table or query that the database refuses; learning raises it too.

    Examples
    --------
    >>> import sqlite3
    >>> from priorwise import NaiveBayesClassifier
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE days (sky TEXT, rain TEXT, n INTEGER)")
    >>> _ = database.execute("INSERT INTO days VALUES ('grey', 'yes', 3), ('blue', 'no', 5)")
    >>> source = SqlSource(database, "days", weight="n")
    >>> model = NaiveBayesClassifier(smoothing="laplace").fit_dataset(source, target="rain")
    >>> model.class_count_
    array([5., 3.])
    """

    def __init__(
        self,
        connection: Any,
        query: str,
        *,
        weight: str | None = None,
        dialect: str | None = None,
    ) -> None:
        if not hasattr(connection, "cursor"):
            raise TypeError(
                "connection must be a DB-API or ADBC connection, which has a method cursor, got "
                f"{type(connection).__name__}"
            )
        if not isinstance(query, str) or not query.strip():
            raise ValueError(f"query must be a table or a query, got {query!r}")
        self.connection = connection
        self.query = query.strip().rstrip(";").strip()
        self.weight = weight
        self.dialect = find_dialect(connection, dialect)
        self.types = self._find_types()
        if weight is not None and self.types.get(weight) not in ("whole", "number"):
            raise SourceError(
                f"weight {weight!r} must be a column of numbers; the columns are "
                f"{list(self.types)[:12]}",
                self.name,
            )

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.dialect.name}: {self.query[:60]}"

    @property
    def relation(self) -> str:
        """The table or query as it follows FROM."""
        if re.match(r"(select|with|from|values)\b|\(", self.query, re.IGNORECASE):
            return f"({self.query}\n) AS source"
        return ".".join(map(quote_name, self.query.split("."))) + " AS source"

    @property
    def counted(self) -> str:
        """The rows of positive weight, as they follow FROM."""
        where = "" if self.weight is None else f" WHERE {quote_name(self.weight)} > 0"
        return self.relation + where

    def fetch(self, query: str) -> Iterator[list[Fetched]]:
        """Run a query and yield the columns of its rows, in pieces of some rows.

        Parameters
        ----------
        query : str
            A query in the dialect of the database.

        Yields
        ------
        list of Fetched
            The columns of at most `FETCH_ROWS` rows.
        """
        with naming_the_file("the database refuses a query", self.name):
            result = self._execute(query, as_arrow=_has_arrow())
            batches = self._read_arrow(result, FETCH_ROWS)
            if batches is not None:
                for batch in batches:
                    if batch.num_rows:
                        yield [_to_array(column) for column in batch.columns]
                return
            while rows := result.fetchmany(FETCH_ROWS):
                yield [_to_typed(list(column)) for column in zip(*rows, strict=True)]

    def run(self, statement: str) -> None:
        """Run a statement that returns no rows.

        Parameters
        ----------
        statement : str
            A statement in the dialect of the database.
        """
        with naming_the_file("the database refuses a statement", self.name):
            self._execute(statement)

    def fetch_frames(self, names: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """Yield the rows as Arrow tables, sorted by all columns; a row of weight n is n rows.

        Parameters
        ----------
        names : sequence of str
            Columns to fetch.
        batch_rows : int
            Largest number of rows that are fetched at a time.

        Yields
        ------
        pyarrow.Table
            Some of the rows.
        """
        import pyarrow

        if self.weight is not None:
            raise SourceError(
                f"weight must be None for a model that needs the rows themselves, got "
                f"{self.weight!r}: read the table, and pass its weights to fit as sample_weight",
                self.name,
            )
        columns = ", ".join(map(quote_name, names))
        order = ", ".join(
            f"{quote_name(name)}{' COLLATE BINARY' if self.dialect.name == 'sqlite' else ''}"
            for name in names
        )
        pieces: Iterator[Any]
        result = self._execute(
            f"SELECT {columns} FROM {self.counted} ORDER BY {order}", as_arrow=True
        )
        batches = self._read_arrow(result, batch_rows)
        if batches is not None:
            pieces = map(pyarrow.Table.from_batches, ([batch] for batch in batches))
        else:
            pieces = self._read_tables(result, list(names), batch_rows)
        for piece in pieces:
            yield piece.select(list(names))

    def _find_types(self) -> dict[str, str]:
        """Return what each column holds; see `Dialect.family_of`."""
        function = self.dialect.type_function
        problem = f"this is not a table or query that {self.dialect.name} can read"
        with naming_the_file(problem, self.name):
            result = self._execute(f"SELECT * FROM {self.relation} LIMIT 0")
            names = [str(column[0]) for column in result.description]
            result.fetchall()  # DuckDB begins no query before the last one has been read
            if self.dialect.name != "sqlite":
                types = [f"CAST({function}({quote_name(n)}) AS VARCHAR)" for n in names]
                result = self._execute(f"SELECT {', '.join(types)} FROM {self.relation} LIMIT 1")
                (row,) = result.fetchall() or [["null"] * len(names)]
                return {n: self.dialect.family_of(t) for n, t in zip(names, row, strict=True)}
            # In SQLite each value has a type of its own.
            kinds = ("integer", "real", "text", "blob")
            tests = ", ".join(
                f"max({function}({quote_name(n)}) = '{kind}')" for n in names for kind in kinds
            )
            (row,) = self._execute(f"SELECT {tests} FROM {self.relation}").fetchall()
        found = (row[at : at + len(kinds)] for at in range(0, len(row), len(kinds)))
        return {name: _family_in_sqlite(*has) for name, has in zip(names, found, strict=True)}

    def _execute(self, query: str, *, as_arrow: bool = False) -> Any:
        # A cursor of DuckDB is another connection, which knows no frame that was registered here.
        if self.dialect.name == "duckdb" and hasattr(self.connection, "sql"):
            return (self.connection.sql if as_arrow else self.connection.execute)(query)
        cursor = self.connection.cursor()
        cursor.execute(query)
        return cursor

    def _read_arrow(self, result: Any, n_rows: int) -> Iterator[Any] | None:
        """Return the record batches of a result; None if its driver has none."""
        if hasattr(result, "adbc_statement"):
            return (
                batch.slice(at, n_rows)
                for batch in result.fetch_record_batch()
                for at in range(0, batch.num_rows, n_rows)
            )
        # The name that DuckDB gives it from version 2 on, and the ones before.
        for name in ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch"):
            if hasattr(result, name) and _has_arrow():
                reader: Iterator[Any] = getattr(result, name)(n_rows)
                return reader
        return None

    def _read_tables(self, result: Any, names: list[str], n_rows: int) -> Iterator[Any]:
        import pyarrow

        types = {"whole": pyarrow.int64(), "number": pyarrow.float64(), "text": pyarrow.string()}
        while rows := result.fetchmany(n_rows):
            columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
            for name, values in columns.items():
                if self.types[name] in ("object", "category"):
                    values[:] = [None if value is None else str(value) for value in values]
            yield pyarrow.table(
                {
                    name: pyarrow.array(values, type=types.get(self.types[name]), from_pandas=True)
                    for name, values in columns.items()
                }
            )


def _has_arrow() -> bool:
    return find_spec("pyarrow") is not None


def _family_in_sqlite(has_integer: int, has_real: int, has_text: int, has_blob: int) -> str:
    if has_blob:
        return "BLOB"
    if has_text:
        return "object" if has_integer or has_real else "text"
    return "number" if has_real else "whole" if has_integer else "unknown"


def _to_array(column: Any) -> Fetched:
    known = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    if str(column.type).startswith(("int", "uint", "double", "float")):
        return Fetched(column.fill_null(0).to_numpy(), known)
    return Fetched(np.array([*column.to_pylist(), None], dtype=object)[:-1], known)


def _to_typed(values: list[Any]) -> Fetched:
    known = np.array([value is not None for value in values], dtype=bool)
    types = {type(value) for value in values if value is not None}
    if types and types <= {int, float}:
        return Fetched(np.array([0 if value is None else value for value in values]), known)
    return Fetched(np.array([*values, None], dtype=object)[:-1], known)
