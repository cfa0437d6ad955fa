"""Logistic regression on a Gaussian kernel between rows and landmarks, cross-fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from priorwise.common.docstrings import hook
from priorwise.common.numeric import Chosen, Trials, draw_seed, gen_batches, safe_log
from priorwise.common.runtime import one_blas_thread
from priorwise.common.validation import check_number
from priorwise.counts.draws import deal_into_folds
from priorwise.models.linear.fold_logistic import (
    FEW_ROWS,
    MIN_EIGENVALUE,
    PENALTIES,
    TOLERANCE,
    FoldLogistic,
    PenaltyChoice,
    count_folds,
    count_searched_folds,
)
from priorwise.models.linear.spline import (
    BaseLogisticClassifier,
    join_out_of_fold,
    learn_logged_design,
)
from priorwise.models.memory import TableSize, halve
from priorwise.models.training_table import TrainingTable
from priorwise.steps.linear.design import BATCH_ROWS, Design
from priorwise.steps.linear.logistic import Kernel, square_distances

FIRST_PENALTY = 6
"""Place of the penalty that is tried first, 0.1."""
MAX_ROWS = 5_000
N_FIRST_LANDMARKS = 100
"""Landmarks that the bandwidth is chosen with."""
CLEAR_SHARE = 0.5
"""All landmarks are tried where these few leave at most this share of the classes' entropy."""
MAX_WEIGHTS, MIN_LANDMARKS = 10_000, 50
"""At most `MAX_WEIGHTS` landmarks times classes, but at least `MIN_LANDMARKS` landmarks."""


