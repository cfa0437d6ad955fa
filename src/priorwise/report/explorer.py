"""A page that evaluates a model in the browser."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from html import escape
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.files import open_whole
from priorwise.common.texts import SEVERAL, count, show_percent
from priorwise.common.validation import check_number, name_near, take_target
from priorwise.data.columns import Columns
from priorwise.data.tables.dates import take_part
from priorwise.data.tables.parts import parts_of
from priorwise.data.tables.texts import TEXT
from priorwise.export import javascript_evaluator
from priorwise.export.json_file import describe_model
from priorwise.report.html import embed_json, read_asset
from priorwise.report.values import (
    FeatureValues,
    as_table,
    find_classes,
    name_rows,
    name_target,
    plain_label,
    read_texts,
    read_values,
    take_rows,
)
from priorwise.steps.intervals import CONTINUITY, LEAST_OPEN

MAX_ROWS, MAX_CELLS = 500, 60_000
"""Largest number of rows that the page holds to start from, and of values in them."""

ANSWER, SCRIPTS = (
    ("numbers.js", "state.js", "answer.js"),
    ("features.js", "changes.js", "explorer.js"),
)
"""Parts of the page's script, which share one scope: before and after the answer is drawn."""


def write_explorer(
    model: Any,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    fixed: Sequence[str | int] = (),
    keys: Any = None,
    max_rows: int = MAX_ROWS,
) -> None:
    """Write the page of a fitted classifier; the method `explorer` describes it."""
    check_is_fitted(model)
    check_number("max_rows", max_rows, least=0, most=MAX_ROWS, whole=True)
    if max_rows == 0:
        X = y = keys = None  # the values of the sliders are those of the rows
    if X is not None:
        X, y = take_target(X, y)
        X = as_table(model, X)
    is_fixed = _find_fixed(model.feature_labels_, fixed)
    forms = model.encoder_.forms_
    features = [
        read_texts(feature.name, i, X) if forms.get(i) == TEXT else feature
        for i, feature in enumerate(read_values(model, X)[: model.n_features_in_])
    ]
    parts = list_parts(model.encoder_)
    rows = _choose_rows(features, max_rows)
    order = _order_features(model, X, rows)
    n_rows = len(features[0].cells)
    if y is not None and X is None:
        raise ValueError("y must be given with X, got y without X")
    names, _, note = name_rows(X, keys, n_rows)
    classes = None if y is None else find_classes(model.classes_, y, n_rows)
    if classes is not None and classes.min() < 0:
        other = np.asarray(y).tolist()[int(classes.argmin())]
        raise ValueError(
            f"y must hold classes of the model, {model.classes_.tolist()}, got {other!r}"
        )
    description = describe_model(model, inner_rows=True, plain_records=False)
    inner = list(_take_inner(description["model"]))
    labels = [str(label) for label in description["classes"]]
    shares = np.asarray(model.class_count_) / np.sum(model.class_count_)
    proba = None if X is None else _predict_rows(model, X, rows)
    typical = -1 if proba is None else _find_typical(features, rows, proba, shares)
    data = {
        "classes": labels,
        "n_bars": SEVERAL,
        "shares": shares.tolist(),
        "features": [
            {
                **_describe(features[i], model.feature_schema_[i], parts[i]),
                "is_fixed": i in is_fixed,
                "words": parts_of(i, model.encoder_.parts_) if features[i].is_text else [],
            }
            for i in order
        ],
        "rows": {
            "names": [names[row] for row in rows.tolist()],
            "note": note,
            "columns": [_list_cells(features[i], rows) for i in order],
            "typical": typical,
            **_rank_rows(proba, None if classes is None else classes[rows]),
        },
    }
    n_classes = len(labels)
    page = Template(read_asset("explorer.html")).substitute(
        title=escape(f"Explore predictions of {name_target(model, y)}"),
        summary=f"{type(model).__name__}, {count(len(features), 'feature')}, {n_classes} classes.",
        order=(
            "The features that matter most come first. "
            if X is not None and len(features) > 1
            else ""
        )
        + "Sliders go through the values of the data; any number can be typed beside them.",
        unit=(
            "Log-odds are log p / (1 - p), in the scale above: +0.69 doubles the odds."
            if n_classes == 2
            else "Log-odds are against the mean of the other classes: +0.69 doubles the odds."
        ),
        style=read_asset("page.css") + read_asset("explorer.css"),
        bars=_draw_bars(
            labels, _predict_middle(model, features) if proba is None else proba[typical]
        ),
        page=embed_json(data),
        evaluator=javascript_evaluator() + read_asset("explainer.js") + read_asset("intervals.js"),
        answer="\n".join(map(read_asset, ANSWER)),
        script="\n".join(map(read_asset, SCRIPTS)),
        model=embed_json(description),
        later=embed_json({"inner": inner, "spread": describe_spread(model)}),
    )
    with open_whole(path, "the page") as file:
        file.write(page.encode())


