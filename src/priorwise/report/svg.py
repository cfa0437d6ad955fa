"""Small pictures as SVG text, in the colours of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import Any

import numpy as np

from priorwise.common.texts import show_probability

COLOURS = ("--for", "--against", "--third", "--focus", "--neutral")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2")
"""Lines of one picture differ in colour and in dashes."""

MAX_POINTS = 200
"""Most points of a line that has one for each row."""

MAX_NAME = 22
"""Most characters of a name in a box, and of a cell of a table that stays on one line."""

CAPITAL = 0.35
"""Width of a capital beyond that of a lower-case letter, as a share of it, in common typefaces."""

RAISED = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)


def show_number(value: float) -> str:
    """Return a number as short text, with the sign that print uses for minus.

    >>> show_number(0.25), show_number(123456.7), show_number(0.00003515), show_number(2e-12)
    ('0.25', '123,457', '0.00003515', '2·10⁻¹²')
    """
    if not np.isfinite(value):
        return "infinite" if value > 0 else "\u2212infinite"
    size = abs(value)
    if 1e4 <= size < 1e15:
        text = f"{value:,.0f}"
    elif size == 0.0 or 1e-4 <= size < 1e4:
        text = f"{value:.4g}"
    elif 1e-6 <= size < 1e-4:
        text = f"{value:.8f}".rstrip("0")
    else:
        digits, power = f"{value:.3g}".split("e")
        text = f"{digits}\u00b710{str(int(power)).translate(RAISED)}"
    return text.replace("-", "\u2212")


def show_decimals(value: float, digits: int) -> str:
    """Return a number with `digits` decimals; zero has no sign.

    >>> show_decimals(0.5456, 2), show_decimals(-0.2, 2), show_decimals(-0.0009, 2)
    ('0.55', '−0.20', '0.00')
    """
    text = f"{value:.{digits}f}"
    return (text if float(text) else f"{0:.{digits}f}").replace("-", "\u2212")


def show_interval(middle: float, half: float) -> str:
    """Return a number and half of its interval with three decimals, the sign on the second line.

    >>> show_interval(0.18491, 0.00554).split()
    ['0.185', '\u00b1', '0.006']
    """
    if not (np.isfinite(middle) and np.isfinite(half)):
        return show_number(middle)
    shown = [show_probability(part) if part <= 1.0 else f"{part:.3f}" for part in (middle, half)]
    return " \u00b1\u00a0".join(shown)


def find_ticks(low: float, high: float, least: float = 3.0) -> list[float]:
    """Return round numbers within a range: the largest step that fits `least` times into it.

    >>> find_ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    power = 10.0 ** np.floor(np.log10((high - low) / least))
    step = max(power * k for k in (1, 2, 5) if power * k * least <= (high - low) * 1.001)
    first = np.ceil(low / step - 1e-9)
    count = int(np.floor(high / step + 1e-9) - first) + 1
    return [round(float((first + i) * step), 12) + 0.0 for i in range(count)]


def find_width(text: str) -> float:
    """Return the width of a text in widths of a lower-case letter."""
    return len(text) + CAPITAL * sum(character.isupper() for character in text)


def _narrow(text: str, most: int) -> int:
    """Return how many characters of a text are as wide as `most` lower-case ones."""
    width = find_width(text)
    return most if width <= most else int(most * len(text) / width)


def cut_text(text: str, most: int) -> str:
    """Return at most `most` characters of a text, fewer of capitals, which are wider."""
    most = _narrow(text, most)
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def cut_middle(text: str, most: int) -> str:
    """Return at most `most` characters of a text, fewer of capitals, from both of its ends.

    >>> cut_middle("petal-length-in-cm > 1.333", 20)
    'petal-leng\u2026m > 1.333'
    """
    most = _narrow(text, most)
    if len(text) <= most:
        return text
    end = most // 2 - 1
    return text[: most - 1 - end] + "\u2026" + text[len(text) - end :]


class Picture:
    """Shapes in a rectangle, with a title and a description for those who do not see it."""

    def __init__(self, width: float, height: float, title: str, description: str) -> None:
        self.width, self.height = width, height
        self._title, self._description = title, description
        self._parts: list[str] = []

    def add(self, tag: str, content: str = "", **attributes: Any) -> None:
        """Add an element; the text of `content` may stand in HTML."""
        pairs = " ".join(
            f'{name.rstrip("_").replace("_", "-")}="{_text(value)}"'
            for name, value in attributes.items()
        )
        self._parts.append(f"<{tag} {pairs}>{content}</{tag}>" if content else f"<{tag} {pairs}/>")

    def rect(self, x: float, y: float, width: float, height: float, fill: str, **more: Any) -> None:
        size: dict[str, Any] = {"width": max(width, 0.0), "height": max(height, 0.0)}
        self.add("rect", x=x, y=y, **size, fill=f"var({fill})", **more)

    def line(self, points: Iterable[tuple[float, float]], colour: str, **more: Any) -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        style = {"fill": "none", "stroke": f"var({colour})", "stroke_width": 1.8, **more}
        self.add("polyline", points=path, **style)

    def text(self, x: float, y: float, text: str, **more: Any) -> None:
        style = {"font_size": 12, "fill": "var(--ink)", **more}
        self.add("text", escape(text), x=x, y=y, **style)

    def __str__(self) -> str:
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" style="max-width:{self.width:g}px"'
        about = f"<title>{escape(self._title)}</title><desc>{escape(self._description)}</desc>"
        label = escape(f"{self._title}. {self._description}")
        return f'<svg {size} role="img" aria-label="{label}">{about}{"".join(self._parts)}</svg>'


