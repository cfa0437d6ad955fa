"""A page that evaluates a model in the browser, and the values of a table as pages show them."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from priorwise.common.files import open_whole
from priorwise.common.texts import count, show_percent
from priorwise.data.columns import Columns
from priorwise.export import javascript_evaluator
from priorwise.export.json_file import describe_model
from priorwise.steps.intervals import CONTINUITY, LEAST_OPEN, find_deviations

MAX_NUMBERS = 200
"""Numbers with more distinct values are shown by this many of their quantiles."""


@dataclass(frozen=True, eq=False)
class FeatureValues:
    """A feature: its `values` for people to choose from, and the `cells` of some rows.

    Values are ascending numbers, or labels. Their `share` is, of a number, the share of rows up to
    it (half of those that have it included) and of a label its share of the rows; None without
    rows. Cells are numbers, NaN if missing, or places among the labels, -1 for labels that training
    did not have and -2 if missing. `typical` is the median or the commonest label.
    """

    name: str
    is_label: bool
    is_date: bool
    values: list[Any]
    share: NDArray[np.float64] | None
    cells: NDArray[Any]
    typical: Any


def plain_label(label: Any) -> Any:
    """Return a label as JSON can hold it."""
    if isinstance(label, bool | np.bool_):
        return bool(label)
    if isinstance(label, np.integer | np.floating):
        return label.item()
    return label if isinstance(label, str | int | float) else str(label)


def read_values(model: Any, X: Any = None) -> list[FeatureValues]:
    """Return the features of a fitted classifier with their values in X, or in training if None."""
    encoder, schema = model.encoder_, model.feature_schema_
    columns: list[Any] = [None] * len(schema)
    if X is not None:
        with warnings.catch_warnings():
            # The report says which values training did not have.
            warnings.filterwarnings("ignore", message=".*never seen in training")
            columns = encoder.read(X, model).in_feature_order()
    result = []
    for feature, (name, column) in enumerate(zip(model.feature_labels_, columns, strict=True)):
        if schema[feature].kind == "nominal":
            result.append(_read_labels(name, encoder.value_labels(feature), column))
        elif schema[feature].kind == "ordered":
            labels = [*encoder.value_labels(feature), None]
            places = None if column is None else _find_ranks(column, len(labels) - 1)
            result.append(_read_labels(name, labels, places))
        else:
            result.append(_read_numbers(name, schema[feature], column))
    return result


def _find_ranks(ranks: NDArray[np.float64], missing: int) -> NDArray[np.intp]:
    """Return the place of the label of each rank.

    Labels without a rank are read as missing, and missing ones as NaN or the mean rank of training.
    """
    return np.where(ranks == np.rint(ranks), ranks, missing).astype(np.intp)


def _read_labels(name: str, all_labels: list[Any], codes: Any) -> FeatureValues:
    known = [place for place, label in enumerate(all_labels) if label is not None]
    labels = [plain_label(all_labels[place]) for place in known]
    if codes is None:
        first = labels[0] if labels else None
        return FeatureValues(name, True, False, labels, None, np.zeros(0), first)
    # The last place is that of code -1.
    place = np.full(len(all_labels) + 1, -2)
    place[known], place[-1] = np.arange(len(known)), -1
    cells = place[codes]
    share = np.bincount(cells[cells >= 0], minlength=len(labels)) / len(cells)
    typical = labels[int(share.argmax())] if len(labels) else None
    return FeatureValues(name, True, False, labels, share, cells, typical)


def _read_numbers(name: str, schema: Any, numbers: Any) -> FeatureValues:
    is_date = schema.dtype.startswith("Date")
    if numbers is None:
        low, high = schema.least or 0.0, schema.largest or 0.0
        values = np.unique(np.linspace(low, high, 101))
        if "int" in schema.dtype.lower():
            values = np.unique(values.round())
        typical = float(values[len(values) // 2])
        return FeatureValues(name, False, is_date, values.tolist(), None, np.zeros(0), typical)
    known = np.sort(numbers[~np.isnan(numbers)])
    if not len(known):
        return FeatureValues(name, False, is_date, [0.0], np.array([0.5]), numbers, None)
    values = np.unique(known)
    if len(values) > MAX_NUMBERS:
        places = np.linspace(0, len(known) - 1, MAX_NUMBERS).round().astype(int)
        values = np.unique(known[places])
    below, up_to = (np.searchsorted(known, values, side=side) for side in ("left", "right"))
    share = (below + up_to) / (2.0 * len(known))
    typical = float(known[len(known) // 2])
    return FeatureValues(name, False, is_date, values.tolist(), share, numbers, typical)


MAX_ROWS, MAX_CELLS = 500, 60_000
"""Largest number of rows that the page holds to start from, and of values in them."""

ANSWER, SCRIPTS = ("state.js", "answer.js"), ("features.js", "changes.js", "explorer.js")
"""Parts of the page's script, which share one scope: before and after the answer is drawn."""

