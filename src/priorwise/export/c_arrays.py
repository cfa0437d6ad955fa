"""Values, names, and the arrays of trees and networks as C writes and reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.export.layout import (
    EQUAL,
    N_WAYS,
    SCORE_UNIT,
    Arrays,
    Ints,
    list_factors,
    trace_entries,
    whole,
)

_KEYWORDS = (
    # C
    " alignas alignof auto bool break case char const constexpr continue default do double else "
    "enum extern false float for goto if inline int long nullptr register restrict return short "
    "signed sizeof static static_assert struct switch thread_local true typedef typeof "
    "typeof_unqual union unsigned void volatile while "
    # C++
    "and and_eq asm bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield "
    "compl concept const_cast consteval constinit decltype delete dynamic_cast explicit export "
    "friend mutable namespace new noexcept not not_eq operator or or_eq private protected public "
    "reinterpret_cast requires static_cast template this throw try typeid typename using virtual "
    "wchar_t xor xor_eq "
    # Macros of headers and compilers with small letters
    "L_tmpnam P_tmpdir complex environ errno far fortran hppa huge i386 i486 i586 i686 imaginary "
    "interface kill_dependency linux m68k math_errhandling mips near noreturn ns32000 offsetof "
    "pascal pdp11 pixel setjmp sgi small sparc stderr stdin stdout sun u3b unix unreachable vax "
    "vector "
)
"""Names with small letters that C, C++ or their headers have taken."""


def name_fields(names: Iterable[str], prefix: str) -> list[str]:
    """Return C identifiers like the names of the features, all different.

    Other characters than ASCII letters and digits become underscores. A name begins with "x_" if it
    would begin with a digit, is a keyword, or has no small letter: such names are those of macros,
    which mean something else in any place of a file. `prefix` is that of the file's own names.
    """
    taken = {f"{prefix}_ROW", f"{prefix}_DECLARATIONS"}
    result: list[str] = []
    for name in names:
        field = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "feature"
        if field[0].isdigit() or f" {field} " in _KEYWORDS or field == field.upper():
            field = f"x_{field}"
        plain, n = field, 2
        while field in taken:
            field, n = f"{plain}_{n}", n + 1
        result.append(field)
        taken.add(field)
    return result


def write_array(array: NDArray[Any], depth: int) -> str:
    """Return an array as an initialiser, with as many inner braces as `depth`."""
    if array.size == 0:
        return "{" * (depth + 1) + "0" + "}" * (depth + 1)
    if depth == 0:
        return join_items(_numbers(array.ravel()))
    rows = array.reshape(-1, *array.shape[-depth:])
    return join_items([write_array(row, depth - 1) for row in rows])


def _numbers(values: NDArray[Any]) -> list[str]:
    if values.dtype.kind == "i":
        return [str(value) for value in values.tolist()]
    if values.dtype == np.float32:
        return [f"{one}f" if np.isfinite(one) else write_double(float(one)) for one in values]
    return [write_double(value) for value in values.tolist()]


def write_structs(columns: Iterable[NDArray[Any]]) -> list[str]:
    """Return structures as initialisers, from an array for each member."""
    return ["{" + ",".join(row) + "}" for row in zip(*map(_numbers, columns), strict=True)]


def write_double(value: float) -> str:
    """The shortest decimal that is read as the same number."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0.0 else "-INFINITY"
    return repr(float(value))


def join_items(items: list[str]) -> str:
    lines = [",".join(items[i : i + 12]) for i in range(0, len(items), 12)]
    return "{" + ",\n".join(lines) + "}"


def write_string(text: bytes) -> str:
    return '"' + "".join(map(_escape, text)) + '"'


def write_characters(text: bytes) -> str:
    """Return a text as an array of characters, with the zero that ends it."""
    return join_items([f"'{_escape(byte)}'" for byte in (*text, 0)])


def _escape(byte: int) -> str:
    return chr(byte) if 32 <= byte < 127 and chr(byte) not in "\"'\\?" else f"\\{byte:03o}"


def write_comment(text: Any) -> str:
    return re.sub(r"[^ -~]", "?", str(text)).replace("*/", "* /").replace("/*", "/ *")


MAX_GROWTH = 4
"""A table of scores has at most this many cells for each listed score."""
MAX_ANSWERS = 16
"""The contexts of a factor with a table have at most this many answers for each entry."""

_TYPES = {
    **dict.fromkeys(("cell_start", "entry_class", "outcome", "fixed", "answer"), np.int32),
    **dict.fromkeys(("rest", "score"), np.float32),
}


