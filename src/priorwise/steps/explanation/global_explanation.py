"""What a model does on many rows: importance of features, their shapes, and pairs of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeRegressor

from priorwise.common.documents import Document
from priorwise.common.registered import with_registered_methods
from priorwise.common.texts import count
from priorwise.common.validation import check_choice
from priorwise.steps.explanation.explanation import Explanation
from priorwise.steps.explanation.formats import as_text

MAX_VALUES = 25
"""Numbers with more distinct values are cut into this many groups of equally many rows."""

PAIR_GROUPS = 8
"""Groups of each feature of a pair."""

MAX_PAIRED, MAX_PAIRS = 40, 20
"""Most features among which pairs are sought, and most pairs that are returned."""

MIN_LEAF = 5
"""Least rows of neighbouring numbers whose mean contribution is taken as the shape there."""

MIN_SHARE = 0.01
"""Least strength of a pair, as a share of the importance of the most important feature."""

MIN_DEVIATIONS = 3.0
"""Standard deviations that the strength of a pair must lie above zero."""

Floats = NDArray[np.float64]


@with_registered_methods
@dataclass(frozen=True, eq=False, repr=False)
class FeatureShape:
    """Contributions of one feature by its value.

    Parameters
    ----------
    feature : str
        Name of the feature.
    is_numeric : bool
        Whether the values are numbers; a last group may hold missing ones.
    values : list
        The number or label of each group, None for missing; of groups of numbers the median.
    n_rows : array of shape (n_groups,)
        Number of rows of each group.
    mean, low, high : array of shape (n_groups, n_classes)
        Mean of the contributions of each group to the log-odds, and their quantiles 0.1 and 0.9.
    classes : tuple of class labels
        The classes, in the order of the contributions.

    Examples
    --------
    >>> from priorwise import NaiveBayesClassifier
    >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], ["out", "out", "in", "in"]
    >>> shape = NaiveBayesClassifier().fit(X, y).explain_global(X).shapes["x0"]
    >>> shape.values, shape.n_rows.tolist(), shape.mean.shape
    (['rain', 'sun'], [2, 2], (2, 2))
    """

    feature: str
    is_numeric: bool
    values: list[Any]
    n_rows: NDArray[np.int64]
    mean: Floats
    low: Floats
    high: Floats
    classes: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"<FeatureShape of {self.feature}, {len(self.values)} groups>"


@with_registered_methods
@dataclass(frozen=True, eq=False, repr=False)
class GlobalExplanation:
    """What each feature, and each pair of features, does to the predictions of many rows.

    The importance of a feature is the mean of the absolute values of its contributions over rows
    and classes. Its shape is the mean of its contributions by its value.

    The contribution of a feature varies among rows of equal value only where it depends on other
    features. The strength of a pair is the part of this variation that the value of the other one
    explains: with r the difference of a contribution from the shape, the root
    of the mean square of the means of r in the cells of both values, for each of the two, summed.
    Squares of means are estimated without bias, and pairs that do not stand out from chance, or
    are weaker than 1 % of the most important feature, are left out.

    Parameters
    ----------
    explanation : Explanation
        The rows, as the method `explain` of a classifier returns them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from priorwise import NaiveBayesClassifier
    >>> data = load_iris(as_frame=True)
    >>> model = NaiveBayesClassifier().fit(data.data, data.target)
    >>> result = model.explain_global(data.data)
    >>> print(result)
    <GlobalExplanation of 150 rows, 4 features, classes 0, 1, 2>
      3.47  petal length (cm)
      3.46  petal width (cm)
      1.92  sepal length (cm)
      1.01  sepal width (cm)
    >>> result.shapes["petal width (cm)"].mean.shape[1]
    3
    """

    explanation: Explanation

    @cached_property
    def class_importance(self) -> Floats:
        """Mean absolute contribution of each feature to each class, (n_features, n_classes)."""
        return np.asarray(np.abs(self.explanation.contributions).mean(axis=0))

    @cached_property
    def importance(self) -> Floats:
        """Mean absolute contribution of each feature, of shape (n_features,)."""
        return np.asarray(self.class_importance.mean(axis=1))

    @property
    def ranking(self) -> NDArray[np.intp]:
        """Places of the features, the most important first."""
        return np.argsort(-self.importance, kind="stable")

    @cached_property
    def shapes(self) -> dict[str, FeatureShape]:
        """Contributions by value, for each feature by its name."""
        return {name: self._find_shape(i) for i, name in enumerate(self.explanation.feature_names)}

    @cached_property
    def pairs(self) -> list[tuple[str, str, float]]:
        """Pairs of features whose values act together, with their strength, the strongest first."""
        contributions, names = self.explanation.contributions, self.explanation.feature_names
        columns = self._values.T
        rests = [_subtract_shape(column, contributions[:, i]) for i, column in enumerate(columns)]
        spread = np.array([rest.std() for rest in rests])
        paired = np.sort(np.argsort(-spread, kind="stable")[:MAX_PAIRED])
        coarse = {i: _group(columns[i], PAIR_GROUPS)[0] for i in paired}
        found = []
        for place, i in enumerate(paired):
            for j in paired[place + 1 :]:
                cell = np.unique(coarse[i] * (coarse[j].max() + 1) + coarse[j], return_inverse=True)
                strength = _strength(cell[1], rests[i]) + _strength(cell[1], rests[j])
                if strength > MIN_SHARE * self.importance.max():
                    found.append((names[i], names[j], strength))
        return sorted(found, key=lambda pair: -pair[2])[:MAX_PAIRS]

    def to_frame(self, part: str = "importance", *, backend: str = "pandas") -> Any:
        """Return one part as a frame.

        Parameters
        ----------
        part : {"importance", "shapes", "pairs"}
            Which part.
        backend : "pandas", "polars" or "pyarrow"
            The kind of frame.

        Returns
        -------
        frame
            Of "importance" one line for each feature, the most important first; of "shapes" one
            for each feature, value and class; of "pairs" one for each pair.
        """
        check_choice("part", part, ("importance", "shapes", "pairs"))
        columns: dict[str, Any]
        if part == "importance":
            names = self.explanation.feature_names
            columns = {"feature": [names[i] for i in self.ranking]}
            columns["importance"] = self.importance[self.ranking]
        elif part == "pairs":
            columns = {
                name: [pair[i] for pair in self.pairs]
                for i, name in enumerate(("first", "second", "strength"))
            }
        else:
            lines = [
                (shape.feature, as_text(value), label, int(n), *numbers)
                for shape in self.shapes.values()
                for value, n, by_class in zip(
                    shape.values, shape.n_rows,
                    np.stack([shape.mean, shape.low, shape.high], axis=2), strict=True,
                )
                for label, numbers in zip(self.explanation.classes.tolist(), by_class, strict=True)
            ]  # fmt: skip
            heads = ("feature", "value", "class", "rows", "mean", "low", "high")
            columns = dict(zip(heads, map(list, zip(*lines, strict=True)), strict=True))
        chosen: Any = backend
        return nw.from_dict(columns, backend=chosen).to_native()

    def to_json(self) -> str:
        """Return importance, shapes and pairs as a JSON text.

        Returns
        -------
        str
            An object with "classes", "n_rows", "importance" (by feature), "shapes" (by feature:
            "values", "n_rows", and "mean", "low" and "high" by value, then class) and "pairs" (a
            list of two names and the strength).
        """
        whole = {
            "classes": self.explanation.classes.tolist(),
            "n_rows": self.explanation.n_rows,
            "importance": dict(
                zip(self.explanation.feature_names, self.importance.tolist(), strict=True)
            ),
            "shapes": {
                name: {
                    "is_numeric": shape.is_numeric,
                    "values": shape.values,
                    **{part: getattr(shape, part).tolist() for part in ("n_rows", *_PARTS)},
                }
                for name, shape in self.shapes.items()
            },
            "pairs": self.pairs,
        }
        return Document(json.dumps(whole, default=str))

    def __repr__(self) -> str:
        return repr(self.explanation).replace("<Explanation", "<GlobalExplanation")

    def __str__(self) -> str:
        names, ranking = self.explanation.feature_names, self.ranking
        lines = [f"  {self.importance[i]:.2f}  {names[i]}" for i in ranking[:10]]
        if len(ranking) > len(lines):
            lines.append(f"  {count(len(ranking) - len(lines), 'other feature')}")
        lines += [f"  {strength:.2f}  {a} with {b}" for a, b, strength in self.pairs[:5]]
        return "\n".join([repr(self), *lines])

    @property
    def _values(self) -> NDArray[Any]:
        if self.explanation.values is None:
            raise ValueError("explanation must have values: use the method explain of a classifier")
        return self.explanation.values

    def _find_shape(self, feature: int) -> FeatureShape:
        parts = self.explanation.contributions[:, feature]
        group, values = _group(self._values[:, feature], MAX_VALUES)
        rows = [parts[group == g] for g in range(len(values))]
        low, high = (np.array([np.quantile(own, q, axis=0) for own in rows]) for q in (0.1, 0.9))
        return FeatureShape(
            self.explanation.feature_names[feature],
            _is_numeric(self._values[:, feature]),
            values,
            np.array([len(own) for own in rows]),
            np.array([own.mean(axis=0) for own in rows]),
            low,
            high,
            tuple(self.explanation.classes.tolist()),
        )


_PARTS = ("mean", "low", "high")


def _is_numeric(column: NDArray[Any]) -> bool:
    return all(value is None or isinstance(value, float) for value in column)


def _group(column: NDArray[Any], most: int) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the group of each value, and a value for each group; missing is the last group.

    Numbers of more than `most` distinct values are cut into groups of equally many rows.
    """
    if not _is_numeric(column):
        texts = ["\uffff" if value is None else as_text(value) for value in column]
        distinct, first, group = np.unique(texts, return_index=True, return_inverse=True)
        return group, [column[i] for i in first]
    numbers = np.array(column, dtype=np.float64)
    known = ~np.isnan(numbers)
    distinct, group = np.unique(numbers[known], return_inverse=True)
    if len(distinct) > most:
        cuts = np.unique(np.quantile(numbers[known], np.arange(1, most) / most))
        group = np.unique(np.searchsorted(cuts, numbers[known]), return_inverse=True)[1]
    n_groups = int(group.max(initial=-1)) + 1
    # Dates stay dates.
    kind = next((type(value) for value in column if value is not None), float)
    values: list[Any] = [kind(np.median(numbers[known][group == g])) for g in range(n_groups)]
    groups = np.full(len(numbers), n_groups)
    groups[known] = group
    return groups, values if known.all() else [*values, None]


