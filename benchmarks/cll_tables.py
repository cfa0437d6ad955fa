"""Do naive Bayes, TAN and the superparent classifiers reproduce the published tables?

Conditional log likelihood, accuracy and area under the ROC curve of Qiu et al. (2015), "Not
always simple classification: Learning SuperParent for class probability estimation", Tables 2, 7
and 12, on the data sets that are in a folder as ARFF files. Their preprocessing: attributes that
name a row are deleted, missing values become the mode or mean, numbers are cut into ten bins of
equal width, all on the whole data set; Laplace over the values that are declared, without
back-off. The tables are CSV files with a column per algorithm.

    python benchmarks/cll_tables.py DATA --cll table2.csv --accuracy table7.csv --auc table12.csv
        [--repeats 3] [--out folds.csv]
"""

import argparse
import csv
import itertools
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import StratifiedKFold

from priorwise import NaiveBayesClassifier, SuperParentClassifier, TANClassifier
from priorwise.data import EqualWidthDiscretizer, read_arff
from priorwise.evaluation import (
    conditional_log_likelihood,
    corrected_t_test,
    hand_till_auc,
    rank_models,
    zero_one_loss,
)
from priorwise.smoothing import Laplace

ROW_NAMES = ("hospital_number", "instance_name", "animal")
"""Attributes the paper deletes, in lower case and with underscores."""


class DeclaredValues(TransformerMixin, BaseEstimator):
    """A discretiser that leaves codes as they are, and knows how many each feature has.

    Values that no training row has exist all the same, as in the paper's Eq. 5.
    """

    def __init__(self, arities):
        self.arities = arities

    def fit(self, X, y=None, sample_weight=None):
        self.cut_points_ = [np.arange(arity - 1) + 0.5 for arity in self.arities]
        return self


def prepare(path):
    """Codes of the features, their numbers of values, and labels, as the paper prepares them."""
    data = read_arff(path)
    columns, arities = [], []
    for attribute, column in zip(data.attributes[:-1], data.columns[:-1], strict=True):
        if attribute.name.lower().replace(" ", "_") in ROW_NAMES:
            continue
        if attribute.kind == "numeric":
            known = column[~np.isnan(column)]
            filled = np.where(np.isnan(column), known.mean() if len(known) else 0.0, column)
            columns.append(EqualWidthDiscretizer(10).fit_transform(filled[:, None])[:, 0])
            arities.append(10)
        else:
            known = column[column >= 0]
            mode = np.bincount(known).argmax() if len(known) else 0
            columns.append(np.where(column < 0, mode, column))
            arities.append(len(attribute.categories))
    return np.column_stack(columns).astype(float), arities, np.asarray(data.values(-1).tolist())


def make_models(smoothing, evaluation, n_jobs):
    options = {"smoothing": smoothing, "n_jobs": n_jobs}
    searched = {"evaluation": evaluation, **options}
    return {
        "CLL-SP": SuperParentClassifier("cll", **searched),
        "NB": NaiveBayesClassifier(**options),
        "TAN": TANClassifier(**options),
        "SP": SuperParentClassifier("accuracy", **searched),
        "AUC-SP": SuperParentClassifier("auc", **searched),
    }


def cross_validate(model, X, arities, y, repeat):
    """Per fold of one ten-fold cross-validation: the three scores, and seconds to fit.

    Test rows are given to `fit` with weight zero: that is the same as leaving them out, but for
    classes all of whose rows are in the test fold, which thereby exist.
    """
    model = clone(model).set_params(discretizer=DeclaredValues(arities))
    labels = np.unique(y)
    # Classes with fewer rows than folds are in the tables too.
    warnings.filterwarnings("ignore", message="The least populated class")
    folds = StratifiedKFold(10, shuffle=True, random_state=repeat)
    rows = []
    for training, test in folds.split(X, y):
        weight = np.zeros(len(y))
        weight[training] = 1.0
        start = time.perf_counter()
        model.fit(X, y, sample_weight=weight)
        seconds = time.perf_counter() - start
        proba = model.predict_proba(X[test])
        rows.append(
            [
                conditional_log_likelihood(y[test], proba, labels=labels),
                100.0 * (1.0 - zero_one_loss(y[test], proba, labels=labels)),
                100.0 * hand_till_auc(y[test], proba, labels=labels),
                seconds,
            ]
        )
    return rows


class FoldScores:
    """Scores by fold of each data set, model and repeat, kept in a CSV file if there is one.

    The ten folds of a repeat are written at once, so a run that was killed resumes.
    """

    COLUMNS = ("dataset", "model", "repeat", "cll", "accuracy", "auc", "seconds")

    def __init__(self, path=None):
        self.path, self.rows = path, defaultdict(list)
        if path is None:
            return
        if not path.exists():
            path.write_text(",".join(self.COLUMNS) + "\n")
        with path.open(newline="") as file:
            for dataset, model, repeat, *values in list(csv.reader(file))[1:]:
                self.rows[dataset, model, int(repeat)].append([float(v) for v in values])

    def add(self, key, rows):
        self.rows[key] = rows
        if self.path is not None:
            with self.path.open("a", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([*key, *row] for row in rows)

    def of(self, dataset, model):
        """Of every fold of every repeat: the three scores, and seconds."""
        of_model = {key[2]: rows for key, rows in self.rows.items() if key[:2] == (dataset, model)}
        return np.concatenate([of_model[repeat] for repeat in sorted(of_model)])

    def mean(self, dataset, model):
        return np.nanmean(self.of(dataset, model), axis=0)

    def p_values(self, dataset, model, other):
        """Of the three scores, by the corrected t-test; folds without a score are left out."""
        found = []
        for a, b in zip(self.of(dataset, model).T[:3], self.of(dataset, other).T[:3], strict=True):
            known = ~np.isnan(a) & ~np.isnan(b)
            found.append(corrected_t_test(a[known], b[known], test_train_ratio=1 / 9).p_value)
        return found


def write_means(path, folds, datasets, names):
    """One row for each data set and model: means, and p-values of the difference to CLL-SP."""
    columns = FoldScores.COLUMNS[3:6]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["dataset", "model", *columns, *(f"{column}_p" for column in columns)])
        for dataset in datasets:
            for name in names:
                p = [""] * 3
                if name != "CLL-SP":
                    p = [f"{value:.4g}" for value in folds.p_values(dataset, name, "CLL-SP")]
                means = [f"{value:.6g}" for value in folds.mean(dataset, name)[:3]]
                writer.writerow([dataset, name, *means, *p])


