"""Checks of arguments: each error names the parameter, the value and the rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from priorwise.common.numeric import MAX_WHOLE_NUMBER
from priorwise.common.runtime import DataWarning, warn_user


def check_number(
    name: str,
    value: float,
    *,
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    below: float | None = None,
    whole: bool = False,
) -> float:
    """Return value if it is a finite number in range, or raise naming the parameter."""
    rule = f"above {above}" if above is not None else f"at least {least}"
    if most is not None:
        rule += f" and at most {most:g}"
    if below is not None:
        rule += f" and below {below:g}"
    fits = (
        isinstance(value, int | np.integer if whole else int | float | np.number)
        and not isinstance(value, bool)
        and np.isfinite(value)
        and (above is None or value > above)
        and (least is None or value >= least)
        and (most is None or value <= most)
        and (below is None or value < below)
    )
    if not fits:
        kind = "whole number" if whole else "number"
        raise ValueError(f"{name} must be a {kind} {rule}, got {value!r}")
    return value


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        words = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {words}, got {value!r}")


def name_near(name: object, names: Sequence[object]) -> str:
    """Return a question that names the most similar of some names; empty if none is similar.

    >>> name_near("lable", ["age", "label"])
    "; did you mean 'label'?"
    """
    texts = {str(known).lower(): known for known in names}
    near = get_close_matches(str(name).lower(), list(texts), n=1)
    return f"; did you mean {texts[near[0]]!r}?" if near else ""


def is_dict_rows(X: Any) -> bool:
    """Whether rows are given as a dict, which is one row, or as a list of dicts."""
    first = X[0] if isinstance(X, list | tuple) and len(X) > 0 else X
    # A sparse array of scipy is a dict that has a shape.
    return isinstance(first, Mapping) and not hasattr(first, "shape")


def take_target(X: Any, y: Any) -> tuple[Any, Any]:
    """Return X without the column that a text y names, and that column; others as they are.

    >>> take_target([{"age": 30, "ill": "no"}, {"age": 40, "ill": "yes"}], "ill")
    ([{'age': 30}, {'age': 40}], ['no', 'yes'])
    """
    if not isinstance(y, str):
        return X, y
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    rows = ([X] if isinstance(X, Mapping) else X) if is_dict_rows(X) else []
    names = frame.columns if isinstance(frame, nw.DataFrame) else list(rows[0]) if rows else []
    if y not in names:
        raise ValueError(
            "y must hold the class of each row, or be the name of a column of X, "
            f"got {y!r}{name_near(y, names)}"
        )
    if not rows:
        return frame.drop(y).to_native(), frame[y].to_native()
    others = [{name: value for name, value in row.items() if name != y} for row in rows]
    return others, [row.get(y) for row in rows]


def check_n_jobs(n_jobs: object) -> None:
    """Raise unless a value is a number of threads as joblib takes it."""
    is_whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (is_whole and 0 < abs(int(n_jobs)) < 2**31):  # type: ignore[call-overload]
        raise ValueError(
            f"n_jobs must be None or a whole number other than 0 below 2**31, got {n_jobs!r}"
        )


def check_seed(random_state: object) -> None:
    """Raise unless a value is a seed as scikit-learn takes it."""
    is_seed = isinstance(random_state, int | np.integer) and 0 <= int(random_state) < 2**32
    if random_state is None or is_seed or isinstance(random_state, np.random.RandomState):
        return
    raise ValueError(
        "random_state must be None, a whole number from 0 to 2**32 - 1 or a RandomState, "
        f"got {random_state!r}"
    )


def check_relative_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return weights of which only ratios matter as a contiguous array, or raise naming the rule.

    >>> check_relative_weight([2, 0, 1], n_rows=3)
    array([2., 0., 1.])
    """
    weight = np.require(sample_weight, dtype=np.float64, requirements=["C", "A"])
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight must have shape ({n_rows},), got {weight.shape}")
    wrong = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if len(wrong):
        raise ValueError(
            f"sample_weight must be finite and not negative, got {weight[wrong[0]]} "
            f"in row {wrong[0]}"
        )
    if not weight.any():
        raise ValueError("sample_weight must not be zero for every row")
    return weight


MIN_MEAN_WEIGHT = 0.1
"""Mean weight below which `check_weight` warns that weights count rows."""


def check_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the weights as a contiguous array, None if all are one, or raise naming the rule.

    Weights count rows: a row of weight two counts for two equal rows, a row of weight zero for no
    row. So the scale of the weights matters, and a mean of the weights above zero below
    `MIN_MEAN_WEIGHT`, as of weights that sum to one, is warned of. Users read about it in
    docs/weights.md.

    >>> check_weight([2, 0, 1], n_rows=3)
    array([2., 0., 1.])
    """
    if sample_weight is None:
        return None
    weight = check_relative_weight(sample_weight, n_rows)
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if total > MAX_WHOLE_NUMBER:
        raise ValueError(
            f"sample_weight must have a sum of at most 2**53 (9.0e15), got {total:.3g}"
        )
    warn_of_small_weights(total, int(np.count_nonzero(weight)))
    return None if (weight == 1.0).all() else weight


def check_groups(groups: Any, n_rows: int) -> NDArray[np.intp] | None:
    """Return the number of each row's group, or raise naming the rule; None if there are none.

    >>> check_groups(["b", "a", "b"], n_rows=3)
    array([1, 0, 1])
    """
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups must have shape ({n_rows},), got {labels.shape}")
    missing = np.flatnonzero([label is None or label != label for label in labels.tolist()])
    if len(missing):
        raise ValueError(
            f"groups must not be missing, got {labels[missing[0]]} in row {missing[0]}"
        )
    try:
        distinct, number = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise ValueError(f"groups must be of one type, got {' and '.join(kinds)}") from None
    if len(distinct) < 2:
        raise ValueError(f"groups must be at least two, got {labels[:1].tolist()} for all rows")
    return np.asarray(number, dtype=np.intp)


FEW_COPIES = 0.01
"""Share of copies below which `check` names them, but no fit warns: of 111 raw tables 13 have
copies, most of them 1 to 3 (2026-11)."""


def warn_of_copies(n_copies: int, n_rows: int) -> None:
    """Warn that some rows are copies, which are held out together; not of a few."""
    if n_copies < FEW_COPIES * n_rows:
        return
    warn_user(
        f"{n_copies} of {n_rows} rows are exact copies of other rows, although a number in them "
        "is continuous. Copies of a row are held out together, as one row with the sum of their "
        "weights. If they are independent, pass groups=range(len(X)) to fit.",
        DataWarning,
    )


def warn_of_small_weights(total: float, n_counted: int) -> None:
    """Warn if the mean of the weights above zero is below `MIN_MEAN_WEIGHT`."""
    if total < MIN_MEAN_WEIGHT * n_counted:
        warn_user(
            f"sample_weight has a sum of {total:.3g} over {n_counted} rows. Weights count rows, "
            f"so the model learns from {total:.3g} rows. To keep the ratios of the weights and the "
            "number of rows, pass sample_weight * len(sample_weight) / sum(sample_weight)."
        )
