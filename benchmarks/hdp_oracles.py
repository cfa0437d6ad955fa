"""How close do both inference methods of HDP come to long-run posterior means?

Reads the posterior means of small trees from a folder of JSON files (each: `counts` per leaf
context and, per tying, `mean` and `sd` of every node) and prints the error at the leaves.

    python benchmarks/hdp_oracles.py FOLDER
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from priorwise.counts import CountTree
from priorwise.smoothing import HDP

TYINGS = ("level", "single", "parent", "none")


def read_tree(oracle: dict) -> tuple[CountTree, list[str]]:
    contexts = [[int(v) for v in key.split(",")] for key in oracle["counts"]]
    counts = np.array(list(oracle["counts"].values()), dtype=float)
    n_leaves, n_outcomes = counts.shape
    path = np.repeat(np.array(contexts).T, n_outcomes, axis=1)
    outcome = np.tile(np.arange(n_outcomes), n_leaves)
    tree = CountTree.from_rows(list(path), outcome, n_outcomes, weight=counts.ravel())
    leaves = tree.find(np.array(contexts).T)
    names = {int(node): key for node, key in zip(leaves, oracle["counts"], strict=True)}
    return tree, names


def leaf_errors(estimate: np.ndarray, names: dict[int, str], nodes: dict) -> tuple:
    error = np.array([estimate[u] - nodes[key]["mean"] for u, key in names.items()])
    sd = np.array([nodes[key]["sd"] for key in names.values()])
    return np.abs(error), sd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sweeps", type=int, default=20_000)
    args = parser.parse_args()
    print(f"{'tree':28}{'tying':8}{'inference':13}{'mean':>9}{'max':>9}{'excess':>9}{'ms':>9}")
    for file in sorted(args.folder.glob("*.json")):
        oracle = json.loads(file.read_text())
        tree, names = read_tree(oracle)
        for tying in TYINGS:
            for inference in ("gibbs", "variational"):
                smoother = HDP(inference, tying=tying, prior="thesis", n_iter=args.sweeps)
                start = time.perf_counter()
                estimate = smoother.rows(tree, seed=1)
                took = time.perf_counter() - start
                error, sd = leaf_errors(estimate, names, oracle["posterior"][tying]["nodes"])
                excess = (error - (5 * sd + 0.006)).max()  # above zero: out of the band
                print(
                    f"{oracle['name']:28}{tying:8}{inference:13}{error.mean():9.5f}"
                    f"{error.max():9.5f}{excess:9.5f}{1000 * took:9.2f}"
                )


if __name__ == "__main__":
    main()