MAX_BARS = 8
"""Classes whose bars the page shows at first, as in answer.js."""

MAX_EXPLAINED = 300
"""Rows whose contributions decide the order of the features."""


def write_explorer(model: Any, path: str | os.PathLike[str], X: Any = None, y: Any = None) -> None:
    """Write the page of a fitted classifier; the method `explorer` describes it."""
    check_is_fitted(model)
    features = read_values(model, X)
    rows = _choose_rows(features)
    order = _order_features(model, X, rows)
    n_rows = len(features[0].cells)
    if y is not None and X is None:
        raise ValueError("y must be given with X, got y without X")
    classes = None if y is None else find_classes(model.classes_, y, n_rows)
    description = describe_model(model, inner_rows=True, plain_records=False)
    inner = list(_take_inner(description["model"]))
    labels = [str(label) for label in description["classes"]]
    data = {
        "classes": labels,
        "features": [_describe(features[i], model.feature_schema_[i], i) for i in order],
        "rows": {
            "numbers": rows.tolist(),
            "columns": [_list_cells(features[i], rows) for i in order],
            **_rank_rows(model, X, rows, None if classes is None else classes[rows]),
        },
    }
    n_classes = len(labels)
    page = Template(read_asset("explorer.html")).substitute(
        title=escape(f"Explore a {type(model).__name__}"),
        summary=f"{count(len(features), 'feature')}, {n_classes} classes.",
        order=(
            "The features that matter most come first. "
            if X is not None and len(features) > 1
            else ""
        )
        + "Sliders go through the values of the data; any number can be typed beside them.",
        unit=(
            "Sizes are changes of the log-odds: +0.69 doubles the odds of the class"
            + (", against the other one." if n_classes == 2 else ", against the mean of all.")
        ),
        style=read_asset("page.css") + read_asset("explorer.css"),
        bars=_draw_bars(labels, _predict_typical(model, features)),
        page=embed_json(data),
        evaluator=javascript_evaluator() + read_asset("explainer.js") + read_asset("intervals.js"),
        answer="\n".join(map(read_asset, ANSWER)),
        script="\n".join(map(read_asset, SCRIPTS)),
        model=embed_json(description),
        later=embed_json({"inner": inner, "spread": describe_spread(model)}),
    )
    with open_whole(path, "the page") as file:
        file.write(page.encode())


def _take_inner(description: Any) -> Iterator[Any]:
    """Take the rows of inner nodes out of trees, in the order of `listTrees`; None for none.

    The first answer does not need them, so the page has them behind it.
    """
    if isinstance(description, dict) and description.get("kind") == "Trees":
        yield description.pop("inner", None)
    elif isinstance(description, dict | list):
        for part in description.values() if isinstance(description, dict) else description:
            yield from _take_inner(part)


def read_asset(name: str) -> str:
    """Return the text of a file of this package."""
    return files("priorwise.report").joinpath("assets", name).read_text(encoding="utf-8")


