"""The sentences that a report begins with: is it good, for whom is it wrong, what to decide."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import t

from priorwise.common.texts import SEVERAL, count, say_percent, show_probability
from priorwise.evaluation import hand_till_auc
from priorwise.evaluation.auc import auc_interval
from priorwise.report.groups import FALSE_ALARM, Group
from priorwise.report.html import section
from priorwise.report.thresholds import COSTS, MIN_CLASS_ROWS, RULE, Decisions, fill_decision

RANKS = ((0.9, "very well"), (0.8, "well"), (0.65, "fairly well"))
"""Words for an area under the ROC curve of at least so much."""

CHANCE = 0.5
"""Area under the ROC curve of an order by chance."""

MIN_VARIANCE = 4.0
"""Least sum of p (1 - p) of rows whose share of a class is compared with its mean probability: its
distribution is then near to normal, and its standard deviation at least two rows."""

MIN_GROUPS, MAX_GROUPS = 5, 10
"""Groups of rows in which probabilities are compared with shares. Fewer may show that they are
wrong, and never that they are right."""

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
    they differ clearly: by more than chance, and by enough to matter. None if there is none; then
    differences of `hidden`, on average over the rows, are chance.
    """

    most: float
    said: float | None = None
    happened: float | None = None
    n_groups: int = 0
    hidden: float = 1.0


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
    before, hidden = 0.0, 0.0
    for group in range(n_groups):
        own = place == group
        said, happened = float(p[own].mean()), float(event[own].mean())
        error = np.sqrt((p[own] * (1.0 - p[own])).sum()) / own.sum()
        hidden += max(limit * error, small) * float(own.mean())
        if abs(said - happened) > max(limit * error, small):
            return Trust(before, said, happened, n_groups)
        before = float(p[own][-1])
    return Trust(most, n_groups=n_groups, hidden=hidden)


def verdict_section(
    labels: list[str], y: NDArray[np.intp], proba: Floats, event: int, decisions: Decisions | None,
    groups: list[Group], losses: tuple[Floats, Floats], note: str,
) -> str:  # fmt: skip
    """Return the verdict on the class `event`, with its `decisions` if it has rows enough.

    `losses` are the log-losses of each row, by the model and by the shares of classes.
    """
    ranking = Ranking.of(labels, y, proba)
    if ranking.is_unknown:
        first = _refuse(labels, y, proba, event, ranking)
    else:
        first = _judge_ranking(labels, y, proba, ranking, decisions)
    verdict = f"{first} {_judge_probabilities(labels, y, proba, event)}"
    is_few = len(y) - int(np.bincount(y).max()) < MIN_CLASS_ROWS
    answers = [
        ("Is it good?", escape(_compare(ranking, is_few, *losses))),
        ("For whom is it wrong?", escape(_describe_groups(groups))),
    ]
    if decisions is None:
        n_event = int((y == event).sum())
        answers += [("Which threshold?", escape(_refuse_threshold(labels, event, n_event, len(y))))]
    else:
        named = f'<span data-class="{decisions.place}">{{}}</span>'
        answers += [
            ("Which threshold?", named.format(fill_decision(f"{RULE} {WHY}", decisions))),
            ("What does a mistake cost?", named.format(fill_decision(COSTS, decisions))),
        ]
    lines = "".join(f"<dt>{title}</dt><dd>{text}</dd>" for title, text in answers)
    return section(
        "verdict", "Verdict", f'<p class="verdict">{escape(verdict)}</p>',
        f"<dl>{lines}</dl>", f'<p class="soft">{escape(note)}</p>',
    )  # fmt: skip


WHY = (
    "If a miss costs {miss-cost} and a false alarm {alarm-cost}, {by-costs} is the best threshold "
    "of probabilities that can be trusted. The model finds {found} of {n-event} rows, with "
    "{alarms} false alarms. These costs are an example: type your own "
    "<a href='#thresholds'>below</a>."
)


@dataclass(frozen=True)
class Ranking:
    """The AUC of rows, the ends of its 95% interval, and the pairs of classes that it is of."""

    auc: float
    low: float
    high: float
    pairs: str

    @classmethod
    def of(cls, labels: list[str], y: NDArray[np.intp], proba: Floats) -> Ranking:
        """Return the AUC of rows; NaN if all are of one class.

        Of several classes, those with few rows are left out if others have enough.
        """
        known, pairs = np.arange(len(labels)), ""
        if len(labels) > 2:
            pairs = ", on average over pairs of classes"
            enough = np.bincount(y, minlength=len(labels)) >= MIN_CLASS_ROWS
            if 2 <= enough.sum() < len(np.unique(y)):
                y, proba = y[enough[y]], proba[enough[y]]
                pairs += f" with at least {MIN_CLASS_ROWS} rows"
        auc = float(hand_till_auc(y, proba, labels=known))
        return cls(auc, *auc_interval(y, proba, labels=known), pairs)

    @property
    def is_unknown(self) -> bool:
        """Whether it may be that of chance and may be that of a fair model: rows are too few."""
        return not (self.low > CHANCE or self.high < RANKS[-1][0])

    def describe(self) -> str:
        """Return how well the model ranks, by no more than the lower end of the interval says."""
        word = next((word for least, word in RANKS if self.auc >= least), None)
        sure = next((word for least, word in RANKS if self.low >= least), None)
        if self.high < CHANCE:
            text = "worse than chance"
        elif sure is None:
            text = "hardly better than chance" if self.high < RANKS[-1][0] else "better than chance"
        else:
            text = sure if sure == word else f"at least {sure}"
        return f"It ranks {text} (AUC {self.show()})"

    def show(self) -> str:
        """Return the AUC and its interval."""
        return f"{_short(self.auc)}, 95% interval {_short(self.low)} to {_short(self.high)}"


