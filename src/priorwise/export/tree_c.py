"""A fitted tree as one file of C99, for devices without Python."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.models.trees.tree import ProbabilityTreeClassifier
from priorwise.structure.trees.decision_tree import EQUAL, LEAF, NOMINAL, NUMERIC

_HARD_WALK = """
/* Class probabilities of one row of {prefix}_N_FEATURES numbers. */
void {prefix}_predict_proba(const double *row, double *proba)
{{
    int node = 0, child, k;
    while ((child = next_node(row, node)) >= 0) node = child;
    for (k = 0; k < {prefix}_N_CLASSES; ++k) proba[k] = answer[node][k];
}}
"""

_SOFT_WALK = """
/* Class probabilities of one row of {prefix}_N_FEATURES numbers. At a threshold with a bandwidth
   a row goes both ways, weighted by its distance to the threshold; the answers are averaged. */
void {prefix}_predict_proba(const double *row, double *proba)
{{
    int stack[{stack}], n_parts = 1, k;
    double weight[{stack}];
    for (k = 0; k < {prefix}_N_CLASSES; ++k) proba[k] = 0.0;
    stack[0] = 0;
    weight[0] = 1.0;
    while (n_parts > 0) {{
        const int node = stack[--n_parts];
        const double part = weight[n_parts];
        int child;
        if (bandwidth[node] > 0.0 && part >= 1e-4) {{
            const double distance = row[feature[node]] - threshold[node];
            if (distance == distance) {{
                const double above = 0.5 * erfc(-(distance / bandwidth[node]) / {sqrt2});
                if (above >= 1e-6) {{
                    stack[n_parts] = first_child[node] + 1;
                    weight[n_parts++] = part * (above > 1.0 - 1e-6 ? 1.0 : above);
                }}
                if (above <= 1.0 - 1e-6) {{
                    stack[n_parts] = first_child[node];
                    weight[n_parts++] = part * (above < 1e-6 ? 1.0 : 1.0 - above);
                }}
                continue;
            }}
        }}
        child = next_node(row, node);
        if (child < 0) {{
            for (k = 0; k < {prefix}_N_CLASSES; ++k) proba[k] += part * answer[node][k];
        }} else {{
            stack[n_parts] = child;
            weight[n_parts++] = part;
        }}
    }}
}}
"""

_STEP = """
static int find_child(int node, long branch)
{
    int low = first_child[node], high = first_child[node + 1];
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (value[middle] < branch) low = middle + 1;
        else high = middle;
    }
    return low < first_child[node + 1] && value[low] == branch ? low : -1;
}

