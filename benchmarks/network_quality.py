"""How good are the networks' probabilities, beside each other and beside reference learners?

    python benchmarks/network_quality.py DATA ... [--peers peers.csv] [--max-rows 5000]
        [--models naive-bayes,tan,...] [--protocol 5x2] [--out results.csv]

DATA are folders of ARFF files. Prints mean RMSE and log-loss over the data sets, and wins,
draws and losses on RMSE with a sign test of each pair. An interrupted run with --out resumes.
"""

from __future__ import annotations

import argparse
import csv
import itertools
from collections import defaultdict
from pathlib import Path

import numpy as np
from rivals.random_forest import DiscretisedForest, RawForest
from rivals.xgboost import SoftprobBooster

import priorwise as pw
from priorwise.data import read_arff
from priorwise.evaluation import cross_validate, sign_test, win_draw_loss
from priorwise.smoothing import HDP, MEstimate

M_ESTIMATE = MEstimate(m="cv")
MODELS = {
    "nb": pw.NaiveBayesClassifier(),
    "tan": pw.TANClassifier(),
    **{f"kdb{k}": pw.KDBClassifier(k) for k in range(1, 6)},
    "skdb": pw.SelectiveKDBClassifier(),
    "aode": pw.AODEClassifier(),
    "kdf": pw.KDFClassifier(),
    "kdf5": pw.KDFClassifier(5),
    "nb-m": pw.NaiveBayesClassifier(smoothing=M_ESTIMATE),
    "tan-m": pw.TANClassifier(smoothing=M_ESTIMATE),
    **{f"kdb{k}-m": pw.KDBClassifier(k, smoothing=M_ESTIMATE) for k in range(1, 6)},
    "skdb-m": pw.SelectiveKDBClassifier(smoothing=M_ESTIMATE),
    "kdb5-thesis-prior": pw.KDBClassifier(5, smoothing=HDP(prior="thesis")),
    "skdb-log": pw.SelectiveKDBClassifier(selection_loss="log"),
    "kdb5-level": pw.KDBClassifier(5, smoothing="level"),
    "kdb5-hgs": pw.KDBClassifier(5, smoothing="hgs"),
    "kdb2-hgs": pw.KDBClassifier(2, smoothing="hgs"),
    "forest-mdlp": DiscretisedForest(),
    "forest": RawForest(),
    "xgboost": SoftprobBooster(),
    "xgboost-tuned": SoftprobBooster(n_tuning_folds=3),
    "eskdb-thesis": pw.ESKDBClassifier(10, max_parents=5, recipe="thesis"),
    "eskdb-thesis-m": pw.ESKDBClassifier(
        10, max_parents=5, recipe="thesis", smoothing=MEstimate(m=1.0)
    ),
    "eskdb": pw.ESKDBClassifier(),
    "priorwise-fast": pw.PriorwiseClassifier("fast"),
    "priorwise": pw.PriorwiseClassifier(),
}


def read_sets(folders: list[Path], max_rows: int, names: set[str] | None) -> dict:
    sets = {}
    for file in sorted(file for folder in folders for file in folder.glob("*.arff.gz")):
        name = file.name.removesuffix(".arff.gz")
        if names is not None and name not in names:
            continue
        data = read_arff(file)
        if data.n_rows > max_rows:
            continue
        sets[name] = data.to_X_y()
    return sets


def read_peers(path: Path) -> dict[str, dict[str, tuple[float, float]]]:
    peers: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    with path.open() as file:
        for row in csv.DictReader(file):
            scores = (float(row["rmse"]), float(row["log_loss"]))
            peers[row["learner"]][row["dataset"]] = scores
    return peers


def print_means(scores: dict[str, dict[str, tuple[float, float]]], common: list[str]) -> None:
    print(f"\nMeans over {len(common)} data sets")
    print(f"{'model':20}{'RMSE':>9}{'log-loss':>10}")
    for model, by_set in sorted(scores.items(), key=lambda s: np.mean([s[1][d] for d in common])):
        rmse, log_loss = np.mean([by_set[d] for d in common], axis=0)
        print(f"{model:20}{rmse:9.4f}{log_loss:10.4f}")


def print_pairs(scores: dict, pairs: list[tuple[str, str]]) -> None:
    print(f"\n{'pair':34}{'RMSE w-d-l':>14}{'p':>9}{'log-loss w-d-l':>17}{'p':>9}")
    for a, b in pairs:
        common = sorted(set(scores[a]) & set(scores[b]))
        line = f"{a + ' : ' + b:34}"
        for i, width in ((0, 14), (1, 17)):
            wins, draws, losses = win_draw_loss(
                [scores[a][d][i] for d in common], [scores[b][d][i] for d in common]
            )
            p = sign_test(wins, losses)
            line += f"{f'{wins}-{draws}-{losses}':>{width}}{p:9.4f}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--max-rows", type=int, default=5000)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--sets", help="comma-separated names; all by default")
    parser.add_argument("--protocol", default="5x2")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    chosen = args.models.split(",")
    datasets = read_sets(args.data, args.max_rows, set(args.sets.split(",")) if args.sets else None)
    results = cross_validate(
        {name: MODELS[name] for name in chosen}, datasets, protocol=args.protocol,
        scores=("rmse", "cross_entropy", "zero_one_loss"), n_jobs=args.jobs, out=args.out,
        small_classes="drop",
    )  # fmt: skip
    names, rmse = results.score_table("rmse")
    _, log_loss = results.score_table("cross_entropy")
    scores: dict = {
        model: dict(zip(names, zip(rmse[model], log_loss[model], strict=True), strict=True))
        for model in chosen
    }
    print_means(scores, names)
    pairs = list(itertools.combinations(chosen, 2))
    if args.peers:
        peers = read_peers(args.peers)
        for model in chosen:
            for peer, by_set in peers.items():
                common = sorted(set(by_set) & set(scores[model]))
                if len(common) == 0:
                    continue
                ours = np.mean([scores[model][d] for d in common], axis=0)
                theirs = np.mean([by_set[d] for d in common], axis=0)
                print(f"{model:14} {peer:14} {len(common):3d} sets  RMSE {ours[0]:.4f} : "
                      f"{theirs[0]:.4f}  log-loss {ours[1]:.4f} : {theirs[1]:.4f}")  # fmt: skip
        pairs += [(model, peer) for model in chosen for peer in peers]
        scores |= peers
    print_pairs(scores, pairs)


if __name__ == "__main__":
    main()
