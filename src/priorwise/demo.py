"""Better probabilities from sparse counts, in a minute or less: ``python -m priorwise.demo``.

1. The stroke table of the HDP authors' slides: 15 rows, 6 contexts, one of them never seen.
2. A generated table of 4 parents whose true probabilities are known: the error of each smoother,
   by the number of rows of a context.
3. Classifiers beside scikit-learn's, cross-validated on data that needs no download.
4. `PriorwiseClassifier`: scores of its members, an explanation of one prediction and the explorer.

Prints tables and writes into the current folder the page `demo_explorer.html` and, if matplotlib is
installed, the plots `demo_smoothing.png` and `demo_reliability.png`.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from priorwise import (
    ConditionalTable,
    ESKDBClassifier,
    NaiveBayesClassifier,
    PriorwiseClassifier,
    ProbabilityTreeClassifier,
    SelectiveKDBClassifier,
    TANClassifier,
)
from priorwise.data import FrameEncoder
from priorwise.datasets import make_led, make_waveform
from priorwise.evaluation import cross_entropy, rmse, zero_one_loss
from priorwise.smoothing import HDP, HGS, MLE, Laplace, MBranch, MEstimate

SMOOTHERS = {
    "MLE": MLE(),
    "Laplace": Laplace(),
    "m-est. cv": MEstimate(m="cv"),
    "M-branch": MBranch(),
    "HGS": HGS(),
    "HDP": HDP(),
}
PROCESSOR_SECONDS = 15
"""What the comparison of classifiers takes on a Xeon of 2.1 GHz (2026-11)."""

STROKE = """
weight  height  yes  no
heavy   tall      1   3
heavy   short     1   0
heavy   med       1   3
light   short     0   3
light   med       0   3
"""
"""Number of rows with and without a stroke, by weight and height."""


def read_stroke_rows() -> list[list[str]]:
    """Return the rows (stroke, weight, height) that the table counts."""
    _, *lines = STROKE.strip().splitlines()
    rows = []
    for weight, height, yes, no in map(str.split, lines):
        rows += [["yes", weight, height]] * int(yes) + [["no", weight, height]] * int(no)
    return rows


def show_stroke_table() -> None:
    print("p(stroke = yes | weight, height) from 15 rows\n")
    print(f"{'weight':8}{'height':8}{'yes/rows':>9}" + "".join(f"{s:>11}" for s in SMOOTHERS))
    rows = read_stroke_rows()
    tables = {
        name: ConditionalTable(smoother, random_state=0).fit(rows, target=0, given=[1, 2])
        for name, smoother in SMOOTHERS.items()
    }
    contexts = [("heavy", "short"), ("heavy", "tall"), ("light", "med"), ("light", "tall"),
                ("light", None), ("slim", "tall")]  # fmt: skip
    for weight, height in contexts:
        query: dict[Hashable, str] = {1: weight} if height is None else {1: weight, 2: height}
        seen = [r for r in rows if r[1] == weight and height in (None, r[2])]
        share = f"{sum(r[0] == 'yes' for r in seen)}/{len(seen)}"
        cells = "".join(f"{table.query(query)['yes']:11.3f}" for table in tables.values())
        print(f"{weight:8}{height or 'any':8}{share:>9}{cells}")
    print("\n(light, tall) has no rows and gets the row of (light, any); slim that of all rows.\n")


def draw_table(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (target, 4 parents) of a hierarchical model, and the true p(target | parents)."""
    rng = np.random.default_rng(seed)
    arities, n_outcomes = (3, 5, 6, 8), 4
    parents = np.stack([rng.zipf(1.6, n_rows) % arity for arity in arities])
    phi = rng.dirichlet(np.ones(n_outcomes), 1)
    for arity, strength in zip(arities, (4, 8, 12, 20), strict=True):
        phi = np.array([rng.dirichlet(strength * p + 1e-3) for p in phi for _ in range(arity)])
    context = np.ravel_multi_index(tuple(parents), arities)
    truth = phi[context]
    target = (rng.random((n_rows, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    return np.column_stack([target, parents.T]), context, truth


def group_by_support(support: np.ndarray) -> dict[str, np.ndarray]:
    """Group rows by the number of training rows in their context: a label and a mask each."""
    starts = [0, 1, 2, 4, 8, 16, 64]
    labels = [f"{a}" if b == a + 1 else f"{a}-{b - 1}" for a, b in pairwise(starts)]
    place = np.searchsorted(starts, support, side="right") - 1
    return {label: place == i for i, label in enumerate([*labels, f"{starts[-1]}+"])}


def show_generated_table() -> tuple[list[str], dict[str, list[float]]]:
    n_train, n_test = 3000, 30_000
    rows, context, truth = draw_table(n_train + n_test, seed=1)
    train, test = rows[:n_train], rows[n_train:]
    support = np.bincount(context[:n_train], minlength=context.max() + 1)[context[n_train:]]
    groups = group_by_support(support)
    print(f"Error (RMSE to the true probabilities) of p(target | a, b, c, d) from {n_train} rows,")
    print("by the number of training rows in the context\n")
    cells = "".join(f"{label:>9}" for label in groups)
    print(f"{'rows':12}{cells}{'all':>9}{'log-loss':>11}")
    errors: dict[str, list[float]] = {}
    for name, smoother in SMOOTHERS.items():
        table = ConditionalTable(smoother, random_state=0).fit(train, target=0, given=[1, 2, 3, 4])
        proba = table.predict_proba(test)
        squared = ((proba - truth[n_train:]) ** 2).mean(axis=1)
        errors[name] = [float(np.sqrt(squared[group].mean())) for group in groups.values()]
        overall = np.sqrt(squared.mean())
        with np.errstate(divide="ignore"):
            log_loss = -np.log(proba[np.arange(n_test), test[:, 0]]).mean()
        cells = "".join(f"{e:9.3f}" for e in [*errors[name], overall])
        print(f"{name:12}{cells}{log_loss:11.4f}")
    print("\nMLE gives probability zero to some outcomes that occur, so its log-loss is infinite.")
    return list(groups), errors


def draw_errors(labels: list[str], errors: dict[str, list[float]], path: Path) -> None:
    """Draw the errors of `show_generated_table`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    for name, values in errors.items():
        strong = name == "HDP"
        axis.plot(labels, values, marker="o", lw=3 if strong else 1.2, label=name,
                  color="black" if strong else None)  # fmt: skip
    axis.set_xlabel("training rows in the context")
    axis.set_ylabel("RMSE to the true probabilities")
    axis.set_title("Sparse contexts gain most from smoothing towards ancestors")
    axis.set_ylim(0, None)
    axis.legend(frameon=False, ncols=2)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150, metadata={"Description": describe_errors(errors)})


def describe_errors(errors: dict[str, list[float]]) -> str:
    """The numbers of the plot as text, which the plot carries with it."""
    return "; ".join(
        f"{name} " + " ".join(f"{value:.3f}" for value in values) for name, values in errors.items()
    )


def compare_classifiers() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Print mean scores of 2-fold cross-validation; return labels and probabilities of one set."""
    datasets = {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "breast cancer": load_breast_cancer(return_X_y=True),
        "LED digits": make_led(500, random_state=0),
        "waveform": make_waveform(500, random_state=0),
    }
    classifiers = {
        "priorwise naive Bayes": NaiveBayesClassifier(),
        "priorwise TAN": TANClassifier(),
        "priorwise selective kDB": SelectiveKDBClassifier(),
        "priorwise tree": ProbabilityTreeClassifier(random_state=0),
        "priorwise ESKDB": ESKDBClassifier(random_state=0, n_jobs=-1),
        "priorwise fast": PriorwiseClassifier("fast", random_state=0, n_jobs=-1),
        "priorwise": PriorwiseClassifier(random_state=0, n_jobs=-1),
        "sklearn naive Bayes": make_pipeline(FrameEncoder(), GaussianNB()),
        "sklearn random forest": make_pipeline(
            FrameEncoder(), RandomForestClassifier(random_state=0)
        ),
        "sklearn logistic": make_pipeline(
            FrameEncoder(), StandardScaler(), LogisticRegression(max_iter=1000)
        ),
        "sklearn boosting": make_pipeline(
            FrameEncoder(), HistGradientBoostingClassifier(random_state=0)
        ),
    }
    print(f"\nClassifiers, 2-fold cross-validation, means over {', '.join(datasets)}\n")
    print(f"{'':26}{'RMSE':>8}{'log-loss':>10}{'error':>8}{'seconds':>9}")
    folds, shown = StratifiedKFold(2, shuffle=True, random_state=0), dict[str, np.ndarray]()
    for name, model in classifiers.items():
        scores, start = [], time.perf_counter()
        for dataset, (X, y) in datasets.items():
            # As the others of scikit-learn. Several threads of its boosting wait for each other in
            # busy loops: on 2 processors that other programs used too it took minutes.
            with threadpool_limits(1, user_api="openmp"):
                proba = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
            scores.append([score(y, proba) for score in (rmse, cross_entropy, zero_one_loss)])
            if dataset == "breast cancer":
                shown[name] = proba[:, 1]
        took = time.perf_counter() - start
        mean = np.mean(scores, axis=0)
        line = f"{name:26}{mean[0]:8.4f}{mean[1]:10.4f}{mean[2]:8.3f}{took:9.2f}"
        print(line, flush=True)
    print(
        "\nFive small sets say little about close lines. The page of results compares the default,"
        "\npriorwise, with priorwise fast on 65 data sets."
    )
    return datasets["breast cancer"][1], shown


def show_flagship(page: Path) -> None:
    """Print scores of the members and an explanation of one prediction; write the explorer."""
    data = load_breast_cancer(as_frame=find_spec("pandas") is not None)  # pandas brings names
    X, y, names = data.data, data.target_names[data.target], data.feature_names
    model = PriorwiseClassifier("fast", random_state=0, n_jobs=-1).fit(X[100:], y[100:])
    print("\nPriorwiseClassifier on breast cancer, judged on rows its members have not seen\n")
    print(model.score_report())
    explanation = model.explain(X[:1])
    benign = explanation.contributions[0, :, 0]
    print(f"\nRow 0 is benign with probability {model.predict_proba(X[:1])[0, 0]:.4f}. The largest")
    print("contributions to its log-odds (value of the feature, contribution):\n")
    for place in np.argsort(-np.abs(benign))[:5]:
        print(f"  {names[place]:26}{np.asarray(X)[0, place]:10.3f}{benign[place]:+9.2f}")
    model.explorer(page, X[:100], y[:100])


def draw_reliability(y: np.ndarray, shown: dict[str, np.ndarray], path: Path) -> None:
    import matplotlib.pyplot as plt

    from priorwise.evaluation import plot_reliability, reliability_curve

    chosen = ["priorwise", "sklearn random forest", "sklearn boosting"]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
    for axis, name in zip(axes, chosen, strict=True):
        plot_reliability(reliability_curve(y, shown[name]), ax=axis)
        axis.set_title(f"{name}, breast cancer")
    figure.savefig(path, dpi=150, bbox_inches="tight")


def main() -> None:
    """Run the four parts and name the files that they have written."""
    start, used = time.perf_counter(), time.process_time()
    can_draw = find_spec("matplotlib") is not None
    plots = [Path("demo_smoothing.png"), Path("demo_reliability.png")]
    page = Path("demo_explorer.html")

    print("Part 1 of 4: a table of 15 rows\n", flush=True)
    show_stroke_table()
    print("Part 2 of 4: a generated table\n", flush=True)
    labels, errors = show_generated_table()
    print(f"\nPart 3 of 4: classifiers, about {PROCESSOR_SECONDS} seconds of processor", flush=True)
    print("time; more on a machine that is busy with other programs", flush=True)
    y, shown = compare_classifiers()
    print("\nPart 4 of 4: the classifier to try first, and what it learnt", flush=True)
    show_flagship(page)
    if can_draw:
        draw_errors(labels, errors, plots[0])
        draw_reliability(y, shown, plots[1])

    seconds, of_processor = time.perf_counter() - start, time.process_time() - used
    print(f"\nDone in {seconds:.0f} seconds, with {of_processor:.0f} seconds of processor time.")
    print("Files to open:\n")
    for path in [*plots, page] if can_draw else [page]:
        print(f"  {path.resolve()}")
    if not can_draw:
        print("\nmatplotlib, which draws two plots, is missing: pip install 'priorwise[plot]'")


if __name__ == "__main__":
    main()
