"""Write docs/results.md from the result files in docs/results.

    python benchmarks/write_results.py                      # write the page anew
    python benchmarks/write_results.py --add NAME RUN.csv   # keep a run's means as NAME.csv first

RUN.csv is what `cross_validate(out=...)` wrote; kept are means over folds, one row per data set
and model. superparent.csv is written by `cll_tables.py --means`.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from published_tables import RANKINGS, SCORES, TABLES, Pair, Ranking, Table
from rival_tables import describe_equal_time, describe_foundation_models, draw_table

from priorwise.evaluation import (
    bergmann_hommel,
    friedman_test,
    read_results,
    sign_test,
    win_draw_loss,
)

FOLDER = Path(__file__).parent.parent / "docs" / "results"
HEAD = """\
# Results

Written by `benchmarks/write_results.py` from the files in `docs/results`. RMSE is
sqrt(sum (p - [y])^2 / (N K)); log-loss is in nats; error is the share of rows misclassified; p is
that of a two-tailed sign test. An infinite mean log-loss comes from estimates of zero.
"""


class Scores:
    """One score of every model on every data set, read from a file of docs/results."""

    def __init__(self, path: Path) -> None:
        with path.open() as file:
            reader = csv.DictReader(file)
            self.columns = list(reader.fieldnames or ())[2:]
            self.cells = {(row["model"], row["dataset"]): row for row in reader}
        self.datasets = sorted({dataset for _, dataset in self.cells})

    def of(self, model: str, score: str) -> list[float]:
        """By data set; NaN where the file has none."""
        cells = (self.cells[model, dataset] for dataset in self.datasets)
        return [float(cell[score] or "nan") for cell in cells]

    def describe_datasets(self) -> str:
        return f"Data sets ({len(self.datasets)}): {', '.join(self.datasets)}."


def keep_means(name: str, run: Path) -> None:
    results = read_results(run)
    tables = {score: results.score_table(score) for score in results.scores}
    names, by_model = tables["rmse"]
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["dataset", "model", *tables])
        for i, dataset in enumerate(names):
            for model in sorted(by_model):
                scores = [f"{table[model][i]:.6g}" for _, table in tables.values()]
                writer.writerow([dataset, model, *scores])


def write_p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "< 0.0001"


def describe(table: Table, scores: Scores) -> list[str]:
    compared = {score: SCORES[score] for score in scores.columns}
    return [
        f"## {table.title}",
        "",
        table.note,
        "",
        *draw_means(table, scores, compared),
        *draw_pairs(table, scores, compared),
        *([table.remark, ""] if table.remark else []),
        scores.describe_datasets(),
        "",
    ]


def draw_means(table: Table, scores: Scores, compared: dict[str, str]) -> list[str]:
    published = [s for s in compared if any(s in means for means in table.means.values())]
    head = ["model", *(f"mean {label}" for label in compared.values())]
    head += [f"paper, {compared[score]}" for score in published]
    rows = []
    for model in sorted(table.models, key=lambda m: np.mean(scores.of(m, "rmse"))):
        row = [model, *(f"{np.mean(scores.of(model, score)):.4f}" for score in compared)]
        rows.append(row + [table.means.get(model, {}).get(score, "") for score in published])
    return draw_table(head, rows)


def draw_pairs(table: Table, scores: Scores, compared: dict[str, str]) -> list[str]:
    published = [s for s in compared if any(s in p.published for p in table.pairs.values())]
    head = [""]
    for label in compared.values():
        head += [f"{label} w-d-l", "p"]
    head += [f"paper, {compared[score]}" for score in published]
    rows = []
    for label, pair in table.pairs.items():
        row = [label, *(text for score in compared for text in compare(pair, scores, score))]
        rows.append(row + [pair.published.get(score, "") for score in published])
    return draw_table(head, rows)


def compare(pair: Pair, scores: Scores, score: str) -> tuple[str, str]:
    record = win_draw_loss(scores.of(pair.first, score), scores.of(pair.second, score))
    return "-".join(map(str, record)), write_p(sign_test(record.wins, record.losses))


def describe_ranking(ranking: Ranking, scores: Scores) -> list[str]:
    """Means and average ranks of all models, then the reference model against each other one."""
    values = {model: scores.of(model, ranking.score) for model in ranking.means}
    ranks = friedman_test(values, higher_is_better=True)
    first = ranking.reference
    adjusted = {
        frozenset(test.pair): test.adjusted_p_value
        for test in bergmann_hommel(values, higher_is_better=True)
    }
    means = [
        [model, f"{np.mean(values[model]):.2f}", mean, f"{ranks.average_ranks[model]:.2f}", rank]
        for model, (mean, rank) in ranking.means.items()
    ]
    pairs = []
    for model, published in ranking.records.items():
        record = win_draw_loss(values[first], values[model], higher_is_better=True)
        p = np.array(scores.of(model, f"{ranking.score}_p"))
        ahead = np.array(values[first]) > np.array(values[model])
        wins, losses = int((ahead & (p <= 0.05)).sum()), int((~ahead & (p <= 0.05)).sum())
        pairs.append(
            [
                model,
                "-".join(map(str, record)),
                write_p(sign_test(record.wins, record.losses)),
                write_p(adjusted[frozenset((first, model))]),
                f"{wins}-{len(p) - wins - losses}-{losses}",
                *published,
            ]
        )
    means_head = ("model", "mean", "paper's mean", "average rank", "paper's rank")
    pairs_head = (
        f"{first} against", "w-d-l", "p", "p, Bergmann-Hommel", "significant w-t-l",
        "paper, same sets", "paper, 36 sets",
    )  # fmt: skip
    return [
        f"## {ranking.title}",
        "",
        ranking.note,
        "",
        *draw_table(means_head, means),
        *draw_table(pairs_head, pairs),
        f"Friedman's test (Iman-Davenport): F = {ranks.statistic:.2f}, p = {ranks.p_value:.2g}.",
        "",
        *([ranking.remark, ""] if ranking.remark else []),
        scores.describe_datasets(),
        "",
    ]


def describe_coverage(path: Path) -> list[str]:
    """The share of true probabilities in their intervals, and the width of these."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    levels = [name for name in rows[0] if name.startswith("0.")]
    sums = [name for name in rows[0] if name.startswith(("all ", "part "))]
    lines = [
        "## Coverage of intervals",
        "",
        "Share in per cent of the true class probabilities that lie in the intervals of",
        "`predict_interval`, by level: means over generated tables. The rules of intervals were",
        'designed on fifty kinds, and not on the twenty-five kinds "kept". Least: the',
        "kind with the least coverage at the level 0.9. Width: that of the intervals of level 0.9,",
        "over that of intervals which are made wider or narrower so that 90 % of the truths lie in",
        "them. All, part: share of the true means over all test rows, and over ten parts of them",
        "with similar predictions, between the quantiles of the means of `sample_proba`.",
        "Written by `benchmarks/coverage.py`.",
        "",
    ]
    body: dict[str, list[list[str]]] = {"design": [], "kept": []}
    for key in dict.fromkeys((row["kind"], row["model"], row["rows"]) for row in rows):
        own = [row for row in rows if (row["kind"], row["model"], row["rows"]) == key]
        mean = {name: np.mean([float(row[name]) for row in own]) for name in own[0] if name in
                (*levels, *sums, "width", "oracle")}  # fmt: skip
        kinds = dict.fromkeys(row["truth"] for row in own)
        by_kind = {
            kind: np.mean([float(row["0.9"]) for row in own if row["truth"] == kind])
            for kind in kinds
        }
        least = min(by_kind, key=lambda kind: by_kind[kind])
        shares = [f"{100.0 * mean[level]:.0f}" for level in levels]
        of_sums = [f"{100.0 * mean[name]:.0f}" for name in sums]
        width = f"{mean['width'] / mean['oracle']:.2f}"
        what = f"{100.0 * by_kind[least]:.0f} ({least})"
        body[key[0]].append(
            [key[1], f"{int(key[2]):,}", str(len(own)), *shares, what, width, *of_sums]
        )
    for kind, cells in body.items():
        if cells:
            lines += [f"### Tables of {kind}", ""]
            head = ["model", "rows", "tables", *levels, "least", "width", *sums]
            lines += draw_table(head, cells)
    return lines


