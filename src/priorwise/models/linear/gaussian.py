"""Gaussians of the numbers given the class, times tables of the labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import describe
from priorwise.common.numeric import draw_seed, softmax
from priorwise.common.validation import check_choice, check_number
from priorwise.data.tables import Columns
from priorwise.models.base import TableClassifier
from priorwise.models.explanation import Explanation
from priorwise.models.folds import deal_into_folds
from priorwise.models.linear.base import join_out_of_fold, one_blas_thread
from priorwise.models.linear.design import LinearDesign
from priorwise.models.linear.label_tables import fit_table, look_up
from priorwise.models.linear.shrunken_gaussians import Gaussians, Moments, Shrinkage
from priorwise.models.memory.plan import GAUSSIAN
from priorwise.models.table_reader import ROWS
from priorwise.models.training_table import TrainingTable

N_FOLDS = 5
STRENGTHS, DIAGONALS = (0.05, 0.3, 1.0, 4.0, np.inf), (0.02, 0.15, 0.5)
MIDDLE = Shrinkage(1.0, 0.15)
POWERS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2)
MAX_VALUES, MAX_CANDIDATES = 200, 10
"""Most numeric features, and most nominal features that are tried as parents."""
MIN_ROWS, MAX_TERMS = 2_000, 200_000_000
"""At most this many rows times classes times squared features are learnt from, or `MIN_ROWS`."""


class GaussianNetworkClassifier(TableClassifier):
    """Gaussians of the numeric features given the class, times tables of the nominal features.

    A Gaussian is to numbers what a table of counts is to labels, and it is smoothed alike. The
    covariance of a class with N rows is shrunk towards the one common to all classes, and then
    towards its diagonal (d features)::

        S = (1 - g) T + g diag(T),  T = w S_class + (1 - w) S_common,  w = N / (N + s d)

    and its mean towards the mean of all rows by one row. With a nominal parent, each pair of a
    class and a label that has at least 10 rows has a Gaussian of its own, shrunk towards that of
    the class in the same way (a conditional Gaussian network, Lauritzen and Wermuth 1989). s, g,
    the parents and the powers of both factors are chosen by out-of-fold log-loss::

        p(y | x) proportional to p(y) N(numbers | y, parents)^a prod_i p(label_i | y)^b

    Numbers are standardised and cut off at four deviations; a missing number counts as the mean, a
    missing label is left out.

    Parameters
    ----------
    structure : {"full", "tree", "naive"}
        Which numbers depend on each other given the class: all, each on one other (the tree of the
        most information), or none. Of more than 200 numeric features the 200 whose means differ
        most between the classes are used.
    max_parents : int
        Most nominal features that the Gaussians depend on; they are added one at a time while the
        out-of-fold log-loss falls.
    nominal : {"tables", "ignore"}
        Whether the nominal features have tables, or are left out altogether.

    Attributes
    ----------
    design_ : LinearDesign
        How numbers are standardised.
    values_ : array of int
        The numeric features used, as places among the numeric features.
    gaussians_ : Gaussians
        Means, precisions and constants.
    parents_ : list of int
        The parents of the Gaussians, as places among the nominal features.
    tables_ : list of array of shape (n_labels, n_classes)
        log p(label | class) of each nominal feature; none if they are left out.
    log_prior_ : array of shape (n_classes,)
        Logarithms of the shares of the classes.
    shrinkage_ : tuple of float
        s and g.
    powers_ : tuple of float
        The powers of the Gaussian and of the tables, a and b.
    oof_proba_ : array of shape (n_rows, n_classes)
        Probabilities of each training row from rows of other folds; NaN for rows of weight zero.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNetworkClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    """

    memory_family = GAUSSIAN
    design_: LinearDesign
    values_: NDArray[np.intp]
    gaussians_: Gaussians
    parents_: list[int]
    tables_: list[NDArray[np.float64]]
    log_prior_: NDArray[np.float64]
    powers_: tuple[float, float]
    oof_proba_: NDArray[np.float64]

    def __init__(
        self,
        structure: str = "full",
        *,
        max_parents: int = 1,
        nominal: str = "tables",
        categorical_features: Any = "from_dtype",
        numeric_features: Any = None,
        ordinal_features: Any = "from_dtype",
        missing_values: Any = "usual",
        class_weight: Any = None,
        missing: str = "value",
        unseen: str = "backoff",
        memory_limit: int | float | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.structure = structure
        self.max_parents = max_parents
        self.nominal = nominal
        self.categorical_features = categorical_features
        self.numeric_features = numeric_features
        self.ordinal_features = ordinal_features
        self.missing_values = missing_values
        self.class_weight = class_weight
        self.missing = missing
        self.unseen = unseen
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def predict_columns(self, columns: Columns) -> NDArray[np.float64]:
        return _predict(vars(self), columns, self._n_threads)

    @describe(ROWS)
    def explain_columns(self, columns: Columns) -> Explanation:
        """Explain the predictions for rows that have been read.

        Returns
        -------
        Explanation
            A numeric feature contributes its terms of the quadratic form, a nominal feature those
            of its table; the constant of a Gaussian is its first parent's, less that of the class.
        """
        values = standardise(self.design_, self.values_, columns)
        parents = [columns.nominal_codes[i] for i in self.parents_]
        gaussians, power = self.gaussians_, self.powers_[0]
        place = gaussians.place(parents, columns.n_rows)
        parts = np.zeros((columns.n_rows, self.n_features_in_, len(self.classes_)))
        is_nominal = self.encoder_.is_nominal_
        nominal, numeric = np.flatnonzero(is_nominal), np.flatnonzero(~is_nominal)
        parts[:, numeric[self.values_]] = power * gaussians.split(values, place, self._n_threads)
        for feature, table, codes in zip(
            nominal, self.tables_, columns.nominal_codes, strict=False
        ):
            parts[:, feature] = self.powers_[1] * look_up(table, codes)
        of_class = gaussians.log_constant[: len(self.classes_)]
        if self.parents_:
            parts[:, nominal[self.parents_[0]]] += power * (
                gaussians.log_constant[place] - of_class
            )
        return Explanation.from_sums(
            self.classes_, self.feature_labels_, self.log_prior_ + power * of_class, parts
        )

    def _check_parameters(self) -> None:
        check_choice("structure", self.structure, ("full", "tree", "naive"))
        check_choice("nominal", self.nominal, ("tables", "ignore"))
        check_number("max_parents", self.max_parents, least=0, whole=True)

    def _learn(self, table: TrainingTable) -> dict[str, Any]:
        generator = np.random.default_rng(draw_seed(self.random_state))
        design = LinearDesign.learn(table.columns, table.n_labels, table.weight, max_splined=0)
        used = choose_values(design, table)
        n_terms = table.n_classes * max(1, len(used)) ** 2
        drawn = table.draw(max(MIN_ROWS, MAX_TERMS // n_terms), generator)
        rows = GaussianRows(
            standardise(design, used, drawn.columns),
            [] if self.nominal == "ignore" else list(drawn.columns.nominal_codes),
            table.n_labels.tolist(),
            drawn.y,
            drawn.n_classes,
            drawn.weight,
            deal_into_folds(drawn.y, N_FOLDS, generator).astype(np.int32),
            self.structure,
            self._n_threads,
        )
        with one_blas_thread():
            best = search(rows, int(self.max_parents))
            gaussians = rows.fit(best.parents).shrink(best.shrinkage, self.structure)
            tables = rows.fit_tables()
        fitted = {
            "design_": design,
            "values_": used,
            "gaussians_": gaussians,
            "parents_": best.parents,
            "tables_": tables,
            "log_prior_": rows.log_prior(),
            "shrinkage_": (best.shrinkage.strength, best.shrinkage.diagonal),
            "powers_": best.powers,
        }
        fitted["oof_proba_"] = join_out_of_fold(
            drawn, best.proba, lambda: _predict(fitted, table.columns, self._n_threads)
        )
        return fitted


def _predict(fitted: Mapping[str, Any], columns: Columns, n_threads: int) -> NDArray[np.float64]:
    """Return probabilities of rows, given the fitted attributes."""
    gaussians, (own, other) = fitted["gaussians_"], fitted["powers_"]
    values = standardise(fitted["design_"], fitted["values_"], columns)
    parents = [columns.nominal_codes[i] for i in fitted["parents_"]]
    place = gaussians.place(parents, columns.n_rows)
    score = fitted["log_prior_"] + own * gaussians.score(values, place, n_threads)
    for table, codes in zip(fitted["tables_"], columns.nominal_codes, strict=False):
        score += other * look_up(table, codes)
    return softmax(score)


def standardise(
    design: LinearDesign, used: NDArray[np.intp], columns: Columns
) -> NDArray[np.float64]:
    """Return the numbers of rows (n_rows, n_values) in deviations from their means."""
    return np.ascontiguousarray(design.standardise(columns.values)[used].T)


def choose_values(design: LinearDesign, table: TrainingTable) -> NDArray[np.intp]:
    """Return the numeric features to use: at most 200, those whose means differ most."""
    n_values = len(design.mean)
    if n_values <= MAX_VALUES:
        return np.arange(n_values)
    values, count = design.standardise(table.columns.values), table.class_count
    between = np.zeros(n_values)
    for y in range(table.n_classes):
        rows = np.flatnonzero(table.y == y)
        if len(rows):
            mean = np.average(values[:, rows], axis=1, weights=table.weights[rows])
            between += count[y] * mean**2
    return np.sort(np.argsort(-between, kind="stable")[:MAX_VALUES])


@dataclass(frozen=True)
class Choice:
    """Parents, shrinkage and powers, and the out-of-fold log-loss and probabilities with them."""

    parents: list[int]
    shrinkage: Shrinkage
    powers: tuple[float, float]
    loss: float
    proba: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GaussianRows:
    """Rows to learn from: standardised numbers, codes of nominal features, classes and folds."""

    values: NDArray[np.float64]
    codes: list[NDArray[np.int32]]
    n_labels: list[int]
    y: NDArray[np.int32]
    n_classes: int
    weight: NDArray[np.float64] | None
    fold: NDArray[np.int32]
    structure: str
    n_threads: int

    def take(self, rows: NDArray[np.intp]) -> GaussianRows:
        """Return some of the rows."""
        return replace(
            self,
            values=np.ascontiguousarray(self.values[rows]),
            codes=[codes[rows] for codes in self.codes],
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
            fold=self.fold[rows],
        )

    def split(self, fold: int) -> tuple[GaussianRows, GaussianRows]:
        """Return the rows of the other folds and those of a fold."""
        return self.take(np.flatnonzero(self.fold != fold)), self.take(
            np.flatnonzero(self.fold == fold)
        )

    def log_prior(self) -> NDArray[np.float64]:
        """Return the logarithms of the shares of the classes, with one row more of each."""
        count = np.bincount(self.y, self.weight, minlength=self.n_classes) + 1.0
        return np.asarray(np.log(count / count.sum()))

    def parent_codes(self, parents: list[int]) -> list[NDArray[np.int32]]:
        """Return the codes of some nominal features."""
        return [self.codes[i] for i in parents]

    def fit(self, parents: list[int]) -> Moments:
        """Return the moments of all contexts."""
        return Moments.sum_up(
            self.values, self.y, self.n_classes, self.weight, self.parent_codes(parents),
            [self.n_labels[i] for i in parents],
        )  # fmt: skip

    def fit_tables(self) -> list[NDArray[np.float64]]:
        """Return the tables of the nominal features."""
        return [
            fit_table(codes, self.y, n_labels, self.n_classes, self.weight)
            for codes, n_labels in zip(self.codes, self.n_labels, strict=False)
        ]

    def score_out_of_fold(self, parents: list[int], shrinkage: Shrinkage) -> NDArray[np.float64]:
        """Return log densities of the rows of each fold by the Gaussians of the other folds."""
        score = np.empty((len(self.y), self.n_classes))
        for fold in range(N_FOLDS):
            rest, held = self.split(fold)
            gaussians = rest.fit(parents).shrink(shrinkage, self.structure)
            place = gaussians.place(held.parent_codes(parents), len(held.y))
            score[self.fold == fold] = gaussians.score(held.values, place, self.n_threads)
        return score

    def look_up_out_of_fold(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return log priors, and sums of the tables of labels, from the other folds."""
        prior, labels = np.empty((2, len(self.y), self.n_classes))
        for fold in range(N_FOLDS):
            rest, held = self.split(fold)
            own = self.fold == fold
            prior[own], labels[own] = rest.log_prior(), 0.0
            for table, codes in zip(rest.fit_tables(), held.codes, strict=True):
                labels[own] += look_up(table, codes)
        return prior, labels

    def loss(self, score: NDArray[np.float64]) -> float:
        """Return the mean log-loss of scores."""
        top = score.max(axis=1, keepdims=True)
        norm = (top + np.log(np.exp(score - top).sum(axis=1, keepdims=True)))[:, 0]
        return float(np.average(norm - score[np.arange(len(self.y)), self.y], weights=self.weight))


