"""Texts with numbers."""

from __future__ import annotations


def count(number: float, noun: str, plural: str | None = None) -> str:
    """Return a number with a noun.

    >>> count(1, "row"), count(2000, "row"), count(3, "class", "classes")
    ('1 row', '2,000 rows', '3 classes')
    """
    return f"{number:,.15g} {noun if number == 1 else plural or noun + 's'}"