def _refuse(
    labels: list[str], y: NDArray[np.intp], proba: Floats, event: int, ranking: Ranking
) -> str:
    """Return that rows are too few for a verdict."""
    if np.isnan(ranking.auc):
        return f"The rows are all of one class, {labels[int(y[0])]}: they cannot show how it ranks."
    of, never = f", {int((y == event).sum()):,} of them \u201c{labels[event]}\u201d,", ""
    if len(labels) > 2:
        of, never = "", _list_never_found(labels, y, proba.argmax(axis=1))
    return (
        f"{count(len(y), 'row')}{of} are too few to judge the model: its ranking may be due to "
        f"chance (AUC {ranking.show()}).{never}"
    )


def _refuse_threshold(labels: list[str], event: int, n_event: int, n_rows: int) -> str:
    return (
        f"A threshold needs at least {MIN_CLASS_ROWS} rows of the class and {MIN_CLASS_ROWS} "
        f"others; there are {n_event:,} of \u201c{labels[event]}\u201d and {n_rows - n_event:,} "
        "others."
    )


def _judge_ranking(
    labels: list[str],
    y: NDArray[np.intp],
    proba: Floats,
    ranking: Ranking,
    decisions: Decisions | None,
) -> str:
    start = ranking.describe()
    but = "but" if ranking.low >= RANKS[-1][0] else "and"
    if len(labels) > 2:
        best = proba.argmax(axis=1)
        share = say_percent(float((best == y).mean()))
        common = int(np.bincount(y).argmax())
        simple = say_percent(float((y == common).mean()))
        return (
            f"{start} and names the class of {share} of the rows; always saying "
            f"\u201c{labels[common]}\u201d would name {simple}.{_list_never_found(labels, y, best)}"
        )
    if decisions is None:
        return f"{start}."
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


def _list_never_found(labels: list[str], y: NDArray[np.intp], best: NDArray[np.intp]) -> str:
    """Return which classes that rows have are the most probable one of none of their rows."""
    n_rows = np.bincount(y, minlength=len(labels))
    n_found = np.bincount(y[best == y], minlength=len(labels))
    never = np.flatnonzero((n_rows > 0) & (n_found == 0))
    if not len(never):
        return ""
    never = never[np.argsort(-n_rows[never], kind="stable")]
    shown = [f"\u201c{labels[k]}\u201d ({count(int(n_rows[k]), 'row')})" for k in never[:SEVERAL]]
    more = f" and {len(never) - SEVERAL:,} more" if len(never) > SEVERAL else ""
    return f" It finds no row of {', '.join(shown)}{more}."


def _judge_probabilities(labels: list[str], y: NDArray[np.intp], proba: Floats, event: int) -> str:
    if len(labels) == 2:
        p, happens, of = proba[:, event], y == event, f" of \u201c{labels[event]}\u201d"
    else:
        p, happens, of = proba.ravel(), np.eye(len(labels), dtype=bool)[y].ravel(), ""
    trust = find_trust(p, happens)
    most = say_percent(trust.most)
    if trust.said is not None and trust.happened is not None:
        how = "low" if trust.happened > trust.said else "high"
        start = "cannot be trusted"
        if trust.most > 0.0:
            start = f"can be trusted up to {most} only"
        digits = 0 if abs(trust.said - trust.happened) >= 0.02 else 1
        said, happened = (say_percent(p, digits) for p in (trust.said, trust.happened))
        return f"Its probabilities{of} {start}: where it says {said} it was {happened}, too {how}."
    if trust.n_groups < MIN_GROUPS:
        return "Too few rows are uncertain to judge its probabilities."
    points = count(max(round(100 * trust.hidden), 1), "point")
    start = f"Its probabilities{of} can be trusted"
    unseen = f"but for errors below {points}, which these rows cannot show"
    if trust.most >= 0.9:
        return f"{start}, {unseen}."
    return f"{start} up to {most}, {unseen}; higher ones are rare in these rows."


def _compare(ranking: Ranking, is_few: bool, own: Floats, shares: Floats) -> str:
    """Return how the log-losses of rows by the model compare with those by shares of classes.

    Losses are skewed: if there `is_few` rows of other classes than the commonest one, nothing can
    be said of their mean.
    """
    text = ""
    if not (ranking.is_unknown or ranking.high < CHANCE):
        ends = " to ".join(map(say_percent, (ranking.low, ranking.high)))
        text = (
            "Of two rows of different classes it puts the right one first in "
            f"{say_percent(ranking.auc)} of the cases{ranking.pairs} (95% interval {ends}). "
        )
    loss, simple = float(own.mean()), float(shares.mean())
    always = f"the {simple:.3f} of always giving the shares of the classes"
    gain = shares - own
    sure = np.inf
    if len(gain) > 1:
        sure = float(t.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / np.sqrt(len(gain)))
    if is_few:
        return (
            f"{text}The rows are too few to say more: its log-loss is {loss:.3f}, beside {always}."
        )
    if abs(simple - loss) <= sure:
        return f"{text}Its log-loss of {loss:.3f} differs from {always} by no more than chance."
    if loss >= simple:
        return f"No: its log-loss of {loss:.3f} is worse than {always}."
    less = say_percent(1.0 - loss / simple)
    return f"{text}Its log-loss of {loss:.3f} is {less} less than {always}."


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
