"""Quadratic splines of standardised numbers, for all features at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

N_KNOTS = 5
DEGREE = 2


@dataclass(frozen=True, eq=False)
class QuadraticSplines:
    """B-splines of degree two, constant beyond the outer knots.

    `knots` (n_features, 5 + 2 * 2) rise; the two at each end lie outside of the numbers. Between
    two knots b and c, with a the knot before and d the one after, three splines are not zero::

        (c - z)^2 / ((c - b) (c - a)),
        (c - z) (z - a) / ((c - b) (c - a)) + (z - b) (d - z) / ((c - b) (d - b)),
        (z - b)^2 / ((c - b) (d - b))

    All are zero at a last knot that coincides with the one before.
    """

    knots: NDArray[np.float64]

    @property
    def n_splines(self) -> int:
        """Number of splines of a feature."""
        return self.knots.shape[1] - DEGREE - 1

    def transform(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the splines of rows (n_rows, n_features): (n_rows, n_features * n_splines)."""
        z = np.clip(values, self.knots[:, DEGREE], self.knots[:, -1 - DEGREE])
        first = self._first_splines(z)
        coefficients, left = self._expand(first)
        u = z - left
        result = np.zeros((*z.shape, self.n_splines))
        for i, (constant, slope, bend) in enumerate(coefficients):
            own = constant + (slope + bend * u) * u
            np.put_along_axis(result, (first + i)[..., None], own[..., None], axis=2)
        return result.reshape(len(values), -1)

    def expand(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the knots (n_features, 5), and the splines (n_features, 5, 3, n_splines) at them.

        The splines between a knot k and the next are c_0 + c_1 u + c_2 u^2, u = z - k. At the last
        knot they are c_0.
        """
        knots = self.knots[:, DEGREE:-DEGREE]
        first = self._first_splines(knots.T)
        coefficients, _ = self._expand(first)
        terms = np.zeros((*first.shape, 1 + DEGREE, self.n_splines))
        place, feature = np.indices(first.shape)
        for i, own in enumerate(coefficients):
            for order, term in enumerate(own):
                terms[place, feature, order, first + i] = term
        terms[-1] = 0.0
        terms[-1, :, 0] = self.transform(knots[:, -1][None]).reshape(len(knots), -1)
        return knots, terms.swapaxes(0, 1)

    def _first_splines(self, z: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the first of the three splines that are not zero, for rows between the knots."""
        inner = self.knots[:, DEGREE + 1 : -1 - DEGREE]
        return np.asarray((z[..., None] >= inner).sum(axis=2))

    def _expand(
        self, first: NDArray[np.intp]
    ) -> tuple[list[list[NDArray[np.float64]]], NDArray[np.float64]]:
        """Return constant, slope and bend at the knot before z of three splines, and that knot."""
        feature = np.arange(len(self.knots))
        a, b, c, d = (self.knots[feature, first + i] for i in range(1, 5))
        apart = c > b
        wide, near, far = (
            np.divide(1.0, gap, out=np.zeros(gap.shape), where=apart)
            for gap in (c - b, c - a, d - b)
        )
        coefficients = [
            [(c - b) * near, -2.0 * near, wide * near],
            [(b - a) * near, (c + a - 2.0 * b) * wide * near + wide, -wide * (near + far)],
            [np.zeros(b.shape), np.zeros(b.shape), wide * far],
        ]
        return coefficients, b