/* The child that a row goes to, or -1 at a leaf and if there is no child for its value. */
static int next_node(const double *row, int node)
{
    const double x = kind[node] == LEAF ? 0.0 : row[feature[node]];
    switch (kind[node]) {
    case NUMERIC:
        if (x <= threshold[node]) return first_child[node];
        if (x > threshold[node]) return first_child[node] + 1;
        return find_child(node, missing_value[node]);
    case NOMINAL:
        return x >= 0.0 ? find_child(node, (long)x) : -1;
    case EQUAL:
        return x >= 0.0 ? find_child(node, x == threshold[node]) : -1;
    default:
        return -1;
    }
}
"""


def export_c(
    model: ProbabilityTreeClassifier,
    path: str | os.PathLike[str] | None = None,
    *,
    prefix: str = "tree",
) -> str:
    """Write a tree as a C99 file that needs only the standard library.

    The function ``<prefix>_predict_proba(row, proba)`` takes one double for each feature and writes
    one probability for each class, equal to those of `predict_proba` to 1e-12. Numbers are passed
    as they are, and NAN if missing. Labels are passed as their code,
    ``<prefix>_code(feature, label)``: a null pointer is a missing label, and labels that training
    did not have get the code -1. A comment in the file lists features and classes. Link it with
    -lm if the tree has soft thresholds.

    Parameters
    ----------
    model : ProbabilityTreeClassifier
        A fitted tree.
    path : path, optional
        File to write.
    prefix : str
        Prefix of the public names of the file, a C identifier.

    Returns
    -------
    str
        Text of the file.

    Examples
    --------
    >>> X, y = [["sun"], ["sun"], ["rain"], ["rain"]], [0, 0, 1, 1]
    >>> model = ProbabilityTreeClassifier("laplace", criterion="gain").fit(X, y)
    >>> "void tree_predict_proba(const double *row, double *proba)" in export_c(model)
    True
    """
    check_is_fitted(model)
    if not re.fullmatch(r"[A-Za-z_]\w*", prefix):
        raise ValueError(f"prefix must be a C identifier, got {prefix!r}")
    soft = bool((model.bandwidth_ > 0.0).any())
    # At every level one part is taken from the stack and at most two are put back.
    stack = model.get_depth() + 2
    walk = _SOFT_WALK if soft else _HARD_WALK
    text = "\n".join(
        [
            *_header(model, prefix, soft),
            *_arrays(model, soft),
            *_labels(model, prefix),
            _STEP,
            walk.format(prefix=prefix, stack=stack, sqrt2=float(np.sqrt(2.0)).hex()),
        ]
    )
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text


def _header(model: ProbabilityTreeClassifier, prefix: str, soft: bool) -> list[str]:
    features = [_comment(name) for name in model.feature_labels_]
    classes = [_comment(label) for label in model.classes_.tolist()]
    return [
        "/* A decision tree with smoothed class probabilities.",
        *(f"   feature {i}: {name}" for i, name in enumerate(features)),
        *(f"   class {k}: {label}" for k, label in enumerate(classes)),
        "*/",
        "#include <stdint.h>",
        "#include <string.h>",
        *(["#include <math.h>"] if soft else []),
        "",
        f"enum {{ {prefix}_N_FEATURES = {model.n_features_in_}, "
        f"{prefix}_N_CLASSES = {len(classes)} }};",
        f"enum {{ LEAF = {LEAF}, NUMERIC = {NUMERIC}, NOMINAL = {NOMINAL}, EQUAL = {EQUAL} }};",
        "",
        f"void {prefix}_predict_proba(const double *row, double *proba);",
        f"int {prefix}_code(int of_feature, const char *label);",
        "",
    ]


def _arrays(model: ProbabilityTreeClassifier, soft: bool) -> Iterable[str]:
    tree = model.tree_
    counts = tree.counts
    yield _integers("feature", np.maximum(tree.feature, 0))
    yield _integers("kind", tree.kind)
    yield _integers("first_child", counts.child_start)
    yield _integers("value", counts.value)
    yield _integers("missing_value", tree.missing_value)
    yield _doubles("threshold", np.nan_to_num(tree.threshold, posinf=np.inf))
    if soft:
        hard = (tree.kind != NUMERIC) | ~np.isfinite(tree.threshold)
        yield _doubles("bandwidth", np.where(hard, 0.0, model.bandwidth_))
    n_classes = len(model.classes_)
    rows = ("{" + ", ".join(_double(p) for p in row) + "}" for row in model.node_proba_.tolist())
    yield f"static const double answer[][{n_classes}] = {{\n    " + ",\n    ".join(rows) + "};"


def _labels(model: ProbabilityTreeClassifier, prefix: str) -> Iterable[str]:
    """C code of a function from labels to codes, and a list of the labels of all features."""
    known, start, missing = [], [0], []
    for feature, nominal in enumerate(model.encoder_.is_nominal_):
        values: list[Any] = model.encoder_.category_labels(feature) if nominal else []
        missing.append(values.index(None) if None in values else -1)
        known += ["0" if label is None else _string(label) for label in values]
        start.append(len(known))
    yield "static const char *const labels[] = {" + ", ".join(known or ["0"]) + "};"
    yield _integers("first_label", np.array(start))
    yield _integers("missing_code", np.array(missing))
    yield f"""
/* The code of a label of a nominal feature; -1 if training did not have it. */
int {prefix}_code(int of_feature, const char *label)
{{
    int i;
    if (!label) return missing_code[of_feature];
    for (i = first_label[of_feature]; i < first_label[of_feature + 1]; ++i)
        if (labels[i] && strcmp(labels[i], label) == 0) return i - first_label[of_feature];
    return -1;
}}"""


def _integers(name: str, values: NDArray[Any]) -> str:
    low, high = int(values.min()), int(values.max())
    bits = next(b for b in (8, 16, 32) if -(2 ** (b - 1)) <= low and high < 2 ** (b - 1))
    return f"static const int{bits}_t {name}[] = {{{', '.join(map(str, values.tolist()))}}};"


def _doubles(name: str, values: NDArray[np.float64]) -> str:
    return f"static const double {name}[] = {{{', '.join(map(_double, values.tolist()))}}};"


def _double(value: float) -> str:
    """The shortest decimal that is read as the same number."""
    # No finite number is above the largest double, so it can stand for infinity.
    return repr(min(float(value), sys.float_info.max))


def _string(label: Any) -> str:
    escaped = str(label).encode("utf-8")
    safe = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in escaped)
    return '"' + "".join(safe) + '"'


def _comment(text: Any) -> str:
    return re.sub(r"[^ -~]", "?", str(text)).replace("*/", "* /").replace("/*", "/ *")
