"""Repeated stratified cross-validation of many models on many data sets."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from priorwise.common.runtime import Progress
from priorwise.common.validation import check_choice, take_target
from priorwise.evaluation.results import (
    FACT_COLUMNS,
    KEY_COLUMNS,
    TIME_COLUMNS,
    Cell,
    ResultFile,
    Results,
)
from priorwise.evaluation.scores import SCORES, cover_classes

DEFAULT_SCORES = ("rmse", "cross_entropy", "zero_one_loss")
_SMALL_CLASSES = ("keep", "drop", "error")

Score = Callable[..., float]


@dataclass(frozen=True)
class Protocol:
    """Repeated cross-validation.

    Parameters
    ----------
    n_repeats : int
        Number of times that rows are divided into folds.
    n_folds : int
        Number of folds.

    Examples
    --------
    >>> Protocol.parse("5x2")
    Protocol(n_repeats=5, n_folds=2)
    """

    n_repeats: int
    n_folds: int

    @classmethod
    def parse(cls, text: str) -> Protocol:
        """Read a text such as "5x2": repeats, then folds.

        Parameters
        ----------
        text : str
            Number of repeats, "x" and number of folds.

        Returns
        -------
        Protocol
            The protocol.
        """
        match = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,3})", text)
        if match is None or int(match[2]) < 2:
            raise ValueError(
                f"protocol must be repeats x folds such as '5x2', at least two folds, got {text!r}"
            )
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.n_repeats}x{self.n_folds}"

    def split(self, codes: NDArray[np.intp], repeat: int) -> list[tuple[Any, Any]]:
        """Divide rows by ``StratifiedKFold(n_folds, shuffle=True, random_state=repeat)``.

        Parameters
        ----------
        codes : array of shape (n_rows,)
            Class of each row.
        repeat : int
            Number of the repeat, from 0.

        Returns
        -------
        list of tuple
            Training rows and test rows of each fold.
        """
        splitter = StratifiedKFold(self.n_folds, shuffle=True, random_state=repeat)
        with warnings.catch_warnings():
            # `small_classes` says what to do with classes that have fewer rows than folds.
            warnings.filterwarnings("ignore", message="The least populated class")
            return list(splitter.split(np.zeros(len(codes)), codes))


def cross_validate(
    models: Mapping[str, Any],
    datasets: Mapping[str, Any],
    *,
    protocol: str | Protocol = "5x2",
    scores: Sequence[str] | Mapping[str, Score] = DEFAULT_SCORES,
    n_jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    small_classes: str = "keep",
    retry_errors: bool = False,
) -> Results:
    """Cross-validate every model on every data set.

    A model that raises on a fold is recorded in the column `error` of the results and does not
    stop the others; with more than one process, neither does a model whose process dies.

    Parameters
    ----------
    models : mapping of str to classifier
        Classifiers of scikit-learn's interface by name. Each is cloned and fitted for every fold;
        a `random_state` of None is replaced by a number that depends on repeat and fold only.
    datasets : mapping of str to tuple or callable
        (X, y) by name, or a function that returns it. As for `fit` of this library's classifiers, y
        may be the name of the column of X that has the classes.
    protocol : str or Protocol
        Number of repeats and folds: "5x2", "10x10", "1x10" or ``Protocol(5, 2)``.
    scores : sequence of str or mapping of str to callable
        Names of `SCORES`, or functions of `y_true`, `proba` and `labels` by name.
    n_jobs : int
        Number of processes.
    out : path, optional
        CSV file that each result is written to as soon as it is known. If the file exists, only
        results that it lacks are computed, so that an interrupted run can be continued; the
        finished file is the same as that of an uninterrupted run. Results are identified by the
        names of model and data set: use another file after changing either. Times are written to
        ``<out>.times.csv``.
    progress : bool
        Whether to show progress on the error stream.
    small_classes : {"keep", "drop", "error"}
        What to do with classes that have fewer rows than there are folds. "keep": a class that a
        training fold lacks has probability zero there, so that log-loss may be infinite. "drop":
        their rows are left out and counted in the column `n_dropped`. "error": the data set is
        recorded as failed.
    retry_errors : bool
        Whether to compute results again that the file `out` records as failed.

    Returns
    -------
    Results
        One row for each model, data set, repeat and fold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> models = {"prior": DummyClassifier(), "bayes": GaussianNB()}
    >>> datasets = {"iris": load_iris(return_X_y=True)}
    >>> results = cross_validate(models, datasets, protocol="2x2", progress=False)
    >>> names, table = results.score_table("rmse")
    >>> names, {model: round(values[0], 3) for model, values in table.items()}
    (['iris'], {'bayes': 0.161, 'prior': 0.471})
    """
    plan = Protocol.parse(str(protocol))
    functions = _check_scores(scores)
    check_choice("small_classes", small_classes, _SMALL_CLASSES)
    for kind, named in (("models", models), ("datasets", datasets)):
        if not named:
            raise ValueError(f"{kind} must not be empty")
    columns = (*KEY_COLUMNS, *FACT_COLUMNS, *functions, "error")
    results, times = _open_results(out, columns, str(plan))
    if retry_errors:
        results.drop([cell for cell, row in results.rows.items() if row["error"]])
    n_cells = len(models) * len(datasets) * plan.n_repeats * plan.n_folds
    bar = Progress(n_cells, progress, unit="cells")
    for dataset in sorted(datasets):
        cells = [
            Cell(dataset, model, repeat, fold)
            for model in sorted(models)
            for repeat in range(plan.n_repeats)
            for fold in range(plan.n_folds)
        ]
        todo = [cell for cell in cells if cell not in results.rows]
        bar.skip(len(cells) - len(todo))
        if not todo:
            continue
        try:
            data = _Data.load(datasets[dataset], plan, small_classes)
        except Exception as error:
            outcomes: Iterable[dict[str, Any]] = [_failure(cell, error) for cell in todo]
        else:
            tasks = [(cell, models[cell.model], data, plan, functions) for cell in todo]
            outcomes = _run_cells(tasks, n_jobs)
        for outcome in outcomes:
            # Times come first: if the process is killed in between, the row is computed again.
            if not outcome["error"]:
                times.add(outcome)
            results.add(outcome | {"protocol": plan})
            label = f"{outcome['dataset']} {outcome['model']}"
            bar.step(label, failed=bool(outcome["error"]))
    bar.close()
    for file in (results, times):
        file.finish()
    return Results(tuple(results.rows.values()), tuple(functions))


@dataclass(frozen=True)
class _Data:
    X: Any
    y: NDArray[Any]
    codes: NDArray[np.intp]
    labels: NDArray[Any]
    n_dropped: int

    @classmethod
    def load(cls, source: Any, plan: Protocol, small_classes: str) -> _Data:
        X, y = take_target(*(source() if callable(source) else source))
        target = _plain_labels(np.asarray(y))
        labels, codes, counts = np.unique(target, return_inverse=True, return_counts=True)
        small = counts < plan.n_folds
        dropped = 0
        if small.any() and small_classes == "error":
            named = dict(zip(labels[small].tolist(), counts[small].tolist(), strict=True))
            raise ValueError(f"classes with fewer rows than {plan.n_folds} folds: {named}")
        if small.any() and small_classes == "drop":
            keep = np.flatnonzero(~small[codes])
            dropped = len(codes) - len(keep)
            X, target = _safe_indexing(X, keep), target[keep]
            labels, codes = np.unique(target, return_inverse=True)
        if len(labels) < 2:
            raise ValueError(f"a data set needs at least two classes, got {len(labels)}")
        return cls(X, target, codes, labels, dropped)


def _plain_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Labels as an array of text or of numbers, which can be sorted."""
    if y.dtype != object:
        return y
    kinds = {type(value) for value in y.tolist()}
    if kinds <= {int, float, bool}:
        return np.array(y.tolist())
    if kinds == {str}:
        return y.astype(str)
    raise ValueError(
        f"y must hold only text or only numbers, got {sorted(k.__name__ for k in kinds)}"
    )