def _find_fixed(names: Sequence[str], fixed: Sequence[str | int]) -> set[int]:
    """Return the places of the features that cannot be changed."""
    if isinstance(fixed, str):
        raise ValueError(f"fixed must be a list of features, got the text {fixed!r}")
    places = set()
    for one in fixed:
        if one in names:
            places.add(list(names).index(str(one)))
        elif isinstance(one, int) and 0 <= one < len(names):
            places.add(one)
        else:
            near = name_near(str(one), list(names))
            raise ValueError(f"fixed must hold names or places of features, got {one!r}{near}")
    return places


def _take_inner(description: Any) -> Iterator[Any]:
    """Take the rows of inner nodes out of trees, in the order of `listTrees`; None for none.

    The first answer does not need them, so the page has them behind it.
    """
    if isinstance(description, dict) and description.get("kind") == "Trees":
        yield description.pop("inner", None)
    elif isinstance(description, dict | list):
        for part in description.values() if isinstance(description, dict) else description:
            yield from _take_inner(part)


def _choose_rows(features: list[FeatureValues], max_rows: int) -> NDArray[np.intp]:
    """Return the places of rows for the page, evenly spread over the table."""
    n_rows = len(features[0].cells)
    most = max(1, min(max_rows, MAX_CELLS // len(features)))
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).round().astype(np.intp))


def _predict_rows(model: Any, X: Any, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the probabilities of the rows of the page."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*never seen in training")
        return np.asarray(model.predict_proba(take_rows(X, rows)))


