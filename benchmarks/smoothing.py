"""What does smoothing cost, how does it grow, and how far is the fixed point from sampling?

    python benchmarks/smoothing.py [--quick]

Every figure is measured in this run; on a shared machine trust ratios more than times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from priorwise.counts import CountTree
from priorwise.smoothing import HDP, HGS, MBranch, Smoother
from priorwise.smoothing.base import smooth_trees

N_OUTCOMES = 4
TABLES = {  # name: (rows, arities of the path)
    "small": (500, (2, 3, 3)),
    "5,000 nodes": (20_000, (2, 6, 8, 8, 9)),
    "100,000 nodes": (500_000, (2, 8, 9, 10, 10, 10)),
}


def draw_table(n_rows: int, arities: tuple[int, ...], seed: int = 0) -> CountTree:
    """Rows from a hierarchical Dirichlet model; values of the path as rare as Zipf's."""
    rng = np.random.default_rng(seed)
    path = []
    for arity in arities:
        share = 1.0 / np.arange(1, arity + 1)
        path.append(rng.choice(arity, size=n_rows, p=share / share.sum()).astype(np.int32))
    phi = np.full((1, N_OUTCOMES), 1.0 / N_OUTCOMES)
    context = np.zeros(n_rows, dtype=np.int64)
    for column, arity in zip(path, arities, strict=True):
        used, context = np.unique(context * arity + column, return_inverse=True)
        alpha = 8.0 * phi[used // arity] + 1e-3
        phi = rng.gamma(alpha)
        phi /= phi.sum(axis=1, keepdims=True)
    outcome = (rng.random((n_rows, 1)) > phi[context].cumsum(axis=1)).sum(axis=1)
    return CountTree.from_rows(path, np.minimum(outcome, N_OUTCOMES - 1), N_OUTCOMES)


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def print_costs(tables: dict[str, CountTree]) -> None:
    print("Cost of one solve or sweep")
    print(f"{'table':16}{'rows':>9}{'nodes':>9}{'method':>14}{'ms':>10}{'us/node':>10}")
    for name, tree in tables.items():
        n_sweeps = max(20, 2_000_000 // tree.n_nodes)
        rows = [("variational", HDP(), 1), ("m-branch", MBranch(), 1), ("hgs", HGS("optimised"), 1)]
        rows.append(("gibbs sweep", HDP("gibbs", n_iter=n_sweeps, n_burn_in=0), n_sweeps))
        for method, smoother, n in rows:
            took = seconds(lambda s=smoother, t=tree: s.smooth(t)) / n
            print(
                f"{name:16}{tree.totals[0]:9.0f}{tree.n_nodes:9d}{method:>14}{1e3 * took:10.3f}"
                f"{1e6 * took / tree.n_nodes:10.4f}"
            )


def print_fixed_point_against_sampling(tables: dict[str, CountTree], n_sweeps: int) -> None:
    print(f"\nFixed point against {n_sweeps} Gibbs sweeps (leaves)")
    print(f"{'table':16}{'mean diff':>10}{'max diff':>10}{'times cheaper':>15}")
    for name, tree in tables.items():
        sampler = HDP("gibbs", n_iter=n_sweeps, n_burn_in=n_sweeps // 10)
        start = time.perf_counter()
        sampled = sampler.rows(tree, seed=1)
        took = time.perf_counter() - start
        solved = HDP().rows(tree)
        cheaper = took / seconds(lambda t=tree: HDP().smooth(t))
        leaves = tree.level == tree.depth
        difference = np.abs(sampled - solved)[leaves]
        print(f"{name:16}{difference.mean():10.5f}{difference.max():10.5f}{cheaper:15.0f}")


def print_growth(largest: int) -> None:
    print("\nGrowth with rows (16 times the rows)")
    print(f"{'method':14}{'rows':>9}{'nodes':>9}{'ms':>10}{'times the first':>17}")
    arities = (2, 8, 8, 10, 10, 10)
    small, large = draw_table(largest // 16, arities), draw_table(largest, arities)
    for method, smoother in (("variational", HDP()), ("gibbs x 20", HDP("gibbs", n_iter=20))):
        base = seconds(lambda s=smoother: s.smooth(small))
        for tree in (small, large):
            took = seconds(lambda s=smoother, t=tree: s.smooth(t))
            print(
                f"{method:14}{tree.totals[0]:9.0f}{tree.n_nodes:9d}{1e3 * took:10.2f}"
                f"{took / base:17.1f}"
            )


def print_threads(tree: CountTree) -> None:
    print("\nTwo threads against one, 16 trees")
    trees = [tree] * 16
    smoothers: list[Smoother] = [HDP(), HDP("gibbs", n_iter=50, n_burn_in=0), HGS("optimised")]
    for smoother in smoothers:
        one = seconds(lambda s=smoother: smooth_trees(trees, s, n_jobs=1))
        two = seconds(lambda s=smoother: smooth_trees(trees, s, n_jobs=2))
        print(f"  {smoother!s:60} {one / two:5.2f} times faster")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the largest table")
    args = parser.parse_args()
    names = list(TABLES)[: 2 if args.quick else 3]
    tables = {name: draw_table(*TABLES[name]) for name in names}
    print_costs(tables)
    print_fixed_point_against_sampling(tables, 5000 if not args.quick else 1000)
    print_growth(100_000 if args.quick else 800_000)
    print_threads(tables["5,000 nodes"])


if __name__ == "__main__":
    main()