def _run_cell(cell: Cell, *task: Any) -> dict[str, Any]:
    try:
        return _score_cell(cell, *task)
    except Exception as error:
        return _failure(cell, error)


def _score_cell(
    cell: Cell, model: Any, data: _Data, plan: Protocol, functions: Mapping[str, Score]
) -> dict[str, Any]:
    train, test = plan.split(data.codes, cell.repeat)[cell.fold]
    fitted = _fix_random_state(clone(model), cell.repeat * plan.n_folds + cell.fold)
    start = time.perf_counter()
    fitted.fit(_safe_indexing(data.X, train), data.y[train])
    fitted_at = time.perf_counter()
    proba = fitted.predict_proba(_safe_indexing(data.X, test))
    end = time.perf_counter()
    outcome: dict[str, Any] = {
        **cell._asdict(),
        "n_train": len(train),
        "n_test": len(test),
        "n_classes": len(data.labels),
        "n_dropped": data.n_dropped,
        "fit_seconds": fitted_at - start,
        "predict_seconds": end - fitted_at,
        "error": "",
    }
    proba, labels = cover_classes(proba, fitted.classes_, data.labels)
    for name, function in functions.items():
        outcome[name] = float(function(data.y[test], proba, labels=labels))
    return outcome


def _failure(cell: Cell, error: Exception) -> dict[str, Any]:
    message = " ".join(str(error).split())
    return {**cell._asdict(), "error": f"{type(error).__name__}: {message}"}