class KernelLogisticClassifier(BaseLogisticClassifier):
    """Multinomial logistic regression on a Gaussian kernel: smooth in all features together.

    The score of a class is a weighted sum of the likeness of a row x to some landmarks, rows b_j
    of the training table drawn at random by weight::

        score_y(x) = a_y + sum_j w_jy exp(-d(x, b_j)^2 / (2 s^2 m))

    d^2 adds up squared differences of standardised numbers, cut off at four deviations, and 2 for
    each label that differs; m is the median of d^2. Skewed numbers are read as logarithms, if these
    are less skewed (`Logarithms`). A ridge penalty on the norm of the score as a
    function (Nystrom's approximation, Williams and Seeger 2001) and the bandwidth s are chosen by
    out-of-fold log-loss. At most 5,000 rows are learnt from, drawn at random by weight.

    A label that training did not have is as far from every other label as a missing number is.

    Parameters
    ----------
    n_landmarks : int
        Most landmarks; fewer with more than 10 classes. 100 are tried first, and all only if the
        out-of-fold log-loss is then at most half of that of the shares of the classes.
    bandwidths : tuple of float
        Values of s to choose from.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth s chosen.
    score_ : Kernel
        Landmarks, intercepts and weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelLogisticClassifier(random_state=0).fit(X, y)
    >>> model.predict(X[[0, 60, 120]])
    array([0, 1, 2])
    """

    learnt: ClassVar[Mapping[str, Any]] = {
        **BaseLogisticClassifier.learnt,
        "bandwidth_": float,
    }
    reductions: ClassVar[Mapping[str, Any]] = {"n_landmarks": halve(MIN_LANDMARKS)}
    step_: Kernel
    bandwidth_: float

    def __init__(
        self,
        n_landmarks: int = 1_000,
        *,
        bandwidths: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0),
        n_folds: int | str = "auto",
        tol: float = TOLERANCE,
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
        self.n_landmarks = n_landmarks
        self.bandwidths = bandwidths
        self.n_folds = n_folds
        self.tol = tol
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

    @property
    def score_(self) -> Kernel:
        """Landmarks and their coefficients."""
        return self._find_step()

    @hook
    def estimate_bytes(self, size: TableSize) -> float:
        n_cells = min(size.n_rows, MAX_ROWS) * min(size.n_rows, int(self.n_landmarks))
        return size.table_bytes + 20.0 * n_cells + 24.0 * self.n_landmarks**2

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("n_landmarks", self.n_landmarks, least=1)
        if len(self.bandwidths) == 0:
            raise ValueError("bandwidths must not be empty")
        for bandwidth in self.bandwidths:
            check_number("bandwidths", bandwidth, above=0.0)

    @one_blas_thread()
    def _learn(self, table: TrainingTable) -> dict[str, Any]:
        generator = np.random.default_rng(draw_seed(self.random_state))
        linear_design = table.once(learn_logged_design)
        drawn = table.draw(MAX_ROWS, generator)
        n_folds = count_folds(self.n_folds, len(drawn.y), drawn.n_classes)
        fold = deal_into_folds(drawn.y, n_folds, generator, drawn.group).astype(np.int32)
        max_landmarks = max(MIN_LANDMARKS, MAX_WEIGHTS // table.n_classes)
        chosen_rows = drawn.draw(min(int(self.n_landmarks), max_landmarks), generator).given
        rows = linear_design.apply(drawn.columns)
        search = KernelSearch(
            rows, drawn, fold, sorted(map(float, self.bandwidths)), self.n_threads
        )
        best = search.run(chosen_rows)
        weights = best.regression.finish(best.choice, n_folds, self.tol)
        coef = weights.mean(axis=0)
        if len(drawn.y) >= FEW_ROWS:
            # Of fewer rows, weights of all are too sure: those of folds, averaged, are better.
            coef = best.regression.fit_all(best.choice, coef, self.tol)
        landmarks = rows.take(best.chosen)
        step = Kernel(
            linear_design,
            np.ascontiguousarray(landmarks.index.T),
            np.ascontiguousarray(landmarks.value.T),
            best.basis.rate,
            np.ascontiguousarray(coef[:, 0]),
            np.ascontiguousarray(coef[:, 1:] @ best.basis.vectors.T),
        )
        oof_proba = join_out_of_fold(
            drawn,
            best.regression.predict(weights, fold),
            lambda: step.predict(table.columns, self.n_threads),
        )
        return {
            "step_": step,
            "penalty_": best.choice.penalty,
            "bandwidth_": best.bandwidth,
            "oof_proba_": oof_proba,
        }


@dataclass(frozen=True)
class NystromBasis:
    """Features of rows whose inner products are nearly the kernel: k(row, landmarks) @ vectors."""

    vectors: NDArray[np.float64]
    rate: float

    @classmethod
    def compute(cls, landmarks: Design, rate: float) -> NystromBasis:
        """Compute the basis of the kernel exp(-rate distance^2)."""
        kernel = find_kernel(landmarks, landmarks, rate)
        values, vectors = eigh(kernel.T, overwrite_a=True, check_finite=False, driver="evd")
        # They are in ascending order.
        kept = slice(np.searchsorted(values, MIN_EIGENVALUE * values[-1], side="right"), None)
        vectors = vectors[:, kept]
        vectors /= np.sqrt(values[kept])
        return cls(vectors, rate)

    def transform(self, rows: Design, landmarks: Design) -> Design:
        """Return the features of rows."""
        features = np.empty((len(rows.value), self.vectors.shape[1]), dtype=np.float32)
        for batch in gen_batches(len(features), BATCH_ROWS):
            features[batch] = find_kernel(rows.take(batch), landmarks, self.rate) @ self.vectors
        return Design(np.empty((len(features), 0), dtype=np.int32), features)


def find_kernel(rows: Design, landmarks: Design, rate: float) -> NDArray[np.float64]:
    """Return the kernel of rows and landmarks, exp(-rate distance^2)."""
    result = square_distances(rows, landmarks)
    result *= -rate
    return np.exp(result, out=result)


def find_median(rows: Design, landmarks: Design) -> float:
    """Return the median of the squared distances that are not zero."""
    distance = square_distances(rows, landmarks)
    positive = distance[distance > 0.0]
    return float(np.median(positive)) if len(positive) else 1.0


@dataclass(frozen=True)
class Trial:
    """Landmarks, a bandwidth, the regression with them, and the best penalty."""

    chosen: NDArray[np.intp]
    bandwidth: float
    basis: NystromBasis
    regression: FoldLogistic
    choice: PenaltyChoice


@dataclass(eq=False)
class KernelSearch:
    """The search for a bandwidth and a number of landmarks, all judged by the same rows."""

    rows: Design
    table: TrainingTable
    """What the rows were read from."""
    fold: NDArray[np.int32]
    bandwidths: list[float]
    """In ascending order."""
    n_threads: int
    first_penalty: int = FIRST_PENALTY
    """Place of the penalty that the next trial begins with: next to that of the last."""

    def run(self, chosen: NDArray[np.intp]) -> Trial:
        """Choose the bandwidth with the first of the landmarks, then whether to use all of them."""
        first = chosen[:N_FIRST_LANDMARKS]
        unit = find_median(self.rows, self.rows.take(first))
        n_searched = count_searched_folds(len(self.fold), len(first) * self.table.n_classes)
        middle = (len(self.bandwidths) - 1) // 2
        few = self._choose_bandwidth(first, unit, n_searched, self.bandwidths, middle)
        share = self.table.class_count / self.table.class_count.sum()
        is_clear = few.loss <= CLEAR_SHARE * -(share @ safe_log(share))
        if len(chosen) <= N_FIRST_LANDMARKS or not is_clear:
            return few.model
        # With more landmarks a smaller bandwidth may be better.
        smaller = [one for one in reversed(self.bandwidths) if one <= few.setting]
        more = self._choose_bandwidth(chosen, unit, n_searched, smaller)
        return more.model if more.loss < few.loss else few.model

    def _choose_bandwidth(
        self,
        chosen: NDArray[np.intp],
        unit: float,
        n_searched: int,
        bandwidths: list[float],
        first: int = 0,
    ) -> Chosen[float, Trial]:
        """Choose a bandwidth, and the penalty of each, with some landmarks."""
        trials = Trials[float, Trial](bandwidths, first=first)
        landmarks = self.rows.take(chosen)
        for bandwidth in trials:
            basis = NystromBasis.compute(landmarks, 1.0 / (2.0 * bandwidth**2 * unit))
            regression = FoldLogistic(
                basis.transform(self.rows, landmarks), 0, self.table.n_classes, self.table.y,
                self.table.weight, self.fold, self.n_threads,
            )  # fmt: skip
            choice = regression.search(PENALTIES, self.first_penalty, n_searched)
            self.first_penalty = max(0, PENALTIES.index(choice.penalty) - 1)
            trials.tell(choice.loss, Trial(chosen, bandwidth, basis, regression, choice))
            # Unless they are the best, they are not to take memory beside the next ones.
            del basis, regression, choice
        return trials.best
