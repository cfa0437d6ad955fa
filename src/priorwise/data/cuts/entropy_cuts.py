"""Discretisers that look at the class: MDLP and a decision tree per feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from priorwise import _core
from priorwise.common.validation import check_choice, check_number
from priorwise.data.columns import RankedValues, encode_labels, midpoints
from priorwise.data.cuts.discretise import Discretizer


class EntropyDiscretizer(Discretizer):
    """Base of the discretisers that look at the class.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads, over features (-1: all processors, None: one). The result does not
        depend on it.
    """

    n_jobs: int | None

    def _rule(self) -> tuple[str, int]:
        """The rule of `entropy_cut_points`, and its number of levels."""
        raise NotImplementedError

    def _find_cut_points(
        self, ranked: RankedValues, y: Any, weight: NDArray[np.float64] | None
    ) -> list[NDArray[np.float64]]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        classes, labels = encode_labels(y)
        rule, max_depth = self._rule()
        return entropy_cut_points(
            ranked,
            classes,
            len(labels),
            weight,
            rule=rule,
            max_depth=max_depth,
            n_threads=effective_n_jobs(self.n_jobs),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class MDLPDiscretizer(EntropyDiscretizer):
    """Cut where a cut pays for its description (Fayyad and Irani; thesis Eqs. 37-38).

    The best cut T of a stretch S of N rows is the midpoint of the largest information gain, and
    it is accepted when::

        gain(T, S) > log2(N - 1) / N + delta(T, S) / N
        delta(T, S) = log2(3^k - 2) - [k H(S) - k_1 H(S_1) - k_2 H(S_2)]

    with H the class entropy in bits and k, k_1, k_2 the classes present in S and in its two
    parts. Each part is then cut in the same way. Of equal gains the lowest cut is taken. Weights
    count rows: N is their sum, and a stretch of fewer than two rows is not cut.

    Examples
    --------
    >>> X = [[float(i)] for i in range(20)]
    >>> MDLPDiscretizer().fit(X, [0] * 8 + [1] * 12).cut_points_[0]
    array([7.5])
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def _rule(self) -> tuple[str, int]:
        return "mdl", 0


class TreeDiscretizer(EntropyDiscretizer):
    """Cut at the splits of a small decision tree on the one feature (thesis 2.7.2.2).

    The tree splits at the largest information gain down to `max_depth`. Then, bottom up, a split
    below which no other was kept is removed unless it passes MDLP's test. Unlike MDLP, this finds
    cuts below a first one that does not pay alone.

    Parameters
    ----------
    max_depth : int, default=3
        Number of levels of splits, from 1 to 30: at most ``2 ** max_depth`` bins.
    pruning : {"mdl", "none"}, default="mdl"
        Whether splits are removed as above. "none" keeps every split with a gain.

    Examples
    --------
    >>> X = [[float(i)] for i in range(30)]
    >>> y = [0] * 10 + [1] * 10 + [0] * 10
    >>> TreeDiscretizer(max_depth=2).fit(X, y).cut_points_[0]
    array([ 9.5, 19.5])
    """

    def __init__(
        self, max_depth: int = 3, *, pruning: str = "mdl", n_jobs: int | None = None
    ) -> None:
        self.max_depth = max_depth
        self.pruning = pruning
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_number("max_depth", self.max_depth, least=1, most=30, whole=True)
        check_choice("pruning", self.pruning, ("mdl", "none"))

    def _rule(self) -> tuple[str, int]:
        return "tree" if self.pruning == "none" else "pruned_tree", self.max_depth


def entropy_cut_points(
    ranked: RankedValues,
    classes: NDArray[np.int32],
    n_classes: int,
    weight: NDArray[np.float64] | None = None,
    *,
    rule: str,
    max_depth: int = 0,
    seeds: NDArray[np.uint64] | None = None,
    n_threads: int = 1,
) -> list[NDArray[np.float64]]:
    """Return the cut points of every ranked feature, ascending, by one of the kernel's rules.

    `rule` is "mdl", "random_mdl" (with one of `seeds` for each feature), "tree" or "pruned_tree"
    (of `max_depth` levels). Weights have a sum of at most 2**60.
    """
    n_features = len(ranked.distinct)
    cuts = _core.entropy_cuts(
        ranked.ranks,
        np.array([len(values) for values in ranked.distinct], dtype=np.int32),
        classes,
        n_classes,
        None if weight is None else np.ascontiguousarray(weight, dtype=np.float64),
        rule,
        max_depth,
        np.zeros(n_features, dtype=np.uint64) if seeds is None else seeds,
        n_threads,
    )
    return [midpoints(*pair) for pair in zip(ranked.distinct, cuts, strict=True)]
