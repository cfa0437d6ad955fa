"""Write docs/pool_numbers.md: the numbers that the flagship is planned by, and what each gains.

python tools/write_pool_numbers.py
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from priorwise.models.pool.numbers import EFFORTS, Effort, Origin, PoolNumbers

PAGE = Path(__file__).parents[1] / "docs/pool_numbers.md"

HEAD = """# The numbers of the flagship

`PriorwiseClassifier` plans its members and boosting by the numbers below. They stand in
`src/priorwise/models/pool/numbers.py`, from which this page is written, and
`benchmarks/pool_numbers.py` compares each with another value. **Log-loss** is that with the other
value divided by that with the value in use, the geometric mean over the data sets whose plan the
other value changes, with its standard error; above 1, the other value is worse. Differences of less
than two standard errors say nothing.
"""


def write_page() -> str:
    """Return the text of the page."""
    lines = [HEAD]
    lines += ["| number | value | what it is | instead | log-loss | on | date |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for one in fields(PoolNumbers):
        cells = [f"`{one.name}`", _write(one.default), one.metadata["origin"].meaning]
        lines.append("| " + " | ".join([*cells, *_compare(one.metadata["origin"])]) + " |")
    lines += ["", "## Efforts", "", 'The other value is one for "balanced".', ""]
    titles = ["number", *EFFORTS, "what it is", "instead", "log-loss", "on", "date"]
    lines += ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for part in fields(Effort):
        values = [getattr(one, part.name) for one in EFFORTS.values()]
        origin: Origin = part.metadata["origin"]
        cells = [f"`{part.name}`", *map(_write, values), origin.meaning, *_compare(origin)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _compare(origin: Origin) -> list[str]:
    """Return the other value, its log-loss, on what, and when."""
    if origin.loss is None:
        return [_write(origin.instead), "", "", ""]
    loss = f"{origin.loss:.4f}"
    if origin.error is not None:
        loss += f" ± {origin.error:.4f}"
    return [_write(origin.instead), loss, origin.data, origin.date]


def _write(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_write, value))
    is_large = isinstance(value, int) and not isinstance(value, bool) and value >= 1_000
    return f"{value:,}" if is_large else str(value)


if __name__ == "__main__":
    PAGE.write_text(write_page(), encoding="utf-8")
