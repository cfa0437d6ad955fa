"""Log-loss and time to fit, of the flagship and of other libraries, on the same data sets.

    python benchmarks/log_loss_for_time.py DATA --out RUNS.csv [--models fast,xgboost,...]
                                           [--sets 20] [--least 100] [--most 2000] [--seconds 30]
    python benchmarks/log_loss_for_time.py --draw RUNS.csv [--figure docs/log_loss_for_time.png]
                                           [--readme README.md] [--models ...]

DATA is a folder of ARFF files (by default that in the environment variable PRIORWISE_DATA). Of its
files with --least to --most rows, sorted by name, --sets are taken at even distances. Half of the
rows of each are learnt, the others predicted; rows of classes with fewer than ten rows are left
out. All models have the same halves and one thread. Runs are added to RUNS.csv, so that libraries
that cannot be installed together can run one after the other; runs that it holds are not repeated.
The table and the figure show geometric means over the sets that all the models have; --readme puts
the table in the place of the first one of a page. The runs of README are
docs/results/log_loss_for_time.csv.

"tuned" boosting draws settings at random for --seconds of the processor and is fitted with the best
of them, as in `equal_time.py`. AutoGluon has the preset "best_quality" and the time in its name.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from equal_time import (
    CATBOOST_FIRST,
    Fitted,
    add_line,
    boost_by_catboost,
    boost_by_lightgbm,
    boost_by_xgboost,
    draw_for_catboost,
    draw_for_lightgbm,
    draw_for_xgboost,
    search,
)
from pool_numbers import LEAST_LOSS, Halves, read_sets
from sklearn.model_selection import StratifiedKFold

from priorwise.evaluation import cross_entropy
from priorwise.models.pool.numbers import EFFORTS

MIN_CLASS_ROWS = 10
"""Rows of rarer classes are left out: a search cannot hold some of them back."""
FEW_EBM_ROUNDS, MANY_EBM_SCORES = 400, 500
"""Rounds of EBM where classes times features are more than this: on mfeat-fourier. The loss of some
of its bags is NaN there once they boost pairs (interpret 0.7.8): they learn nothing more, and do
not stop before the last of 50,000 rounds, each for hours. Bags without NaN stop by themselves, and
with two bags, 200 and 1,000 rounds predict the same. The seconds are fewer than EBM would take."""
NO_SETTINGS: Mapping[str, Any] = MappingProxyType({})


def fit_flagship(effort: str) -> Callable[..., Fitted]:
    def fit(X: pd.DataFrame, y: np.ndarray, n_classes: int, seconds: float) -> Fitted:
        from priorwise import PriorwiseClassifier

        return PriorwiseClassifier(effort, random_state=0).fit(X, y).predict_proba

    return fit


def fit_boosting(
    boost: Any,
    draw: Any,
    *,
    tuned: bool,
    n_rounds: int = 100,
    first: Mapping[str, Any] = NO_SETTINGS,
) -> Callable[..., Fitted]:
    def fit(X: pd.DataFrame, y: np.ndarray, n_classes: int, seconds: float) -> Fitted:
        if tuned:
            clock = time.process_time
            return search(boost, draw, X, y, n_classes, seconds, 1, first=first, clock=clock)[0]
        return boost({}, n_classes, 1, X, y, n_rounds=n_rounds)[0]

    return fit


def fit_forest(X: pd.DataFrame, y: np.ndarray, n_classes: int, seconds: float) -> Fitted:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    labels = make_column_selector(dtype_exclude="number")
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), labels), remainder=SimpleImputer()
    )
    return make_pipeline(columns, RandomForestClassifier(random_state=0)).fit(X, y).predict_proba


def fit_ebm(X: pd.DataFrame, y: np.ndarray, n_classes: int, seconds: float) -> Fitted:
    from interpret.glassbox import ExplainableBoostingClassifier

    rounds = {"max_rounds": FEW_EBM_ROUNDS} if n_classes * X.shape[1] > MANY_EBM_SCORES else {}
    model = ExplainableBoostingClassifier(n_jobs=1, random_state=0, **rounds).fit(X, y)
    print("EBM, steps of each stage and bag:", model.best_iteration_.tolist())
    predict: Fitted = model.predict_proba
    return predict


def fit_autogluon(limit: float) -> Callable[..., Fitted]:
    def fit(X: pd.DataFrame, y: np.ndarray, n_classes: int, seconds: float) -> Fitted:
        import tempfile

        from autogluon.tabular import TabularPredictor

        kind = "binary" if n_classes == 2 else "multiclass"

        def learn(**options: Any) -> Any:
            return TabularPredictor(
                "target", kind, eval_metric="log_loss", path=tempfile.mkdtemp(), verbosity=0
            ).fit(
                X.assign(target=y), time_limit=limit, presets="best_quality", num_cpus=1, **options
            )

        try:
            predictor = learn()
        except (RuntimeError, AssertionError):
            # No model was ready in the quarter of the time that tries whether to stack.
            predictor = learn(dynamic_stacking=False)
        return lambda rows: predictor.predict_proba(rows).to_numpy()

    return fit


MODELS: dict[str, tuple[str, Callable[..., Fitted]]] = {
    **{effort: (f"priorwise, {effort}", fit_flagship(effort)) for effort in EFFORTS},
    "xgboost": ("XGBoost", fit_boosting(boost_by_xgboost, draw_for_xgboost, tuned=False)),
    "xgboost-tuned": (
        "XGBoost, tuned", fit_boosting(boost_by_xgboost, draw_for_xgboost, tuned=True)),
    "lightgbm": ("LightGBM", fit_boosting(boost_by_lightgbm, draw_for_lightgbm, tuned=False)),
    "lightgbm-tuned": (
        "LightGBM, tuned", fit_boosting(boost_by_lightgbm, draw_for_lightgbm, tuned=True)),
    "catboost": (
        "CatBoost",
        fit_boosting(boost_by_catboost, draw_for_catboost, tuned=False, n_rounds=1_000)),
    "catboost-tuned": (
        "CatBoost, tuned",
        fit_boosting(boost_by_catboost, draw_for_catboost, tuned=True, first=CATBOOST_FIRST)),
    "forest": ("random forest", fit_forest),
    "ebm": ("EBM", fit_ebm),
    **{f"autogluon-{limit}": (f"AutoGluon, {limit} s", fit_autogluon(limit))
       for limit in (30, 100, 300)},
}  # fmt: skip


def keep_common(data: Halves) -> Halves:
    """Return the set without rows of rare classes, in halves of its own."""
    kept = np.flatnonzero(np.bincount(data.y)[data.y] >= MIN_CLASS_ROWS)
    y = np.unique(data.y[kept], return_inverse=True)[1]
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    return Halves(data.name, data.X.iloc[kept], y, list(folds.split(kept, y)))


def run(data: Halves, name: str, seconds: float) -> dict[str, Any]:
    """Return the log-loss of one half of the rows, and the seconds to learn from the other.

    They are those of the processor, except for AutoGluon, which learns in other processes too.
    """
    (train, test), n_classes = data.parts[0], int(data.y.max()) + 1
    clock = time.perf_counter if name.startswith("autogluon") else time.process_time
    start = clock()
    predict = MODELS[name][1](data.X.iloc[train], data.y[train], n_classes, seconds)
    took = clock() - start
    proba = np.maximum(np.asarray(predict(data.X.iloc[test]), dtype=np.float64), 1e-15)
    proba /= proba.sum(axis=1, keepdims=True)
    loss = cross_entropy(data.y[test], proba, labels=np.arange(n_classes))
    return {"set": data.name, "model": name, "log_loss": float(loss), "seconds": took}


def read_runs(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def summarise(path: Path, wanted: list[str]) -> dict[str, tuple[float, float]]:
    """Return seconds and log-loss of models, geometric means over the sets that all have."""
    runs = {(one["model"], one["set"]): one for one in read_runs(path)}
    known = {model for model, _ in runs}
    models = [name for name in MODELS if name in known and name in wanted]
    names = sorted({name for _, name in runs})
    common = [name for name in names if all((model, name) in runs for model in models)]
    result = {}
    print(f"{'model':20}{'seconds':>10}{'log-loss':>10}   ({len(common)} sets)")
    for model in models:
        own = [runs[model, name] for name in common]
        seconds = np.exp(np.mean([np.log(float(one["seconds"])) for one in own]))
        loss = np.exp(np.mean([np.log(float(one["log_loss"]) + LEAST_LOSS) for one in own]))
        result[model] = float(seconds), float(loss)
        print(f"{MODELS[model][0]:20}{seconds:10.2f}{loss:10.4f}")
    return result


def write_table(path: Path, wanted: list[str]) -> str:
    """Return the means as Markdown, and on how many sets a library beats the default effort."""
    summary = summarise(path, wanted)
    losses = {(one["model"], one["set"]): float(one["log_loss"]) for one in read_runs(path)}
    names = {name for _, name in losses if all((model, name) in losses for model in summary)}
    head = f"lower on, of {len(names)} sets"
    lines = [f"| | log-loss | seconds | {head} |", "|---|---|---|---|"]
    for model, (seconds, loss) in summary.items():
        n_lower = sum(losses[model, name] < losses["balanced", name] for name in names)
        name = f'`PriorwiseClassifier("{model}")`' if model in EFFORTS else MODELS[model][0]
        lower = "" if model == "balanced" else str(n_lower)
        if model == "balanced":
            name = "**`PriorwiseClassifier()`**"
        digits = 2 if seconds < 1.0 else 1 if seconds < 10.0 else 0
        lines.append(f"| {name} | {loss:.3f} | {seconds:.{digits}f} | {lower} |")
    return "\n".join(lines) + "\n"


def replace_table(page: Path, table: str) -> None:
    """Put a table in the place of the first one of a page."""
    text = page.read_text()
    page.write_text(re.sub(r"^\|.*?\n(?!\|)", lambda _: table, text, count=1, flags=re.M | re.S))


def draw(summary: dict[str, tuple[float, float]], path: Path) -> None:
    """Draw log-loss over seconds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for name, (seconds, loss) in summary.items():
        own = name in EFFORTS
        axes.scatter(seconds, loss, color="#0b6e4f" if own else "#888888", s=40, zorder=3)
        # Libraries stand above their points, the flagship below, so that names do not meet; names
        # of near points stand to the left and to the right.
        near = [
            other for other, (also, least) in summary.items()
            if other != name and 0.25 < also / seconds < 4.0 and abs(least - loss) < 0.02
        ]  # fmt: skip
        side = "center" if not near else "right" if seconds < summary[near[0]][0] else "left"
        axes.annotate(
            MODELS[name][0].removeprefix("priorwise, "), (seconds, loss),
            xytext=(0, -14 if own else 7), textcoords="offset points", ha=side, fontsize=9,
        )  # fmt: skip
    own = sorted(summary[name] for name in EFFORTS if name in summary)
    axes.plot(*zip(*own, strict=True), color="#0b6e4f", linewidth=1.0, label="priorwise")
    axes.legend(frameon=False, loc="lower right")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("seconds to fit, geometric mean")
    axes.set_ylabel("log-loss, geometric mean")
    axes.margins(x=0.2, y=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path, nargs="?", default=os.environ.get("PRIORWISE_DATA"))
    parser.add_argument("--out", type=Path, help="CSV of the runs")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--least", type=int, default=100)
    parser.add_argument("--most", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=30.0, help="to tune a booster")
    parser.add_argument("--draw", type=Path, help="CSV of runs to draw")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--readme", type=Path, help="page whose first table is replaced")
    given = parser.parse_args()
    models = given.models.split(",")
    if given.draw is not None:
        summary = summarise(given.draw, models)
        if given.figure is not None:
            draw(summary, given.figure)
        if given.readme is not None:
            replace_table(given.readme, write_table(given.draw, models))
        return
    known = {(one["model"], one["set"]) for one in read_runs(given.out)}
    every = list(read_sets(Path(given.data), 10**6, given.least, given.most))
    places = np.linspace(0, len(every) - 1, min(given.sets, len(every))).round().astype(int)
    for data in (keep_common(every[place]) for place in places):
        for name in models:
            if (name, data.name) in known:
                continue
            line = run(data, name, given.seconds)
            print(f"{line['set']:30}{name:16}{line['log_loss']:9.4f}{line['seconds']:9.2f}")
            add_line(given.out, line)
    summarise(given.out, models)


if __name__ == "__main__":
    main()
