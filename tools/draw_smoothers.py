"""Pictures of the smoothers for their pages: one file for each, in the folder docs/smoothers."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from priorwise import ConditionalTable
from priorwise.demo import draw_table, group_by_support
from priorwise.smoothing import (
    HDP,
    HGS,
    MLE,
    HierarchicalShrinkage,
    Laplace,
    LevelShrinkage,
    MBranch,
    MEstimate,
    ParentEstimate,
    PitmanYor,
    PruningAverage,
    Smoother,
)

SMOOTHERS: dict[str, Smoother] = {
    "mle": MLE(),
    "laplace": Laplace(),
    "m_estimate": MEstimate(m=1.0),
    "m_branch": MBranch(),
    "parent": ParentEstimate(),
    "level": LevelShrinkage(),
    "hdp": HDP(),
    "pitman_yor": PitmanYor(),
    "hgs": HGS(),
    "hierarchical": HierarchicalShrinkage(),
    "prunings": PruningAverage(),
}
N_ROWS = [0, 1, 2, 4, 8, 16, 32, 64]
GREY, STRONG, TRUTH = "0.78", "#c2410c", "#1d4ed8"


def estimates_of_one_context(smoother: Smoother) -> list[float]:
    """Estimates of p(yes) in a context whose N rows are all yes, among ten with one yes in five."""
    others = [(int(row % 5 == 0), f"other {place}") for place in range(10) for row in range(20)]
    result = []
    for n_rows in N_ROWS:
        rows = [*others, *[(1, "new")] * n_rows]
        table = ConditionalTable(smoother, random_state=0).fit(rows, target=0, given=[1])
        result.append(table.query({1: "new"})[1])
    return result


def errors_by_support(smoother: Smoother) -> dict[str, float]:
    """Errors on the generated table of the demo, by the number of rows of a context."""
    n_train, n_test = 3000, 10_000
    rows, context, truth = draw_table(n_train + n_test, seed=1)
    table = ConditionalTable(smoother, random_state=0)
    proba = table.fit(rows[:n_train], target=0, given=[1, 2, 3, 4]).predict_proba(rows[n_train:])
    squared = ((proba - truth[n_train:]) ** 2).mean(axis=1)
    seen = np.bincount(context[:n_train], minlength=context.max() + 1)[context[n_train:]]
    groups = group_by_support(seen)
    return {label: float(np.sqrt(squared[group].mean())) for label, group in groups.items()}


def draw_smoothers(folder: Path) -> None:
    """Write one picture for each smoother, unless all are newer than this file."""
    paths = {name: folder / f"{name}.png" for name in SMOOTHERS}
    made = Path(__file__).stat().st_mtime
    if all(path.exists() and path.stat().st_mtime > made for path in paths.values()):
        return
    curves = {name: estimates_of_one_context(one) for name, one in SMOOTHERS.items()}
    errors = {name: errors_by_support(one) for name, one in SMOOTHERS.items()}
    for shown, path in paths.items():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
        for name in [*(set(SMOOTHERS) - {shown}), shown]:
            style = {"color": GREY, "lw": 1} if name != shown else {"color": STRONG, "lw": 3}
            left.plot([str(n) for n in N_ROWS], curves[name], **style)
            right.plot(list(errors[name]), list(errors[name].values()), **style)
        left.axhline(0.2, color=TRUTH, lw=1, ls=":")
        left.text(len(N_ROWS) - 1, 0.21, "other contexts", ha="right", color=TRUTH, fontsize=9)
        left.set(xlabel="rows of a context, all of them yes", ylabel="estimate of p(yes)")
        right.set(xlabel="rows of the context", ylabel="RMSE to the truth")
        left.set_title("How fast rows convince it", fontsize=11)
        right.set_title("Error on a table of four columns", fontsize=11)
        left.set_ylim(0, 1.03)
        right.set_ylim(0, None)
        for axis in (left, right):
            axis.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=110)
        plt.close(figure)
