"""Gaussians of the numbers given the class, times tables of the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import hook
from priorwise.common.numeric import draw_seed
from priorwise.common.runtime import one_blas_thread
from priorwise.common.validation import check_choice, check_number
from priorwise.counts.draws import N_FOLDS, deal_into_folds
from priorwise.models.base import TableClassifier
from priorwise.models.fitted import from_step
from priorwise.models.linear.fold_logistic import MANY_ROWS
from priorwise.models.linear.gaussian_search import GaussianRows, search
from priorwise.models.linear.spline import join_out_of_fold, learn_logged_design
from priorwise.models.memory import TableSize
from priorwise.models.training_table import TrainingTable
from priorwise.steps.linear.gaussians import Gaussians

MAX_VALUES, MAX_CUBES = 200, 30_000_000
"""Most numeric features that are used; and their cube times the number of classes, at most."""
MAX_TERMS = 200_000_000
"""At most this many rows times classes times squared features are learnt from, or `MANY_ROWS`."""


def as_floats(numbers: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(numbers.tolist())


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

    Skewed numbers are read as logarithms, if these are less skewed (`Logarithms`). Numbers are
    standardised and cut off at four deviations; a missing number counts as the mean, a missing
    label is left out.

    Parameters
    ----------
    structure : {"full", "tree", "naive"}
        Which numbers depend on each other given the class: all, each on one other (the tree of the
        most information), or none. Of more than 200 numeric features, fewer if there are more than
        3 classes, those whose means differ most between the classes are used.
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
    gaussians_ : GaussianTree
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

    learnt: ClassVar[Mapping[str, Any]] = {
        **TableClassifier.learnt,
        "shrinkage_": tuple,
    }
    step_: Gaussians
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
        date_features: Any = "from_dtype",
        text_features: Any = "from_dtype",
        missing_values: Any = "usual",
        min_rows_per_label: int = 1,
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
        self.date_features = date_features
        self.text_features = text_features
        self.missing_values = missing_values
        self.min_rows_per_label = min_rows_per_label
        self.class_weight = class_weight
        self.missing = missing
        self.unseen = unseen
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    design_ = from_step("design", "How numbers are standardised.")
    values_ = from_step("used", "The numeric features used.")
    gaussians_ = from_step("gaussians", "Means, precisions and constants.")
    parents_ = from_step("parents", "The parents of the Gaussians.", np.ndarray.tolist)
    tables_ = from_step("tables", "Logarithms of p(label | class) of each nominal feature.", list)
    log_prior_ = from_step("log_prior", "Logarithms of the shares of the classes.")
    powers_ = from_step("powers", "The powers of the Gaussian and of the tables.", as_floats)

    @hook
    def estimate_bytes(self, size: TableSize) -> float:
        n_values = min(size.n_numeric, MAX_VALUES)
        matrices = 40.0 * (1 + size.n_classes * (1 + 5 * int(self.max_parents > 0)))
        per_row = 24.0 * n_values + 40.0 * size.n_classes
        return size.table_bytes + matrices * n_values**2 + size.n_rows * per_row

    def check_parameters(self) -> None:
        check_choice("structure", self.structure, ("full", "tree", "naive"))
        check_choice("nominal", self.nominal, ("tables", "ignore"))
        check_number("max_parents", self.max_parents, least=0, whole=True)

    @one_blas_thread()
    def _learn(self, table: TrainingTable) -> dict[str, Any]:
        generator = np.random.default_rng(draw_seed(self.random_state))
        design = table.once(learn_logged_design)
        max_values = min(MAX_VALUES, round((MAX_CUBES / table.n_classes) ** (1 / 3)))
        n_terms = table.n_classes * max(1, min(max_values, len(design.mean))) ** 2
        drawn = table.draw(max(MANY_ROWS, MAX_TERMS // n_terms), generator)
        rows = GaussianRows(
            np.ascontiguousarray(design.standardise(drawn.columns.values).T),
            max_values,
            [] if self.nominal == "ignore" else list(drawn.columns.nominal_codes),
            table.n_labels.tolist(),
            drawn.y,
            drawn.n_classes,
            drawn.weight,
            deal_into_folds(drawn.y, N_FOLDS, generator, drawn.group).astype(np.int32),
            self.structure,
            self.n_threads,
        )
        best = search(rows, int(self.max_parents))
        gaussians = rows.fit(best.parents).shrink(best.shrinkage, self.structure)
        step = Gaussians(
            design,
            rows.used,
            gaussians,
            np.array(best.parents, dtype=np.intp),
            tuple(rows.fit_tables()),
            rows.log_prior(),
            np.array(best.powers, dtype=np.float64),
        )
        return {
            "step_": step,
            "shrinkage_": (best.shrinkage.strength, best.shrinkage.diagonal),
            "oof_proba_": join_out_of_fold(
                drawn, rows.predict_held(best), lambda: step.predict(table.columns, self.n_threads)
            ),
        }
