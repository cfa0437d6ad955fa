"""The search for the settings of Gaussians, by the rows of each fold in turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import LEAST_PROBABILITY, Trials, half_decades, pick, softmax
from priorwise.counts.draws import N_FOLDS
from priorwise.models.linear.fold_logistic import MANY_ROWS
from priorwise.models.linear.shrunken_gaussians import Moments, Shrinkage
from priorwise.steps.linear.gaussians import look_up

STRENGTHS, DIAGONALS = (np.inf, 4.0, 1.0, 0.3, 0.05), (0.5, 0.15, 0.02)
"""What is tried, from the simplest Gaussians on; the search begins in the middle."""
FIRST_TRIED = Shrinkage(STRENGTHS[2], DIAGONALS[1])
TABLE_STRENGTHS = half_decades(-1.0, 3.0)
"""Strengths of the shrinkage of tables of labels that are tried."""
POWERS = tuple(i / 10 for i in range(1, 13))
"""Powers of densities, and of tables of labels, that are tried."""
MAX_CANDIDATES = 10
"""Most nominal features that are tried as parents."""
MAX_SEARCHED_ROWS, MAX_SEARCHED_TERMS = 5_000, 10_000_000
"""Settings are chosen by `MAX_SEARCHED_TERMS` / (n_classes n_features^2) rows, but by at least
`MANY_ROWS` and at most `MAX_SEARCHED_ROWS`."""
LARGE_FOLDS, MIN_LARGE_TERMS = 2, 20_000_000
"""Folds whose rows choose, if n_rows n_classes n_features^2 is at least `MIN_LARGE_TERMS`."""


MAX_LOSS = -float(np.log(LEAST_PROBABILITY))
"""Largest loss of a row."""


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows of some folds, and the moments of all rows but those of each of these folds.

    `place` (n_held, n_classes) are the contexts of the rows in the Gaussians of their fold, as
    places among those of all folds; `values` are the numbers that these use. `prior` and `labels`
    are log priors and sums of tables of labels, less those of the rows' own classes.
    """

    rows: NDArray[np.intp]
    y: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    prior: NDArray[np.float64]
    labels: NDArray[np.float64]
    values: NDArray[np.float64]
    place: NDArray[np.int32]
    moments: Moments


@dataclass(frozen=True)
class Choice:
    """Parents, shrinkage and powers, and the out-of-fold log-loss and log densities with them.

    `held` are the rows that were judged, for other shrinkages of the same parents.
    """

    parents: list[int]
    shrinkage: Shrinkage
    powers: tuple[float, float]
    loss: float
    score: NDArray[np.float64]
    held: HeldRows


