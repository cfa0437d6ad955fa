"""Slow twin of the superparent search: every candidate network is evaluated from its counts."""

import itertools
import math


def estimate(rows, y, weight, feature, parent, arity, row, other, left_out):
    """Laplace's p(x | class other, parent's value) for one row, that row left out if asked.

    Rows that miss the feature, -1, do not count; a missing parent is no parent.
    """
    n = total = 0.0
    parent = None if parent is not None and rows[row][parent] < 0 else parent
    for r in range(len(rows)):
        if rows[r][feature] < 0:
            continue
        w = 0.0 if left_out and r == row else weight[r]
        if y[r] == other and (parent is None or rows[r][parent] == rows[row][parent]):
            total += w
            n += w * (rows[r][feature] == rows[row][feature])
    return (n + 1) / (total + arity)


def posterior(rows, y, weight, arities, n_classes, parents, row, left_out):
    joint = []
    for c in range(n_classes):
        count = sum(w for w, label in zip(weight, y, strict=True) if label == c)
        if left_out and y[row] == c:
            count -= weight[row]
        p = count + 1.0
        for feature, parent in enumerate(parents):
            if rows[row][feature] < 0:
                continue
            p *= estimate(rows, y, weight, feature, parent, arities[feature], row, c, left_out)
        joint.append(p)
    return [p / sum(joint) for p in joint]


def area(own, other):
    wins = sum(
        wa * wb * ((a > b) + 0.5 * (a == b)) for (a, wa), (b, wb) in itertools.product(own, other)
    )
    return wins / sum(w for _, w in own) / sum(w for _, w in other)


def evaluate(rows, y, weight, arities, n_classes, parents, score, left_out):
    table = [
        posterior(rows, y, weight, arities, n_classes, parents, r, left_out)
        for r in range(len(rows))
    ]
    if score == "cll":
        return sum(
            w * math.log(p[label]) for w, p, label in zip(weight, table, y, strict=True) if w
        )
    if score == "accuracy":
        return sum(
            w * (p.index(max(p)) == label) for w, p, label in zip(weight, table, y, strict=True)
        )
    # Rounding keeps products that are equal on paper equal.
    of = {
        (c, k): [
            (round(p[k], 12), w) for p, w, label in zip(table, weight, y, strict=True)
            if label == c and w
        ]
        for c in range(n_classes)
        for k in range(n_classes)
    }  # fmt: skip
    areas = [
        area(of[i, i], of[j, i])
        for i, j in itertools.permutations(range(n_classes), 2)
        if of[i, i] and of[j, i]
    ]
    return sum(areas) / len(areas)


def ancestors(parents, feature):
    while feature is not None:
        yield feature
        feature = parents[feature]


def search(rows, y, weight, arities, n_classes, score, left_out):
    """Parents of every feature (None for an orphan) and the scores as the network grew."""

    def judge(parents):
        return evaluate(rows, y, weight, arities, n_classes, parents, score, left_out)

    parents: list[int | None] = [None] * len(arities)
    scores = [judge(parents)]
    while True:
        best_parent, best = None, -math.inf
        for p in range(len(arities)):
            children = [c for c in orphans(parents) if c not in ancestors(parents, p)]
            if not children:
                continue
            found = judge([p if c in children else parent for c, parent in enumerate(parents)])
            if found > best + 1e-9:
                best_parent, best = p, found
        if best_parent is None:
            return parents, scores
        best_child, best = None, scores[-1]
        for c in orphans(parents):
            if c in ancestors(parents, best_parent):
                continue
            found = judge([*parents[:c], best_parent, *parents[c + 1 :]])
            if found > best + 1e-9:
                best_child, best = c, found
        if best_child is None:
            return parents, scores
        parents[best_child] = best_parent
        scores.append(best)


def orphans(parents):
    return [c for c, parent in enumerate(parents) if parent is None]
