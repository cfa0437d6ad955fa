"""The sentences that a report begins with: is it good, for whom is it wrong, what to decide."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from priorwise.common.texts import count, say_percent, show_probability
from priorwise.evaluation import hand_till_auc
from priorwise.report.groups import FALSE_ALARM, Group
from priorwise.report.html import section
from priorwise.report.thresholds import COSTS, RULE, Decisions, fill_decision

RANKS = ((0.9, "very well"), (0.8, "well"), (0.65, "fairly well"))
"""Words for an area under the ROC curve of at least so much."""

MIN_VARIANCE = 4.0
"""Least sum of p (1 - p) of rows whose share of a class is compared with its mean probability: its
distribution is then near to normal, and its standard deviation at least two rows."""

MAX_GROUPS = 10

SMALL_DIFFERENCE, SMALL_SHARE = 0.02, 0.1
"""A mean probability is not called wrong if it differs from the share of the class by at most
`SMALL_DIFFERENCE`, or by at most `SMALL_SHARE` times the share of the class among all rows."""

N_ABOVE = 20
"""A probability is called rare if fewer rows have a higher one."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trust:
    """How far probabilities can be trusted: up to `most`, and where they first fail.

    `said` and `happened` are the mean probability and the share of the first group of rows where
    they differ clearly: by more than chance, and by enough to matter. None if there is none.
    """

    most: float
    said: float | None = None
    happened: float | None = None
    n_groups: int = 0


def find_trust(p: Floats, event: NDArray[np.bool_]) -> Trust:
    """Compare mean probabilities with shares in groups of rows of rising probability.

    The groups have the same sum of p (1 - p), so that a difference is as easily seen in each.
    """
    order = np.argsort(p, kind="stable")
    p, event = p[order], event[order]
    variance = np.cumsum(p * (1.0 - p))
    n_groups = min(MAX_GROUPS, int(variance[-1] / MIN_VARIANCE))
    most = float(p[-min(N_ABOVE, len(p))])
    if n_groups < 1:
        return Trust(most)
    limit = ndtri(1.0 - FALSE_ALARM / (2.0 * n_groups))
    small = min(SMALL_DIFFERENCE, SMALL_SHARE * float(event.mean()))
    place = np.minimum((variance / variance[-1] * n_groups).astype(int), n_groups - 1)
    before = 0.0
    for group in range(n_groups):
        own = place == group
        said, happened = float(p[own].mean()), float(event[own].mean())
        error = np.sqrt((p[own] * (1.0 - p[own])).sum()) / own.sum()
        if abs(said - happened) > max(limit * error, small):
            return Trust(before, said, happened, n_groups)
        before = float(p[own][-1])
    return Trust(most, n_groups=n_groups)


def verdict_section(
    labels: list[str], y: NDArray[np.intp], proba: Floats, decisions: Decisions | None,
    groups: list[Group], losses: tuple[float, float], note: str,
) -> str:  # fmt: skip
    """Return the verdict; `losses` are the log-losses of the model and of the shares of classes."""
    auc = float(hand_till_auc(y, proba, labels=np.arange(len(labels))))
    first = _judge_ranking(labels, y, proba, auc, decisions)
    second = _judge_probabilities(labels, y, proba, decisions)
    answers = [
        ("Is it good?", escape(_compare(auc, losses, len(labels)))),
        ("For whom is it wrong?", escape(_describe_groups(groups))),
    ]
    if decisions is not None:
        named = f'<span data-class="{decisions.place}">{{}}</span>'
        answers += [
            ("Which threshold?", named.format(fill_decision(f"{RULE} {WHY}", decisions))),
            ("What does a mistake cost?", named.format(fill_decision(COSTS, decisions))),
        ]
    lines = "".join(f"<dt>{title}</dt><dd>{text}</dd>" for title, text in answers)
    return section(
        "verdict", "Verdict", f'<p class="verdict">{escape(first)} {escape(second)}</p>',
        f"<dl>{lines}</dl>", f'<p class="soft">{escape(note)}</p>',
    )  # fmt: skip


WHY = (
    "If a miss costs {miss-cost} and a false alarm {alarm-cost}, {by-costs} is the best threshold "
    "of probabilities that can be trusted. The model finds {found} of {n-event} rows, with "
    "{alarms} false alarms. These costs are an example: type your own "
    "<a href='#thresholds'>below</a>."
)