def _sums(group: NDArray[np.intp], numbers: Floats) -> Floats:
    """Sums of the rows of `numbers` (n_rows, n_classes) by group."""
    return np.stack([np.bincount(group, column) for column in numbers.T], axis=1)


def _subtract_shape(column: NDArray[Any], parts: Floats) -> Floats:
    """Subtract from contributions (n_rows, n_classes) what the value of the feature says of them.

    That is the mean of the rows of equal value. Of numbers that occur once it is the mean of a leaf
    of a tree with at least `MIN_LEAF` rows, which finds the steps of a shape where they are.
    """
    group, values = _group(column, len(column))
    n_rows = np.bincount(group)
    if _is_numeric(column) and (n_rows == 1).any():
        # Places in sorted order split as the numbers do; missing values come last.
        tree = DecisionTreeRegressor(min_samples_leaf=min(MIN_LEAF, len(column)), random_state=0)
        leaf = tree.fit(group[:, None], parts).apply(group[:, None])
        group = np.where(n_rows[group] > 1, group, len(values) + leaf)
        group = np.unique(group, return_inverse=True)[1]
    return np.asarray(parts - (_sums(group, parts) / np.bincount(group)[:, None])[group])


def _strength(cell: NDArray[np.intp], rest: Floats) -> float:
    """Root of the mean square of the means of `rest` in cells; zero if it may be chance.

    ((sum r)^2 - sum r^2) / (n - 1) estimates n times the square of the mean of a cell of n rows.
    """
    n, n_rows = np.bincount(cell)[:, None], len(cell)
    squares = (_sums(cell, rest) ** 2 - _sums(cell, rest**2)) / np.maximum(n - 1, 1)
    mean = squares.sum(axis=0) / n_rows
    by_chance = (rest**2).mean(axis=0) * np.sqrt(2.0 * (n > 1).sum()) / n_rows
    return float(np.sqrt(np.where(mean > MIN_DEVIATIONS * by_chance, mean, 0.0)).mean())
