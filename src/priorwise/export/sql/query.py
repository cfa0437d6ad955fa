"""Models as one SQL query."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.documents import Document
from priorwise.common.files import write_whole
from priorwise.common.validation import check_choice
from priorwise.data.sources.sql_source import quote_name
from priorwise.export.layout import ExportedModel
from priorwise.export.reading import refuse_texts, require_backoff, split_columns
from priorwise.export.sql.steps import StepQueries
from priorwise.export.sql.text import (
    DIALECTS,
    check_names,
    write_number,
    write_rows,
    write_spaces,
    write_values,
)


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
    numbers, dates or durations for a numeric feature and of any type for another; NULL is missing.
    SQLite has no dates: there they are texts of ISO 8601, such as ``2026-03-01 12:30:00.25+01:00``.
    A number that is infinite and a text that is no number stop the query with an error that names
    the column, unless ``numeric_features`` takes texts as missing.

    The result has a row for each row of the table: the columns `keep`, then one column ``p(class)``
    for each class, equal to `predict_proba` to 1e-9. Rows are in the order in which
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
        Python nearly always has; PostgreSQL must have the encoding UTF8.
    table : str
        Table or view with the rows; a point divides the names of schema and table.
    keep : sequence of str
        Columns of the table to return beside the probabilities, such as a key.

    Returns
    -------
    str
        The query; its bare value shows the beginning only.

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
    exported = ExportedModel(model)
    require_backoff(exported, "SQL")
    refuse_texts(exported, "SQL")
    steps = StepQueries(exported, dialect)
    last = steps.add_step(exported.step)
    results = [f"p({label})" for label in exported.classes]
    check_names(exported.columns, [*keep, *results], dialect)
    columns = list(dict.fromkeys([*exported.columns, *keep]))
    parts = [
        write_rows(table, columns),
        write_spaces(dialect),
        f"pw_x(id, feature, value) AS (\n{write_values(exported.readers, dialect)})",
        *steps.parts,
        f"pw_wide AS ({_widen(len(exported.classes), last)})",
    ]
    kept = [f"r.f{columns.index(name)} AS {quote_name(name)}" for name in keep]
    joined, answer = "pw_row r JOIN pw_wide w ON w.id = r.id", "w.p{0}"
    if exported.blank_proba is not None:
        parts.append(f"pw_blank AS ({_find_blank(exported, exported.blank_proba)})")
        joined += " LEFT JOIN pw_blank b ON b.id = r.id"
        answer = "COALESCE(b.p{0}, w.p{0})"
    kept += [f"{answer.format(k)} AS {quote_name(name)}" for k, name in enumerate(results)]
    query = (
        "WITH RECURSIVE\n" + ",\n".join(parts) + f"\nSELECT {', '.join(kept)}\n"
        f"FROM {joined} ORDER BY r.id\n"
    )
    if path is not None:
        write_whole(path, "the query", query)
    return Document(query, path)


def _find_blank(model: ExportedModel, shares: NDArray[np.float64]) -> str:
    """Return the query of the rows of which nothing is known, with the shares of the classes."""
    numeric = ", ".join(map(str, [-1, *split_columns(model)[1]]))
    known = f"value >= 0 OR feature IN ({numeric}) AND value IS NOT NULL"
    answer = ", ".join(f"{write_number(p)} AS p{k}" for k, p in enumerate(shares.tolist()))
    return (
        f"SELECT id, {answer} FROM pw_x WHERE feature < {len(model.columns)} "
        f"GROUP BY id HAVING MAX(CASE WHEN {known} THEN 1 ELSE 0 END) = 0"
    )


def _widen(n_classes: int, step: int) -> str:
    columns = ", ".join(f"MAX(CASE class WHEN {k} THEN p END) AS p{k}" for k in range(n_classes))
    return f"SELECT id, {columns} FROM pw_p{step} GROUP BY id"
