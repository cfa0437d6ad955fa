"""Mistakes of users: what they do, and the words that the error or the warning must have."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse

import priorwise as pw
from priorwise.data import open_source
from priorwise.datasets import FileDataset, find_datasets, read_table

N = 40
NUMBERS = np.arange(N, dtype=float)
Y = [0, 1] * (N // 2)
COLOURS = ["red", "green", "blue", "grey"] * (N // 4)


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"size": NUMBERS, "colour": COLOURS} | columns)


def rows(**columns: Any) -> pd.DataFrame:
    return frame(**columns).assign(label=Y)


def fitted(**options: Any) -> Any:
    return pw.NaiveBayesClassifier(**options).fit(frame(), Y)


def bayes(**options: Any) -> Callable[[], Any]:
    return lambda: pw.NaiveBayesClassifier(**options).fit(frame(), Y)


def fit(X: Any, y: Any = Y, weight: Any = None) -> Callable[[], Any]:
    return lambda: pw.NaiveBayesClassifier().fit(X, y, weight)


def ask(X: Any, **options: Any) -> Callable[[], Any]:
    return lambda: fitted(**options).predict_proba(X)


def stream(source: Any, target: Any = "label", **options: Any) -> Callable[[], Any]:
    return lambda: pw.NaiveBayesClassifier().fit_dataset(source, target, **options)


def write(text: str, name: str = "rows.csv") -> Path:
    path = Path(tempfile.mkdtemp()) / name
    path.write_text(text)
    return path


def tree(**options: Any) -> Callable[[], Any]:
    return lambda: pw.ProbabilityTreeClassifier(**options).fit(frame(), Y)


def forest(**options: Any) -> Callable[[], Any]:
    return lambda: pw.ProbabilityForestClassifier(**({"n_estimators": 2} | options)).fit(frame(), Y)


def conditional(**options: Any) -> Callable[[], Any]:
    return lambda: pw.ConditionalTable("laplace").fit(
        rows(), **({"target": "label", "given": ["colour"]} | options)
    )


STRAY = [*map(str, NUMBERS + 0.5)][:-1]
CSV = "size,label\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(40))

MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    # What X is
    "X with one dimension": (fit(NUMBERS), "2D array"),
    "X with three dimensions": (fit(np.zeros((2, 2, 2)), [0, 1]), "dim 3"),
    "X without rows": (fit(frame()[:0], []), r"0 sample|at least one row"),
    "X without columns": (fit(frame()[[]]), "0 feature"),
    "a lazy frame": (fit(pl.LazyFrame({"a": NUMBERS})), "lazy frame: collect it"),
    "a sparse matrix": (fit(scipy.sparse.eye(N, format="csr")), "toarray"),
    "a sparse matrix at prediction": (ask(scipy.sparse.eye(2, format="csr")), "toarray"),
    "complex numbers": (fit(np.ones((N, 1)) * 1j), "[Cc]omplex"),
    "infinity": (fit(frame(size=[np.inf, *NUMBERS[1:]])), "infinity.*column 'size'"),
    "infinity in an array": (fit(np.where(NUMBERS > 38, np.inf, 1)[:, None]), "infinity.*column 0"),
    "infinity at prediction": (ask(frame(size=np.inf)), "infinity.*column 'size'"),
    "lists in cells": (fit(frame(a=[[1]] * N)), "column 'a'.*unhashable|column 'a' has type"),
    "bytes in a column of polars": (fit(pl.DataFrame({"a": [b"x"] * N})), "column 'a' has type"),
    "two columns of one name": (
        fit(pd.DataFrame(np.zeros((N, 2)), columns=["a", "a"])), "unique column names.*'a'",
    ),
    "names of two types": (
        fit(pd.DataFrame({"a": NUMBERS, 1: NUMBERS})), "string.*(names|type)|type.*string",
    ),
    # What columns are
    "a text among numbers": (fit(frame(size=[*STRAY, "abc"])), "column 'size'.*'abc'"),
    "a decimal comma": (fit(frame(size=[*STRAY, "1,5"])), "column 'size'.*'1,5'"),
    "a number with a unit": (fit(frame(size=[*STRAY, "12 kg"])), "column 'size'.*'12 kg'"),
    "an unknown mark of missing": (fit(frame(size=[*STRAY, "n.a."])), "'n.a.'.*missing_values"),
    "codes in text": (fit(frame(zip=["10115", "20095"] * 20)), "column 'zip'.*categorical"),
    "days that may be months": (
        fit(frame(when=["03.04.2013", "05.06.2013"] * (N // 2))), "column 'when'.*date_features",
    ),
    "a text among numbers in a stream": (
        stream(rows(size=[*STRAY, "abc"]), batch_rows=10), "column 'size'.*'abc'",
    ),
    "days that may be months in a stream": (
        stream(rows(when=["03.04.2013", "05.06.2013"] * (N // 2))), "column 'when'.*date_features",
    ),
    "codes in text in a stream": (stream(rows(zip=["1", "2"] * 20)), "column 'zip'.*categorical"),
    "a text among numbers in a CSV file": (
        lambda: read_table(write(CSV + "abc,1\n")), "column 'size'.*'abc'",
    ),
    "numbers here, labels there": (
        stream(lambda: iter([rows(), rows(size="big")])), "column 'size'.*number.*text",
    ),
    # Choices of columns
    "an unknown categorical column": (bayes(categorical_features=["color"]), "'colour'"),
    "an unknown numeric column": (bayes(numeric_features=["sise"]), "'size'"),
    "a column chosen as both": (
        bayes(numeric_features=["size"], categorical_features=["size"]), "column 'size'",
    ),
    "a mask of the wrong length": (bayes(categorical_features=[True]), "mask must have 2 entries"),
    "an index too large": (bayes(categorical_features=[7]), r"categorical_features.*0\.\.1.*7"),
    "an index below zero": (bayes(numeric_features=[-1]), r"numeric_features.*0\.\.1.*-1"),
    "fractions as indices": (bayes(categorical_features=[0.5]), "categorical_features must be"),
    "one mark instead of a list": (bayes(missing_values="-"), "missing_values must be.*'-'"),
    "a number instead of a list": (bayes(missing_values=-999), "missing_values must be.*-999"),
    # Prediction
    "a column less": (ask(frame()[["size"]]), "colour|features"),
    "a column more": (ask(frame(other=1)), "other"),
    "columns in another order": (ask(frame()[["colour", "size"]]), "order"),
    "another name": (ask(frame().rename(columns={"size": "length"})), "length"),
    "an array after a frame": (ask(frame().to_numpy()), "feature names"),
    "too few columns of an array": (
        lambda: pw.NaiveBayesClassifier().fit(np.ones((4, 2)), [0, 1] * 2).predict([[1.0]]),
        "NaiveBayesClassifier is expecting 2 features",
    ),
    "a frame after an array": (
        lambda: pw.NaiveBayesClassifier().fit(NUMBERS[:, None], Y).predict(frame()[["size"]]),
        "NaiveBayesClassifier was fitted without feature names",
    ),
    "text where numbers were": (ask(frame(size="big")), "column 'size'.*'big'"),
    "one row of text where numbers were": (ask(frame(size="big")[:1]), "column 'size'.*'big'"),
    "codes instead of labels": (ask(frame(colour=[0, 1] * 20)), "column 'colour'.*such as 0, 1"),
    "labels in another language": (ask(frame(colour="rot")), "column 'colour'.*'rot'"),
    "labels in another case": (ask(frame(colour="RED")), "column 'colour'.*'RED'"),
    "a label that must be known": (ask(frame(colour="rot"), unseen="error"), "'colour'.*'rot'"),
    "a missing value that must be known": (
        ask(frame(size=np.nan), unseen="error"), "'size'.*missing value",
    ),
    "asking before learning": (lambda: pw.KDBClassifier().predict(frame()), "not fitted"),
    "checking before learning": (lambda: pw.KDBClassifier().check(frame()), "not fitted"),
    "a cost matrix of the wrong shape": (
        lambda: fitted().predict(frame(), cost_matrix=[[0, 1]]), "cost_matrix.*shape",
    ),
    # y and weights
    "no y": (fit(frame(), None), "y"),
    "y of another length": (fit(frame(), Y[:-1]), "inconsistent|samples"),
    "one class": (fit(frame(), [1] * N), "2 classes"),
    "missing labels": (fit(frame(), [np.nan, *Y[1:]]), "y contains NaN"),
    "labels None": (fit(frame(), [None, *["a"] * (N - 1)]), "y contains NaN"),
    "infinite labels": (fit(frame(), [np.inf, *Y[1:]]), "y contains infinity"),
    "y of fractions": (fit(frame(), NUMBERS / 3), "[Uu]nknown label type|continuous"),
    "labels of two types": (fit(frame(), ["a", *Y[1:]]), "y must hold labels of one kind"),
    "y of two columns": (fit(frame(), np.ones((N, 2))), "y should be a 1d array|shape"),
    "weights of another length": (fit(frame(), Y, [1.0]), "sample_weight must have shape"),
    "negative weights": (fit(frame(), Y, [-1.0] * N), "sample_weight.*negative.*-1"),
    "weights NaN": (fit(frame(), Y, [np.nan] * N), "sample_weight must be finite"),
    "weights all zero": (fit(frame(), Y, [0.0] * N), "sample_weight must not be zero"),
    "weights that sum to one": (fit(frame(), Y, [1 / N] * N), "Weights count rows"),
    "weights too large": (fit(frame(), Y, [1e300] * N), r"sample_weight.*2\*\*53"),
    "a class weight of no class": (bayes(class_weight={2: 1.0}), "class_weight.*2"),
    "a negative class weight": (bayes(class_weight={0: -1}), "class_weight of 0.*-1"),
    "a misspelt class weight": (bayes(class_weight="balance"), "class_weight.*'balance'"),
    # Parameters
    "a misspelt smoother": (bayes(smoothing="laplce"), "smoothing.*'laplce'"),
    "a misspelt discretiser": (bayes(discretizer="mdl"), "discretizer.*'mdl'"),
    "a misspelt treatment of missing": (bayes(missing="drop"), "missing must be.*'drop'"),
    "a misspelt treatment of unseen": (bayes(unseen="ignore"), "unseen must be.*'ignore'"),
    "a seed in text": (bayes(random_state="x"), "random_state must be.*'x'"),
    "a negative seed": (bayes(random_state=-1), "random_state must be.*-1"),
    "a fraction of threads": (bayes(n_jobs=1.5), "n_jobs must be.*1.5"),
    "no threads": (bayes(n_jobs=0), "n_jobs must be.*0"),
    "a seed in text of a forest": (forest(random_state="x"), "random_state must be.*'x'"),
    "no contexts": (bayes(max_contexts=0), "max_contexts.*0"),
    "too few contexts": (bayes(max_contexts=3), "max_contexts must be at least.*3"),
    "negative parents": (
        lambda: pw.KDBClassifier(max_parents=-1).fit(frame(), Y), "max_parents.*-1",
    ),
    "no trees": (forest(n_estimators=0), "n_estimators.*0"),
    "half a tree": (forest(n_estimators=2.5), "n_estimators.*2.5"),
    "a misspelt criterion": (tree(criterion="gini!"), "criterion.*'gini!'"),
    "a misspelt pruning": (tree(pruning="hard"), "pruning.*'hard'"),
    "no rows in a leaf": (tree(min_samples_leaf=0), "min_samples_leaf.*0"),
    "a negative depth": (tree(max_depth=-1), "max_depth.*-1"),
    "a misspelt effort": (
        lambda: pw.PriorwiseClassifier("quick").fit(frame(), Y), "effort.*'quick'",
    ),
    "negative seconds": (
        lambda: pw.PriorwiseClassifier(max_seconds=-1).fit(frame(), Y), "max_seconds.*-1",
    ),
    # Files and streams
    "a misspelt target": (stream(rows(), "lable"), "'lable'.*did you mean 'label'"),
    "a target among the features": (stream(rows(), features=["label"]), "features.*'label'"),
    "an unknown feature": (stream(rows(), features=["sizes"]), "did you mean 'size'"),
    "a feature named twice": (stream(rows(), features=["size", "size"]), "features.*'size' twice"),
    "no such file": (stream("nowhere.csv"), "existing file.*nowhere.csv"),
    "a file of another kind": (stream("rows.docx"), r"\.csv.*rows\.docx"),
    "a number as source": (stream(5), "source must be.*int"),
    "a list of frames": (stream([rows()]), "source as a list must hold paths"),
    "a frame from a callable": (stream(lambda: rows()), "iterator of frames"),
    "an iterator that is used up": (stream(iter([rows()])), "source must be"),
    "batches without rows": (stream(rows(), batch_rows=0), "batch_rows.*0"),
    "a memory limit in words": (stream(rows(), memory_limit="much"), "memory_limit.*'much'"),
    "a negative memory limit": (stream(rows(), memory_limit=-5), "memory_limit.*-5"),
    "a misspelt cache": (stream(rows(), cache="yes"), "cache must be.*'yes'"),
    "a misspelt rule beyond the limit": (stream(rows(), on_limit="stop"), "on_limit.*'stop'"),
    "missing targets in a stream": (stream(rows().assign(label=None)), "target 'label'.*missing"),
    "a misspelt target of a file": (
        FileDataset(str(write(CSV)), "lable"), "target.*did you mean 'label'",
    ),
    "a folder that is not there": (lambda: find_datasets("nowhere"), "folder.*'nowhere'"),
    "no target in a source": (
        lambda: open_source(rows(), target="labels"), "did you mean 'label'",
    ),
    # Conditional tables
    "an unknown column to condition on": (conditional(given=["color"]), "did you mean 'colour'"),
    "the target among the given": (conditional(given=["label"]), "given.*'label'"),
    "a name instead of a list": (conditional(given="colour"), "given must be a list"),
    "an unknown column in a query": (
        lambda: conditional()().query(size=1), "context must name columns of given",
    ),
}  # fmt: skip
