"""Decision trees, the slow and obvious way: recursion, one row and one candidate at a time."""

from __future__ import annotations

import itertools
import math

import numpy as np

TIE = 1e-9
BIT = math.log(2)
SMALL = 1e-6
"""Differences, in bits, that count as none."""


def entropy(counts):
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts if n > 0) if total > 0 else 0.0


def class_counts(y, weight, rows, n_classes):
    counts = [0.0] * n_classes
    for r in rows:
        counts[y[r]] += weight[r]
    return counts


def branches_of(column, threshold, rows):
    """Rows by branch, in the order of the branches; a threshold for codes is one of them."""
    parts: dict[int, list[int]] = {}
    for r in rows:
        if column.dtype == np.int32 and not math.isnan(threshold):
            branch = int(column[r] == threshold)
        elif column.dtype == np.int32:
            branch = int(column[r])
        elif math.isnan(column[r]):
            branch = 2
        else:
            branch = 0 if column[r] <= threshold else 1
        parts.setdefault(branch, []).append(r)
    return dict(sorted(parts.items()))


def score(parts, y, weight, rows, n_classes):
    """Gain and split information of a partition, per unit of weight."""
    whole = class_counts(y, weight, rows, n_classes)
    total = sum(whole)
    inside = sum(
        sum(counts) / total * entropy(counts)
        for counts in (class_counts(y, weight, part, n_classes) for part in parts.values())
    )
    sizes = [sum(weight[r] for r in part) for part in parts.values()]
    return entropy(whole) - inside, entropy(sizes)


def is_in_order(parts, y, weight, direction):
    """Whether the shares of outcome 1 below and above a cut have the order of a direction."""
    below, above = (
        sum(weight[r] for r in parts[b] if y[r] == 1) / sum(weight[r] for r in parts[b])
        for b in (0, 1)
    )
    return direction * (above - below) >= 0.0


def best_split_of_feature(column, y, weight, rows, n_classes, rules, direction=0):
    """(gain, split information, threshold, many valued) of the best split, or None."""
    total = sum(weight[r] for r in rows)
    if column.dtype == np.int32 and rules["nominal_splits"] == "one-value":
        best = None
        for code in sorted({int(column[r]) for r in rows}):
            parts = branches_of(column, code, rows)
            sizes = [sum(weight[r] for r in part) for part in parts.values()]
            if len(parts) < 2 or min(sizes) < rules["min_samples_leaf"]:
                continue
            gain, width = score(parts, y, weight, rows, n_classes)
            if best is None or gain > best[0] + TIE:
                best = (gain, width, float(code), False)
        n_values = len({int(column[r]) for r in rows})
        if best is not None and rules["mdl_correction"] and n_values > 32:
            best = (best[0] - math.log(n_values) / total, *best[1:])
        return best if best is not None and best[0] > TIE else None
    if column.dtype == np.int32:
        parts = branches_of(column, math.nan, rows)
        sizes = [sum(weight[r] for r in part) for part in parts.values()]
        if sum(size >= rules["min_samples_leaf"] for size in sizes) < 2:
            return None
        gain, width = score(parts, y, weight, rows, n_classes)
        many = sum(size > 0 for size in sizes) >= 0.3 * total
        return (gain, width, math.nan, many) if gain > TIE else None
    known = sorted({column[r] for r in rows if not math.isnan(column[r])})
    n_known = sum(weight[r] for r in rows if not math.isnan(column[r]))
    least = max(
        rules["min_samples_leaf"], min(25.0, rules["numeric_min_share"] * n_known / n_classes)
    )
    best = None
    for below, above in itertools.pairwise(known):
        threshold = below + (above - below) / 2
        parts = branches_of(column, threshold, rows)
        if min(sum(weight[r] for r in parts.get(b, [])) for b in (0, 1)) < least:
            continue
        if not is_in_order(parts, y, weight, direction):
            continue
        gain, width = score(parts, y, weight, rows, n_classes)
        if best is None or gain > best[0] + TIE:
            best = (gain, width, threshold, False)
    if best is None:
        parts = branches_of(column, math.inf, rows)
        sizes = [sum(weight[r] for r in part) for part in parts.values()]
        if len(parts) < 2 or min(sizes) < rules["min_samples_leaf"]:
            return None
        best = (*score(parts, y, weight, rows, n_classes), math.inf, False)
    elif rules["mdl_correction"] and len(known) > 2:
        best = (best[0] - math.log(len(known) - 1) / total, *best[1:])
    return best if best[0] > TIE else None