def embed_json(value: Any) -> str:
    """Return JSON that may stand in an element of a page."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def find_classes(labels: NDArray[Any], y: Any, n_rows: int) -> NDArray[np.intp]:
    """Return the place of each class label among those of a model."""
    given = np.asarray(y)
    if given.shape != (n_rows,):
        raise ValueError(f"y must have the shape ({n_rows},), as X has rows, got {given.shape}")
    place = {label: k for k, label in enumerate(labels.tolist())}
    unknown = [label for label in given.tolist() if label not in place]
    if unknown:
        raise ValueError(f"y must hold classes of the model, {list(place)}, got {unknown[0]!r}")
    return np.array([place[label] for label in given.tolist()], dtype=np.intp)


def _choose_rows(features: list[FeatureValues]) -> NDArray[np.intp]:
    """Return the places of rows for the page, evenly spread over the table."""
    n_rows = len(features[0].cells)
    most = max(1, min(MAX_ROWS, MAX_CELLS // len(features)))
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).round().astype(np.intp))


def _rank_rows(
    model: Any, X: Any, rows: NDArray[np.intp], classes: NDArray[np.intp] | None
) -> dict[str, Any]:
    """Return the places of the rows from the least certain one, and of wrong ones if known."""
    if X is None:
        return {"unsure": [], "classes": None, "wrong": None}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*never seen in training")
        proba = model.predict_proba(take_rows(X, rows))
    unsure = np.argsort(proba.max(axis=1), kind="stable").tolist()
    if classes is None:
        return {"unsure": unsure, "classes": None, "wrong": None}
    worst = np.argsort(proba[np.arange(len(classes)), classes], kind="stable")
    wrong = worst[proba.argmax(axis=1)[worst] != classes[worst]].tolist()
    return {"unsure": unsure, "classes": classes.tolist(), "wrong": wrong}


def _predict_typical(model: Any, features: list[FeatureValues]) -> NDArray[np.float64]:
    """Return the probabilities of the row of typical values, with which the page begins."""
    codes: list[int] = []
    numbers: list[float] = []
    for place, feature in enumerate(features):
        if feature.is_label:
            labels = model.encoder_.value_labels(place)
            known = [label if label is None else plain_label(label) for label in labels]
            code = known.index(feature.typical) if feature.typical in known else -1
            if model.encoder_.is_nominal_[place]:
                codes.append(code)
            else:
                numbers.append(np.nan if code < 0 else code)
        else:
            numbers.append(np.nan if feature.typical is None else feature.typical)
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
    if len(proba) > MAX_BARS:
        order[np.argsort(-proba, kind="stable")] = np.arange(len(proba))
    best = int(proba.argmax())
    return "".join(
        f'<div class="bar{" top" if k == best else ""}" data-probability="{float(p)!r}" '
        f'style="order:{place}{";display:none" if place >= MAX_BARS else ""}">'
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
    explanation = model.explain(take_rows(X, rows[:: 1 + len(rows) // MAX_EXPLAINED]))
    size = np.abs(explanation.contributions).mean(axis=(0, 2))
    return np.argsort(-size, kind="stable").tolist()


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a frame, an array or a list of rows."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist()].to_native()
    return X[rows] if isinstance(X, np.ndarray) else [X[i] for i in rows]


def _describe(feature: FeatureValues, schema: Any, place: int) -> dict[str, Any]:
    return {
        "name": feature.name,
        "place": place,
        "is_label": feature.is_label,
        "is_date": feature.is_date,
        "values": feature.values,
        "share": None if feature.share is None else [float(f"{s:.5g}") for s in feature.share],
        "typical": feature.typical,
        "may_be_missing": schema.missing_share > 0.0,
    }


def _list_cells(feature: FeatureValues, rows: NDArray[np.intp]) -> list[Any]:
    cells = feature.cells[rows]
    missing = cells == -2 if feature.is_label else np.isnan(cells)
    return [None if gone else cell for cell, gone in zip(cells.tolist(), missing, strict=True)]


LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Levels of intervals that a page offers; the third is shown at first."""


def describe_spread(model: Any) -> dict[str, Any]:
    """Return levels, and the calibration of a fitted classifier, for a page."""
    calibration = model.find_calibration()
    return {
        "levels": [
            {"level": level, "deviations": find_deviations(level)} for level in LEVELS
        ],
        "calibration": {
            "error": calibration.error,
            "root": calibration.root,
            "least_open": LEAST_OPEN,
            "continuity": CONTINUITY,
        },
    }  # fmt: skip
