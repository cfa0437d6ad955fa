"""How changes of probabilities are shared among the features that make them, without a rest.

One identity does it all. With L(p, q) = (p - q) / (log p - log q), the logarithmic mean::

    p - q = L(p, q) (log p - log q)

so a sum of changes of logs becomes a sum of changes of probabilities and back, exactly (the
logarithmic mean Divisia index of Ang 2004).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import LEAST_PROBABILITY, softmax

Floats = NDArray[np.float64]


def log_mean(p: Floats, q: Floats) -> Floats:
    """Return the logarithmic means of two arrays of probabilities.

    >>> log_mean(np.array([0.5, 0.4]), np.array([0.5, 0.1])).round(4)
    array([0.5   , 0.2164])
    """
    p, q = np.maximum(p, LEAST_PROBABILITY), np.maximum(q, LEAST_PROBABILITY)
    gap = np.abs(np.log(p) - np.log(q))
    share = -np.expm1(-gap) / np.where(gap > 0.0, gap, 1.0)
    return np.asarray(np.maximum(p, q) * np.where(gap > 0.0, share, 1.0))


def centre_terms(start: Floats, end: Floats, terms: Floats) -> Floats:
    """Turn terms of scores into terms of log probabilities.

    The softmax of the scores goes from `start` (n_classes) to `end` (n_rows, n_classes) when
    `terms` (n_rows, n_terms, n_classes) are added. From each term its mean over the classes is
    subtracted, weighted by the logarithmic means of start and end; then the terms of a class sum to
    the change of its log probability.
    """
    weight = log_mean(end, start)
    weight /= weight.sum(axis=1, keepdims=True)
    return np.asarray(terms - np.einsum("nfk,nk->nf", terms, weight)[:, :, None])


def change_of_member(bias: Floats, terms: Floats) -> Floats:
    """Return what each term adds to the softmax of the scores ``bias + sum of terms``."""
    start, end = softmax(bias[None])[0], softmax(bias + terms.sum(axis=1))
    return log_mean(end, start)[:, None, :] * centre_terms(start, end, terms)


def replace_infinities(
    log_prior: Floats, terms: Floats, best: Floats | None = None
) -> tuple[Floats, Floats]:
    """Make terms finite that are logarithms of zero, which only unsmoothed counts give.

    A class of probability zero gets the score `best` (n_rows; by default that of the best class)
    plus log `LEAST_PROBABILITY`; what that takes is shared equally by the terms that are infinite.
    A row that is impossible in every class is answered by the class prior, so all its terms are
    zero.
    """
    prior_lost = np.isneginf(log_prior)
    lost = np.isneginf(terms)
    if not (prior_lost.any() or lost.any()):
        return log_prior, terms
    log_prior = np.where(prior_lost, log_prior.max() + np.log(LEAST_PROBABILITY), log_prior)
    zero = lost.any(axis=1) | prior_lost
    lost |= (zero & ~lost.any(axis=1))[:, None, :]
    terms = np.where(lost, 0.0, terms)
    score = log_prior + terms.sum(axis=1)
    if best is None:
        best = np.where(zero, -np.inf, score).max(axis=1)
    gap = np.where(zero, best[:, None] + np.log(LEAST_PROBABILITY) - score, 0.0)
    terms = np.where(lost, (gap / np.maximum(lost.sum(axis=1), 1))[:, None, :], terms)
    terms[np.isneginf(best)] = 0.0
    return log_prior, terms
