"""Gaussians of the numbers given the class, times tables of the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.numeric import softmax
from priorwise.common.records import Record, number, numbers, part
from priorwise.data.tables import Columns
from priorwise.steps.explanation import Explanation
from priorwise.steps.intervals import OF_SMOOTH
from priorwise.steps.linear.design import LARGEST, LinearDesign
from priorwise.steps.step import Floats, Names, Step


@dataclass(frozen=True, eq=False)
class GaussianTree(Record):
    """Gaussians of the classes, then of pairs of a class and a label of the first parent, ...

    The log density of a row in its context g is log_constant_g plus a quadratic form.
    """

    mean: Floats = numbers("n_gaussians", "n_values", least=-LARGEST, most=LARGEST)
    precision: Floats = numbers("n_gaussians", "n_values", "n_values", least=-LARGEST, most=LARGEST)
    log_constant: Floats = numbers("n_gaussians", least=-LARGEST, most=LARGEST)
    n_classes: int = number(int, least=1)
    children: tuple[NDArray[np.int32], ...] = part(np.ndarray, several=True)

    def check_rules(self) -> None:
        n_before = n_seen = self.n_classes
        for child in self.children:
            if child.dtype != np.int32 or child.ndim != 2 or len(child) != n_before:
                raise ValueError("every Gaussian of a level needs a row of children")
            own = child[child != -1]
            if not np.array_equal(own, n_seen + np.arange(len(own))):
                raise ValueError("children must be in order")
            n_before, n_seen = len(own), n_seen + len(own)
        if n_seen != len(self.mean):
            raise ValueError("every Gaussian must be that of a class or of a child")

    def place(self, parents: list[NDArray[np.int32]], n_rows: int) -> NDArray[np.int32]:
        """Return the Gaussian of each row and class (n_rows, n_classes), the deepest there is."""
        return place_rows(self.n_classes, self.children, parents, n_rows)

    def score(self, values: Floats, place: NDArray[np.int32], n_threads: int) -> Floats:
        """Return log densities of rows, up to a constant, for all classes."""
        quadratic = _core.predict_gaussians(
            values, place, self.mean, self.precision, False, n_threads
        )
        return np.asarray(self.log_constant[place] + quadratic)

    def split(self, values: Floats, place: NDArray[np.int32], n_threads: int) -> Floats:
        """Return the terms of the quadratic forms (n_rows, n_values, n_classes)."""
        terms = _core.predict_gaussians(values, place, self.mean, self.precision, True, n_threads)
        return terms.reshape(*values.shape, self.n_classes)


@dataclass(frozen=True, eq=False)
class Gaussians(Step):
    """p(y | x) proportional to p(y) N(numbers | y, parents)^a prod_i p(label_i | y)^b.

    `used` are the numbers that have Gaussians and `parents` what these depend on, as places among
    the numeric and the nominal features; `tables` hold log p(label | class) of each nominal
    feature, or are none; `powers` are a and b.
    """

    design: LinearDesign = part(LinearDesign)
    used: NDArray[np.intp] = numbers("n_values", dtype=np.intp, least=0)
    gaussians: GaussianTree = part(GaussianTree)
    parents: NDArray[np.intp] = numbers("n_parents", dtype=np.intp, least=0)
    tables: tuple[Floats, ...] = part(np.ndarray, several=True)
    log_prior: Floats = numbers("n_classes", least=-LARGEST, most=0.0)
    powers: Floats = numbers(2, least=0.0, most=LARGEST)

    def check_rules(self) -> None:
        design, gaussians = self.design, self.gaussians
        if gaussians.n_classes != self.n_classes or gaussians.mean.shape[1] != len(self.used):
            raise ValueError("Gaussians must have all classes and values")
        if (self.used >= len(design.mean)).any() or (self.parents >= len(design.n_labels)).any():
            raise ValueError("used and parents must be features of the design")
        n_labels = design.n_labels[self.parents].tolist()
        if [child.shape[1] for child in gaussians.children] != n_labels:
            raise ValueError("children must have all labels")
        if self.tables:
            shapes = [(int(n), self.n_classes) for n in design.n_labels]
            if [table.shape for table in self.tables] != shapes:
                raise ValueError("tables must have all labels and classes")
        for table in self.tables:
            if table.dtype != np.float64 or not _core.are_within(table.ravel(), -LARGEST, LARGEST):
                raise ValueError("tables must hold finite numbers")

    def check_features(self, is_nominal: NDArray[np.bool_], n_labels: list[int]) -> None:
        self.design.check_features(is_nominal, n_labels)

    @property
    def n_classes(self) -> int:
        return len(self.log_prior)

    @property
    def independence(self) -> float:
        return OF_SMOOTH

    def predict(self, columns: Columns, n_threads: int = 1) -> Floats:
        values, place = self._place(columns)
        score = self.log_prior + self.powers[0] * self.gaussians.score(values, place, n_threads)
        for table, codes in zip(self.tables, columns.nominal_codes, strict=False):
            score += self.powers[1] * look_up(table, codes)
        return softmax(score)

    def explain(self, columns: Columns, names: Names, n_threads: int = 1) -> Explanation:
        """Numbers contribute terms of the quadratic form, labels those of their tables.

        The constant of a Gaussian, less that of its class, is its first parent's.
        """
        values, place = self._place(columns)
        power, label_power = self.powers
        of_class = self.gaussians.log_constant[: self.n_classes]
        parts = np.zeros((columns.n_rows, len(names.features), self.n_classes))
        nominal, numeric = np.split(columns.nominal_first, [len(columns.nominal_codes)])
        parts[:, numeric[self.used]] = power * self.gaussians.split(values, place, n_threads)
        for feature, table, codes in zip(nominal, self.tables, columns.nominal_codes, strict=False):
            parts[:, feature] = label_power * look_up(table, codes)
        if len(self.parents):
            constant = self.gaussians.log_constant[place] - of_class
            parts[:, nominal[self.parents[0]]] += power * constant
        return Explanation.from_sums(
            names.classes, names.features, self.log_prior + power * of_class, parts
        )

    def describe(self) -> str:
        n_gaussians, n_values = self.gaussians.mean.shape
        return f"{n_gaussians:,} Gaussians of {n_values:,} features"

    def _place(self, columns: Columns) -> tuple[Floats, NDArray[np.int32]]:
        """Return the standardised numbers of rows and the Gaussian of each row and class."""
        values = np.ascontiguousarray(self.design.standardise(columns.values)[self.used].T)
        parents = [columns.nominal_codes[i] for i in self.parents]
        return values, self.gaussians.place(parents, columns.n_rows)


def look_up(table: Floats, codes: NDArray[np.int32]) -> Floats:
    """Return the entries of rows (n_rows, n_classes); zero without a label."""
    return np.where(codes[:, None] >= 0, table[np.maximum(codes, 0)], 0.0)


def place_rows(
    n_classes: int,
    children: tuple[NDArray[np.int32], ...],
    parents: list[NDArray[np.int32]],
    n_rows: int,
) -> NDArray[np.int32]:
    """Return the Gaussian of each row and class (n_rows, n_classes), the deepest there is."""
    place = np.tile(np.arange(n_classes, dtype=np.int32), (n_rows, 1))
    first, known = 0, np.ones(place.shape, dtype=bool)
    for codes, child in zip(parents, children, strict=True):
        code = np.broadcast_to(codes[:, None], place.shape)
        known &= code >= 0
        found = np.full(place.shape, -1, dtype=np.int32)
        found[known] = child[place[known] - first, code[known]]
        known &= found >= 0
        place = np.where(known, found, place)
        first += len(child)
    return np.ascontiguousarray(place)
