"""Rows and values of a table as pages show them."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.texts import SEVERAL, count
from priorwise.data.encoding.given_rows import arrange_rows, open_rows
from priorwise.data.tables import RawTable
from priorwise.data.tables.dates import show_date
from priorwise.data.tables.dict_rows import DictRows
from priorwise.report.svg import show_number

MAX_NUMBERS = 200
"""Numbers with more distinct values are shown by this many of their quantiles."""


@dataclass(frozen=True, eq=False)
class FeatureValues:
    """A feature: its `values` for people to choose from, and the `cells` of some rows.

    A feature that `is_text` has no values to choose from, and its cells are texts, None if missing.

    Values are ascending numbers, or labels. Their `share` is, of a number, the share of rows up to
    it (half of those that have it included) and of a label its share of the rows; None without
    rows. Cells are numbers, NaN if missing, or places among the labels, -1 for labels that training
    did not have and -2 if missing.
    """

    name: str
    is_label: bool
    is_date: bool
    values: list[Any]
    share: NDArray[np.float64] | None
    cells: NDArray[Any]
    is_text: bool = False

    @property
    def middle(self) -> Any:
        """The value in the middle of the range, or the first label; None without values."""
        return self.values[0 if self.is_label else len(self.values) // 2] if self.values else None

    def find_distances(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return how far the values of some rows are from the middle of all, from 0 to 1.

        That is by how much a number's rank is from the median's, or a label is less common than the
        commonest one; missing and unseen values are at 1, and all texts at 0.
        """
        cells, distances = self.cells[rows], np.ones(len(rows))
        if self.is_text:
            return np.array([float(not (cell and cell.strip())) for cell in cells.tolist()])
        known = cells >= 0 if self.is_label else ~np.isnan(cells)
        if self.share is not None and self.is_label:
            distances[known] = 1.0 - self.share[cells[known]] / self.share.max(initial=0.0)
        elif self.share is not None:
            ranks = np.interp(cells[known], self.values, self.share)
            distances[known] = np.abs(2.0 * ranks - 1.0)
        return distances

    def show(self, value: Any) -> str:
        """Return one of the values as text."""
        if self.is_label:
            return str(value)
        return show_date(value)[:10] if self.is_date else show_number(float(value))


def plain_label(label: Any) -> Any:
    """Return a label as JSON can hold it."""
    if isinstance(label, bool | np.bool_):
        return bool(label)
    if isinstance(label, np.integer | np.floating):
        return label.item()
    return label if isinstance(label, str | int | float) else str(label)


def read_values(model: Any, X: Any = None) -> list[FeatureValues]:
    """Return the features of a fitted classifier with their values in X, or in training if None."""
    encoder, schema = model.encoder_, model.encoder_.describe_features()
    columns: list[Any] = [None] * len(schema)
    if X is not None:
        with warnings.catch_warnings():
            # The report says which values training did not have.
            warnings.filterwarnings("ignore", message=".*never seen in training")
            columns = encoder.read(X, model).in_feature_order()
    result = []
    for feature, (name, column) in enumerate(zip(model.feature_labels_, columns, strict=True)):
        if schema[feature].kind == "nominal":
            unknown = -2 if encoder.joins_unseen(feature) else -1
            result.append(_read_labels(name, encoder.value_labels(feature), column, unknown))
        elif schema[feature].kind == "ordered":
            labels = [*encoder.value_labels(feature), None]
            places = None if column is None else _find_ranks(column, len(labels) - 1)
            result.append(_read_labels(name, labels, places))
        else:
            result.append(_read_numbers(name, schema[feature], column))
    return result


def read_texts(name: str, i: int, X: Any = None) -> FeatureValues:
    """Return a column of texts as people type them, with those of X if it is given."""
    cells: list[Any] = []
    if X is not None:
        column = RawTable(X).nominal(i)
        cells = [None if code < 0 else str(column.labels[code]) for code in column.codes.tolist()]
    return FeatureValues(name, False, False, [], None, np.array(cells, dtype=object), True)


def _find_ranks(ranks: NDArray[np.float64], missing: int) -> NDArray[np.intp]:
    """Return the place of the label of each rank.

    Labels without a rank are read as missing, and missing ones as NaN or the mean rank of training.
    """
    return np.where(ranks == np.rint(ranks), ranks, missing).astype(np.intp)


