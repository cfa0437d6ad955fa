"""What the columns of a frame hold, and the one rule for what a column is: numbers or labels."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import DataWarning, warn_user
from priorwise.common.validation import name_near
from priorwise.data.tables.dates import check_forms
from priorwise.data.tables.label_keys import (
    factorise_series,
    is_missing,
    parse_number,
    series_to_numpy,
)

_FAMILIES: dict[Any, str] = {
    nw.Boolean: "boolean",
    nw.Datetime: "date",
    nw.Date: "date",
    nw.Duration: "duration",
    nw.Object: "object",
    nw.Unknown: "unknown",
}


def column_families(frame: Any) -> dict[str, str]:
    """What each column holds: "number", "text", "category", "boolean", "date" or "duration".

    A column of objects is "object", which may be anything; one without a type, because none of its
    values is known, is "unknown".

    >>> import pandas as pd
    >>> column_families(pd.DataFrame({"a": [1.5], "b": ["x"], "c": [True]}))
    {'a': 'number', 'b': 'text', 'c': 'boolean'}
    """
    schema = nw.from_native(frame, eager_only=True).schema
    return {name: _family(dtype) for name, dtype in schema.items()}


def cast_unknown(frame: Any, found: dict[str, str], families: dict[str, str]) -> Any:
    """Give columns without a type the one that they have elsewhere."""
    unknown = [
        name
        for name, family in found.items()
        if family == "unknown" and families.get(name, "unknown") != "unknown"
    ]
    if not unknown:
        return frame
    types: dict[str, Any] = {"number": nw.Float64, "boolean": nw.Boolean, "text": nw.String}
    types |= {"date": nw.Datetime, "duration": nw.Duration, "category": nw.String}
    table = nw.from_native(frame, eager_only=True)
    return table.with_columns(
        **{name: nw.col(name).cast(types[families[name]]) for name in unknown}
    ).to_native()


def read_labels(frame: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A column as an array of labels, and which of them are missing.

    Numbers and booleans keep their type; anything else becomes objects.
    """
    series = nw.from_native(frame, eager_only=True)[name]
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype in (nw.Categorical, nw.Enum):
        # Labels are looked up once each, not once a row.
        column = factorise_series(series)
        return np.array([*column.labels, None], dtype=object)[column.codes], column.codes < 0
    values = np.asarray(series_to_numpy(series))
    if values.dtype.kind == "f":
        missing = missing | np.isnan(values)
    elif values.dtype.kind not in "biuMm":
        values = values.astype(object)
        missing = missing | np.fromiter(map(is_missing, values.tolist()), bool, len(values))
    return values, missing


def drop_column(frame: Any, name: str) -> Any:
    """The frame without one column."""
    return nw.from_native(frame, eager_only=True).drop(name).to_native()


def _family(dtype: Any) -> str:
    # Most frequent first: wide tables are asked for every batch.
    if isinstance(dtype, nw.String):
        return "text"
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        return "category"
    if dtype.is_numeric():
        return "number"
    for kind, family in _FAMILIES.items():
        if isinstance(dtype, kind):
            return family
    return str(dtype)


Kind = Literal["numeric", "nominal", "text", "ordered", "date", "words"]
"""What a column holds; "text" is to be decided by its values."""

READING_PARAMETERS = (
    "categorical_features", "numeric_features", "ordinal_features", "missing_values", "missing",
    "unseen", "declared", "date_features", "text_features", "min_rows_per_label",
)  # fmt: skip
"""Parameters that define how a table is read."""

MAX_SHARE_OF_TEXTS = 0.1
"""Largest share of texts among the known values of a column of numbers with a few texts."""
MAX_SHARE_OF_CODES = 0.01
"""Largest share of texts that look like codes among digits for all of them to be labels."""
_CODE = re.compile(r"(\d+)(?:[A-Za-z]|[-/](?:(\d+)|[A-Za-z]))?")
MAX_NUMERIC_LABELS = 10
"""Most distinct numbers among texts that may be labels, as in "0", "1", "2", "3 or more"."""


