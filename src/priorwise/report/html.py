"""Pieces of a page as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from priorwise.common.texts import MANY
from priorwise.report.svg import MAX_NAME, Picture, show_number

MAX_WORD = 9
"""Characters of the longest word that has room beside other cells of a card."""


class Number(str):
    """A number as it is to be shown."""


MAX_NARROW, MAX_NARROW_TEXT = 5, 34
"""Most columns of a table that fits on a narrow screen, and most characters of their longest words
together; of wider tables each row becomes a card."""


def table(heads: Sequence[str], lines: Sequence[Sequence[Any]], caption: str = "") -> str:
    """Return a table; numbers stand on the right."""
    firsts = lines[0] if lines else [""] * len(heads)
    top = "".join(
        f'<th scope="col"{_kind_of(first)}>{escape(head)}</th>'
        for head, first in zip(heads, firsts, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_cell, line, heads))}</tr>" for line in lines)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    content = f"{title}<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    needed = sum(max(map(_find_width, column)) for column in zip(heads, *lines, strict=True))
    is_wide = len(heads) > MAX_NARROW or needed > MAX_NARROW_TEXT
    kind = ' class="cards"' if is_wide else ""
    return f'<div class="wide"><table{kind}>{content}</table></div>'


def long_table(heads: Sequence[str], lines: Sequence[Sequence[Any]], rest: str) -> str:
    """Return a table; of more than 2 `MANY` lines, all but `MANY` are folded, and called `rest`."""
    if len(lines) <= 2 * MANY:
        return table(heads, lines)
    title = f"<summary>{len(lines) - MANY:,} {escape(rest)}</summary>"
    folded = f"<details>{title}{table(heads, lines[MANY:])}</details>"
    return table(heads, lines[:MANY]) + folded


def _cell(value: Any, head: str) -> str:
    if isinstance(value, Picture):
        return f"<td>{value}</td>"
    return f'<td{_kind_of(value)} data-head="{escape(head)}">{escape(_write(value))}</td>'


def _write(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return show_number(value) if isinstance(value, float) else f"{value:,}"
    return str(value)


def _find_width(value: Any) -> int:
    """Return the characters of the longest part of a cell that stays on one line."""
    if isinstance(value, Picture):
        return 6
    text = _write(value)
    return len(text) if isinstance(value, Number) else max(map(len, text.split()), default=0)


def _kind_of(value: Any) -> str:
    """Return the attribute of a cell: numbers stand on the right, short texts on one line."""
    if isinstance(value, Picture):
        return ""
    if isinstance(value, Number | float | int) and not isinstance(value, bool):
        return ' class="number"'
    text = str(value)
    if len(text) > MAX_NAME:
        return ' class="long"'
    is_wordy = max(map(len, text.split()), default=0) > MAX_WORD
    return f' class="short{" wordy" if is_wordy else ""}"'


def figure(picture: Picture, caption: str) -> str:
    """Return a picture with a text below."""
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def zoomed(picture: Picture, caption: str) -> str:
    """Return a picture of its own size that scrolls, with buttons to enlarge it."""
    buttons = (
        '<button type="button" data-zoom="1.4">Larger</button> '
        '<button type="button" data-zoom="0.714">Smaller</button>'
    )
    view = f'<div class="zoom" tabindex="0" role="region" aria-label="Picture">{picture}</div>'
    return f"<figure>{buttons}{view}<figcaption>{escape(caption)}</figcaption></figure>"


def grid(items: Sequence[str]) -> str:
    """Return pieces side by side where there is room."""
    return f'<div class="grid">{"".join(items)}</div>'


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph, of a class if one is given."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def section(name: str, title: str, *parts: str) -> str:
    """Return a part of the page under a title."""
    body = "".join(parts)
    return f'<section id="{name}"><h2>{escape(title)}</h2>{body}</section>'


def read_asset(name: str) -> str:
    """Return the text of a file of this package."""
    return files("priorwise.report").joinpath("assets", name).read_text(encoding="utf-8")


def embed_json(value: Any) -> str:
    """Return JSON that may stand in an element of a page."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("&", "\\u0026")