def _read_labels(name: str, all_labels: list[Any], codes: Any, unknown: int = -1) -> FeatureValues:
    """Return the values of a feature with labels; `unknown` is the cell of the code -1."""
    known = [place for place, label in enumerate(all_labels) if label is not None]
    labels = [plain_label(all_labels[place]) for place in known]
    if codes is None:
        return FeatureValues(name, True, False, labels, None, np.zeros(0))
    # The last place is that of code -1.
    place = np.full(len(all_labels) + 1, -2)
    place[known], place[-1] = np.arange(len(known)), unknown
    cells = place[codes]
    share = np.bincount(cells[cells >= 0], minlength=len(labels)) / len(cells)
    return FeatureValues(name, True, False, labels, share, cells)


def _read_numbers(name: str, schema: Any, numbers: Any) -> FeatureValues:
    is_date = schema.kind == "date" or schema.dtype.startswith("Date")
    if numbers is None:
        low, high = schema.least or 0.0, schema.largest or 0.0
        values = np.unique(np.linspace(low, high, 101))
        if "int" in schema.dtype.lower():
            values = np.unique(values.round())
        return FeatureValues(name, False, is_date, values.tolist(), None, np.zeros(0))
    known = np.sort(numbers[~np.isnan(numbers)])
    if not len(known):
        return FeatureValues(name, False, is_date, [0.0], np.array([0.5]), numbers)
    values = np.unique(known)
    if len(values) > MAX_NUMBERS:
        places = np.linspace(0, len(known) - 1, MAX_NUMBERS).round().astype(int)
        values = np.unique(known[places])
    below, up_to = (np.searchsorted(known, values, side=side) for side in ("left", "right"))
    share = (below + up_to) / (2.0 * len(known))
    return FeatureValues(name, False, is_date, values.tolist(), share, numbers)


def name_target(model: Any, y: Any = None) -> str:
    """Return the name of what is predicted: of the column of y, or as the model knows it."""
    name = getattr(y, "name", None)
    name = getattr(model, "target_name_", None) if name is None else name
    return "the class" if name is None else f"\u201c{name}\u201d"


def name_rows(X: Any, keys: Any, n_rows: int) -> tuple[list[str], str, str]:
    """Return what rows are called, what these names are, and a sentence on it."""
    index = getattr(X, "index", None)
    if keys is not None:
        if len(keys) != n_rows:
            raise ValueError(f"keys must name each of the {n_rows} rows of X, got {len(keys)} keys")
        names, head = [str(key) for key in list(keys)], getattr(keys, "name", None)
    elif index is not None and not callable(index):
        names, head = [str(key) for key in index.tolist()], index.name
    else:
        return [f"{row:,}" for row in range(n_rows)], "row", "Rows count from 0."
    if head is None:
        return names, "row", "Rows have the names of the table's index." if keys is None else ""
    return names, str(head), ""


def find_classes(labels: NDArray[Any], y: Any, n_rows: int) -> NDArray[np.intp]:
    """Return the place of each class label among those of a model, -1 if it has none."""
    given = np.asarray(y)
    if given.shape != (n_rows,):
        raise ValueError(f"y must have the shape ({n_rows},), as X has rows, got {given.shape}")
    place = {label: k for k, label in enumerate(labels.tolist())}
    codes = np.array([place.get(label, -1) for label in given.tolist()], dtype=np.intp)
    if n_rows and codes.max() < 0:
        other = given.tolist()[0]
        raise ValueError(f"y must hold classes of the model, {list(place)}, got {other!r}")
    return codes


def describe_unknown(y: Any, codes: NDArray[np.intp]) -> str:
    """Return how many rows have classes that training did not have, and which; empty if none.

    >>> describe_unknown(["a", "b", "b", "c"], np.array([0, -1, -1, -1]))
    "3 rows of classes that training did not have are left out: 'b' (2), 'c' (1)"
    """
    unknown = Counter(np.asarray(y)[codes < 0].tolist()).most_common()
    if not unknown:
        return ""
    shown = ", ".join(f"{label!r} ({n_rows:,})" for label, n_rows in unknown[:SEVERAL])
    more = f" and {len(unknown) - SEVERAL:,} more" if len(unknown) > SEVERAL else ""
    n_rows = int((codes < 0).sum())
    of = "of a class" if len(unknown) == 1 else "of classes"
    be = "is" if n_rows == 1 else "are"
    return f"{count(n_rows, 'row')} {of} that training did not have {be} left out: {shown}{more}"


def as_table(model: Any, X: Any) -> Any:
    """Return rows with the columns of training alone; dicts as a frame."""
    X = open_rows(model.encoder_, arrange_rows(model.encoder_, X, model), model)[1]
    return X.to_frame() if isinstance(X, DictRows) else X


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return some rows of a frame, an array or a list of rows."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows.tolist()].to_native()
    return X[rows] if isinstance(X, np.ndarray) else [X[i] for i in rows]