@dataclass(frozen=True)
class TextsAndNumbers:
    """The values of a column of texts or objects: which are numbers, and what the column holds.

    `labels` are its distinct values without missing ones, `totals` their rows. With `kind`
    "numbers" all are numbers, with "labels" none is or they are too few. Otherwise a few texts
    stand among numbers: they are codes as the numbers are ("codes", or "few codes" if that is a
    guess), a mistake ("mixed"), or perhaps labels ("doubtful" where there are few distinct numbers,
    "mostly numbers" where there are many).
    """

    labels: Sequence[Hashable]
    totals: NDArray[Any]
    numbers: list[int]  # places of the labels that rows have
    texts: list[int]

    @classmethod
    def part(cls, labels: Sequence[Hashable], totals: NDArray[Any]) -> TextsAndNumbers:
        """Tell the numbers among labels from the texts."""
        numbers, texts = list[int](), list[int]()
        for i in np.flatnonzero(totals > 0).tolist():
            (texts if parse_number(labels[i]) is None else numbers).append(i)
        return cls(labels, totals, numbers, texts)

    @property
    def kind(self) -> str:
        """What the column holds."""
        if not self.numbers or not self.texts:
            return "numbers" if self.numbers else "labels"
        n_numbers, n_texts = self.totals[self.numbers].sum(), self.totals[self.texts].sum()
        share = n_texts / (n_texts + n_numbers)
        many_numbers = len(self.numbers) > MAX_NUMERIC_LABELS
        numbers = [_spell_digits(self.labels[i]) for i in self.numbers]
        texts = [str(self.labels[i]).strip() for i in self.texts]
        with_zeros = [text for text in texts if text.isdecimal() and text[0] == "0"]
        if all(numbers) and (with_zeros or share <= MAX_SHARE_OF_CODES):
            others = [text for text in texts if text not in with_zeros]
            if are_codes(others, numbers):
                return "codes" if with_zeros else "few codes"
        if share <= MAX_SHARE_OF_TEXTS:
            return "mixed" if many_numbers else "doubtful"
        return "mostly numbers" if many_numbers and n_numbers >= n_texts else "labels"


def is_numeric(
    name: str, labels: Sequence[Hashable], totals: NDArray[Any], whole_numbers: list[str]
) -> bool:
    """Decide by the values whether a column of texts or objects holds numbers.

    `labels` are its distinct values without missing ones, `totals` their rows. If all are numbers,
    it does; the names of columns of whole numbers in text, which may be codes, are added to
    `whole_numbers`. Digits are codes if some have leading zeros and no number has a fraction, or if
    a few look like codes with more behind (`are_codes`). A few other texts among many numbers are
    a ValueError, or a warning if the numbers are few enough to be labels. Errors and warnings name
    the column and its commonest texts.

    >>> is_numeric("'a'", ["1.5", "2"], np.array([3, 4]), [])
    True
    """
    values = TextsAndNumbers.part(labels, totals)
    kind = values.kind
    if kind == "numbers":
        if all(isinstance(labels[i], str) and _spell_digits(labels[i]) for i in values.numbers):
            whole_numbers.append(name)
        return True
    texts = name_commonest(labels, totals, values.texts)
    found = f"column {name} holds texts among numbers: {texts}"
    if kind == "mixed":
        raise ValueError(
            f"{found}. List them in missing_values if they mean missing, name the column in "
            "numeric_features to take every text as missing, or in categorical_features to take "
            "every value as a label"
        )
    if kind in ("doubtful", "mostly numbers", "few codes"):
        _warn(
            f"{found}. Every value is taken as a label: name the column in categorical_features "
            "if that is meant, in numeric_features to take every text as missing"
        )
    return False


