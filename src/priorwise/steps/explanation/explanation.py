"""What each feature adds to a prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import hook
from priorwise.common.numeric import safe_log, softmax
from priorwise.common.registered import with_registered_methods
from priorwise.common.texts import count
from priorwise.steps.explanation.formats import ExplanationFormats, as_text
from priorwise.steps.explanation.probability_changes import centre_terms, log_mean
from priorwise.steps.explanation.uncertainty import TermIntervals, pool_terms


@with_registered_methods
@dataclass(frozen=True, eq=False, repr=False)
class Explanation(TermIntervals, ExplanationFormats):
    """Contributions of features to the log-odds of the classes, for some rows.

    Every classifier's `explain` returns this type. The log-odds of a row are a sum, exact up to
    rounding::

        log-odds = bias + sum over features of contributions + remainder

    The log-odds of a class are its log probability minus the mean of those of the other classes:
    of two classes, log p / (1 - p). They sum to zero over the classes, and a positive contribution
    speaks for the class; `against` takes log-odds against one of the classes instead, as the
    difference of the log probabilities. A probability of zero is taken as 2.2e-308. The
    remainder is zero unless a pool has members that cannot explain themselves, such as classifiers
    of other libraries, or nothing is known of a row. docs/explanations.md says how the
    contributions of each model are defined.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        Class labels.
    feature_names : tuple of str
        Names of the features, in the order of the columns of X.
    bias : array of shape (n_classes,)
        Log-odds before any feature is known, the prior.
    contributions : array of shape (n_rows, n_features, n_classes)
        What each feature adds; zero for a feature that the model does not use.
    remainder : array of shape (n_rows, n_classes)
        Part of the log-odds that is no feature's.
    reference : class label or None
        The class that log-odds are taken against; None for the mean over the other classes.
    values : object array of shape (n_rows, n_features) or None
        The value of each feature: a number, a label, None if it is missing, "unseen" for a label
        that training did not have.
    support : array of shape (n_rows, n_features, n_classes) or None
        Number of training rows, or their weight, that each contribution rests on; of models that
        average others, the mean of those that use the feature.
    variance : array of shape (n_rows, n_features, n_classes) or None
        Variance of what each feature adds to the log-odds of each class against all others; those
        of a row sum to the variance behind `predict_interval`.
    probability_interval : callable or None
        Returns the lower and upper ends of `predict_interval` for a level.
    backoff : int array of shape (n_rows, n_features, n_classes) or None
        How many parents, the class included, a network had to leave out to find rows.
    members : dict of str to Explanation
        Explanations of the members of a pool, whose probabilities below 0.001 are taken as 0.001.
        Times `member_weights` they sum to the contributions of the pool.
    member_weights : dict of str to float
        The members' weights in the pool.

    Examples
    --------
    >>> explanation = Explanation.from_sums(
    ...     ["no", "yes"], ("age", "job"), [0.0, 1.0], [[[0.0, 2.0], [3.0, 0.0]]]
    ... )
    >>> explanation.log_odds
    array([[0., 0.]])
    >>> explanation.against("no").contributions
    array([[[ 0.,  2.],
            [ 0., -3.]]])
    >>> explanation
    <Explanation of 1 row, 2 features, classes no, yes>
    >>> print(explanation.against("no"))
    <Explanation of 1 row, 2 features, classes no, yes>
    row 0: no, p = 0.500, log-odds against no +0.00 = prior +0.00
      +0.00  age
      +0.00  job
    """

    classes: NDArray[Any]
    feature_names: tuple[str, ...]
    bias: NDArray[np.float64]
    contributions: NDArray[np.float64]
    remainder: NDArray[np.float64]
    reference: Any = None
    values: NDArray[Any] | None = None
    support: NDArray[np.float64] | None = None
    variance: NDArray[np.float64] | None = None
    probability_interval: Callable[[float], Any] | None = None
    backoff: NDArray[np.int32] | None = None
    members: Mapping[str, Explanation] = field(default_factory=dict)
    member_weights: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    @hook
    def from_sums(
        cls,
        classes: Any,
        feature_names: tuple[str, ...],
        bias: Any,
        terms: Any,
        **details: Any,
    ) -> Explanation:
        """Explain scores that are sums; the softmax of the scores are the probabilities.

        `bias` are the scores of the classes before any feature is known, `terms`, of shape
        (n_rows, n_features, n_classes), what each feature adds; `details` other attributes.
        """
        terms = np.asarray(terms, dtype=np.float64)
        remainder = np.zeros((terms.shape[0], terms.shape[2]))
        bias = against_others(np.asarray(bias, dtype=np.float64))
        return cls(
            np.asarray(classes), feature_names, bias, against_others(terms), remainder, **details
        )

    @classmethod
    @hook
    def from_probabilities(
        cls, classes: Any, feature_names: tuple[str, ...], probabilities: NDArray[np.float64]
    ) -> Explanation:
        """Explain probabilities of which nothing is known: all is the remainder."""
        shape = (len(probabilities), len(feature_names), len(classes))
        nothing = cls.from_sums(classes, feature_names, np.zeros(len(classes)), np.zeros(shape))
        return replace(nothing, remainder=against_others(safe_log(probabilities)))

    @classmethod
    @hook
    def from_probability_changes(
        cls,
        classes: Any,
        feature_names: tuple[str, ...],
        bias: NDArray[np.float64],
        changes: NDArray[np.float64],
        probabilities: NDArray[np.float64],
        **details: Any,
    ) -> Explanation:
        """Explain probabilities that are sums, as those of trees are.

        With P the probability, P0 the bias and d the change that a feature makes, the feature
        contributes d log(P / P0) / (P - P0) to the log probability; these add up to log(P / P0).
        """
        terms = changes / log_mean(probabilities, bias)[:, None, :]
        return cls.from_sums(classes, feature_names, safe_log(bias), terms, **details)

    @classmethod
    @hook
    def pool(
        cls,
        members: Mapping[str, Explanation],
        weights: Mapping[str, float],
        intercept: NDArray[np.float64],
    ) -> Explanation:
        """Add up the explanations of the same rows by the members of a log-linear pool.

        The log probabilities of members are multiplied by `weights`; the pool adds `intercept`.
        """
        first = next(iter(members.values()))
        bias = against_others(intercept)
        contributions, remainder = (
            np.zeros(first.contributions.shape),
            np.zeros_like(first.remainder),
        )
        for name, member in members.items():
            bias = bias + weights[name] * member.bias
            contributions += weights[name] * member.contributions
            remainder += weights[name] * member.remainder
        variance, support = pool_terms(dict(members), dict(weights))
        return cls(
            first.classes, first.feature_names, bias, contributions, remainder,
            support=support, variance=variance,
            members=dict(members), member_weights=dict(weights),
        )  # fmt: skip

    @property
    def n_rows(self) -> int:
        """Number of rows explained."""
        return len(self.contributions)

    @property
    def log_odds(self) -> NDArray[np.float64]:
        """Log-odds of the prediction, of shape (n_rows, n_classes)."""
        return np.asarray(self.bias + self.contributions.sum(axis=1) + self.remainder)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probabilities of the classes, of shape (n_rows, n_classes)."""
        return softmax(self._unit * self.log_odds)

    @property
    def meaning(self) -> str:
        """What the log-odds of a class with the probability p are, in words."""
        if self.reference is not None:
            return f"log p minus that of {self.reference}"
        if len(self.classes) == 2:
            return "log p / (1 - p)"
        return "log p minus the mean log p of the other classes"

    @property
    def _unit(self) -> float:
        """How far log probabilities are apart where log-odds are one apart."""
        n_classes = len(self.classes)
        return 1.0 if self.reference is not None or n_classes < 2 else 1.0 - 1.0 / n_classes

    @hook
    def raise_to(self, floor: float) -> Explanation:
        """Explain the same probabilities with those below a floor raised to it.

        Where the probability is below, all contributions to the log probability shrink by the same
        factor, so that they lead to the floor instead. Raised probabilities do not sum to one.
        """
        start, end = softmax(self._unit * self.bias[None])[0], self.probabilities
        if min(start.min(), end.min(initial=1.0)) >= floor:
            return self
        terms = np.concatenate([self.contributions, self.remainder[:, None]], axis=1)
        terms = centre_terms(start, end, self._unit * terms)
        way = safe_log(end) - safe_log(start)
        raised = safe_log(np.maximum(end, floor)) - safe_log(np.maximum(start, floor))
        terms *= np.where(way == 0.0, 1.0, raised / np.where(way == 0.0, 1.0, way))[:, None, :]
        terms = against_others(terms)
        bias = against_others(safe_log(np.maximum(start, floor)))
        return replace(
            self, bias=bias, contributions=terms[:, :-1], remainder=terms[:, -1],
            members={}, member_weights={},
        )  # fmt: skip

    @hook
    def forget(self, rows: NDArray[np.intp], proba: NDArray[np.float64] | None) -> Explanation:
        """Return that features add nothing to some rows, of which nothing is known.

        The remainder leads from the bias to `proba`, if that is given.
        """
        contributions, remainder = self.contributions.copy(), self.remainder.copy()
        contributions[rows] = 0.0
        if proba is not None:
            remainder[rows] = against_others(safe_log(proba)) - self.bias
        members = {name: member.forget(rows, None) for name, member in self.members.items()}
        return replace(self, contributions=contributions, remainder=remainder, members=members)

    def against(self, reference: Any) -> Explanation:
        """Take the log-odds against one of the classes.

        Parameters
        ----------
        reference : class label
            The class whose log-odds become zero.

        Returns
        -------
        Explanation
            The members' explanations are against the same class.
        """
        place = self.find_class(reference, "reference")
        bias, contributions, remainder = (
            self._unit * (part - part[..., [place]])
            for part in (self.bias, self.contributions, self.remainder)
        )
        members = {name: member.against(reference) for name, member in self.members.items()}
        return replace(
            self, bias=bias, contributions=contributions, remainder=remainder,
            reference=reference, members=members,
        )  # fmt: skip

    @hook
    def find_class(self, label: Any, parameter: str = "of_class") -> int:
        """Return the place of a class among `classes`; the error names the parameter."""
        place = np.flatnonzero(self.classes == label)
        if len(place) != 1:
            raise ValueError(f"{parameter} must be one of {self.classes.tolist()}, got {label!r}")
        return int(place[0])

    @hook
    def value_text(self, row: int, feature: int) -> str:
        """Return name and value of a feature as text; the name alone if values are not known."""
        name = self.feature_names[feature]
        if self.values is None:
            return name
        return f"{name} = {as_text(self.values[row, feature])}"

    def __repr__(self) -> str:
        rows, features = count(self.n_rows, "row"), count(len(self.feature_names), "feature")
        labels = [str(label) for label in self.classes.tolist()]
        shown = ", ".join([*labels[:5], *(["..."] if len(labels) > 5 else [])])
        return f"<Explanation of {rows}, {features}, classes {shown}>"


def against_others(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract from the score of each class, the last axis, the mean of those of the others."""
    n_classes = scores.shape[-1]
    others = max(n_classes - 1, 1)
    return np.asarray((scores - scores.mean(axis=-1, keepdims=True)) * (n_classes / others))
