"""A table or a query of a database as a source of rows, in three dialects of SQL."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from priorwise.common.docstrings import hook
from priorwise.data.sources.part import Part, import_arrow, naming_the_file

_FAMILY_OF_TYPE = (
    (r"u?(tiny|small|big)?int(eger)?\d*$", "whole"),
    (r"(u?hugeint|real|float\d?|double|double precision|decimal.*|numeric.*)$", "number"),
    (r"bool(ean)?$", "boolean"),
    (
        r"(varchar|text|char|\"char\"|character|character varying|bpchar|name|uuid|jsonb?|string)$",
        "text",
    ),
    (r"enum.*", "category"),
    (r"date$|timestamp.*", "date"),
    (r"interval$|time$|time .*", "duration"),
    (r"\"?null\"?$", "unknown"),
)


@dataclass(frozen=True)
class Dialect:
    """A kind of database: "duckdb", "postgresql" or "sqlite".

    `number`, `seconds` and `text` are expressions of a column ``{}`` as a double, of a time or
    interval as seconds, and of a text that is sorted byte by byte.
    """

    name: str
    type_function: str  # the name of a value's type
    number: str
    seconds: str
    text: str

    def family_of(self, type_name: str) -> str:
        """Return what a type holds, as `column_families` calls it, or "whole" for integers.

        A type that cannot be read is returned as it is.
        """
        name = type_name.strip().lower()
        for pattern, family in _FAMILY_OF_TYPE:
            if re.match(pattern, name):
                return family
        return type_name

    def read(self, name: str, family: str) -> str:
        """Return the expression that reads a column of some family; TypeError if none can."""
        column = quote_name(name)
        if family in ("whole", "boolean", "category", "date"):
            return column
        expressions = {"number": self.number, "duration": self.seconds}
        expressions |= dict.fromkeys(("text", "object", "unknown"), self.text)
        if family not in expressions:
            raise TypeError(
                f"column {name!r} has type {family}; use numbers, dates, strings, booleans or "
                "enumerations"
            )
        return expressions[family].format(column)


DIALECTS = {
    "duckdb": Dialect(
        "duckdb", "typeof", "CAST({} AS DOUBLE)", "epoch_us({}) / 1e6", "CAST({} AS VARCHAR)"
    ),
    "postgresql": Dialect(
        "postgresql",
        "pg_typeof",
        "CAST({} AS DOUBLE PRECISION)",
        "CAST(EXTRACT(EPOCH FROM {}) AS DOUBLE PRECISION)",
        'CAST({} AS VARCHAR) COLLATE "C"',
    ),
    # SQLite has no type of times.
    "sqlite": Dialect("sqlite", "typeof", "CAST({} AS REAL)", "{}", "{} COLLATE BINARY"),
}

_MODULES = {
    **dict.fromkeys(("duckdb", "_duckdb"), "duckdb"),
    **dict.fromkeys(("psycopg", "psycopg2", "pg8000"), "postgresql"),
    "sqlite3": "sqlite",
}


def find_dialect(connection: Any, name: str | None) -> Dialect:
    """Return the dialect of a connection, or that of a name; ValueError if it is not known."""
    kind = type(connection)
    known = _MODULES.get(kind.__module__.split(".")[0])
    if known is None and hasattr(connection, "adbc_get_info"):
        vendor = str(connection.adbc_get_info().get("vendor_name", "")).lower()
        known = next((dialect for dialect in DIALECTS if dialect in vendor), None)
    name = known if name is None else name
    if name not in DIALECTS or known not in (None, name):
        expected = f"one of {list(DIALECTS)}" if known is None else repr(known)
        raise ValueError(
            f"dialect must be {expected} for a connection of type "
            f"{kind.__module__}.{kind.__qualname__}, got {name!r}"
        )
    return DIALECTS[name]


def quote_name(name: str) -> str:
    """Return a name that is taken as it is, whatever its characters.

    >>> quote_name('size "in" cm')
    '"size ""in"" cm"'
    """
    if "\0" in name:
        raise ValueError(f"a name in a database must not have the character 0, got {name!r}")
    return '"' + name.replace('"', '""') + '"'


_SQLITE_KINDS = ("integer", "real", "text", "blob")


class SqlSource:
    """A table or a query of a database, for `fit_dataset` and `priorwise.data.open_source`.

    Rows are fetched in batches, sorted by all columns, so that every pass reads them in one order;
    joins of a query stay in the database, and nothing is written to it. The model is that of `fit`
    on the fetched rows.

    NULL is missing. Integers, decimals, floats and dates are numbers, and so are times and
    intervals, in seconds; booleans and enumerations are labels, and texts are what their values
    are, as in a frame. If others write to the database, begin a transaction first: an error is
    raised if the number of rows changes between passes.

    Parameters
    ----------
    connection : DB-API or ADBC connection
        A connection to DuckDB, PostgreSQL or SQLite: of `duckdb`, `sqlite3`, `psycopg`, `psycopg2`,
        or an ADBC driver. It stays open.
    query : str
        A table, such as ``"trips"`` or ``"archive.trips"``, or a query that begins with SELECT,
        WITH, FROM or VALUES. The name of a table is taken as it is, upper and lower case included.
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
    >>> _ = database.execute("CREATE TABLE days (sky TEXT, rain TEXT)")
    >>> _ = database.execute("INSERT INTO days VALUES ('grey', 'yes'), ('blue', 'no')")
    >>> source = SqlSource(database, "SELECT * FROM days")
    >>> model = NaiveBayesClassifier(smoothing="laplace").fit_dataset(source, target="rain")
    >>> model.class_count_
    array([1., 1.])
    """

    def __init__(self, connection: Any, query: str, *, dialect: str | None = None) -> None:
        if not hasattr(connection, "cursor"):
            raise TypeError(
                "connection must be a DB-API or ADBC connection, which has a method cursor, got "
                f"{type(connection).__name__}"
            )
        if not isinstance(query, str) or not query.strip():
            raise ValueError(f"query must be a table or a query, got {query!r}")
        self.connection = connection
        self.query = query.strip().rstrip(";").strip()
        self.dialect = find_dialect(connection, dialect)
        self.types = self._find_types()

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

    def _find_types(self) -> dict[str, str]:
        """Return what each column holds; see `Dialect.family_of`."""
        function = self.dialect.type_function
        problem = f"this is not a table or query that {self.dialect.name} can read"
        with naming_the_file(problem, self.name):
            names, _ = self._ask(f"SELECT * FROM {self.relation} LIMIT 0")
            if self.dialect.name != "sqlite":
                types = [f"CAST({function}({quote_name(n)}) AS VARCHAR)" for n in names]
                _, rows = self._ask(f"SELECT {', '.join(types)} FROM {self.relation} LIMIT 1")
                (row,) = rows or [["null"] * len(names)]
                return {n: self.dialect.family_of(t) for n, t in zip(names, row, strict=True)}
            # In SQLite each value has a type of its own.
            tests = [
                f"max({function}({quote_name(name)}) = '{kind}')"
                for name in names
                for kind in _SQLITE_KINDS
            ]
            _, (row,) = self._ask(f"SELECT {', '.join(tests)} FROM {self.relation}")
        n_kinds = len(_SQLITE_KINDS)
        return {
            name: _family_in_sqlite(*row[i * n_kinds : (i + 1) * n_kinds])
            for i, name in enumerate(names)
        }

    def _ask(self, query: str) -> tuple[list[str], list[Any]]:
        """Return the names of the columns of a small result, and its rows."""
        result = self.execute(query)
        try:
            rows = result.fetchall()  # before, psycopg2 has no description
            return [str(column[0]) for column in result.description], rows
        finally:
            result.close()

    @hook
    def execute(self, query: str) -> Any:
        """Run a query; return its cursor, or a relation of DuckDB, to be fetched and closed."""
        # A cursor of DuckDB is another connection, which knows no frame that was registered here.
        if self.dialect.name == "duckdb" and hasattr(self.connection, "sql"):
            return self.connection.sql(query)
        driver = type(self.connection).__module__.split(".")[0]
        if driver in ("psycopg", "psycopg2"):
            # Other cursors of these drivers fetch all rows at once.
            name = f"priorwise_{secrets.token_hex(8)}"
            cursor = self.connection.cursor(name, withhold=True)
        else:
            cursor = self.connection.cursor()
        try:
            cursor.execute(query)
        except BaseException:
            cursor.close()
            raise
        return cursor


@dataclass(frozen=True)
class SqlPart(Part):
    """The rows of a table or query as Arrow tables, sorted by all columns that are read."""

    source: SqlSource
    any_thread: ClassVar[bool] = False  # a connection of SQLite belongs to one thread

    @property
    def name(self) -> str:
        return self.source.name

    def families(self) -> dict[str, str]:
        as_read = {"whole": "number", "duration": "number"}
        return {name: as_read.get(family, family) for name, family in self.source.types.items()}

    def frames(self, names: list[str], batch_rows: int, target: str | None) -> Iterator[Any]:
        pyarrow = import_arrow("reading the rows of a database")
        source = self.source
        columns = [f"{source.dialect.read(n, source.types[n])} AS {quote_name(n)}" for n in names]
        order = ", ".join(str(place + 1) for place in range(len(names)))
        query = f"SELECT {', '.join(columns)} FROM {source.relation} ORDER BY {order}"
        with naming_the_file("the database refuses a query", self.name):
            result = source.execute(query)
            try:
                batches = _read_arrow(result, batch_rows)
                if batches is None:
                    while rows := result.fetchmany(batch_rows):
                        yield self._to_table(names, rows)
                else:
                    for batch in batches:
                        yield pyarrow.Table.from_batches([batch]).select(names)
            finally:
                result.close()

    def _to_table(self, names: list[str], rows: list[Any]) -> Any:
        """Return rows of a DB-API driver as an Arrow table."""
        import pyarrow

        types = {"whole": pyarrow.int64(), "text": pyarrow.string()}
        types |= dict.fromkeys(("number", "duration"), pyarrow.float64())
        columns = {}
        for name, column in zip(names, zip(*rows, strict=True), strict=True):
            family = self.source.types[name]
            if family == "object":
                column = tuple(None if value is None else str(value) for value in column)
            columns[name] = pyarrow.array(column, type=types.get(family), from_pandas=True)
        return pyarrow.table(columns)


def _read_arrow(result: Any, n_rows: int) -> Iterator[Any] | None:
    """Return the record batches of a result; None if its driver has none."""
    reader: Iterator[Any]
    if hasattr(result, "adbc_statement"):
        reader = result.fetch_record_batch()
        return reader
    # The name that DuckDB gives it from version 2 on, and the ones before.
    for name in ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch"):
        if hasattr(result, name):
            reader = getattr(result, name)(n_rows)
            return reader
    return None


def _family_in_sqlite(has_integer: int, has_real: int, has_text: int, has_blob: int) -> str:
    if has_blob:
        return "BLOB"
    if has_text:
        return "object" if has_integer or has_real else "text"
    return "number" if has_real else "whole" if has_integer else "unknown"
