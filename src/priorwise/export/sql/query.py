"""Programs as one SQL query."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from priorwise.common.validation import check_choice
from priorwise.common.whole_file import write_whole
from priorwise.data.tables.value_rules import ValueRules
from priorwise.export.describe import describe_model
from priorwise.export.program import Program
from priorwise.export.reading import require_backoff, spell_labels
from priorwise.export.sql.steps import StepQueries
from priorwise.export.sql.text import DIALECTS, quote, union_all, write_number, write_text


def export_sql(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dialect: str = "duckdb",
    table: str = "rows",
    keep: Sequence[str] = (),
) -> str:
    """Write a classifier as one SQL query that returns the probabilities of the rows of a table.

    The table has a column for each feature, with its name ("x0", "x1" and so on if X had none), of
    numbers for a numeric feature and of any type for another; NULL is missing, dates are seconds
    since 1970. The result has a row for each row of the table: the columns `keep`, then one column
    ``p(class)`` for each class, equal to `predict_proba` to 1e-9. Rows are in the order in which
    the database reads the table; that of PostgreSQL is not always the one of their insertion, so
    `keep` a key there.

    Trees are walked by recursive queries and contexts by joins, so the work is that of the model
    times the rows. The query holds the model's numbers: tens of thousands of contexts or leaves
    take megabytes and seconds to plan, and are better left to `export_c`.

    Parameters
    ----------
    model : classifier
        Any fitted classifier of this library, or a pool of such classifiers. Models with
        ``unseen="error"`` are refused: a query cannot raise an error for a row.
    path : path, optional
        File to write.
    dialect : {"duckdb", "postgres", "sqlite"}
        Database that the query is for. SQLite must have its mathematical functions, as that of
        Python nearly always has.
    table : str
        Table or view with the rows; a point divides the names of schema and table.
    keep : sequence of str
        Columns of the table to return beside the probabilities, such as a key.

    Returns
    -------
    str
        The query.

    Examples
    --------
    >>> import sqlite3
    >>> from priorwise import NaiveBayesClassifier
    >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], ["out", "out", "in", "in"]
    >>> model = NaiveBayesClassifier("laplace").fit(X, y)
    >>> query = export_sql(model, dialect="sqlite", table="days", keep=["x0"])
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE days AS SELECT 'sun' AS x0 UNION ALL SELECT NULL")
    >>> [(sky, round(p, 6), round(q, 6)) for sky, p, q in database.execute(query)]
    [('sun', 0.25, 0.75), (None, 0.5, 0.5)]
    >>> database.close()
    """
    check_choice("dialect", dialect, DIALECTS)
    program = describe_model(model)
    require_backoff(program, "SQL")
    steps = StepQueries(dialect, len(program.features))
    last = steps.add_model(program.model)
    source = ".".join(map(quote, table.split(".")))
    parts = [
        f"pw_row AS (SELECT ROW_NUMBER() OVER () AS id, t.* FROM {source} t)",
        f"pw_x(id, feature, value) AS (\n{_read(program, dialect)})",
        *steps.parts,
        f"pw_wide AS ({_widen(program, last)})",
    ]
    kept = [f"r.{quote(name)}" for name in keep]
    kept += [f"w.p{k} AS {quote(f'p({label})')}" for k, label in enumerate(program.classes)]
    query = (
        "WITH RECURSIVE\n" + ",\n".join(parts) + f"\nSELECT {', '.join(kept)}\n"
        "FROM pw_row r JOIN pw_wide w ON w.id = r.id ORDER BY r.id\n"
    )
    if path is not None:
        write_whole(path, "the query", query)
    return query


def _read(program: Program, dialect: str) -> str:
    """Return a query of the numbers that each value is read as."""
    queries = []
    for r, reader in enumerate(program.readers):
        for i, rules in enumerate(reader):
            column = quote(rules.name)
            value = _code(column, rules) if rules.is_nominal else _number(column, rules, dialect)
            queries.append(
                f"SELECT id, {r * len(reader) + i}, CAST({value} AS DOUBLE PRECISION) FROM pw_row"
            )
    return union_all(queries)


def _code(column: str, rules: ValueRules) -> str:
    """Return the code of a label: an expression that compares texts."""
    cases = "".join(
        f" WHEN {write_text(text)} THEN {_write_code(code)}"
        for text, code in spell_labels(rules).items()
    )
    unknown = _write_code(rules.missing) if rules.is_ordered else "-1"
    known = f"CASE TRIM(CAST({column} AS VARCHAR)){cases} ELSE {unknown} END" if cases else unknown
    return f"CASE WHEN {column} IS NULL THEN {_write_code(rules.missing)} ELSE {known} END"


def _write_code(code: float) -> str:
    return str(int(code)) if float(code).is_integer() else write_number(code)


def _number(column: str, rules: ValueRules, dialect: str) -> str:
    number = f"CAST({column} AS DOUBLE PRECISION)"
    if dialect != "sqlite":
        # Databases other than SQLite have NaN; it equals itself there.
        number = f"NULLIF({number}, CAST('NaN' AS DOUBLE PRECISION))"
    for mark in rules.numbers:
        number = f"NULLIF({number}, {write_number(mark)})"
    missing = write_number(rules.missing)
    return number if missing == "NULL" else f"COALESCE({number}, {missing})"


def _widen(program: Program, step: int) -> str:
    columns = ", ".join(
        f"MAX(CASE class WHEN {k} THEN p END) AS p{k}" for k in range(len(program.classes))
    )
    return f"SELECT id, {columns} FROM pw_p{step} GROUP BY id"