def grow(columns, y, weight, n_classes, rules, rows=None, depth=0):
    """A nested tree: {"counts", "feature", "threshold", "children": {branch: tree}}."""
    rows = list(range(len(y))) if rows is None else rows
    counts = class_counts(y, weight, rows, n_classes)
    tree = {"counts": counts, "feature": -1, "threshold": math.nan, "children": {}}
    pure = sum(n > 0 for n in counts) < 2
    if pure or sum(counts) < 2 * rules["min_samples_leaf"] or depth >= rules["max_depth"]:
        return tree
    found = {}
    for f, column in enumerate(columns):
        direction = rules["monotone"][f] if rules["monotone"] else 0
        split = best_split_of_feature(column, y, weight, rows, n_classes, rules, direction)
        if split is not None:
            found[f] = split
    if not found:
        return tree
    best, best_score = -1, 0.0
    counted = [s for s in found.values() if not s[3]] or list(found.values())
    average = sum(s[0] for s in counted) / len(counted)
    for f, (gain, width, _, _) in found.items():
        if rules["criterion"] == "gain":
            value = gain
        elif gain >= average - 1e-3 * math.log(2):
            value = gain / width
        else:
            continue
        if best < 0 or value > best_score + TIE:
            best, best_score = f, value
    tree["feature"], tree["threshold"] = best, found[best][2]
    for branch, part in branches_of(columns[best], found[best][2], rows).items():
        tree["children"][branch] = grow(columns, y, weight, n_classes, rules, part, depth + 1)
    return tree


def best_split_of_release8(column, y, rows, n_classes, least):
    """(gain in bits, gain ratio, threshold) of a feature, or None."""
    ones = np.ones(len(y))
    if column.dtype == np.int32:
        parts = branches_of(column, math.nan, rows)
        if sum(len(part) >= least for part in parts.values()) < 2:
            return None
        gain, width = score(parts, y, ones, rows, n_classes)
        return gain / BIT, gain / width, math.nan
    side = max(least, min(25.0, 0.1 * len(rows) / n_classes))
    best, n_admissible = None, 0
    for below, above in itertools.pairwise(sorted({column[r] for r in rows})):
        threshold = below + (above - below) / 2
        parts = branches_of(column, threshold, rows)
        if above <= below + 1e-5 or min(map(len, parts.values())) < side - SMALL:
            continue
        n_admissible += 1
        gain, width = score(parts, y, ones, rows, n_classes)
        if best is None or gain / BIT > best[0] + SMALL:
            best = (gain / BIT, width / BIT, threshold)
    if best is None:
        return None
    # The choice among the admissible thresholds is paid for.
    gain = best[0] - math.log2(n_admissible) / len(rows)
    return (gain, gain / best[1], best[2]) if gain > SMALL else None


def grow_release8(columns, y, n_classes, least=2, rows=None, n_values=(0,) * 100):
    """The tree of C4.5 Release 8 as `grow` returns it, for rows without missing values.

    Written from Quinlan's book (1993, chapter 2) and the changes of Release 8 (1996) as J48 has
    them. A nominal feature has at least `n_values` values.
    """
    rows = list(range(len(y))) if rows is None else rows
    counts = class_counts(y, np.ones(len(y)), rows, n_classes)
    tree = {"counts": counts, "feature": -1, "threshold": math.nan, "children": {}}
    if len(rows) < 2 * least or max(counts) == len(rows):
        return tree
    many = [
        column.dtype == np.int32 and max(len(set(column.tolist())), declared) >= 0.3 * len(y)
        for column, declared in zip(columns, n_values, strict=False)
    ]
    found = {}
    for f, column in enumerate(columns):
        split = best_split_of_release8(column, y, rows, n_classes, least)
        if split is not None:
            found[f] = split
    counted = [split[0] for f, split in found.items() if all(many) or not many[f]]
    average = sum(counted) / len(counted) if counted else 0.0
    best, best_ratio = -1, 0.0
    for f, (gain, ratio, _) in found.items():
        if gain >= average - 1e-3 and ratio > best_ratio + SMALL:
            best, best_ratio = f, ratio
    if best < 0:
        return tree
    tree["feature"], tree["threshold"] = best, found[best][2]
    for branch, part in branches_of(columns[best], found[best][2], rows).items():
        tree["children"][branch] = grow_release8(columns, y, n_classes, least, part, n_values)
    return tree


def walk(tree, columns, row):
    """Branches a row takes, until it stops."""
    taken = []
    while tree["feature"] >= 0:
        (branch,) = branches_of(columns[tree["feature"]], tree["threshold"], [row])
        if branch not in tree["children"]:
            break
        taken.append(branch)
        tree = tree["children"][branch]
    return taken