def _fix_random_state(model: Any, seed: int) -> Any:
    unset = {
        name: seed
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return model.set_params(**unset)


def _check_scores(scores: Sequence[str] | Mapping[str, Score]) -> dict[str, Score]:
    if isinstance(scores, str):
        raise ValueError(f"scores must be a list of names or a mapping, got {scores!r}")
    if isinstance(scores, Mapping):
        return dict(scores)
    unknown = [name for name in scores if name not in SCORES]
    if unknown or not scores:
        raise ValueError(f"scores must be among {sorted(SCORES)}, got {list(scores)}")
    return {name: SCORES[name] for name in scores}


def _open_results(
    out: str | os.PathLike[str] | None, columns: Sequence[str], protocol: str
) -> tuple[ResultFile, ResultFile]:
    """Return the files of results and of times; without `out` both are in memory."""
    results = ResultFile(out, columns)
    others = {row["protocol"] for row in results.rows.values()} - {protocol}
    if out is not None and others:
        raise ValueError(
            f"out {os.fspath(out)!r} holds results of protocol {sorted(others)}, "
            f"not {protocol!r}: choose another file"
        )
    times = None if out is None else Path(out).with_name(Path(out).name + ".times.csv")
    return results, ResultFile(times, TIME_COLUMNS)


def _run_cells(tasks: Sequence[tuple[Any, ...]], n_jobs: int) -> Iterator[dict[str, Any]]:
    """Outcomes of tasks (arguments of `_run_cell`) in the order in which they end."""
    if n_jobs == 1:
        yield from (_run_cell(*task) for task in tasks)
        return
    waiting = {task[0]: task for task in tasks}
    try:
        # joblib keeps its processes between data sets.
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        for outcome in parallel(delayed(_run_cell)(*task) for task in tasks):
            del waiting[Cell(*(outcome[field] for field in Cell._fields))]
            yield outcome
    except BrokenExecutor:
        # Some cell killed its process. Each remaining cell is run alone to find out which.
        for task in waiting.values():
            try:
                yield from Parallel(n_jobs=2)([delayed(_run_cell)(*task)])
            except BrokenExecutor:
                died = RuntimeError("the process died: a crash, or out of memory")
                yield _failure(task[0], died)