class Chart(Picture):
    """A picture with axes."""

    left, right, top, bottom = 62.0, 14.0, 10.0, 38.0

    def __init__(
        self,
        size: tuple[float, float],
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        title: str,
        description: str,
    ) -> None:
        super().__init__(*size, title, description)
        self._x_range, self._y_range = _widen(*x_range), _widen(*y_range)

    def x(self, value: float) -> float:
        """Return the horizontal place of a number."""
        low, high = self._x_range
        return self.left + (value - low) / (high - low) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        """Return the vertical place of a number."""
        low, high = self._y_range
        share = (value - low) / (high - low)
        return self.height - self.bottom - share * (self.height - self.top - self.bottom)

    @property
    def box(self) -> dict[str, Any]:
        """The rectangle of the data as attributes, by which a script finds places in it."""
        return {
            "data_left": self.left,
            "data_top": self.top,
            "data_width": self.width - self.left - self.right,
            "data_height": self.height - self.top - self.bottom,
        }

    def axes(
        self,
        x_label: str,
        y_label: str,
        *,
        y_ticks: bool = True,
        x_text: Callable[[float], str] = show_number,
        y_text: Callable[[float], str] = show_number,
    ) -> None:
        """Draw both axes with numbers and labels; `data-at` of those of y has their numbers."""
        floor = self.height - self.bottom
        ticks = find_ticks(*self._x_range, least=2.0)
        texts = [x_text(value) for value in ticks]
        # Of long texts every second one is shown, or every third and so on.
        room = (self.width - self.left - self.right) / (8.0 * max(map(len, texts)))
        step = int(np.ceil(len(ticks) / max(room, 1.0)))
        for value, text in zip(ticks[::step], texts[::step], strict=True):
            self.line(
                [(self.x(value), floor), (self.x(value), floor + 4)], "--soft", stroke_width=1
            )
            fits = self.x(value) + 4.0 * len(text) < self.width
            style = {"font_size": 11, "text_anchor": "middle" if fits else "end"}
            self.text(self.x(value) if fits else self.width - 1, floor + 16, text, **style)
        for value in find_ticks(*self._y_range) if y_ticks else []:
            ends = [(self.left, self.y(value)), (self.width - self.right, self.y(value))]
            self.line(ends, "--line", stroke_width=1)
            place = (self.left - 5, self.y(value) + 4)
            mark: dict[str, Any] = {"font_size": 11, "text_anchor": "end", "data_at": f"{value:g}"}
            self.text(*place, y_text(value), **mark)
        corners = [(self.left, self.top), (self.left, floor), (self.width - self.right, floor)]
        self.line(corners, "--soft", stroke_width=1)
        middle = (self.left + self.width - self.right) / 2
        self.text(middle, self.height - 5, x_label, text_anchor="middle")
        if y_label:
            turn = f"rotate(-90 11 {(self.top + floor) / 2:g})"
            style = {"text_anchor": "middle", "transform": turn}
            self.text(11, (self.top + floor) / 2, y_label, **style)

    def curve(self, xs: Iterable[float], ys: Iterable[float], place: int = 0, **more: Any) -> None:
        """Draw a line through points of the data, in the colour and dashes of its place."""
        points = [(self.x(x), self.y(y)) for x, y in zip(xs, ys, strict=True)]
        k = place % len(COLOURS)
        self.line(points, COLOURS[k], stroke_dasharray=DASHES[k], **more)

    def band(self, xs: Iterable[float], low: Iterable[float], high: Iterable[float]) -> None:
        """Fill the area between two lines."""
        up = [(self.x(x), self.y(y)) for x, y in zip(xs, high, strict=True)]
        down = [(self.x(x), self.y(y)) for x, y in zip(xs, low, strict=True)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*up, *down[::-1]])
        self.add("polygon", points=path, fill="var(--band)")


def _widen(low: float, high: float) -> tuple[float, float]:
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _text(value: Any) -> str:
    return (
        f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(str(value))
    )
