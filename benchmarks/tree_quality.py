"""How good are the probabilities of one tree, beside the papers' and beside forests?

    python benchmarks/tree_quality.py --data FOLDER [--reference results.csv] [--max-rows 10000]
        [--models default,rf10,...] [--out results.csv]

FOLDER holds ARFF files. By 10-fold cross-validation: mean RMSE and log-loss over the data sets;
with --reference, whose columns are dataset, method and rmse, the means of the papers over the
same sets; and wins, draws and losses of pairs of models with a sign test. An interrupted run
with --out resumes. Log-loss takes probabilities below 1e-15 as 1e-15. The model "imodels", that
library's hierarchical shrinkage with a cross-validated strength, needs that library.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from rivals.imodels_tree import ImodelsTree
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline

import priorwise as pw
from priorwise.data import FrameEncoder, read_arff
from priorwise.evaluation import cross_validate, rmse, sign_test, win_draw_loss, zero_one_loss
from priorwise.smoothing import HDP, HGS, MEstimate, Smoother


def c45(smoothing: str | Smoother) -> pw.ProbabilityTreeClassifier:
    return pw.ProbabilityTreeClassifier(
        smoothing, criterion="gain-ratio", nominal_splits="values", soft_thresholds=None
    )


MODELS = {
    "mle": c45("mle"),
    "laplace": c45("laplace"),
    "m-estimate": c45(MEstimate(m=1.0)),
    "m-branch": c45("m-branch"),
    "hgs-published": c45(HGS("published")),
    "hgs-optimised": c45(HGS("optimised")),
    "hgs": c45("hgs"),
    "hdp": c45("hdp"),
    "hdp-single": c45(HDP(tying="single")),
    "hdp-single-thesis": c45(HDP(tying="single", prior="thesis")),
    "shrinkage": c45("shrinkage"),
    "pruning-average": c45("pruning-average"),
    "tree-hgs": pw.ProbabilityTreeClassifier("hgs"),
    "default": pw.ProbabilityTreeClassifier(),
    "forest10": pw.ProbabilityForestClassifier(10, smoothing=None),
    "forest10-smoothed": pw.ProbabilityForestClassifier(10),
    "forest100-smoothed": pw.ProbabilityForestClassifier(100),
    "rf10": make_pipeline(FrameEncoder(), RandomForestClassifier(10)),
    "rf100": make_pipeline(FrameEncoder(), RandomForestClassifier(100)),
    "imodels": ImodelsTree(),
}
REFERENCE = {
    "mle": "MLE",
    "laplace": "Laplace",
    "m-estimate": "M-estimation",
    "m-branch": "M-branch",
    "hdp-single": "HDP_1K_Single",
    "hgs-published": "HGS",
}
PAIRS = [
    ("laplace", "mle"),
    ("hgs-published", "mle"),
    ("hgs-published", "laplace"),
    ("hgs-published", "m-estimate"),
    ("hgs-published", "m-branch"),
    ("hgs-published", "hdp-single"),
    ("hgs", "hgs-published"),
    ("hgs", "hgs-optimised"),
    ("default", "hgs-published"),
    ("default", "forest10"),
    ("default", "rf10"),
    ("default", "rf100"),
    ("default", "imodels"),
]


def clipped_log_loss(y: Any, proba: Any, *, labels: Any, sample_weight: Any = None) -> float:
    # Classes that training did not have stand behind the others.
    column = (np.asarray(y)[:, None] == np.asarray(labels)).argmax(axis=1)
    p = np.asarray(proba)[np.arange(len(column)), column]
    return float(-np.log(np.maximum(p, 1e-15)).mean())


def read_sets(folder: Path, max_rows: int, names: set[str] | None) -> dict:
    sets = {}
    for file in sorted(folder.rglob("*.arff.gz")):
        name = file.name.removesuffix(".arff.gz")
        if names is not None and name not in names:
            continue
        data = read_arff(file)
        if data.n_rows <= max_rows:
            sets[name] = data.to_X_y()
    return sets


def read_reference(path: Path) -> dict[str, dict[str, float]]:
    reference: dict[str, dict[str, float]] = defaultdict(dict)
    with path.open() as file:
        for row in csv.DictReader(file):
            if row["rmse"]:
                reference[row["method"]].setdefault(row["dataset"], float(row["rmse"]))
    return reference


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--max-rows", type=int, default=10_000)
    parser.add_argument("--models", default="mle,laplace,hgs-published,default,forest10,rf10,rf100")
    parser.add_argument("--sets", help="comma-separated names; all by default")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    chosen = args.models.split(",")
    datasets = read_sets(args.data, args.max_rows, set(args.sets.split(",")) if args.sets else None)
    results = cross_validate(
        {name: MODELS[name] for name in chosen}, datasets, protocol="1x10",
        scores={"rmse": rmse, "log_loss": clipped_log_loss, "zero_one_loss": zero_one_loss},
        out=args.out, progress=False,
    )  # fmt: skip
    names, by_rmse = results.score_table("rmse")
    _, by_log_loss = results.score_table("log_loss")
    print(f"{'model':20}{'RMSE':>9}{'log-loss':>10}   over {len(names)} data sets")
    for model in chosen:
        print(f"{model:20}{np.mean(by_rmse[model]):9.4f}{np.mean(by_log_loss[model]):10.4f}")
    if args.reference:
        reference = read_reference(args.reference)
        for model, method in REFERENCE.items():
            common = [i for i, name in enumerate(names) if name in reference[method]]
            if model in chosen and common:
                ours = np.mean([by_rmse[model][i] for i in common])
                theirs = np.mean([reference[method][names[i]] for i in common])
                print(f"{model}: RMSE {ours:.4f}, papers {theirs:.4f}, over {len(common)} sets")
    for a, b in PAIRS:
        if a in chosen and b in chosen:
            for score, table in (("RMSE", by_rmse), ("log-loss", by_log_loss)):
                wins, draws, losses = win_draw_loss(table[a], table[b])
                p = sign_test(wins, losses)
                print(f"{a} : {b}  {score} wins-draws-losses {wins}-{draws}-{losses}, p = {p:.2g}")


if __name__ == "__main__":
    main()