def _spell_digits(label: Hashable) -> str:
    """Return the digits of a whole number, or of a text of digits; empty for others."""
    if isinstance(label, int | np.integer):
        label = str(label)
    text = label.strip() if isinstance(label, str) else ""
    return text if text.isdecimal() else ""


def are_codes(texts: Sequence[str], numbers: Sequence[str]) -> bool:
    """Return whether a few texts look like codes, as the numbers beside them, which are digits.

    They are digits with a leading zero, or digits with a suffix: a letter, or a letter or a smaller
    number behind a hyphen or a slash (a larger one makes a range). Or they have the same length as
    all numbers, and a digit among their letters.

    >>> zips = ["98146", "10115", "20095"]
    >>> are_codes(["98146-1067"], zips), are_codes(["9814A"], zips), are_codes([">98146"], zips)
    (True, True, False)
    >>> are_codes(["12a", "07"], ["12", "7"]), are_codes(["20-30"], ["20", "41"])
    (True, False)
    """
    width = len(numbers[0]) if len(set(map(len, numbers))) == 1 else 0
    for text in texts:
        match = _CODE.fullmatch(text)
        is_range = match is not None and match[2] is not None and int(match[2]) > int(match[1])
        same_width = len(text) == width and text.isalnum() and any(map(str.isdecimal, text))
        if is_range or not (match or same_width):
            return False
    return True


def warn_of_whole_numbers(names: Sequence[str]) -> None:
    """Warn of columns of whole numbers in text, all at once."""
    if names:
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        _warn(
            f"whole numbers written as text are read as numbers in column {', '.join(names[:5])}"
            f"{more}: name columns in categorical_features if they are codes, in numeric_features "
            "if they are numbers"
        )


def name_commonest(
    labels: Sequence[Hashable], totals: NDArray[Any], places: Sequence[int], n_named: int = 3
) -> str:
    """Return the most frequent of some labels and their rows, for messages.

    >>> name_commonest(["a", "b", "c"], np.array([1, 3, 2]), [0, 1, 2], n_named=2)
    "'b' (3 rows), 'c' (2 rows) and 1 more"
    """
    first = sorted(places, key=lambda i: (-totals[i], repr(labels[i])))[:n_named]
    words = ", ".join(
        f"{str(labels[i])[:40]!r} ({totals[i]:g} row{'s' if totals[i] != 1 else ''})" for i in first
    )
    return words + (f" and {len(places) - n_named} more" if len(places) > n_named else "")


def choose_columns(
    parameter: str, chosen: Any, n_columns: int, feature_names: Sequence[str]
) -> NDArray[np.bool_]:
    """Return which columns a mask, indices or names choose; None and "from_dtype" choose none.

    Of a mapping its keys choose.
    ValueError, which names the parameter, if they do not choose columns of this table.
    """
    mask = np.zeros(n_columns, dtype=bool)
    chosen = list(chosen) if isinstance(chosen, Mapping) else chosen
    if chosen is None or (isinstance(chosen, str) and chosen == "from_dtype"):
        return mask
    choice = np.atleast_1d(np.asarray(chosen))
    if choice.size == 0:
        return mask
    if choice.dtype.kind in "UO" and all(isinstance(name, str) for name in choice.tolist()):
        place = {name: i for i, name in enumerate(feature_names)}
        unknown = [name for name in choice.tolist() if name not in place]
        if unknown:
            near = name_near(unknown[0], list(place))
            raise ValueError(f"{parameter} must name columns of X, got {unknown[0]!r}{near}")
        mask[[place[name] for name in choice.tolist()]] = True
    elif choice.dtype.kind == "b":
        if choice.shape != mask.shape:
            raise ValueError(
                f"{parameter} as a mask must have {n_columns} entries, got {choice.shape}"
            )
        mask |= choice
    elif choice.dtype.kind in "iu":
        if choice.min() < 0 or choice.max() >= n_columns:
            raise ValueError(
                f"{parameter} as indices must lie in 0..{n_columns - 1}, got {choice.tolist()}"
            )
        mask[choice] = True
    else:
        raise ValueError(
            f"{parameter} must be 'from_dtype', a mask, indices or names, got {chosen!r}"
        )
    return mask