def search(rows: GaussianRows, max_parents: int) -> Choice:
    """Choose parents, shrinkage and powers, one after the other, by out-of-fold log-loss."""
    prior, labels = rows.look_up_out_of_fold()

    def judge(parents: list[int], shrinkage: Shrinkage) -> Choice:
        score = rows.score_out_of_fold(parents, shrinkage)
        powers = POWERS if rows.codes else (1.0,)
        loss, own, other = min(
            (rows.loss(prior + a * score + b * labels), a, b)
            for a, b in product(POWERS if score.any() else (1.0,), powers)
        )
        proba = softmax(prior + own * score + other * labels)
        return Choice(parents, shrinkage, (own, other), loss, proba)

    best = judge([], MIDDLE)
    if rows.values.shape[1] == 0:
        return best
    while len(best.parents) < min(max_parents, len(rows.codes)):
        before = best
        for i in [i for i in range(len(rows.codes)) if i not in before.parents][:MAX_CANDIDATES]:
            best = _better(best, judge([*before.parents, i], MIDDLE))
        if best is before:
            break
    for strength in STRENGTHS:
        best = _better(best, judge(best.parents, replace(MIDDLE, strength=strength)))
    first = best
    for diagonal in DIAGONALS:
        shrinkage = replace(first.shrinkage, diagonal=diagonal)
        best = _better(best, judge(first.parents, shrinkage))
    return best


def _better(first: Choice, second: Choice) -> Choice:
    return second if second.loss < first.loss else first
