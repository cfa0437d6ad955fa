"""Groups of rows that a model predicts worse than others, for a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from priorwise.common.texts import SEVERAL, show_percent
from priorwise.report.html import Number, paragraph, section, table
from priorwise.report.values import FeatureValues

MIN_ROWS = 30
"""Least rows of a group that is compared with the others."""

N_BINS = 4
"""Groups that the numbers of a feature are cut into, of about as many rows each."""

FALSE_ALARM = 0.05
"""Probability of a false alarm: naming a bad group where there is none, or calling probabilities
wrong that can be trusted."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Group:
    """Rows with a value of a feature: how much is lost there, and what is said and happens.

    `said` is the mean probability of `label`, and `happened` its share. `excess` is the difference
    of the log-loss from the other rows in standard errors.
    """

    name: str
    n_rows: int
    loss: float
    loss_elsewhere: float
    excess: float
    label: str
    said: float
    happened: float
    is_marked: bool
    is_biased: bool


def find_groups(
    features: list[FeatureValues], label: str, event: NDArray[np.bool_], p: Floats, loss: Floats
) -> list[Group]:
    """Return the groups of at least `MIN_ROWS` rows, those with the largest excess of loss first.

    `p` are probabilities of the class `label`, `event` says which rows are of it.
    """
    n_rows = len(loss)
    parts = [
        (f"{feature.name} {name}", rows)
        for feature in features
        for name, rows in _split(feature)
        if MIN_ROWS <= rows.sum() <= n_rows - MIN_ROWS
    ]
    if not parts:
        return []
    limit = float(ndtri(1.0 - FALSE_ALARM / len(parts)))
    both_sides = float(ndtri(1.0 - FALSE_ALARM / (2 * len(parts))))
    groups = []
    for name, rows in parts:
        own, other = loss[rows], loss[~rows]
        error = np.sqrt(own.var() / len(own) + other.var() / len(other))
        excess = float((own.mean() - other.mean()) / max(error, 1e-12))
        said, happened = float(p[rows].mean()), float(event[rows].mean())
        spread = np.sqrt((p[rows] * (1.0 - p[rows])).sum()) / len(own)
        groups.append(
            Group(
                name, len(own), float(own.mean()), float(other.mean()), excess,
                label, said, happened,
                is_marked=excess > limit,
                is_biased=bool(abs(said - happened) > both_sides * max(spread, 1.0 / len(own))),
            )
        )  # fmt: skip
    return sorted(groups, key=lambda group: -group.excess)


def _split(feature: FeatureValues) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the groups of rows of a feature with what they are called."""
    cells = feature.cells
    if feature.is_label:
        places = [(f"= {label}", cells == k) for k, label in enumerate(feature.values)]
        return [*places, ("is missing", cells == -2), ("has an unseen label", cells == -1)]
    known = cells[~np.isnan(cells)]
    groups = [("is missing", np.isnan(cells))]
    if not len(known):
        return groups
    ends = np.unique(np.quantile(known, np.arange(1, N_BINS) / N_BINS, method="lower"))
    ends = ends[ends < known.max()]
    texts = [feature.show(end) for end in ends]
    # Missing numbers are in no group, as each comparison with them is false.
    for k, end in enumerate(ends):
        if k == 0:
            groups.append((f"\u2264 {texts[0]}", cells <= end))
        else:
            inside = (cells > ends[k - 1]) & (cells <= end)
            groups.append((f"from {texts[k - 1]} to {texts[k]}", inside))
    if len(ends):
        groups.append((f"> {texts[-1]}", cells > ends[-1]))
    return groups


def group_section(groups: list[Group]) -> str:
    """Return the groups that are predicted worst, and those with wrong probabilities."""
    title = "For whom it is wrong"
    if not groups:
        return section("groups", title, paragraph("There are too few rows to compare groups."))
    marked = [g for g in groups if g.is_marked or g.is_biased][:SEVERAL]
    shown = marked or groups[:3]
    lines: list[list[Any]] = []
    for g in shown:
        shares = [Number(show_percent(share, 0)) for share in (g.said, g.happened)]
        losses = [Number(f"{loss:.2f}") for loss in (g.loss, g.loss_elsewhere)]
        how = "low" if g.happened > g.said else "high"
        about = ["predicted worse"] * g.is_marked + [f"probability too {how}"] * g.is_biased
        lines.append([g.name, g.n_rows, *losses, *shares, " and ".join(about) or "no"])
    label = f"\u201c{groups[0].label}\u201d"
    heads = ["rows where", "rows", "log-loss", "elsewhere", f"mean probability of {label}",
             f"share of {label}", "more than chance"]  # fmt: skip
    note = (
        f"Each value of a feature with at least {MIN_ROWS} rows was compared with the other rows; "
        "numbers in four groups of about as many rows. A difference is more than chance if a model "
        "without any bad group shows one as large in 5% of the cases."
    )
    if not marked:
        note = f"No group differs by more than chance; the worst ones are shown. {note}"
    return section("groups", title, table(heads, lines), paragraph(note, "soft"))