def describe_sets(path: Path) -> list[str]:
    """The share of prediction sets that contain the true class, and their size, by data set."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    levels = [name.removeprefix("coverage ") for name in rows[0] if name.startswith("coverage ")]
    body, worst, largest_error = [], 0.0, 0.0
    for name in dict.fromkeys(row["dataset"] for row in rows):
        own = [row for row in rows if row["dataset"] == name]
        cells = [name, f"{int(own[0]['rows']):,}", str(len(own))]
        for level in levels:
            shares = 100.0 * np.array([float(row[f"coverage {level}"]) for row in own])
            error = float(shares.std(ddof=1) / np.sqrt(len(own)))
            size = np.mean([float(row[f"size {level}"]) for row in own])
            cells += [f"{shares.mean():.1f} ± {error:.1f}", f"{size:.2f}"]
            worst = max(worst, abs(float(shares.mean()) - 100.0 * float(level)))
            largest_error = max(largest_error, error)
        body.append(cells)
    head = [cell for level in levels for cell in (level, "size")]
    return [
        "## Coverage of prediction sets",
        "",
        "Share in per cent of new rows whose set (`prediction_set`) contains the true class, for",
        "alpha 0.05, 0.1 and 0.2, that is 1 - alpha as the heads of the columns say, and the mean",
        'number of classes in a set. Flagship with effort "fast" on at most 1,500 rows; means over',
        "random splits with standard errors, which say how much of a difference is chance. The",
        f"largest difference of a mean from 1 - alpha is {worst:.1f} points, the largest error",
        f"{largest_error:.1f}. Written by `benchmarks/prediction_sets.py`.",
        "",
        *draw_table(["data set", "rows", "splits", *head], body),
    ]


def describe_sets_by_class(path: Path) -> list[str]:
    """The share of rows of each class whose sets contain it, by three kinds of sets."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    kinds, body = tuple(rows[0])[-3:], []
    apart: dict[str, list[float]] = {kind: [] for kind in kinds}
    for key in dict.fromkeys((row["dataset"], row["class"]) for row in rows):
        own = [row for row in rows if (row["dataset"], row["class"]) == key]
        share = 100.0 * np.mean([float(row["share"]) for row in own])
        cells = [*key, f"{share:.0f}", str(len(own))]
        for kind in kinds:
            held = 100.0 * np.array([float(row[kind]) for row in own])
            error = held.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else np.nan
            cells.append(f"{held.mean():.1f} ± {error:.1f}")
            apart[kind].append(abs(float(held.mean()) - 90.0))
        body.append(cells)
    near = {kind: sum(each <= 2.0 for each in apart[kind]) for kind in kinds}
    return [
        "## Prediction sets by class",
        "",
        "Share in per cent of the new rows of a class whose set of alpha 0.1 contains it, for sets",
        "of all rows, for `prediction_set(by_class=True)`, and for the same after `calibrate_sets`",
        "with half of the new rows for the other half; classes of which at least 100 rows",
        'are learnt and predicted, with their share of the rows in per cent. Flagship with "fast"',
        f"on at most 1,500 rows, means over random splits. Of {len(body)} classes, within 2 points",
        "of 90 are "
        + "; ".join(
            f"{near[kind]} (the farthest is {max(apart[kind]):.1f} away) by {kind}"
            for kind in kinds
        )
        + ". Written by `benchmarks/prediction_sets.py --by-class`.",
        "",
        *draw_table(["data set", "class", "share", "splits", *kinds], body),
    ]