def _find_typical(
    features: list[FeatureValues],
    rows: NDArray[np.intp],
    proba: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> int:
    """Return the place of the row that the page begins with.

    Of the quarter of the rows with the fewest missing values, and of equally many with the
    commonest values, it is the one whose probabilities are nearest to the shares of the classes.
    """
    distances = np.array([feature.find_distances(rows) for feature in features])
    order = np.lexsort([distances.mean(axis=0), (distances == 1.0).sum(axis=0)])
    common = order[: max(len(rows) // 4, 1)]
    return int(common[np.argmin(np.abs(proba[common] - shares).sum(axis=1))])


def _rank_rows(
    proba: NDArray[np.float64] | None, classes: NDArray[np.intp] | None
) -> dict[str, Any]:
    """Return the places of the rows from the least certain one, and of wrong ones if known."""
    if proba is None:
        return {"unsure": [], "classes": None, "wrong": None}
    unsure = np.argsort(proba.max(axis=1), kind="stable").tolist()
    if classes is None:
        return {"unsure": unsure, "classes": None, "wrong": None}
    worst = np.argsort(proba[np.arange(len(classes)), classes], kind="stable")
    wrong = worst[proba.argmax(axis=1)[worst] != classes[worst]].tolist()
    return {"unsure": unsure, "classes": classes.tolist(), "wrong": wrong}


def _predict_middle(model: Any, features: list[FeatureValues]) -> NDArray[np.float64]:
    """Return the probabilities of the middle of all features, where a page without rows begins."""
    codes: list[int] = []
    numbers: list[float] = []
    encoder = model.encoder_
    for place, feature in enumerate(features):
        if feature.is_label:
            labels = model.encoder_.value_labels(place)
            known = [label if label is None else plain_label(label) for label in labels]
            code = known.index(feature.middle) if feature.middle in known else -1
            if model.encoder_.is_nominal_[place]:
                codes.append(code)
            else:
                numbers.append(np.nan if code < 0 else code)
        elif feature.is_text and encoder.means_:
            numbers.append(encoder.means_[len(numbers)])
        else:
            numbers.append(np.nan if feature.middle is None else feature.middle)
    numeric = np.flatnonzero(~encoder.is_nominal_).tolist()
    for column, part in encoder.parts_:
        if features[column].is_text:
            numbers.append(0.0)  # a missing text has no words
        else:
            numbers.append(float(take_part(part, np.array([numbers[numeric.index(column)]]))[0]))
    return model.predict_columns(
        Columns(
            np.array(codes, dtype=np.int32)[:, None],
            np.array(numbers, dtype=float)[:, None],
            model.encoder_.is_nominal_,
        )
    )[0]


def _draw_bars(labels: list[str], proba: NDArray[np.float64]) -> str:
    """Return the bars of the first answer, which the page shows before it has read the model."""
    order = np.arange(len(proba))
    if len(proba) > SEVERAL:
        order[np.argsort(-proba, kind="stable")] = np.arange(len(proba))
    best = int(proba.argmax())
    return "".join(
        f'<div class="bar{" top" if k == best else ""}" data-probability="{float(p)!r}" '
        f'style="order:{place}{";display:none" if place >= SEVERAL else ""}">'
        f'<span>{escape(label)}</span><div class="track">'
        f'<div class="value" style="width:{100 * p:.4g}%"></div><div class="reach"></div>'
        f'<div class="mark" hidden></div></div>'
        f'<span class="number">{escape(show_percent(p))}</span>'
        f'<span class="ends number soft"></span></div>'
        for k, (label, p, place) in enumerate(zip(labels, proba, order.tolist(), strict=True))
    )


def _order_features(model: Any, X: Any, rows: NDArray[np.intp]) -> list[int]:
    """Return the places of the features, those with the largest contributions to rows first."""
    if X is None:
        return list(range(model.n_features_in_))
    explanation = model.explain(take_rows(X, rows))
    parts = list_parts(model.encoder_)
    of_columns = [explanation.contributions[:, places].sum(axis=1) for places in parts]
    size = np.abs(np.stack(of_columns, axis=1)).mean(axis=(0, 2))
    return np.argsort(-size, kind="stable").tolist()


def list_parts(encoder: Any) -> list[list[int]]:
    """Return the places of the features that are read from each column: itself and its parts."""
    places = [[i] for i in range(encoder.n_features_in_)]
    for at, (column, _) in enumerate(encoder.parts_, encoder.n_features_in_):
        places[column].append(at)
    return places


def _describe(feature: FeatureValues, schema: Any, places: list[int]) -> dict[str, Any]:
    return {
        "name": feature.name,
        "places": places,
        "is_label": feature.is_label,
        "is_date": feature.is_date,
        "is_text": feature.is_text,
        "values": feature.values,
        "share": None if feature.share is None else [float(f"{s:.5g}") for s in feature.share],
        "may_be_missing": schema.missing_share > 0.0,
    }


def _list_cells(feature: FeatureValues, rows: NDArray[np.intp]) -> list[Any]:
    cells = feature.cells[rows]
    if feature.is_text:
        return list(cells.tolist())
    missing = cells == -2 if feature.is_label else np.isnan(cells)
    return [None if gone else cell for cell, gone in zip(cells.tolist(), missing, strict=True)]


LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Levels of intervals that a page offers; the third is shown at first."""


def describe_spread(model: Any) -> dict[str, Any]:
    """Return levels, and the calibration of a fitted classifier, for a page."""
    calibration = model.find_calibration()
    return {
        "levels": [
            {"level": level, "deviations": calibration.find_deviations(level)} for level in LEVELS
        ],
        "calibration": {
            "error": calibration.error,
            "root": calibration.root,
            "least_open": LEAST_OPEN,
            "continuity": CONTINUITY,
        },
    }  # fmt: skip
