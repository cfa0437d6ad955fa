"""Texts with numbers, and the names of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from types import MappingProxyType

SCORE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "cross_entropy": "log-loss",
        "brier": "Brier",
        "zero_one_loss": "error",
        "hand_till_auc": "AUC",
        "rmse": "RMSE",
        "kl_divergence": "KL divergence",
        "conditional_log_likelihood": "log-likelihood",
    }
)
"""What texts, tables and pages call each score of `priorwise.evaluation.SCORES`."""

LOG_LOSS, BRIER, ERROR, AUC, RMSE, *_ = SCORE_NAMES.values()
"""The names of the scores that reports show."""

FEW = 3
"""Most items of a list that a sentence names."""

SEVERAL = 8
"""Most items of a list that a box, a picture or a bare value shows."""

MANY = 20
"""Most lines of a list that is printed, stands in a table or is drawn line by line."""

LINE_WIDTH = 100
"""Most characters of a line that is printed."""


def count(number: float, noun: str, plural: str | None = None) -> str:
    """Return a number with a noun.

    >>> count(1, "row"), count(2000, "row"), count(3, "class", "classes")
    ('1 row', '2,000 rows', '3 classes')
    """
    return f"{number:,.15g} {noun if number == 1 else plural or noun + 's'}"


def show_value(number: float, digits: int = 6) -> str:
    """Return a value with so many digits, and without powers of ten; a date as a date.

    >>> show_value(2195650.25), show_value(-0.00003515), show_value(0.5), show_value(1e-12)
    ('2195650', '-0.00003515', '0.5', '1e-12')
    """
    text = f"{number:.{digits}g}"
    if "e" not in text or not 1e-9 <= abs(number) < 1e15:
        return text
    return f"{number:.0f}" if abs(number) >= 1.0 else format(Decimal(text), "f")


def show_plain(number: float) -> str:
    """Return a number as `show_value` does, with marks of thousands from 10,000 on.

    >>> show_plain(2195650.0), show_plain(-0.00003515), show_plain(1990.0), show_plain(1e-12)
    ('2,195,650', '-0.00003515', '1990', '1e-12')
    """
    text = show_value(number)
    if not 1e4 <= abs(number) < 1e15:
        return text
    whole, point, part = text.partition(".")
    return f"{int(whole):,}{point}{part}"


def say_missing(names: Sequence[str], role: str = "column") -> str:
    """Return that columns are missing; all of them are named.

    >>> say_missing(["age"]), say_missing(["age", "job"])
    ("column 'age' is missing", "columns 'age', 'job' are missing")
    """
    listed = ", ".join(map(repr, names))
    return f"{role} {listed} is missing" if len(names) == 1 else f"{role}s {listed} are missing"


def show_probability(p: float, digits: int = 3) -> str:
    """Return a probability with `digits` decimals; only 0 and 1 themselves look like 0 and 1.

    >>> show_probability(0.25), show_probability(1e-9), show_probability(0.99988)
    ('0.250', '<0.001', '>0.999')
    """
    return _show(p, 1, digits)


def show_percent(share: float, digits: int = 1) -> str:
    """Return a share in percent; only 0 and 1 themselves look like 0 and 1.

    The function `percent` of the explorer page writes the same.

    >>> show_percent(0.25), show_percent(1e-9), show_percent(0.99999), show_percent(0.999, 0)
    ('25.0%', '<0.1%', '>99.9%', '>99%')
    """
    return f"{_show(100.0 * share, 100, digits)}%"


def say_percent(share: float, digits: int = 0) -> str:
    """Return a share in percent as a sentence has it.

    >>> say_percent(0.25), say_percent(0.999)
    ('25%', 'more than 99%')
    """
    text = show_percent(share, digits)
    return text.replace("<", "less than ").replace(">", "more than ")


def _show(value: float, whole: int, digits: int) -> str:
    """Return a number between 0 and `whole`, rounded half up, as JavaScript rounds."""
    if not 0.0 <= value <= whole:
        return f"{value:.{digits}f}"
    step = Decimal(1).scaleb(-digits)
    rounded = Decimal(float(value)).quantize(step, ROUND_HALF_UP)
    if rounded == 0 and value > 0.0:
        return f"<{step}"
    return f">{whole - step}" if rounded == whole and value < whole else str(rounded)