def _judge_ranking(
    labels: list[str], y: NDArray[np.intp], proba: Floats, auc: float, decisions: Decisions | None
) -> str:
    if decisions is None:
        return f"The rows are all of one class, {labels[int(y[0])]}: they cannot show how it ranks."
    rank = next((word for least, word in RANKS if auc >= least), "hardly better than chance")
    start = f"It ranks {rank} (AUC {_short(auc)})"
    but = "but" if auc >= RANKS[-1][0] else "and"
    if len(labels) > 2:
        share = say_percent(float((proba.argmax(axis=1) == y).mean()))
        common = int(np.bincount(y).argmax())
        simple = say_percent(float((y == common).mean()))
        return (
            f"{start} and names the class of {share} of the rows; always saying "
            f"\u201c{labels[common]}\u201d would name {simple}."
        )
    said, label = decisions.p >= 0.5, f"\u201c{decisions.label}\u201d"
    found = float(said[decisions.event].mean())
    if not said.any():
        return f"{start} {but} never says {label} at 50%: choose a threshold."
    share = say_percent(found)
    if found < 0.5:
        return (
            f"{start} {but} at 50% finds only {share} of the rows of {label}: choose a threshold."
        )
    right = say_percent(float(decisions.event[said].mean()))
    return (
        f"{start}; at 50% it finds {share} of the rows of {label}, and {right} of the rows that it "
        f"calls {label} are."
    )


def _judge_probabilities(
    labels: list[str], y: NDArray[np.intp], proba: Floats, decisions: Decisions | None
) -> str:
    if len(labels) == 2 and decisions is not None:
        p, event, of = decisions.p, decisions.event, f" of \u201c{decisions.label}\u201d"
    else:
        p, event, of = proba.ravel(), np.eye(len(labels), dtype=bool)[y].ravel(), ""
    trust = find_trust(p, event)
    most = say_percent(trust.most)
    if trust.n_groups == 0:
        return "So few rows are uncertain that its probabilities cannot be judged."
    if trust.said is not None and trust.happened is not None:
        how = "low" if trust.happened > trust.said else "high"
        start = "cannot be trusted"
        if trust.most > 0.0:
            start = f"can be trusted up to {most} only"
        digits = 0 if abs(trust.said - trust.happened) >= 0.02 else 1
        said, happened = (say_percent(p, digits) for p in (trust.said, trust.happened))
        return f"Its probabilities{of} {start}: where it says {said} it was {happened}, too {how}."
    if trust.most >= 0.9:
        return f"Its probabilities{of} can be trusted."
    return f"Its probabilities{of} can be trusted up to {most}; higher ones are rare in these rows."


def _compare(auc: float, losses: tuple[float, float], n_classes: int) -> str:
    own, shares = losses
    text = ""
    if np.isfinite(auc):
        of = "" if n_classes == 2 else ", on average over pairs of classes"
        text = (
            "Of two rows of different classes it puts the right one first in "
            f"{say_percent(auc)} of the cases{of}. "
        )
    simple = f"the {shares:.3f} of always giving the shares of the classes"
    if own >= shares:
        return f"No: its log-loss of {own:.3f} is no better than {simple}."
    gain = say_percent(1.0 - own / shares)
    return f"{text}Its log-loss of {own:.3f} is {gain} less than {simple}."


def _describe_groups(groups: list[Group]) -> str:
    marked = [group for group in groups if group.is_marked]
    if not groups:
        return "There are too few rows to compare groups."
    worst = marked[0] if marked else groups[0]
    text = (
        f"Worst where {worst.name} ({count(worst.n_rows, 'row')}, "
        f"{say_percent(worst.happened)} of them \u201c{worst.label}\u201d): its log-loss there "
        f"is {worst.loss:.2f}, elsewhere {worst.loss_elsewhere:.2f}."
    )
    if not marked:
        text += " But no group of rows is predicted worse than the others by more than chance."
    biased = next((group for group in groups if group.is_biased), None)
    if biased is None:
        return f"{text} In no group is its mean probability wrong by more than chance."
    how = "low" if biased.happened > biased.said else "high"
    return (
        f"{text} Its probabilities of \u201c{biased.label}\u201d are too {how} where "
        f"{biased.name}: it says {say_percent(biased.said)}, it was "
        f"{say_percent(biased.happened)}."
    )


def _short(share: float) -> str:
    """Return a score below one as people write it; only one itself looks like one.

    >>> _short(0.694), _short(0.9996), _short(1.0)
    ('.69', 'over .99', '1.00')
    """
    return show_probability(share, 2).replace(">", "over ").replace("0.", ".", 1)