def describe_general_networks(path: Path) -> list[str]:
    """Divergences of learnt tables from those of known networks."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    cells: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        cells.setdefault((row["network"], int(row["rows"])), {})[row["method"]] = float(row["kl"])
    n_parameters = {row["network"]: int(row["parameters"]) for row in rows}
    methods = list(dict.fromkeys(row["method"] for row in rows))
    ours = ("HDP", "Pitman-Yor")
    constants = [name for name in methods if name not in ours]

    def divide_by_best(method: str) -> dict[tuple[str, int], float]:
        return {
            key: own[method] / min(own[name] for name in constants) for key, own in cells.items()
        }

    ratios = divide_by_best("HDP")
    shares = [np.mean([ratio < 1.0 for ratio in divide_by_best(name).values()]) for name in ours]

    def mean_rank(name: str, among: list[str]) -> float:
        return float(np.mean([sum(own[i] <= own[name] for i in among) for own in cells.values()]))

    ranked = ["HDP", *constants]
    ranks = ", ".join(f"{name} {mean_rank(name, ranked):.2f}" for name in ranked)
    in_its_place = mean_rank("Pitman-Yor", ["Pitman-Yor", *constants])
    lines = [
        "## Tables of Bayesian networks",
        "",
        "Kullback-Leibler divergence in nats of the joint distribution of a known network from",
        "that learnt from its rows with the true graph (`benchmarks/general_networks.py`). Laplace",
        "is pgmpy's K2 and pyAgrum's smoothing, BDeu 5 pgmpy's BDeu, BDeu 1 pyAgrum's. HDP is",
        f"below the best constant prior in {shares[0]:.0%} of the {len(cells)} cells, Pitman-Yor "
        f"in {shares[1]:.0%}. Mean ranks: {ranks}; Pitman-Yor in the place of HDP has "
        f"{in_its_place:.2f}, beside it {mean_rank('Pitman-Yor', methods):.2f} and HDP "
        f"{mean_rank('HDP', methods):.2f}.",
        "",
    ]
    for size in (100, 1000):
        large = [
            ratio for (name, n_rows), ratio in ratios.items()
            if n_rows == size and n_parameters[name] > size
        ]  # fmt: skip
        lines += [
            f"At {size:,} rows, on the {len(large)} networks with more parameters than rows, HDP "
            f"has {1.0 - np.mean(large):.0%} less than the best constant prior of each on average.",
            "",
        ]
    body = [
        [name, f"{n_parameters[name]:,}", f"{n_rows:,}",
         *(f"{own[method]:.4g}" if method in own else "" for method in methods)]
        for (name, n_rows), own in cells.items()
    ]  # fmt: skip
    return [*lines, *draw_table(["network", "parameters", "rows", *methods], body)]


def write_page() -> str:
    lines = [HEAD]
    for table in TABLES:
        lines += describe(table, Scores(FOLDER / f"{table.file}.csv"))
    for ranking in RANKINGS:
        lines += describe_ranking(ranking, Scores(FOLDER / f"{ranking.file}.csv"))
    lines += describe_foundation_models(FOLDER / "foundation_models.csv")
    lines += describe_equal_time(FOLDER / "equal_time.csv")
    lines += describe_coverage(FOLDER / "coverage.csv")
    lines += describe_sets(FOLDER / "prediction_sets.csv")
    lines += describe_sets_by_class(FOLDER / "sets_by_class.csv")
    lines += describe_general_networks(FOLDER / "general_networks.csv")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", nargs=2, metavar=("NAME", "RUN"))
    args = parser.parse_args()
    if args.add:
        keep_means(args.add[0], Path(args.add[1]))
    (FOLDER.parent / "results.md").write_text(write_page())


if __name__ == "__main__":
    main()
