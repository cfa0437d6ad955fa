"""Fitted encoders and labels as fields of a file."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.stored.checks import check_numbers, is_array, require
from priorwise.common.stored.values import StateType
from priorwise.data.encoding.encoder import TableEncoder
from priorwise.data.tables.categories import Categories
from priorwise.data.tables.dates import FORMS, PARTS
from priorwise.data.tables.label_keys import USUAL_MARKS, mark_keys
from priorwise.data.tables.parts import Part, parts_of
from priorwise.data.tables.texts import TEXT, WordScores


def _store_marks(marks: frozenset[Hashable]) -> list[Hashable] | None:
    if marks == USUAL_MARKS:
        return None
    # The key of a boolean is a pair.
    return [key[1] if isinstance(key, tuple) else key for key in sorted(marks, key=repr)]


def _restore_marks(stored: Any) -> frozenset[Hashable]:
    require(stored is None or isinstance(stored, list), "marks of missing values must be a list")
    return USUAL_MARKS if stored is None else mark_keys(stored)


def _store_categories(categories: Categories) -> list[Any]:
    counts, marks = np.array(categories.counts), _store_marks(categories.marks)
    declared = np.array(categories.declared)
    replacement = categories.mode_code if categories.replacement else -1
    kept = [categories.labels, counts, marks, categories.left_out, categories.has_other]
    return [*kept, declared if declared.any() else None, replacement]


def _restore_categories(stored: Any) -> Categories:
    labels, counts, marks, left_out, *more = stored
    usual: list[Any] = [False, None, -1]
    has_other, declared, replacement = more + usual[len(more) :]  # old files have fewer
    require(isinstance(labels, list), "labels must be a list")
    check_numbers("weights of labels", counts, len(labels), least=0.0)
    categories = Categories.of(labels, counts.tolist(), _restore_marks(marks))
    require(isinstance(left_out, float) and left_out >= 0.0, "weights must not be negative")
    require(type(has_other) is bool, "labels of few rows are joined or not")
    categories.left_out, categories.has_other = left_out, has_other
    if declared is not None:
        check_numbers("weights of declared labels", declared, len(labels), least=0.0)
        categories.declared = declared.tolist()
    is_place = type(replacement) is int and -1 <= replacement < len(labels)
    require(is_place, "a label replaces missing ones, or none does")
    categories.replacement = tuple(
        labels[replacement : replacement + 1] if replacement >= 0 else ()
    )
    return categories


def _store_encoder(encoder: TableEncoder) -> dict[str, Any]:
    points = encoder.cut_points_
    return {
        "parameters": encoder.get_params(deep=False),
        "names": getattr(encoder, "feature_names_in_", None),
        "dtypes": encoder.dtypes_,
        "is_nominal": encoder.is_nominal_,
        "categories": encoder.categories_,
        "orders": [[i, order.labels] for i, order in encoder.orders_.items()],
        "dates": [[i, form] for i, form in encoder.forms_.items()],
        "parts": [[i, part] for i, part in encoder.parts_],
        "scores": [[i, one.names, one.words, one.table] for i, one in encoder.scores_.items()],
        "missing_seen": encoder.missing_seen_,
        "means": np.array(encoder.means_ or [0.0] * len(points)),
        "numbers_seen": np.array(encoder.numbers_seen_).reshape(len(points), 3),
        "n_points": np.array([len(cuts) for cuts in points], dtype=np.int64),
        "points": np.concatenate([np.empty(0), *points]),
    }


def _restore_encoder(stored: Any) -> TableEncoder:
    is_nominal, categories = stored["is_nominal"], stored["categories"]
    require(is_array(is_nominal, np.bool_, None), "columns must be nominal or not")
    n_numeric = len(is_nominal) - int(is_nominal.sum())
    require(
        isinstance(categories, list)
        and len(categories) == len(is_nominal) - n_numeric
        and all(isinstance(labels, Categories) for labels in categories),
        "every nominal column needs labels",
    )
    forms, parts = _restore_forms(stored.get("dates", []), stored.get("parts", []), is_nominal)
    n_columns = len(is_nominal) - len(parts)
    dtypes, names = stored["dtypes"], stored["names"]
    require(
        isinstance(dtypes, list)
        and len(dtypes) == n_columns
        and all(isinstance(dtype, str) for dtype in dtypes),
        "every column needs a type",
    )
    require(names is None or is_array(names, object, n_columns), "every column needs a name")
    parameters = stored["parameters"]
    require(
        isinstance(parameters, dict) and "missing_values" in parameters,
        "parameters must say which values are missing",
    )
    encoder = TableEncoder(**parameters)
    encoder.check_parameters()
    encoder.n_features_in_ = n_columns
    encoder.forms_, encoder.parts_ = forms, parts
    encoder.scores_ = _restore_scores(stored.get("scores", []), encoder)
    if names is not None:
        encoder.feature_names_in_ = names
    encoder.is_nominal_, encoder.categories_, encoder.dtypes_ = is_nominal, categories, dtypes
    encoder.orders_ = _restore_orders(stored["orders"], is_nominal, parameters["missing_values"])
    encoder.cut_points_ = _restore_cut_points(stored, n_numeric)
    encoder.missing_seen_ = stored["missing_seen"]
    require(is_array(encoder.missing_seen_, np.bool_, n_numeric), "missing numbers: seen or not")
    check_numbers("means", stored["means"], n_numeric)
    encoder.means_ = stored["means"].tolist() if encoder.missing == "impute" else []
    seen = stored["numbers_seen"]
    require(is_array(seen, np.float64, n_numeric, 3), "every numeric column needs its range")
    encoder.numbers_seen_ = list(map(tuple, seen.tolist()))
    for known in categories if encoder.missing == "impute" else ():
        if not known.replacement:  # files of old versions have none
            known.decide_replacement()
    encoder.prepare()
    return encoder


def _restore_forms(
    stored: Any, parts: Any, is_nominal: NDArray[np.bool_]
) -> tuple[dict[int, str], list[Part]]:
    """Return the forms of columns of dates and texts and their parts; files of old versions have
    none."""
    for pairs in (stored, parts):
        is_right = isinstance(pairs, list) and all(
            isinstance(one, list) and len(one) == 2 and type(one[0]) is int for one in pairs
        )
        require(is_right, "forms of columns and their parts must be pairs")
    n = len(is_nominal) - len(parts)
    require(n > 0 and not is_nominal[n:].any(), "parts of columns must be numbers")
    require(
        all(0 <= i < n and not is_nominal[i] and form in (*FORMS, TEXT) for i, form in stored),
        "dates and texts must be numeric columns in a known form",
    )
    forms: dict[int, str] = dict(stored)
    for i, part in parts:
        is_known = isinstance(part, str) and part if forms.get(i) == TEXT else part in PARTS
        require(i in forms and bool(is_known), "parts must be those of dates or words")
    return forms, [(i, part) for i, part in parts]


def _restore_scores(stored: Any, encoder: TableEncoder) -> dict[int, WordScores]:
    scores: dict[int, WordScores] = {}
    for one in stored:
        require(isinstance(one, list) and len(one) == 4, "scores of words must be lists of four")
        i, names, words, table = one
        for texts in (names, words):
            are_texts = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
            require(are_texts, "scores must be those of words")
        require(encoder.forms_.get(i) == TEXT, "scores must be those of a column of text")
        own = parts_of(i, encoder.parts_)
        require(bool(names) and own[-len(names) :] == names, "sums must be the last parts")
        require(
            isinstance(table, np.ndarray)
            and table.dtype == np.int32
            and table.ndim == 3
            and table.shape[::2] == (len(names), len(words))
            and table.shape[1] > 0,
            "every sum needs a score of each word",
        )
        scores[i] = WordScores(names, words, table)
    return scores


def _restore_orders(
    stored: Any, is_nominal: NDArray[np.bool_], missing_values: Any
) -> dict[int, Categories]:
    orders: dict[int, Categories] = {}
    require(isinstance(stored, list), "orders must be a list")
    if not stored:
        return orders
    numeric = np.flatnonzero(~is_nominal).tolist()
    for pair in stored:
        require(
            isinstance(pair, list)
            and len(pair) == 2
            and pair[0] in numeric
            and isinstance(pair[1], list),
            "an order needs a numeric column and labels",
        )
        order = orders[pair[0]] = Categories(mark_keys(missing_values))
        order.declare(pair[1])
        require(len(order.labels) == len(pair[1]), "labels must differ")
    return orders


def _restore_cut_points(stored: Any, n_numeric: int) -> list[NDArray[np.float64]]:
    n_points, points = stored["n_points"], stored["points"]
    require(is_array(n_points, np.int64, n_numeric), "every numeric column needs cut points")
    check_numbers("cut points", points, None)
    require(
        bool((n_points >= 0).all())
        and (n_points <= len(points)).all()
        and n_points.sum() == len(points),
        "every cut point must belong to a column",
    )
    ends = np.cumsum(n_points).tolist()
    # Points of a column rise; the first one of another column may be smaller.
    falls = (points[1:] <= points[:-1]).nonzero()[0] + 1
    require(set(falls.tolist()) <= set(ends), "cut points must rise")
    return [points[start:end] for start, end in zip([0, *ends], ends, strict=False)]


STATES = {
    "Categories": StateType(Categories, _store_categories, _restore_categories),
    "TableEncoder": StateType(TableEncoder, _store_encoder, _restore_encoder),
}
