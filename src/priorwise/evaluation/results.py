"""Results of cross-validation: one row per cell, in memory and in a file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.files import open_whole
from priorwise.common.texts import count
from priorwise.evaluation.compare import WinDrawLoss, corrected_t_test

KEY_COLUMNS = ("dataset", "model", "repeat", "fold")
FACT_COLUMNS = ("protocol", "n_train", "n_test", "n_classes", "n_dropped")
TIME_COLUMNS = (*KEY_COLUMNS, "fit_seconds", "predict_seconds")

Row = dict[str, str]


class Cell(NamedTuple):
    """One model on one fold of one data set. Result files are sorted by it."""

    dataset: str
    model: str
    repeat: int
    fold: int


@dataclass(frozen=True, repr=False)
class Results:
    """Results of cross-validation.

    Parameters
    ----------
    rows : tuple of dict
        Rows of the result file, sorted by data set, model, repeat and fold. Values are text.
    scores : tuple of str
        Names of the scores.

    Examples
    --------
    >>> from priorwise.evaluation import cross_validate
    >>> from sklearn.dummy import DummyClassifier
    >>> data = {"coins": ([[0]] * 20, [0, 1] * 10)}
    >>> results = cross_validate({"prior": DummyClassifier()}, data, protocol="1x2")
    >>> results.models, results.datasets, len(results.rows)
    (('prior',), ('coins',), 2)
    """

    rows: tuple[Row, ...]
    scores: tuple[str, ...]

    def __repr__(self) -> str:
        models, sets = count(len(self.models), "model"), count(len(self.datasets), "data set")
        scores = ", ".join(self.scores)
        return f"<Results of {models} on {sets}, {count(len(self.rows), 'row')}, scores {scores}>"

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets."""
        return tuple(sorted({row["dataset"] for row in self.rows}))

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(sorted({row["model"] for row in self.rows}))

    @property
    def errors(self) -> tuple[Row, ...]:
        """Rows of the cells that failed."""
        return tuple(row for row in self.rows if row["error"])

    @cached_property
    def _rows_of(self) -> dict[tuple[str, str], list[Row]]:
        rows: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            rows.setdefault((row["dataset"], row["model"]), []).append(row)
        return rows

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the rows as a table, with numbers as numbers.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the table; by default pandas.

        Returns
        -------
        pandas, polars or Arrow table
            One row for each model, data set, repeat and fold. What a cell that failed has no
            number of is missing.
        """
        types: dict[str, type] = dict.fromkeys(["repeat", "fold", *FACT_COLUMNS[1:]], int)
        types |= dict.fromkeys(self.scores, float)
        columns = {
            name: [types.get(name, str)(row[name]) if row[name] else None for row in self.rows]
            for name in (*KEY_COLUMNS, *FACT_COLUMNS, *self.scores)
        }
        columns["error"] = [row["error"] for row in self.rows]
        chosen: Any = backend or "pandas"
        return nw.from_dict(columns, backend=chosen).to_native()

    def fold_scores(self, dataset: str, model: str, score: str) -> NDArray[np.float64]:
        """Scores of one model on the folds of one data set.

        Parameters
        ----------
        dataset, model, score : str
            Names.

        Returns
        -------
        array of shape (n_folds,)
            Scores in the order of repeats and folds, NaN where the model failed.
        """
        self._check_score(score)
        rows = self._rows_of.get((dataset, model), [])
        return np.array([np.nan if row["error"] else float(row[score]) for row in rows])

    def score_table(
        self, score: str, models: Sequence[str] | None = None
    ) -> tuple[list[str], dict[str, list[float]]]:
        """Mean score of each model on each data set.

        Data sets on which a model failed or has no result are left out, so that models can be
        ranked and compared.

        Parameters
        ----------
        score : str
            Name of the score.
        models : sequence of str, optional
            Names of the models; by default all.

        Returns
        -------
        datasets : list of str
            Names of the data sets.
        means : dict of str to list of float
            Mean scores of each model on these data sets.
        """
        self._check_score(score)
        chosen = self.models if models is None else tuple(models)
        unknown = sorted(set(chosen) - set(self.models))
        if unknown:
            raise ValueError(f"models must be among {list(self.models)}, got {unknown}")
        kept: list[str] = []
        table: dict[str, list[float]] = {model: [] for model in chosen}
        for dataset in self.datasets:
            folds = [self.fold_scores(dataset, model, score) for model in chosen]
            n_folds = max(map(len, folds))
            if any(len(values) < n_folds or np.isnan(values).any() for values in folds):
                continue
            kept.append(dataset)
            for model, values in zip(chosen, folds, strict=True):
                table[model].append(float(np.mean(values)))
        return kept, table

    def significant_record(
        self,
        a: str,
        b: str,
        score: str,
        *,
        higher_is_better: bool = False,
        alpha: float = 0.05,
        datasets: Sequence[str] | None = None,
    ) -> WinDrawLoss:
        """Count the data sets on which model `a` is significantly better and worse than `b`.

        Each data set is judged by the two-sided corrected t-test on its folds. Only data sets on
        which both models have finite scores on all folds count.

        Parameters
        ----------
        a, b : str
            Names of the models.
        score : str
            Name of the score.
        higher_is_better : bool
            Whether higher scores are better.
        alpha : float
            Level of significance.
        datasets : sequence of str, optional
            Names of the data sets; by default all.

        Returns
        -------
        WinDrawLoss
            Number of data sets on which model `a` is better, does not differ, and is worse.
        """
        wins = draws = losses = 0
        for dataset in self.datasets if datasets is None else datasets:
            first, second = (self.fold_scores(dataset, model, score) for model in (a, b))
            if len(first) != len(second) or len(first) < 2:
                continue
            if not (np.isfinite(first).all() and np.isfinite(second).all()):
                continue
            ratio = self._test_train_ratio(dataset, a)
            test = corrected_t_test(first, second, test_train_ratio=ratio)
            if test.p_value > alpha or test.mean_difference == 0:
                draws += 1
            elif (test.mean_difference > 0) == higher_is_better:
                wins += 1
            else:
                losses += 1
        return WinDrawLoss(wins, draws, losses)

    def _test_train_ratio(self, dataset: str, model: str) -> float:
        rows = self._rows_of[dataset, model]
        n_test = sum(int(row["n_test"]) for row in rows)
        n_train = sum(int(row["n_train"]) for row in rows)
        if n_train == 0 or n_test == 0:
            raise ValueError(f"n_train and n_test of {dataset!r} must be positive, got 0")
        return n_test / n_train

    def _check_score(self, score: str) -> None:
        if score not in self.scores:
            raise ValueError(f"score must be one of {list(self.scores)}, got {score!r}")


def read_results(path: str | os.PathLike[str]) -> Results:
    """Read a result file of :func:`~priorwise.evaluation.cross_validate`.

    An incomplete last line, which an interrupted run may leave, is ignored.

    Parameters
    ----------
    path : path
        The CSV file.

    Returns
    -------
    Results
        Its rows.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from priorwise.evaluation import cross_validate
    >>> from sklearn.dummy import DummyClassifier
    >>> data = {"coins": ([[0]] * 20, [0, 1] * 10)}
    >>> with TemporaryDirectory() as folder:
    ...     out = f"{folder}/results.csv"
    ...     _ = cross_validate({"prior": DummyClassifier()}, data, protocol="1x2", out=out)
    ...     read_results(out).models
    ('prior',)
    """
    header, rows = _read_whole_lines(Path(path))
    fixed = len(KEY_COLUMNS) + len(FACT_COLUMNS)
    if header[:fixed] != [*KEY_COLUMNS, *FACT_COLUMNS] or header[-1:] != ["error"]:
        raise ValueError(f"{os.fspath(path)} is not a result file: its columns are {header}")
    return Results(tuple(sorted(rows, key=cell_of)), tuple(header[fixed:-1]))


class ResultFile:
    """Rows that are added one by one, each written to a CSV file before the next.

    Without a path they are held in memory alone. `finish` sorts the rows, so that the file does not
    depend on the order in which cells ended.
    """

    def __init__(self, path: str | os.PathLike[str] | None, columns: Sequence[str]):
        self.path, self.columns = None if path is None else Path(path), tuple(columns)
        self.rows: dict[Cell, Row] = {}
        if self.path is not None and self.path.exists() and self.path.stat().st_size:
            self._take_up(self.path)
        # An incomplete last line is removed before rows are added.
        self.finish()

    def add(self, row: Mapping[str, object]) -> None:
        text = {column: str(row.get(column, "")) for column in self.columns}
        self.rows[cell_of(text)] = text
        if self.path is None:
            return
        with self.path.open("a", newline="", encoding="utf-8", errors="backslashreplace") as file:
            file.write(_format_row([text[column] for column in self.columns]))
            file.flush()
            os.fsync(file.fileno())

    def drop(self, cells: Iterable[Cell]) -> None:
        for cell in list(cells):
            del self.rows[cell]
        self.finish()

    def finish(self) -> None:
        """Sort the rows, in the file too."""
        self.rows = dict(sorted(self.rows.items()))
        if self.path is None:
            return
        lines = [_format_row(self.columns)]
        lines += [_format_row([row[name] for name in self.columns]) for row in self.rows.values()]
        with open_whole(self.path, "the results") as file:
            file.write("".join(lines).encode("utf-8", "backslashreplace"))

    def _take_up(self, path: Path) -> None:
        header, rows = _read_whole_lines(path)
        if tuple(header) != self.columns:
            raise ValueError(
                f"out {str(path)!r} has the columns {header}, this run needs "
                f"{list(self.columns)}: choose another file"
            )
        self.rows = {cell_of(row): row for row in rows}


def cell_of(row: Mapping[str, str]) -> Cell:
    return Cell(row["dataset"], row["model"], int(row["repeat"]), int(row["fold"]))


def _format_row(values: Sequence[str]) -> str:
    buffer = io.StringIO()
    # One line per row, even if a message has several, so that incomplete rows are recognised.
    clean = [
        " ".join(value.split()) if "\n" in value or "\r" in value else value for value in values
    ]
    csv.writer(buffer, lineterminator="\n").writerow(clean)
    return buffer.getvalue()


def _read_whole_lines(path: Path) -> tuple[list[str], list[Row]]:
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    try:
        text = whole.decode("utf-8")
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{str(path)!r} line {line} holds bytes that are no text") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        parsed = list(reader)
    except csv.Error as error:
        raise ValueError(f"{str(path)!r} line {reader.line_num}: {error}") from error
    if not parsed:
        raise ValueError(f"{str(path)!r} is not a result file: it has no header")
    header = parsed[0]
    for number, values in enumerate(parsed[1:], start=2):
        if len(values) != len(header):
            raise ValueError(
                f"{str(path)!r} line {number} has {len(values)} values, expected {len(header)}"
            )
    rows = [dict(zip(header, values, strict=True)) for values in parsed[1:]]
    for number, row in enumerate(rows, start=2):
        _check_row(row, f"{str(path)!r} line {number}")
    return header, rows


def _check_row(row: Row, place: str) -> None:
    """Raise unless the counts of a row are whole numbers."""
    for column in ("repeat", "fold", "n_train", "n_test"):
        word = row.get(column, "0")
        if not (word.isascii() and word.isdigit() and len(word) < 16):
            failed = bool(row.get("error")) and column.startswith("n_")
            if not failed:
                raise ValueError(f"{place}: {column} must be a whole number, got {word!r:.40}")