@dataclass(frozen=True, eq=False)
class GaussianRows:
    """Rows to learn from: standardised numbers, codes of nominal features, classes and folds.

    Gaussians use at most `max_values` of the numbers.
    """

    values: NDArray[np.float64]
    max_values: int
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

    def log_prior(self) -> NDArray[np.float64]:
        """Return the logarithms of the shares of the classes, with one row more of each."""
        return find_log_prior(self.y, self.n_classes, self.weight)

    @cached_property
    def used(self) -> NDArray[np.intp]:
        """The numbers that are used; of too many, those whose means differ most by class."""
        n_values = self.values.shape[1]
        if n_values <= self.max_values:
            return np.arange(n_values)
        between = np.zeros(n_values)
        weight = np.ones(len(self.y)) if self.weight is None else self.weight
        for y in range(self.n_classes):
            rows = np.flatnonzero(self.y == y)
            total = weight[rows] @ self.values[rows]
            between += total**2 / max(weight[rows].sum(), 1e-300)
        return np.sort(np.argsort(-between, kind="stable")[: self.max_values])

    def fit(self, parents: list[int]) -> Moments:
        """Return the moments of all contexts."""
        return Moments.sum_up(
            self.values[:, self.used], self.y, self.n_classes, self.weight,
            [self.codes[i] for i in parents], [self.n_labels[i] for i in parents],
        )  # fmt: skip

    def fit_tables(self) -> list[NDArray[np.float64]]:
        """Return the tables of the nominal features."""
        return [
            fit_table(codes, self.y, n_labels, self.n_classes, self.weight)
            for codes, n_labels in zip(self.codes, self.n_labels, strict=False)
        ]

    def hold_out(self, parents: list[int], n_folds: int) -> HeldRows:
        """Return the rows of some folds, and the moments of all rows but those of each."""
        held, values, place, moments = [], [], [], []
        for fold in range(n_folds):
            rest = self.take(np.flatnonzero(self.fold != fold))
            own = np.flatnonzero(self.fold == fold)
            fitted = rest.fit(parents)
            place.append(fitted.place([self.codes[i][own] for i in parents], len(own)))
            values.append(self.values[np.ix_(own, rest.used)])
            held.append(own)
            moments.append(fitted)
        joined, places = Moments.join(moments)
        place = [of_part[own] for of_part, own in zip(places, place, strict=True)]
        rows = np.concatenate(held)
        y = self.y[rows]
        prior, labels = (subtract_own(part[rows], y) for part in self.label_scores)
        return HeldRows(
            rows, y, None if self.weight is None else self.weight[rows], prior, labels,
            np.concatenate(values), np.concatenate(place), joined,
        )  # fmt: skip

    @cached_property
    def label_scores(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return log priors, and sums of the tables of labels, from the other folds."""
        prior, labels = np.zeros((2, len(self.y), self.n_classes))
        for fold in range(N_FOLDS):
            own, rest = np.flatnonzero(self.fold == fold), np.flatnonzero(self.fold != fold)
            y, weight = self.y[rest], None if self.weight is None else self.weight[rest]
            prior[own] = find_log_prior(y, self.n_classes, weight)
            for codes, n_labels in zip(self.codes, self.n_labels, strict=False):
                table = fit_table(codes[rest], y, n_labels, self.n_classes, weight)
                labels[own] += look_up(table, codes[own])
        return prior, labels

    @staticmethod
    def choose_powers(
        held: HeldRows, score: NDArray[np.float64], start: tuple[float, float]
    ) -> tuple[tuple[float, float], float]:
        """Return the powers of densities and of tables, and the least mean log-loss.

        The loss is convex in the powers: each is moved to its neighbour while the loss falls.
        """
        # Classes come first here: sums of the classes of all rows are fast.
        prior = np.ascontiguousarray(held.prior.T)
        parts = [
            np.ascontiguousarray(part.T) for part in (subtract_own(score, held.y), held.labels)
        ]
        weight = np.ones(len(held.y)) if held.weight is None else held.weight
        grids = [POWERS if part.any() else (1.0,) for part in parts]
        place = [
            grid.index(power if power in grid else 1.0)
            for grid, power in zip(grids, start, strict=True)
        ]

        def judge(places: list[int]) -> float:
            gap = prior.copy()
            for grid, at, part in zip(grids, places, parts, strict=True):
                if len(grid) > 1:
                    gap += grid[at] * part
            most = gap.max(axis=0)
            loss = most + np.log(np.exp(gap - most).sum(axis=0))
            return float(weight @ np.minimum(loss, MAX_LOSS) / weight.sum())

        loss, before = judge(place), np.inf
        while loss < before:
            before = loss
            for part, grid in enumerate(grids):
                known = loss, None
                trials = Trials[int, None](range(len(grid)), first=place[part], known=known)
                for place[part] in trials:
                    trials.tell(judge(place), None)
                place[part], loss = trials.best.place, trials.best.loss
            if min(map(len, grids)) == 1:
                break
        return (grids[0][place[0]], grids[1][place[1]]), loss

    def judge(
        self,
        parents: list[int],
        shrinkage: Shrinkage,
        held: HeldRows,
        start: tuple[float, float] = (1.0, 1.0),
    ) -> Choice:
        """Choose the powers for given parents and shrinkage, by rows held out."""
        gaussians = held.moments.shrink(shrinkage, self.structure)
        score = gaussians.score(held.values, held.place, self.n_threads)
        powers, loss = self.choose_powers(held, score, start)
        return Choice(parents, shrinkage, powers, loss, score, held)

    def predict_held(self, choice: Choice) -> NDArray[np.float64]:
        """Return the out-of-fold probabilities of all rows by a choice that was judged by all."""
        prior, labels = self.label_scores
        score = np.empty_like(prior)
        score[choice.held.rows] = choice.score
        return softmax(prior + choice.powers[0] * score + choice.powers[1] * labels)


def search(rows: GaussianRows, max_parents: int) -> Choice:
    """Choose parents, then strength, then diagonal, each with its powers, by out-of-fold log-loss.

    Of many rows, some choose; of many terms, those of some folds. The choice returned was judged by
    all rows.
    """
    n_terms = rows.n_classes * max(1, rows.values.shape[1]) ** 2
    n_searched = np.clip(MAX_SEARCHED_TERMS // n_terms, MANY_ROWS, MAX_SEARCHED_ROWS)
    step = -(-len(rows.y) // int(n_searched))
    some = rows if step == 1 else rows.take(np.arange(0, len(rows.y), step))
    n_folds = LARGE_FOLDS if len(some.y) * n_terms >= MIN_LARGE_TERMS else N_FOLDS
    if rows.values.shape[1] == 0:
        return rows.judge([], FIRST_TRIED, rows.hold_out([], N_FOLDS))
    best = some.judge([], FIRST_TRIED, some.hold_out([], n_folds))
    while len(best.parents) < min(max_parents, len(rows.codes)):
        others = [i for i in range(len(rows.codes)) if i not in best.parents][:MAX_CANDIDATES]
        trials = [best]
        for parents in ([*best.parents, i] for i in others):
            trials.append(some.judge(parents, FIRST_TRIED, some.hold_out(parents, n_folds)))
        place = pick([one.loss for one in trials])
        if place == 0:
            break
        best = trials[place]

    for name, values in (("strength", STRENGTHS), ("diagonal", DIAGONALS)):
        settings = [replace(best.shrinkage, **{name: value}) for value in values]
        first, known = settings.index(best.shrinkage), (best.loss, best)
        searched = Trials[Shrinkage, Choice](settings, first=first, known=known)
        for shrinkage in searched:
            choice = some.judge(best.parents, shrinkage, best.held, best.powers)
            searched.tell(choice.loss, choice)
        best = searched.best.model
    if step == 1 and n_folds == N_FOLDS:
        return best
    held = rows.hold_out(best.parents, N_FOLDS)
    return rows.judge(best.parents, best.shrinkage, held, best.powers)


def subtract_own(scores: NDArray[np.float64], y: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return scores (n_rows, n_classes) less those of the rows' own classes."""
    return scores - scores[np.arange(len(y)), y, None]


def find_log_prior(
    y: NDArray[np.int32], n_classes: int, weight: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return the logarithms of the shares of the classes, with one row more of each."""
    count = np.bincount(y, weight, minlength=n_classes) + 1.0
    return np.asarray(np.log(count / count.sum()))


def fit_table(
    codes: NDArray[np.int32],
    y: NDArray[np.int32],
    n_labels: int,
    n_classes: int,
    weight: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return log p(label | class), shrunk towards the labels' shares among all rows.

    p = (n + c q) / (N + c), with c the strength of the largest leave-one-out likelihood. Rows
    without a label are left out. Shape (n_labels, n_classes).
    """
    known = codes >= 0
    key = codes[known].astype(np.intp) * n_classes + y[known]
    part = None if weight is None else weight[known]
    count = np.bincount(key, part, minlength=n_labels * n_classes).reshape(n_labels, n_classes)
    share = (count.sum(axis=1) + 1.0 / n_labels) / (count.sum() + 1.0)
    total = count.sum(axis=0)
    likelihood = []
    for c in TABLE_STRENGTHS:
        rest = np.maximum(count - 1.0, 0.0) + c * share[:, None]
        likelihood.append((count * np.log(rest / (np.maximum(total - 1.0, 0.0) + c))).sum())
    c = TABLE_STRENGTHS[int(np.argmax(likelihood))]
    return np.asarray(np.log((count + c * share[:, None]) / (total + c)))
