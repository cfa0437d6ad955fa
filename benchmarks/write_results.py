"""Write docs/results.md from the result files in docs/results.

    python benchmarks/write_results.py                      # write the page anew
    python benchmarks/write_results.py --add NAME RUN.csv   # keep a run's means as NAME.csv first

RUN.csv is what `cross_validate(out=...)` wrote; kept are means over folds, one row per data set
and model.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from priorwise.evaluation import read_results, sign_test, win_draw_loss

FOLDER = Path(__file__).parent.parent / "docs" / "results"
SCORES = ("rmse", "cross_entropy")


@dataclass(frozen=True)
class Table:
    """A table of a paper beside ours: pairs of models, and wins, draws, losses on RMSE."""

    file: str
    title: str
    note: str
    pairs: dict[str, tuple[str, str, str]]
    """Row label: our two models, and the paper's record for that pair."""


TABLES = [
    Table(
        "hdp_against_m_estimate",
        "HDP against m-estimates (Petitjean et al. 2018, Table 1)",
        "5 x 2-fold cross-validation, MDLP cut points learnt on the training fold. HDP: the "
        "fixed point with the diffuse prior; the paper sampled 50,000 sweeps. m of the m-estimate "
        "by a hold-out of min(N / 10, 5000) rows, with back-off.",
        {
            "naive Bayes": ("nb", "nb-m", "40-0-28"),
            "TAN": ("tan", "tan-m", "52-1-15"),
            "kDB-1": ("kdb1", "kdb1-m", "50-1-17"),
            "kDB-2": ("kdb2", "kdb2-m", "54-0-14"),
            "kDB-3": ("kdb3", "kdb3-m", "53-2-13"),
            "kDB-4": ("kdb4", "kdb4-m", "56-0-12"),
            "kDB-5": ("kdb5", "kdb5-m", "60-2-6"),
            "SkDB": ("skdb", "skdb-m", "54-0-14"),
        },
    ),
    Table(
        "hdp_against_forest",
        "TAN and SkDB with HDP against random forest (Petitjean et al. 2018, Table 2)",
        "As above; the forest, scikit-learn's with 100 trees, sees the same MDLP bins, one column "
        "for each value, and tries log2(n) + 1 of them at a split.",
        {
            "TAN : forest": ("tan", "forest-mdlp", "42-0-26"),
            "SkDB : forest": ("skdb", "forest-mdlp", "44-0-24"),
        },
    ),
    Table(
        "eskdb_against_networks",
        "ESKDB against single networks (thesis, Table 5)",
        "5 x 2-fold cross-validation on data sets of up to 5,000 rows; classes with a single row "
        "are left out. The thesis recipe, 10 members smoothed by HDP, against single networks "
        "smoothed by HDP (the thesis: by m-estimates); last, the default recipe against it.",
        {
            "naive Bayes": ("eskdb-thesis", "nb", "63-0-9"),
            "TAN": ("eskdb-thesis", "tan", "64-0-8"),
            "kDB-1": ("eskdb-thesis", "kdb1", ""),
            "kDB-2": ("eskdb-thesis", "kdb2", ""),
            "kDB-5": ("eskdb-thesis", "kdb5", "64-0-8"),
            "SkDB": ("eskdb-thesis", "skdb", "60-0-12"),
            "default : thesis recipe": ("eskdb", "eskdb-thesis", ""),
        },
    ),
]


def keep_means(name: str, run: Path) -> None:
    results = read_results(run)
    tables = {score: results.score_table(score) for score in SCORES}
    names, by_model = tables["rmse"]
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["dataset", "model", *SCORES])
        for i, dataset in enumerate(names):
            for model in sorted(by_model):
                scores = [f"{tables[score][1][model][i]:.6g}" for score in SCORES]
                writer.writerow([dataset, model, *scores])


def read_means(name: str) -> dict[str, dict[str, tuple[float, float]]]:
    means: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    with (FOLDER / f"{name}.csv").open() as file:
        for row in csv.DictReader(file):
            means[row["model"]][row["dataset"]] = (float(row["rmse"]), float(row["cross_entropy"]))
    return means


def describe(table: Table) -> list[str]:
    means = read_means(table.file)
    datasets = sorted(next(iter(means.values())))
    lines = [f"## {table.title}", "", table.note, ""]
    lines += ["| model | mean RMSE | mean log-loss |", "|---|---|---|"]
    for model in sorted(means, key=lambda m: np.mean([means[m][d][0] for d in datasets])):
        rmse, log_loss = np.mean([means[model][d] for d in datasets], axis=0)
        lines.append(f"| {model} | {rmse:.4f} | {log_loss:.4f} |")
    lines += [
        "",
        "| | RMSE w-d-l | p | log-loss w-d-l | p | paper, RMSE |",
        "|---|---|---|---|---|---|",
    ]
    for label, (a, b, paper) in table.pairs.items():
        line = f"| {label} |"
        for i in (0, 1):
            record = win_draw_loss(
                [means[a][d][i] for d in datasets], [means[b][d][i] for d in datasets]
            )
            p = sign_test(record[0], record[2])
            line += f" {record[0]}-{record[1]}-{record[2]} | {p:.4f} |"
        lines.append(f"{line} {paper} |")
    return [*lines, "", f"Data sets ({len(datasets)}): {', '.join(datasets)}.", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", nargs=2, metavar=("NAME", "RUN"))
    args = parser.parse_args()
    if args.add:
        keep_means(args.add[0], Path(args.add[1]))
    lines = [
        "# Results",
        "",
        "Written by `benchmarks/write_results.py` from the files in `docs/results`. RMSE is",
        "sqrt(sum (p - [y])^2 / (N K)); log-loss is in nats; p is that of a two-tailed sign test.",
        "An infinite mean log-loss comes from estimates of zero, which an m-estimate with m = 0",
        "gives.",
        "",
    ]
    for table in TABLES:
        if (FOLDER / f"{table.file}.csv").exists():
            lines += describe(table)
    (FOLDER.parent / "results.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
