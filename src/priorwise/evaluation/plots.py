"""Plots of comparisons and of calibration (needs matplotlib)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from priorwise.common.costs import check_cost_matrix
from priorwise.common.docstrings import describe
from priorwise.common.plots import (
    AXES,
    BLUE,
    CLASS_COLOURS,
    GREY,
    ORANGE,
    import_matplotlib,
    new_axes,
)
from priorwise.common.texts import show_probability
from priorwise.common.validation import check_choice
from priorwise.evaluation.calibration import ReliabilityCurve, consistency_band
from priorwise.evaluation.compare import win_draw_loss
from priorwise.evaluation.predictions import PREDICTIONS, Predictions, check_predictions
from priorwise.evaluation.ranks import (
    SCORE_TABLE,
    RankTable,
    bergmann_hommel,
    critical_difference,
    rank_models,
)

_TESTS = ("bergmann-hommel", "nemenyi")


@describe(AXES)
@describe(SCORE_TABLE)
def plot_critical_difference(
    frame: Any,
    *,
    higher_is_better: bool = False,
    alpha: float = 0.05,
    test: str = "bergmann-hommel",
    ax: Any = None,
) -> Any:
    """Draw the average ranks of models on a line, and bars over models that do not differ.

    A bar joins a run of neighbouring models of which no pair differs significantly. Rank 1, the
    best, is on the left. Source: Demsar (2006).

    Parameters
    ----------
    test : {"bergmann-hommel", "nemenyi"}
        Test of pairs of models. With "nemenyi" its critical difference is drawn too.

    Examples
    --------
    >>> scores = {"a": [1, 1, 1, 1, 1], "b": [2, 2, 3, 2, 2], "c": [3, 3, 2, 3, 3]}
    >>> [text.get_text() for text in plot_critical_difference(scores).texts][3:]
    ['a (1.00)', 'b (2.20)', 'c (2.80)']
    """
    check_choice("test", test, _TESTS)
    table = rank_models(frame, higher_is_better=higher_is_better)
    order = np.argsort(table.average, kind="stable")
    groups = _joined_groups(table, order, frame, higher_is_better, alpha, test)
    n = table.n_models
    half = (n + 1) // 2
    top = 1.0 + 0.25 * len(groups)
    axes = new_axes(ax, figsize=(7, 1.2 + 0.3 * half + 0.15 * len(groups)))
    axes.set_axis_off()
    axes.set_xlim(1 - 0.6 * (n - 1), n + 0.6 * (n - 1))
    axes.set_ylim(top + 0.45 * half + 0.3, -1.2)
    axes.plot([1, n], [0, 0], color="black", linewidth=1)
    for tick in range(1, n + 1):
        axes.plot([tick, tick], [-0.12, 0], color="black", linewidth=1)
        axes.annotate(str(tick), (tick, -0.22), ha="center", va="bottom")
    for place, model in enumerate(order):
        rank = float(table.average[model])
        left = place < half
        level = top + 0.45 * (place if left else n - 1 - place)
        edge = 1 - 0.05 * (n - 1) if left else n + 0.05 * (n - 1)
        axes.plot([rank, rank, edge], [0, level, level], color="black", linewidth=0.8)
        label = f"{table.names[model]} ({rank:.2f})"
        side = "right" if left else "left"
        axes.text(edge, level, label, ha=side, va="center")
    for line, (first, last) in enumerate(groups):
        ends = [table.average[order[first]] - 0.03, table.average[order[last]] + 0.03]
        axes.plot(ends, [0.35 + 0.25 * line] * 2, color="tab:red", linewidth=4)
    if test == "nemenyi":
        width = critical_difference(n, table.n_datasets, alpha=alpha)
        axes.plot([1, 1 + width], [-0.85, -0.85], color="black", linewidth=2, marker="|")
        axes.annotate(f"CD = {width:.2f}", (1 + width / 2, -0.9), ha="center", va="bottom")
    return axes


@describe(AXES)
@describe(SCORE_TABLE)
def plot_scatter(
    a: ArrayLike,
    b: ArrayLike,
    *,
    names: tuple[str, str] = ("a", "b"),
    higher_is_better: bool = False,
    score: str = "score",
    ax: Any = None,
) -> Any:
    """Draw a point for each data set at the scores of two models, and the diagonal.

    The half where model `a` is better is shaded. The title gives its wins, draws and losses.
    Infinite scores are drawn as hollow points beyond a dotted line, at the tick "inf" or "-inf".

    Parameters
    ----------
    a, b : array-like of shape (n_datasets,)
        Scores of two models, horizontal and vertical.
    names : tuple of str
        Names of the two models.
    score : str
        Name of the score.

    Examples
    --------
    >>> plot_scatter([0.1, 0.2], [0.2, 0.1], names=("HDP", "m-estimate")).get_title()
    'HDP against m-estimate: 1-0-1'
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    record = win_draw_loss(first, second, higher_is_better=higher_is_better)
    axes = new_axes(ax, figsize=(4.5, 4.5))
    scores = np.stack([first, second])
    values = scores[np.isfinite(scores)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = 0.05 * (high - low) or 0.5
    low, high = low - margin, high + margin
    places = np.clip(scores, low - margin, high + margin)
    finite = np.isfinite(scores).all(axis=0)
    has_low, has_high = -np.inf in scores, np.inf in scores
    left, right = low - 2 * margin * has_low, high + 2 * margin * has_high
    edge = left if higher_is_better else right
    axes.fill_between([left, right], [left, right], [edge, edge], color="0.93", linewidth=0)
    axes.plot([left, right], [left, right], color="black", linewidth=0.8)
    axes.scatter(*places[:, finite], s=18, alpha=0.8, color=BLUE)
    axes.scatter(*places[:, ~finite], s=24, facecolor="white", edgecolor=ORANGE, clip_on=False)
    axes.set(xlim=(left, right), ylim=(left, right), aspect="equal")
    if has_low or has_high:
        locate = import_matplotlib("ticker").MaxNLocator(5).tick_values
        ticks = {tick: f"{tick:g}" for tick in locate(low, high) if low <= tick <= high}
        beyond = [(low, low - margin, "-inf")] * has_low + [(high, high + margin, "inf")] * has_high
        for line, tick, label in beyond:
            axes.axvline(line, color=GREY, linestyle=":", linewidth=1)
            axes.axhline(line, color=GREY, linestyle=":", linewidth=1)
            ticks[tick] = label
        axes.set_xticks(list(ticks), list(ticks.values()))
        axes.set_yticks(list(ticks), list(ticks.values()))
    axes.set(xlabel=f"{names[0]}, {score}", ylabel=f"{names[1]}, {score}")
    axes.set_title(f"{names[0]} against {names[1]}: {'-'.join(map(str, record))}")
    return axes


@describe(AXES)
def plot_reliability(
    curves: ReliabilityCurve | Mapping[str, ReliabilityCurve],
    *,
    band: bool = True,
    ax: Any = None,
) -> Any:
    """Draw reliability curves, and the band in which a calibrated one lies.

    Parameters
    ----------
    curves : ReliabilityCurve or mapping of str to ReliabilityCurve
        Curves, by the names to show.
    band : bool
        Whether to draw the 90 % consistency band of the first curve.

    Examples
    --------
    >>> from priorwise.evaluation import reliability_curve
    >>> axes = plot_reliability(reliability_curve([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]))
    >>> axes.get_xlabel()
    'predicted probability'
    """
    named = curves if isinstance(curves, Mapping) else {"": curves}
    if not named:
        raise ValueError("curves must hold at least one curve, got none")
    axes = new_axes(ax, figsize=(4.5, 4.5))
    axes.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    if band:
        first = next(iter(named.values()))
        low, high = consistency_band(first)
        axes.fill_between(first.predicted, low, high, color="0.9", linewidth=0,
                          label="90 % of calibrated curves")  # fmt: skip
    for i, (name, curve) in enumerate(named.items()):
        axes.plot(curve.predicted, curve.observed, label=name or None, linewidth=1.5,
                  color=CLASS_COLOURS[i % len(CLASS_COLOURS)])  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set(xlabel="predicted probability", ylabel="observed frequency")
    if any(named) or band:
        # Below the axes: curves may lie anywhere within them.
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
        axes.legend(**place, frameon=False, fontsize=8)
    return axes


@describe(AXES)
@describe(PREDICTIONS)
def plot_cost(
    y_true: ArrayLike,
    proba: ArrayLike,
    *,
    cost_matrix: Any = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ax: Any = None,
) -> Any:
    """Draw the mean cost per row by the threshold from which on the second class is predicted.

    A mark shows the threshold of the least cost on these rows. A dotted line is the one that the
    costs demand of probabilities that can be trusted: where both decisions cost the same.

    Parameters
    ----------
    cost_matrix : array of shape (2, 2), dict or frame
        As in the method `predict` of classifiers; by default each error costs one.

    Examples
    --------
    >>> costs = {"well": {"sick": 1}, "sick": {"well": 4}}
    >>> y, p = ["well", "sick", "sick", "well"], [0.9, 0.3, 0.7, 0.2]
    >>> axes = plot_cost(y, p, cost_matrix=costs, labels=["sick", "well"])
    >>> axes.get_xlabel()
    "threshold of the probability of 'well'"
    """
    given = check_predictions(y_true, proba, labels, sample_weight)
    if given.n_classes != 2:
        raise ValueError(f"plot_cost needs two classes, got {given.labels.tolist()}")
    errors = np.ones((2, 2)) - np.eye(2)
    cost = errors if cost_matrix is None else check_cost_matrix(cost_matrix, given.labels)
    threshold, mean = mean_costs(given, cost)
    best = int(mean.argmin())
    axes = new_axes(ax, figsize=(6.0, 4.0))
    axes.step([0.0, *threshold], [mean[0], *mean], where="pre", color=BLUE, linewidth=1.5)
    axes.plot(
        threshold[best], mean[best], "o", color=ORANGE,
        label=f"least cost {mean[best]:.4g} at {show_probability(threshold[best])}",
    )  # fmt: skip
    wrong, missed = cost[0, 1] - cost[0, 0], cost[1, 0] - cost[1, 1]
    if wrong > 0.0 and missed > 0.0:
        even = wrong / (wrong + missed)
        axes.axvline(even, color="black", linestyle=":", linewidth=1,
                     label=f"by the costs alone: {show_probability(even)}")  # fmt: skip
    axes.set(xlim=(0, 1), ylabel="mean cost per row")
    axes.set_xlabel(f"threshold of the probability of {given.labels.tolist()[1]!r}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    return axes


def mean_costs(
    given: Predictions, cost: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return thresholds, rising, and the mean cost of saying the second class from each on.

    The last threshold, 1, or above it if a probability is 1, is that of never saying it.
    """
    p, place = np.unique(given.proba[:, 1], return_inverse=True)
    change = given.weight * (cost[given.codes, 0] - cost[given.codes, 1])
    always = float(given.weight @ cost[given.codes, 1])
    total = always + np.cumsum(np.bincount(place, change, minlength=len(p)))
    never = 1.0 if p[-1] < 1.0 else float(np.nextafter(1.0, 2.0))
    return np.append(p, never), np.append(always, total) / given.weight.sum()


def _joined_groups(
    table: RankTable, order: Any, frame: Any, higher_is_better: bool, alpha: float, test: str
) -> list[tuple[int, int]]:
    """Longest runs (first, last place) of models of which no pair differs significantly."""
    n = table.n_models
    differs = np.zeros((n, n), dtype=bool)
    if test == "nemenyi":
        ranks = table.average[order]
        gap = np.abs(ranks[:, None] - ranks[None, :])
        differs = gap >= critical_difference(n, table.n_datasets, alpha=alpha)
    else:
        place = {table.names[model]: position for position, model in enumerate(order)}
        for result in bergmann_hommel(frame, higher_is_better=higher_is_better, alpha=alpha):
            i, j = (place[name] for name in result.pair)
            differs[i, j] = differs[j, i] = result.rejected
    runs: list[tuple[int, int]] = []
    for first in range(n):
        last = first
        while last + 1 < n and not differs[first : last + 2, first : last + 2].any():
            last += 1
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((first, last))
    return runs
