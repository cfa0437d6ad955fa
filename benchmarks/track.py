"""Follow speed and accuracy from commit to commit: `make benchmark`.

Each benchmark runs this library and a rival of scikit-learn on the same data in the same process
and takes the ratio, so that another machine or a busy one changes little. One line for each
benchmark is added to `benchmarks/history.csv`; lines of the same commit are replaced. The history
is drawn into `build/benchmarks/history.png`.
"""

import csv
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import matplotlib
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import CategoricalNB
from sklearn.tree import DecisionTreeClassifier

from priorwise import (
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityForestClassifier,
    ProbabilityTreeClassifier,
)
from priorwise.datasets import make_led, make_waveform
from priorwise.evaluation import rmse

ROOT = Path(__file__).parents[1]
HISTORY = ROOT / "benchmarks" / "history.csv"
PICTURE = ROOT / "build" / "benchmarks" / "history.png"
COLUMNS = ["commit", "date", "benchmark", "priorwise", "rival", "ratio"]
N_REPEATS = 3


class Pair(NamedTuple):
    """A model of this library and its rival, and the data that both learn from."""

    own: Callable
    rival: Callable
    data: tuple


def pairs() -> dict[str, Pair]:
    """The pairs by name; half of the rows are for learning."""
    waves = make_waveform(2000, random_state=0)
    digits, labels = make_led(20_000, n_irrelevant=17, random_state=0)
    led = digits.astype(int), labels
    return {
        "flagship, boosting": Pair(
            lambda: PriorwiseClassifier("fast", random_state=0),
            lambda: HistGradientBoostingClassifier(random_state=0),
            waves,
        ),
        "forest, random forest": Pair(
            lambda: ProbabilityForestClassifier(splitter="random", random_state=0),
            lambda: RandomForestClassifier(random_state=0),
            waves,
        ),
        "tree, tree": Pair(
            lambda: ProbabilityTreeClassifier("m-branch", criterion="gain"),
            lambda: DecisionTreeClassifier(random_state=0),
            waves,
        ),
        "naive Bayes, naive Bayes": Pair(
            lambda: NaiveBayesClassifier("laplace", categorical_features=list(range(24))),
            CategoricalNB,
            led,
        ),
    }


def measure(make_model: Callable, data: tuple) -> dict[str, float]:
    """Shortest seconds of fit and predict, and the RMSE on the rows that were not learnt from."""
    X, y = data
    half = len(y) // 2
    fits, predictions = [], []
    for _ in range(N_REPEATS):
        start = time.perf_counter()
        model = make_model().fit(X[:half], y[:half])
        fits.append(time.perf_counter() - start)
        start = time.perf_counter()
        proba = model.predict_proba(X[half:])
        predictions.append(time.perf_counter() - start)
    return {"fit": min(fits), "predict": min(predictions), "rmse": rmse(y[half:], proba)}


def run_benchmarks() -> list[dict[str, str]]:
    """Lines of the history for the commit that is checked out."""
    describe = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    date = datetime.now(UTC).isoformat(timespec="seconds")
    lines = []
    for name, pair in pairs().items():
        own, rival = measure(pair.own, pair.data), measure(pair.rival, pair.data)
        for what in own:
            ratio = own[what] / rival[what]
            values = [commit or "unknown", date, f"{what}: {name}",
                      f"{own[what]:.5f}", f"{rival[what]:.5f}", f"{ratio:.4f}"]  # fmt: skip
            lines.append(dict(zip(COLUMNS, values, strict=True)))
            print(f"{what + ': ' + name:36}{own[what]:10.4f}{rival[what]:10.4f}{ratio:8.2f}")
    return lines


def add_to_history(lines: list[dict[str, str]], path: Path) -> list[dict[str, str]]:
    """Write the lines behind those of other commits; return all."""
    before: list[dict[str, str]] = []
    if path.exists():
        with path.open(newline="") as file:
            before = list(csv.DictReader(file))
    history = [line for line in before if line["commit"] != lines[0]["commit"]] + lines
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(history)
    return history


def draw_history(history: list[dict[str, str]], path: Path) -> None:
    """Draw the ratios of all benchmarks, one panel for each thing that is measured."""
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    commits = list(dict.fromkeys(line["commit"] for line in history))
    kinds = list(dict.fromkeys(line["benchmark"].split(":")[0] for line in history))
    figure, axes = plt.subplots(1, len(kinds), figsize=(4.5 * len(kinds), 4), layout="constrained")
    for axis, kind in zip(np.atleast_1d(axes), kinds, strict=True):
        names = dict.fromkeys(line["benchmark"] for line in history)
        for name in (name for name in names if name.startswith(f"{kind}:")):
            shown = [line for line in history if line["benchmark"] == name]
            places = [commits.index(line["commit"]) for line in shown]
            ratios = [float(line["ratio"]) for line in shown]
            axis.plot(places, ratios, "o-", label=name.split(": ")[1])
        axis.axhline(1, color="grey", lw=0.8)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter("{x:g}")
        axis.set_xticks(range(len(commits)), commits, rotation=60, fontsize=7)
        axis.set_title(f"{kind}: ratio to the rival, lower is better", fontsize=10)
        axis.legend(frameon=False, fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    print(f"{'benchmark':36}{'priorwise':>10}{'rival':>10}{'ratio':>8}")
    draw_history(add_to_history(run_benchmarks(), HISTORY), PICTURE)
    print(f"\nAdded to {HISTORY.relative_to(ROOT)}; drawn in {PICTURE.relative_to(ROOT)}")