def blend(tree, columns, row, node_rows, bandwidth, node=0, weight=1.0):
    """Average of node_rows over the parts of a row; tree is a DecisionTree."""
    first, last = tree.counts.child_start[node], tree.counts.child_start[node + 1]
    branches = {int(tree.counts.value[child]): child for child in range(first, last)}
    f = int(tree.feature[node])
    if f < 0:
        return weight * node_rows[node]
    x = columns[f][row]
    if tree.kind[node] == 1 and not math.isnan(x):
        above = float(x > tree.threshold[node])
        if bandwidth[node] > 0 and weight >= 1e-4 and math.isfinite(tree.threshold[node]):
            z = (x - tree.threshold[node]) / bandwidth[node]
            above = 0.5 * math.erfc(-z / math.sqrt(2))
            above = 0.0 if above < 1e-6 else 1.0 if above > 1 - 1e-6 else above
        answer = np.zeros(node_rows.shape[1])
        for branch, share in ((0, 1 - above), (1, above)):
            if share > 0:
                answer += blend(
                    tree, columns, row, node_rows, bandwidth, branches[branch], weight * share
                )
        return answer
    branch = 2 if tree.kind[node] == 1 else int(x)
    if branch not in branches:
        return weight * node_rows[node]
    return blend(tree, columns, row, node_rows, bandwidth, branches[branch], weight)


def shrink_hierarchically(tree, strength):
    """Rows of hierarchical shrinkage, by the telescoping sum along each path."""
    counts = tree.count_rows()
    totals = counts.sum(axis=1)
    theta = np.zeros_like(counts)
    p = np.zeros_like(counts)
    for u in range(tree.n_nodes):
        if u == 0:
            theta[0] = (counts[0] + 1 / tree.n_outcomes) / (totals[0] + 1)
            p[0] = theta[0]
            continue
        a = tree.parent[u]
        theta[u] = counts[u] / totals[u] if totals[u] > 0 else theta[a]
        step = 1 / (1 + strength / totals[a]) if totals[a] > 0 else 0.0
        p[u] = p[a] + step * (theta[u] - theta[a])
    return p


def prunings(tree, node=0):
    """Every pruning of the subtree at a node, as a set of its leaves."""
    children = range(tree.child_start[node], tree.child_start[node + 1])
    yield frozenset([node])
    if len(children):
        for choice in itertools.product(*(list(prunings(tree, child)) for child in children)):
            yield frozenset().union(*choice)


def average_prunings(tree, stop, pseudo, rate):
    """Rows of the average over all prunings, listing every one of them."""
    counts = tree.count_rows()
    share = pseudo / tree.n_outcomes
    inner = {int(u) for u in tree.parent[1:]}
    estimate = (counts + share) / (counts.sum(axis=1, keepdims=True) + pseudo)

    def evidence(node):
        total = counts[node].sum()
        logs = math.lgamma(pseudo) - math.lgamma(total + pseudo)
        return logs + sum(math.lgamma(n + share) - math.lgamma(share) for n in counts[node])

    weights = {}
    for pruning in prunings(tree):
        passed = {int(a) for leaf in pruning for a in ancestors(tree, leaf)}
        log_weight = sum(rate * evidence(leaf) for leaf in pruning)
        log_weight += sum(math.log(stop) for leaf in pruning if leaf in inner)
        log_weight += len(passed) * math.log(1 - stop)
        weights[pruning] = math.exp(log_weight)
    total = sum(weights.values())
    p = np.zeros_like(counts)
    for node in range(tree.n_nodes):
        path = [node, *ancestors(tree, node)]
        for pruning, weight in weights.items():
            ends = [a for a in path if a in pruning]
            p[node] += weight / total * estimate[ends[0] if ends else node]
        if counts[node].sum() == 0 and node > 0:
            p[node] = p[tree.parent[node]]
    return p


def ancestors(tree, node):
    above = []
    while tree.parent[node] >= 0:
        node = tree.parent[node]
        above.append(node)
    return above


def find_node(counts, feature, kind, threshold, missing_value, columns, row):
    """The deepest node that a row reaches, by the splits of the nodes as they are given."""
    node = 0
    while kind[node] > 0:
        x = columns[feature[node]][row]
        if kind[node] == 1:
            branch = missing_value[node] if math.isnan(x) else int(x > threshold[node])
        elif kind[node] == 2:
            branch = x
        else:
            branch = missing_value[node] if x < 0 else int(x == threshold[node])
        children = range(counts.child_start[node], counts.child_start[node + 1])
        below = [child for child in children if counts.value[child] == branch]
        if not below:
            break
        (node,) = below
    return node
