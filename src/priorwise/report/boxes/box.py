"""Pieces of what notebooks show: a box with a title, tables with bars, and pictures.

Their colours are those of the notebook, light or dark; their style is stronger than Jupyter's.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from priorwise.common.texts import count
from priorwise.report.html import Number, paragraph, read_asset, table
from priorwise.report.svg import Picture, cut_text

MAX_TEXT, MAX_PARAMETERS = 40, 300
"""Characters of names, and of all parameters together, at most."""

BAR_WIDTH, BAR_HEIGHT = 110.0, 12.0

LEAST_SCALE = 0.7
"""Smallest size of a picture, as a share of its own, whose texts can be read."""


def box(title: str, *parts: str) -> str:
    """Return a framed piece of HTML with its style; parts are HTML."""
    style = f"<style>{read_asset('notebook.css')}</style>"
    return f'{style}<div class="priorwise-box"><h3>{escape(title)}</h3>{"".join(parts)}</div>'


def heading(text: str) -> str:
    """Return the title of a part of a box."""
    return f"<h4>{escape(text)}</h4>"


def soft(text: str) -> str:
    """Return a remark."""
    return paragraph(text, "soft")


def columns(*parts: str) -> str:
    """Return parts side by side where there is room."""
    return f'<div class="parts">{"".join(f"<div>{part}</div>" for part in parts if part)}</div>'


def scrolled(picture: Picture) -> str:
    """Return a picture of its own size, or down to `LEAST_SCALE` of it, which scrolls beyond."""
    size = f'style="max-width:{picture.width:g}px;min-width:{LEAST_SCALE * picture.width:.0f}px"'
    return f'<div class="picture" tabindex="0"><div {size}>{picture}</div></div>'


def bar(size: float, largest: float, text: str, *, signed: bool = False) -> Picture:
    """Return a bar; of signed sizes, those below zero go to the left of the middle."""
    picture = Picture(BAR_WIDTH, BAR_HEIGHT, text, "")
    share = min(abs(size) / max(largest, 1e-300), 1.0)
    zero, room = (BAR_WIDTH / 2, BAR_WIDTH / 2) if signed else (0.0, BAR_WIDTH)
    width = max(share * room, 1.0)
    colour = "--against" if size < 0.0 else "--for"
    if size:
        picture.rect(zero - width if size < 0.0 else zero, 2.0, width, 8.0, colour, rx=1.5)
    if signed:
        picture.line([(zero, 0.0), (zero, BAR_HEIGHT)], "--neutral", stroke_width=1.0)
    return picture


def bars(
    title: str, lines: Sequence[tuple[str, float, str]], most: int, nouns: tuple[str, str]
) -> str:
    """Return a table of names, bars and texts under a title; the largest bar has the full width."""
    largest = max(size for _, size, _ in lines)
    shown = lines if len(lines) <= most + 1 else lines[:most]
    rows = [
        [cut_text(name, MAX_TEXT), bar(size, largest, text), Number(text)]
        for name, size, text in shown
    ]
    return heading(title) + plain_table(rows) + left_out(len(lines) - len(shown), *nouns)


def plain_table(rows: Sequence[Sequence[Any]]) -> str:
    """Return a table without heads."""
    return table([""] * len(rows[0]), rows).replace("<thead>", "<thead hidden>")


def left_out(number: int, noun: str, plural: str) -> str:
    """Return a remark on what is not shown, if there is anything."""
    return soft(f"and {count(number, noun, plural)}") if number else ""
