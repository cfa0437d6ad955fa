"""What is found in a table, as a list that people read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from priorwise.common.texts import LINE_WIDTH, count

MAX_NAME = 24
"""Characters of the name of a column in the printed list."""

STYLE = (
    "<style>.priorwise-findings td{vertical-align:top;text-align:left;padding:.3em .8em}"
    ".priorwise-findings th{text-align:left;padding:.3em .8em}</style>"
)


@dataclass(frozen=True)
class Finding:
    """One thing that is found in a table.

    Attributes
    ----------
    kind : str
        What it is, in a word or two, such as "leak" or "constant".
    column : str
        The column; empty if it is the whole table.
    text : str
        What was found, with figures and examples.
    advice : str
        What can be done about it.
    """

    kind: str
    column: str
    text: str
    advice: str

    @property
    def sentence(self) -> str:
        """What was found and what can be done."""
        return f"{self.text}. {self.advice[0].upper()}{self.advice[1:]}."

    def __str__(self) -> str:
        of_column = f"column {self.column!r} " if self.column else ""
        return f"{of_column}{self.sentence}"


@dataclass(frozen=True)
class Findings:
    """What `check` finds in a table, gravest first; printed, it is a table of text.

    Attributes
    ----------
    findings : tuple of Finding
        What was found.
    n_rows, n_columns : int
        Size of the table, without the target.
    """

    findings: tuple[Finding, ...]
    n_rows: int
    n_columns: int

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def is_ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each finding."""
        return tuple(finding.kind for finding in self.findings)

    @property
    def headline(self) -> str:
        """How many things were found, in how large a table."""
        found = count(len(self.findings), "finding") if self.findings else "nothing found"
        return f"{found} in {count(self.n_rows, 'row')} of {count(self.n_columns, 'column')}"

    def __str__(self) -> str:
        if not self.findings:
            return self.headline
        rows = [("finding", "column", "what, and what to do")]
        rows += [
            (each.kind, textwrap.shorten(each.column, MAX_NAME), each.sentence)
            for each in self.findings
        ]
        kind, name = (max(len(row[i]) for row in rows) for i in (0, 1))
        lines = [self.headline, ""]
        for row in rows:
            head = f"{row[0]:{kind}}  {row[1]:{name}}  "
            lines += textwrap.wrap(
                row[2], LINE_WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{escape(each.kind)}</th><td>{escape(each.column)}</td>"
            f"<td>{escape(each.text)}</td><td>{escape(each.advice)}</td></tr>"
            for each in self.findings
        )
        heads = "<tr><th>finding</th><th>column</th><th>what</th><th>what to do</th></tr>"
        table = f"<table><thead>{heads}</thead><tbody>{rows}</tbody></table>" if rows else ""
        return f'{STYLE}<div class="priorwise-findings"><p>{escape(self.headline)}</p>{table}</div>'

    def to_html(self, title: str) -> str:
        """Return a page with the findings, which needs no other file.

        Parameters
        ----------
        title : str
            Title of the page, such as the name of the table.

        Returns
        -------
        str
            The page.
        """
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
            "</title><style>body{font-family:system-ui,sans-serif;max-width:75em;margin:2em auto;"
            "padding:0 1em;line-height:1.4}tbody tr{border-top:1px solid #ccc}"
            f"table{{border-collapse:collapse}}</style></head><body><h1>{escape(title)}</h1>{self._repr_html_()}"
            "</body></html>\n"
        )
