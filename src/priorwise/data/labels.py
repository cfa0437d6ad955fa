"""Class labels as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d


def encode_labels(
    y: Any, *, min_classes: int = 1, classes: ArrayLike | None = None
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return each row's class code and the classes in ascending order.

    Labels are of any kind that sorts. If `classes` is given, a label outside of them is an error.

    >>> codes, classes = encode_labels(["no", "yes", "no"])
    >>> codes.tolist(), classes.tolist()
    ([0, 1, 0], ['no', 'yes'])
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels = column_or_1d(_to_array(y), warn=True)
    if labels.size == 0:
        raise ValueError("y must hold at least one row, got 0")
    if labels.dtype.kind == "O" and type(labels[0]) is str:
        # Looked up, not sorted: as many labels as rows are too many to compare.
        coded = _code_text(labels.tolist(), classes, min_classes)
        if coded is not None:
            return coded
    _refuse_missing(labels)
    check_classification_targets(labels)
    if classes is None:
        try:
            found, codes = np.unique(labels, return_inverse=True)
        except TypeError:
            kinds = sorted({type(label).__name__ for label in labels.tolist()})
            raise TypeError(f"y must hold labels of one kind, got {', '.join(kinds)}") from None
    else:
        found = np.unique(np.asarray(classes))
        codes = np.searchsorted(found, labels)
        inside = codes < len(found)
        inside[inside] = found[codes[inside]] == labels[inside]
        if not inside.all():
            wrong = repr(labels[~inside].tolist()[0])
            raise ValueError(f"y must hold labels among {found.tolist()}, got {wrong}")
    _require_classes(found, min_classes)
    return codes.astype(np.int32), found


def _code_text(
    labels: list[Any], classes: ArrayLike | None, min_classes: int
) -> tuple[NDArray[np.int32], NDArray[Any]] | None:
    """Codes and classes where all labels are text; None where that, or an error, needs a look."""
    distinct = set(labels)
    if any(type(label) is not str for label in distinct):
        return None
    found = np.array(sorted(distinct), dtype=object)
    if classes is not None:
        found = np.unique(np.asarray(classes))
        if not distinct <= set(found.tolist()):
            return None
    _require_classes(found, min_classes)
    place = {label: code for code, label in enumerate(found.tolist())}
    return np.fromiter(map(place.__getitem__, labels), np.int32, len(labels)), found


def _require_classes(found: NDArray[Any], min_classes: int) -> None:
    if len(found) < min_classes:
        raise ValueError(
            f"y must hold at least {min_classes} classes, got {len(found)} class: {found.tolist()}"
        )


def _to_array(y: Any) -> NDArray[Any]:
    return check_array(
        y if isinstance(y, (list, tuple)) else np.asarray(y),
        ensure_2d=False,
        dtype=None,
        ensure_all_finite=False,
        ensure_min_samples=0,
    )


def _refuse_missing(labels: NDArray[Any]) -> None:
    if labels.dtype.kind in "fc":
        if np.isnan(labels).any():
            raise ValueError("Input y contains NaN.")
        if np.isinf(labels).any():
            raise ValueError("Input y contains infinity or a value too large for its dtype.")
    elif labels.dtype.kind in "Mm":
        if np.isnat(labels).any():
            raise ValueError("Input y contains NaN.")
    elif labels.dtype.kind == "O":
        # Distinct labels only: a pass over them is cheap, and NaN differs from itself.
        for label in set(labels.tolist()):
            if label is None or type(label).__name__ in ("NAType", "NaTType") or label != label:
                raise ValueError("Input y contains NaN.")
