"""Slow twins of the entropy-based cuts: every candidate is evaluated from its rows."""

from itertools import pairwise

import numpy as np

MASK = 2**64 - 1


def entropy_bits(weights):
    weights = weights[weights > 0]
    p = weights / weights.sum()
    return float(-(p * np.log2(p)).sum())


def candidates(x, y, w, n_classes):
    """All cuts of one stretch as (midpoint, gain, gain less the MDL threshold), in bits."""
    total = np.bincount(y, w, n_classes)
    n, h, k = total.sum(), entropy_bits(total), (total > 0).sum()
    values = np.unique(x)
    found = []
    for low, high in pairwise(values):
        left = np.bincount(y[x <= low], w[x <= low], n_classes)
        right = np.bincount(y[x > low], w[x > low], n_classes)
        h1, h2 = entropy_bits(left), entropy_bits(right)
        gain = h - left.sum() / n * h1 - right.sum() / n * h2
        k1, k2 = (left > 0).sum(), (right > 0).sum()
        delta = np.log2(3.0**k - 2.0) - (k * h - k1 * h1 - k2 * h2)
        excess = gain - (np.log2(n - 1.0) + delta) / n if n > 1 else -np.inf
        found.append(((low + high) / 2.0, gain, excess))
    return found


def best(found):
    """The lowest of the cuts that share the largest gain."""
    largest = max(gain for _, gain, _ in found)
    return next(cut for cut in found if cut[1] >= largest - 1e-11)


def mdlp(x, y, w, n_classes):
    found = candidates(x, y, w, n_classes) if len(np.unique(y)) > 1 else []
    if not found:
        return []
    point, _, excess = best(found)
    if excess <= 0:
        return []
    left, right = x <= point, x > point
    return [
        *mdlp(x[left], y[left], w[left], n_classes),
        point,
        *mdlp(x[right], y[right], w[right], n_classes),
    ]


def tree(x, y, w, n_classes, depth, prune):
    found = candidates(x, y, w, n_classes) if depth and len(np.unique(y)) > 1 else []
    if not found:
        return []
    point, gain, excess = best(found)
    if gain <= 1e-9:
        return []
    left, right = x <= point, x > point
    below = tree(x[left], y[left], w[left], n_classes, depth - 1, prune)
    above = tree(x[right], y[right], w[right], n_classes, depth - 1, prune)
    if prune and excess <= 0 and not below and not above:
        return []
    return [*below, point, *above]


def uniforms(seed):
    """The kernel's stream: xoshiro256++ seeded by splitmix64, on the open unit interval."""
    state = []
    for _ in range(4):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        state.append(z ^ (z >> 31))

    def rotate(x, k):
        return ((x << k) | (x >> (64 - k))) & MASK

    while True:
        bits = (rotate((state[0] + state[3]) & MASK, 23) + state[0]) & MASK
        shifted = (state[1] << 17) & MASK
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= shifted
        state[3] = rotate(state[3], 45)
        yield ((bits >> 12) + 0.5) * 2.0**-52


def random_mdlp(x, y, w, n_classes, stream, first=True):
    """Algorithm 11."""
    found = candidates(x, y, w, n_classes) if len(np.unique(y)) > 1 else []
    excess = [max(cut[2], 0.0) for cut in found]
    if sum(excess) == 0:
        gains = [max(cut[1], 0.0) for cut in found]
        if first and sum(gains) > 1e-9:
            return [found[draw(gains, next(stream))][0]]
        return []
    point = found[draw(excess, next(stream))][0]
    left, right = x <= point, x > point
    below = random_mdlp(x[left], y[left], w[left], n_classes, stream, False)
    above = random_mdlp(x[right], y[right], w[right], n_classes, stream, False)
    return [*below, point, *above]


def draw(mass, u):
    return int(np.searchsorted(np.cumsum(mass), u * sum(mass), side="right"))