def lay_out_factors(step: Arrays) -> tuple[list[NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return the members of the factors, one array for each, and the arrays that they lead to.

    The scores of a factor are "fixed" ones of a table, with the row that "answer"s for each context
    and class, or else those of entries and cells. An entry has the place where its cells begin, its
    class and what other outcomes have; a factor has one more entry, where the cells of the last one
    end.
    """
    arrays: dict[str, list[NDArray[Any]]] = {name: [] for name in _TYPES}
    sizes = dict.fromkeys(_TYPES, 0)
    is_fixed, cell, entry = [], [], []
    for factor in list_factors(step):
        parts = _tabulate(factor, step.log_prior.shape[1]) or _list_entries(factor)
        is_fixed.append("fixed" in parts)
        cell.append(sizes["fixed" if is_fixed[-1] else "score"])
        entry.append(sizes["answer" if is_fixed[-1] else "rest"])
        for name, part in parts.items():
            arrays[name].append(part)
            sizes[name] += len(part)
    path = np.cumsum(step.n_parents) - step.n_parents
    start = np.cumsum(step.n_contexts + 1) - (step.n_contexts + 1)
    places = (is_fixed, step.rest_towards_parent, path, start, cell, entry)
    members = [np.asarray(one, dtype=np.int32) for one in places]
    joined = {
        name: np.concatenate([np.empty(0, dtype=kind), *arrays[name]]).astype(kind)
        for name, kind in _TYPES.items()
    }
    return [step.column, step.n_outcomes, step.n_parents, *members], joined


def _tabulate(factor: Arrays, n_classes: int) -> dict[str, NDArray[Any]]:
    """Return the scores of all outcomes and entries of a factor in units of `SCORE_UNIT`.

    An outcome that an entry does not list has what its `rest` and the entries above say. C looks
    scores up in the table without a search. {} if it would be too large, or would not be exact.
    """
    n_entries, n_outcomes = len(factor.rest), factor.n_outcomes
    if n_entries * n_outcomes > MAX_GROWTH * max(len(factor.score), n_entries):
        return {}
    if len(factor.value) * n_classes > MAX_ANSWERS * n_entries:
        return {}
    table = np.full((n_entries, n_outcomes), np.nan)
    entries = np.repeat(np.arange(n_entries), np.diff(factor.cell_start))
    table[entries, factor.outcome] = factor.score
    above, _, nearest = trace_entries(factor, n_classes)
    for entry in np.flatnonzero(np.isnan(table).any(axis=1)).tolist():
        is_open = np.isnan(table[entry])
        table[entry, is_open] = factor.rest[entry]
        if entry > 0 and factor.rest_towards_parent:
            table[entry, is_open] += table[above[entry], is_open]
    units = table.ravel() / SCORE_UNIT
    is_small = np.isfinite(units).all() and np.abs(units).max() < 2**31 - 1
    if not is_small or (units != np.round(units)).any():
        return {}
    return {"fixed": units, "answer": nearest.ravel() * n_outcomes}


def _list_entries(factor: Arrays) -> dict[str, NDArray[Any]]:
    return {
        "cell_start": factor.cell_start,
        "entry_class": np.append(factor.entry_class, 0),
        "rest": np.append(factor.rest, 0.0),
        "outcome": factor.outcome,
        "score": factor.score,
    }


def rank_trees(trees: Arrays) -> Arrays:
    """Return the same trees with the rank of each node's threshold among those of its feature.

    Thresholds of `features` ascend, `n_thresholds` of each. The rank of a number is how many of
    them are below it. The `source` of a node is its feature's place times `N_WAYS` plus its way,
    all times two, plus one if ranks must be equal. The roots of all trees come first. The `child`
    of a node is the first of its two children, which are beside each other; that of a leaf is
    ~row.
    """
    features, place = np.unique(trees.feature, return_inverse=True)
    tables = [np.unique(trees.threshold[place == i]) for i in range(len(features))]
    rank = np.zeros(len(place) + 1, dtype=np.int32)
    for i, table in enumerate(tables):
        rank[:-1][place == i] = np.searchsorted(table, trees.threshold[place == i])
    source = np.append(2 * (N_WAYS * place + trees.way) + (trees.way == EQUAL), 0)
    order, pair = _order_nodes(trees)
    # The last place, which leaves have too, is of a node that compares nothing.
    node = np.maximum(order, -1)
    return Arrays(
        features=whole(features),
        n_thresholds=whole([len(table) for table in tables]),
        thresholds=np.concatenate([np.zeros(0), *tables]),
        rank=rank[node],
        source=whole(source[node]),
        child=whole(np.where(order < 0, order, pair[node])),
    )


def _order_nodes(trees: Arrays) -> tuple[Ints, Ints]:
    """Return the nodes and leaves in their new order, and where the children of each node begin.

    It is that of a walk that takes the child with more nodes first, so that children are often in
    the memory beside their parents.
    """
    below, above = trees.below.tolist(), trees.above.tolist()
    # Children come after their parents. The last size, zero, is that of leaves.
    sizes = [0] * (len(below) + 1)
    for node in reversed(range(len(below))):
        sizes[node] = 1 + sizes[max(below[node], -1)] + sizes[max(above[node], -1)]
    order = trees.root.tolist()
    pair = [-1] * (len(below) + 1)
    for root in trees.root.tolist():
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node >= 0:
                pair[node] = len(order)
                children = [below[node], above[node]]
                order += children
                waiting += sorted(children, key=lambda child: sizes[max(child, -1)])
    return whole(order), whole(pair)
