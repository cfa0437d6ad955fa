"""What each feature adds to a prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.docstrings import describe

_TINY = np.finfo(float).tiny

_SUMS = """
Parameters
----------
classes : array of shape (n_classes,)
    Class labels.
feature_names : tuple of str
    Names of the features.
bias : array of shape (n_classes,)
    Scores before any feature is known.
terms : array of shape (n_rows, n_features, n_classes)
    What each feature adds to the scores.
**details : dict
    Other attributes: `values`, `support`, `backoff`, `members`, `member_weights`.
"""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of features to the log-odds of the classes, for some rows.

    The log-odds of a row are a sum::

        log-odds = bias + sum over features of contributions + remainder

    Log-odds are taken against the mean of the log probabilities over the classes, so that they
    sum to zero over the classes and a positive contribution speaks for the class; `against` takes
    them against one of the classes instead.

    Every classifier's `explain` returns this type. Where the scores of a model are sums over
    features (networks, logistic regressions), the contributions are its terms and the remainder
    is zero. A forest averages probabilities: a feature's contribution is the share of the change
    of the log probability, from the roots to the leaves, that the splits on the feature have in
    the change of the probability. The mean of several networks has the mean of their terms; what
    is left, because an average of probabilities is not the average of logs, is the remainder.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        Class labels.
    feature_names : tuple of str
        Names of the features, in the order of the columns of X.
    bias : array of shape (n_classes,)
        Log-odds before any feature is known.
    contributions : array of shape (n_rows, n_features, n_classes)
        What each feature adds; zero for a feature that the model does not use.
    remainder : array of shape (n_rows, n_classes)
        Part of the log-odds that is no feature's.
    reference : class label or None
        The class that log-odds are taken against; None for the mean over the classes.
    values : object array of shape (n_rows, n_features) or None
        The value of each feature as text or label, such as "red", "(1.5, 4]" or "missing".
    support : array of shape (n_rows, n_features, n_classes) or None
        Number of training rows, or their weight, that each contribution rests on.
    backoff : int array of shape (n_rows, n_features, n_classes) or None
        How many parents, the class included, a network had to leave out to find rows.
    members : dict of str to Explanation
        Explanations of the members of a pool, not multiplied by their weights.
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
    """

    classes: NDArray[Any]
    feature_names: tuple[str, ...]
    bias: NDArray[np.float64]
    contributions: NDArray[np.float64]
    remainder: NDArray[np.float64]
    reference: Any = None
    values: NDArray[Any] | None = None
    support: NDArray[np.float64] | None = None
    backoff: NDArray[np.int32] | None = None
    members: Mapping[str, Explanation] = field(default_factory=dict)
    member_weights: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    @describe(_SUMS)
    def from_sums(
        cls,
        classes: Any,
        feature_names: tuple[str, ...],
        bias: Any,
        terms: Any,
        **details: Any,
    ) -> Explanation:
        """Explain scores that are exact sums; the softmax of the scores are the probabilities.

        Returns
        -------
        Explanation
            With a remainder of zero.
        """
        terms = np.asarray(terms, dtype=np.float64)
        remainder = np.zeros((terms.shape[0], terms.shape[2]))
        bias = centre(np.asarray(bias, dtype=np.float64))
        return cls(np.asarray(classes), feature_names, bias, centre(terms), remainder, **details)

    @classmethod
    @describe(_SUMS)
    def from_scores(
        cls,
        classes: Any,
        feature_names: tuple[str, ...],
        bias: Any,
        terms: Any,
        probabilities: NDArray[np.float64],
        **details: Any,
    ) -> Explanation:
        """Explain probabilities that are only nearly the softmax of sums.

        Parameters
        ----------
        probabilities : array of shape (n_rows, n_classes)
            What the model predicts. What the sums miss of their log-odds is the remainder.

        Returns
        -------
        Explanation
            Its `log_odds` are those of the probabilities.
        """
        sums = cls.from_sums(classes, feature_names, bias, terms, **details)
        return replace(sums, remainder=to_log_odds(probabilities) - sums.log_odds)

    @classmethod
    @describe(_SUMS)
    def from_probability_changes(
        cls,
        classes: Any,
        feature_names: tuple[str, ...],
        bias: NDArray[np.float64],
        changes: NDArray[np.float64],
        **details: Any,
    ) -> Explanation:
        """Explain probabilities that are sums, as those of trees are.

        With P the probability, P0 the bias and d the change that a feature makes, the feature
        contributes d log(P / P0) / (P - P0) to the log probability; these add up to log(P / P0).

        Parameters
        ----------
        bias : array of shape (n_classes,)
            Probabilities before any feature is known.
        changes : array of shape (n_rows, n_features, n_classes)
            What each feature adds to the probabilities.

        Returns
        -------
        Explanation
            Its `log_odds` are those of the probabilities, bias plus changes.
        """
        end = bias + changes.sum(axis=1)
        log_start, log_end = (np.log(np.maximum(p, _TINY)) for p in (bias, end))
        moved = np.abs(end - bias) > 1e-9 * np.maximum(end, bias)
        change = np.where(moved, end - bias, 1.0)
        rate = np.where(moved, (log_end - log_start) / change, 1.0 / np.maximum(end, _TINY))
        terms = changes * rate[:, None, :]
        return cls.from_scores(classes, feature_names, log_start, terms, end, **details)

    @classmethod
    def pool(
        cls,
        members: Mapping[str, Explanation],
        weights: Mapping[str, float],
        intercept: NDArray[np.float64],
        probabilities: NDArray[np.float64],
    ) -> Explanation:
        """Add up the explanations of the members of a log-linear pool.

        Parameters
        ----------
        members : dict of str to Explanation
            Explanations of the same rows.
        weights : dict of str to float
            What the members' log probabilities are multiplied by.
        intercept : array of shape (n_classes,)
            What the pool adds to the log probabilities of the classes.
        probabilities : array of shape (n_rows, n_classes)
            What the pool predicts. What the sum misses of their log-odds is the remainder.

        Returns
        -------
        Explanation
            Its `log_odds` are those of the probabilities.
        """
        first = next(iter(members.values()))
        bias, contributions = intercept, np.zeros_like(first.contributions)
        for name, member in members.items():
            bias = bias + weights[name] * member.bias
            contributions += weights[name] * member.contributions
        return cls.from_scores(
            first.classes, first.feature_names, bias, contributions, probabilities,
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
        place = np.flatnonzero(self.classes == reference)
        if len(place) != 1:
            raise ValueError(f"reference must be one of {self.classes.tolist()}, got {reference!r}")
        bias, contributions, remainder = (
            part - part[..., place] for part in (self.bias, self.contributions, self.remainder)
        )
        return replace(
            self,
            bias=bias,
            contributions=contributions,
            remainder=remainder,
            reference=reference,
            members={name: member.against(reference) for name, member in self.members.items()},
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return a frame with one line for each row, feature and class.

        Parameters
        ----------
        backend : "pandas", "polars" or "pyarrow"
            The kind of frame.

        Returns
        -------
        frame
            Columns "row", "feature", "class", "contribution"; "value", "support" and "backoff"
            where they are known; and one column for each member of a pool, its contribution
            times its weight.
        """
        row, feature, class_code = (grid.ravel() for grid in np.indices(self.contributions.shape))
        columns: dict[str, Any] = {
            "row": row,
            "feature": [self.feature_names[i] for i in feature],
        }
        if self.values is not None:
            columns["value"] = [str(value) for value in self.values[row, feature]]
        columns["class"] = self.classes[class_code].tolist()
        columns["contribution"] = self.contributions.ravel()
        if self.support is not None:
            columns["support"] = self.support.ravel()
        if self.backoff is not None:
            columns["backoff"] = self.backoff.ravel()
        for name, member in self.members.items():
            columns[name] = self.member_weights[name] * member.contributions.ravel()
        chosen: Any = backend
        return nw.from_dict(columns, backend=chosen).to_native()


def centre(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract the mean over the classes, the last axis."""
    with np.errstate(invalid="ignore"):
        return np.asarray(scores - scores.mean(axis=-1, keepdims=True))


def to_log_odds(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logs of probabilities, centred over the classes."""
    return centre(np.log(np.maximum(probabilities, _TINY)))