def choose_by_name(encoder: Any, feature_names: Sequence[str]) -> list[str]:
    """Return the names of columns whose kind the parameters of an encoder choose."""
    chosen = [
        choose_columns(parameter, getattr(encoder, parameter), len(feature_names), feature_names)
        for parameter in (
            "categorical_features", "numeric_features", "ordinal_features", "date_features",
            "text_features",
        )
    ]  # fmt: skip
    return [feature_names[i] for i in np.flatnonzero(np.any(chosen, axis=0)).tolist()]


def choose_ordered(
    table: Any, encoder: Any, feature_names: Sequence[str], others: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which columns of a `RawTable` are ordered categories, which are read as ranks.

    Those that `ordinal_features` of an encoder chooses, but for columns of numbers, which have an
    order already; and, unless it is None, columns of an ordered type. `others` are columns that
    another parameter chooses.
    """
    chosen, n = encoder.ordinal_features, table.n_columns
    if chosen is None:
        return np.zeros(n, dtype=bool)
    mask = choose_columns("ordinal_features", chosen, n, feature_names)
    if (mask & others).any():
        twice = table.name(int(np.argmax(mask & others)))
        raise ValueError(
            "ordinal_features must not have columns of categorical_features or numeric_features, "
            f"got column {twice}"
        )
    for i in np.flatnonzero(~others).tolist():
        if mask[i]:
            mask[i] = isinstance(chosen, Mapping) or table.kind(i) != "numeric"
        else:
            mask[i] = table.is_ordered(i)
    return mask


def kinds_of_columns(table: Any, encoder: Any, feature_names: Sequence[str]) -> list[Kind]:
    """Return the kind of each column of a `RawTable`: as an encoder chooses, else by its type.

    ValueError if a column is chosen as both, or if a choice is not one of columns of this table.
    """
    n = table.n_columns
    nominal, numeric = (
        choose_columns(parameter, getattr(encoder, parameter), n, feature_names)
        for parameter in ("categorical_features", "numeric_features")
    )
    if (nominal & numeric).any():
        twice = table.name(int(np.argmax(nominal & numeric)))
        raise ValueError(
            f"numeric_features must not have columns of categorical_features, got column {twice}"
        )
    ordered = choose_ordered(table, encoder, feature_names, nominal | numeric)
    kinds: list[Kind] = [
        "nominal"
        if nominal[i]
        else "numeric"
        if numeric[i]
        else "ordered"
        if ordered[i]
        else table.kind(i)
        for i in range(n)
    ]
    forms = check_forms(encoder.date_features)
    dates = choose_columns("date_features", forms, n, feature_names)
    texts = choose_columns("text_features", encoder.text_features, n, feature_names)
    for parameter, chosen, others in (
        ("date_features", dates, nominal | numeric | ordered),
        ("text_features", texts, nominal | numeric | ordered | dates),
    ):
        if (chosen & others).any():
            raise ValueError(
                f"{parameter} must not have columns that another parameter takes as labels, "
                f"numbers, ranks or dates, got column {table.name(int(np.argmax(chosen & others)))}"
            )
    for i in np.flatnonzero(texts).tolist():
        if kinds[i] == "numeric":
            raise ValueError(
                f"text_features must name columns of text, got column {table.name(i)} of "
                f"{table.dtype(i)}"
            )
        kinds[i] = "text"
    if forms is None:
        return kinds
    return [
        "date" if dates[i] or (kind == "numeric" and not numeric[i] and table.holds_dates(i))
        else kind
        for i, kind in enumerate(kinds)
    ]  # fmt: skip


def _warn(message: str) -> None:
    warn_user(message, DataWarning)
