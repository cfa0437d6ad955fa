"""Dates: the texts that mean them, and the calendar parts that classifiers use of them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorwise.common.runtime import warn_user
from priorwise.common.validation import check_choice
from priorwise.data.tables.label_keys import SPACES, parse_number

ISO, DAY_FIRST, MONTH_FIRST = FORMS = ("iso", "day-first", "month-first")
"""Forms of dates in text: 2013-01-05, 05.01.2013 or 5/1/2013, and 01/05/2013."""

SECONDS_OF_DAY = 86_400.0
_EPOCH_DAY = datetime.fromtimestamp(0, UTC).toordinal()

PARTS: dict[str, tuple[str, ...]] = {
    "month": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "weekday": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "hour": (),
}
"""Parts of a date and their labels, of which a part is the rank; the hour is a number."""

_TIME = (
    r"(?:[T ]\s?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<part>\d{1,9}))?)?"
    r"(?: ?(?P<half>[AaPp])[Mm])?)?(?: ?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2}))?"
)
_ISO = re.compile(r"(?P<year>\d{4})([-/])(?P<month>\d{1,2})\2(?P<day>\d{1,2})" + _TIME)
_YEAR_LAST = re.compile(r"(?P<first>\d{1,2})([-./])(?P<then>\d{1,2})\2(?P<year>\d{4})" + _TIME)


def parse_date(text: Any, form: str) -> float | None:
    """Return the seconds since 1970 that a text means in a form; None if it is no such date.

    Times without a zone are taken as they are, others are those of UTC.

    >>> [parse_date(text, "iso") for text in ("1970-01-02", "1970-01-01T01:00+01:00", "1970-13-01")]
    [86400.0, 0.0, None]
    >>> parse_date("02.01.1970 00:30", "day-first"), parse_date("1/2/1970", "month-first")
    (88200.0, 86400.0)
    """
    if not isinstance(text, str):
        return None
    found = (_ISO if form == ISO else _YEAR_LAST).fullmatch(text.strip(SPACES))
    if found is None:
        return None
    part = found.groupdict()
    if form != ISO:
        names = ("day", "month") if form == DAY_FIRST else ("month", "day")
        part |= dict(zip(names, (part["first"], part["then"]), strict=True))
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    if part["half"] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (part["half"] in "Pp")
    try:
        days = date(int(part["year"]), int(part["month"]), int(part["day"])).toordinal()
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    time = timedelta(days - _EPOCH_DAY, second, int(f"{part['part'] or '':0<6.6}"), 0, minute, hour)
    if (zone := part["zone"]) is not None and zone not in ("Z", "UTC"):
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        time = time - offset if zone[0] == "+" else time + offset
    return time.total_seconds()


def read_dates(labels: Iterable[Hashable], form: str) -> list[float | None]:
    """Return the seconds that labels mean, which may be numbers of seconds; None for others."""
    seconds = ((parse_date(label, form), label) for label in labels)
    return [parse_number(label) if one is None else one for one, label in seconds]


def find_forms(labels: Iterable[Hashable]) -> tuple[str, ...]:
    """Return the forms in which all labels are dates: two if days cannot be told from months.

    >>> find_forms(["05.01.2013", "13.01.2013"]), find_forms(["05.01.2013"])
    (('day-first',), ('day-first', 'month-first'))
    """
    forms: tuple[str, ...] = FORMS
    is_empty = True
    for label in labels:
        is_empty = False
        forms = tuple(form for form in forms if parse_date(label, form) is not None)
        if not forms:
            return ()
    return () if is_empty else forms


def choose_form(name: str, labels: Iterable[Hashable]) -> str | None:
    """Return the form of the dates that all labels are, and say so; None if they are others.

    Where days cannot be told from months the labels stay labels, which is said too.
    """
    forms = find_forms(labels)
    if len(forms) > 1:
        warn_user(
            f"column {name} holds dates of which days and months cannot be told apart, and is "
            "taken as labels: say 'day-first' or 'month-first' in date_features, or name the "
            "column in categorical_features"
        )
        return None
    if forms:
        warn_user(
            f"the text of column {name} is read as dates ({forms[0]}): name the column in "
            "date_features with its form to say that it is, in categorical_features if it holds "
            "labels"
        )
    return forms[0] if forms else None


def check_forms(date_features: Any) -> Mapping[Any, str] | None:
    """Return the forms of columns that a parameter gives; None if no column is a date at all."""
    if isinstance(date_features, str) and date_features == "from_dtype":
        return {}
    if date_features is None:
        return None
    if not isinstance(date_features, Mapping):
        raise ValueError(
            f"date_features must be 'from_dtype', None or a dict of forms of columns, such as "
            f"{{'when': 'day-first'}}, got {date_features!r}"
        )
    for name, form in date_features.items():
        check_choice(f"date_features of {name!r}", form, FORMS)
    return date_features


def take_part(part: str, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a part of dates: the rank of the month or weekday, or the hour with its fraction.

    >>> [take_part(part, np.array([1357367400.0, np.nan])).tolist() for part in PARTS]
    [[0.0, nan], [5.0, nan], [6.5, nan]]
    """
    if part == "hour":
        return np.mod(seconds, SECONDS_OF_DAY) / 3600.0
    known = ~np.isnan(seconds)
    days = np.where(known, np.floor_divide(seconds, SECONDS_OF_DAY), 0.0).astype(np.int64)
    if part == "weekday":
        ranks = (days + 3) % 7
    else:
        ranks = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    return np.where(known, ranks, np.nan)


def show_date(seconds: float) -> str:
    """Return a date as text, with the time of day if there is one.

    >>> show_date(1357367400.0), show_date(1357344000.0)
    ('2013-01-05 06:30', '2013-01-05')
    """
    if not abs(seconds) < 2.0**36:  # which is not a year of four digits
        return f"{seconds:.6g}"
    text = str(np.datetime64(round(seconds), "s"))
    day, time = text.split("T")
    return day if time == "00:00:00" else f"{day} {time.removesuffix(':00')}"


class DateSeconds(float):
    """Seconds since 1970 that are shown as a date, as a number elsewhere.

    >>> f"{DateSeconds(1357344000.0):.6g}"
    '2013-01-05'
    """

    def __format__(self, spec: str) -> str:
        return show_date(self)

    def __str__(self) -> str:
        return show_date(self)