def read_table(path):
    with open(path, newline="") as file:
        return {row["dataset"].lower(): row for row in csv.DictReader(file)}


def agrees(ours, published, share, absolute):
    return abs(ours - published) <= max(share * abs(published), absolute)


def report(title, ours, published, names):
    """Print a table with the published figure behind each of ours; return the average ranks."""
    print(f"\n{title} (published)")
    print(f"{'':16}" + "".join(f"{name:>20}" for name in names))
    for dataset, of_models in ours.items():
        row = published[dataset]
        print(
            f"{dataset:16}"
            + "".join(f"{of_models[name]:>11.1f} {float(row[name]):>8.1f}" for name in names)
        )
    table = {name: [of_models[name] for of_models in ours.values()] for name in names}
    ranks = rank_models(table, higher_is_better=True)
    printed = {name: [float(published[dataset][name]) for dataset in ours] for name in names}
    theirs = rank_models(printed, higher_is_better=True)
    print(
        f"{'average rank':16}"
        + "".join(
            f"{a:>11.2f} {b:>8.2f}" for a, b in zip(ranks.average, theirs.average, strict=True)
        )
    )
    return dict(zip(names, ranks.average, strict=True))


def check_bars(ours, published, ranks):
    """How many data sets lie within the margins; and which don't."""

    def missed(name, share, absolute, at_least=False):
        return [
            dataset
            for dataset, of_models in ours.items()
            if not agrees(of_models[name], float(published[dataset][name]), share, absolute)
            and not (at_least and of_models[name] > float(published[dataset][name]))
        ]

    for name, misses in {
        "NB within 3 % or 1.0": missed("NB", 0.03, 1.0),
        "TAN within 8 % or 2.0": missed("TAN", 0.08, 2.0),
        "CLL-SP at least as good, within 8 % or 2.0": missed("CLL-SP", 0.08, 2.0, at_least=True),
        "CLL-SP at least as good, within 3 % or 1.0": missed("CLL-SP", 0.03, 1.0, at_least=True),
    }.items():
        print(f"{name}: {len(ours) - len(misses)} of {len(ours)}; not {', '.join(misses) or '-'}")
    print(f"best average rank: {min(ranks, key=ranks.get)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of .arff or .arff.gz files")
    parser.add_argument("--cll", type=Path, required=True, help="table of log likelihoods")
    parser.add_argument("--accuracy", type=Path, help="table of accuracies")
    parser.add_argument("--auc", type=Path, help="table of areas under the ROC curve")
    parser.add_argument("--smoothing", help="by default Laplace without back-off")
    parser.add_argument("--evaluation", default="leave-one-out")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", type=Path, help="scores by fold; a run that was stopped resumes")
    parser.add_argument("--means", type=Path, help="where to write what docs/results keeps")
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--n-jobs", type=int, default=1)
    arguments = parser.parse_args()

    models = make_models(
        arguments.smoothing or Laplace(backoff=False), arguments.evaluation, arguments.n_jobs
    )
    names = arguments.models or list(models)
    published = read_table(arguments.cll)
    folds, scores = FoldScores(arguments.out), {}
    for path in sorted(arguments.data.glob("*.arff*")):
        dataset = path.name.split(".arff")[0].lower()
        if dataset not in published or dataset not in (arguments.datasets or [dataset]):
            continue
        X, arities, y = prepare(path)
        for repeat, name in itertools.product(range(arguments.repeats), names):
            if (dataset, name, repeat) not in folds.rows:
                rows = cross_validate(models[name], X, arities, y, repeat)
                folds.add((dataset, name, repeat), rows)
        scores[dataset] = {name: folds.mean(dataset, name) for name in names}
        seconds = {name: round(float(row[3]), 2) for name, row in scores[dataset].items()}
        print(dataset, seconds, flush=True)

    if arguments.means:
        write_means(arguments.means, folds, sorted(scores), names)
    tables = {"Conditional log likelihood": arguments.cll, "Accuracy": arguments.accuracy,
              "Area under the ROC curve": arguments.auc}  # fmt: skip
    for place, (title, path) in enumerate(tables.items()):
        if path is None:
            continue
        ours = {d: {name: s[place] for name, s in row.items()} for d, row in scores.items()}
        ranks = report(title, ours, read_table(path), names)
        if place == 0 and {"NB", "TAN", "CLL-SP"} <= set(names):
            check_bars(ours, published, ranks)


if __name__ == "__main__":
    main()
