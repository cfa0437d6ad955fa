"""How good are the forests' probabilities, beside each other and beside a reference forest?

    python benchmarks/forest_quality.py DATA ... [--peers peers.csv] [--max-rows 2000]
        [--models random100,best100,...] [--sets a,b,...] [--protocol 5x2] [--out results.csv]

DATA are folders of ARFF files, and peers.csv the scores of reference learners on the same folds.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from network_quality import print_means, print_pairs, read_peers, read_sets

from priorwise import ProbabilityForestClassifier
from priorwise.evaluation import cross_validate

MODELS = {
    "best100": ProbabilityForestClassifier(100),
    "random100": ProbabilityForestClassifier(100, splitter="random"),
    "random300": ProbabilityForestClassifier(300, splitter="random"),
    "random100-all-count": ProbabilityForestClassifier(100, splitter="random", counts="all"),
    "random100-sqrt": ProbabilityForestClassifier(100, splitter="random", max_features="sqrt"),
    "random100-all": ProbabilityForestClassifier(100, splitter="random", max_features=None),
    "random100-1": ProbabilityForestClassifier(100, splitter="random", n_random_splits=1),
    "random100-4": ProbabilityForestClassifier(100, splitter="random", n_random_splits=4),
    "random100-8": ProbabilityForestClassifier(100, splitter="random", n_random_splits=8),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--peer", default="rf100,xgb_default,xgb_tuned")
    parser.add_argument("--max-rows", type=int, default=2000)
    parser.add_argument("--models", default="best100,random100,random300")
    parser.add_argument("--sets", help="comma-separated names; all by default")
    parser.add_argument("--protocol", default="5x2")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    chosen = args.models.split(",")
    datasets = read_sets(args.data, args.max_rows, set(args.sets.split(",")) if args.sets else None)
    results = cross_validate(
        {name: MODELS[name] for name in chosen}, datasets, protocol=args.protocol,
        scores=("rmse", "cross_entropy"), out=args.out, small_classes="drop", progress=False,
    )  # fmt: skip
    names, rmse = results.score_table("rmse")
    _, log_loss = results.score_table("cross_entropy")
    scores: dict = {
        model: dict(zip(names, zip(rmse[model], log_loss[model], strict=True), strict=True))
        for model in chosen
    }
    if args.peers:
        peers = read_peers(args.peers)
        scores |= {peer: peers[peer] for peer in args.peer.split(",")}
    print_means(scores, [name for name in names if all(name in by for by in scores.values())])
    print_pairs(scores, list(itertools.combinations(scores, 2)))


if __name__ == "__main__":
    main()
