"""How fast are pair counts, and how do they grow?

Prints rows per second of CPU time on one core at 140 features of 4 values, the growth with rows,
features, arity and classes, and the ratio to one ``bincount`` per pair.

    python benchmarks/pairs.py
"""

import time

import numpy as np

from priorwise.counts.information import measure_information


def make_rows(n_rows, n_features, arity, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, arity, (n_features, n_rows), dtype=np.int32)
    classes = rng.integers(0, n_classes, n_rows, dtype=np.int32)
    return codes, classes, np.full(n_features, arity, dtype=np.int32), n_classes


def seconds(work, n_repeats=3):
    """The least CPU time of a few runs: other processes only ever add to it."""
    times = []
    for _ in range(n_repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def count_with_bincount(codes, classes, arities, n_classes):
    for i in range(len(codes)):
        base = (classes * arities[i] + codes[i]) * arities[i]
        for j in range(i + 1, len(codes)):
            np.bincount(base + codes[j], minlength=n_classes * arities[i] * arities[j])


def report(label, rows, **options):
    spent = seconds(lambda: measure_information(*rows, **options))
    n_rows = rows[0].shape[1]
    n_pairs = len(rows[0]) * (len(rows[0]) - 1) / 2
    print(f"{label:<42}{n_rows / spent:>12.3g}{spent / n_rows / n_pairs * 1e9:>16.3f}")
    return spent


def main():
    print(f"{'rows x features x values x classes':<42}{'rows/s/core':>12}{'ns/row/pair':>16}")
    base = make_rows(100_000, 140, 4, 2)
    spent = report("100,000 x 140 x 4 x 2", base)
    for n_rows in (1_000, 10_000, 1_000_000):
        report(f"{n_rows:,} x 140 x 4 x 2", make_rows(n_rows, 140, 4, 2))
    for n_features in (20, 70, 280):
        report(f"100,000 x {n_features} x 4 x 2", make_rows(100_000, n_features, 4, 2))
    for arity in (2, 8, 12, 16, 17, 30, 100, 1000):
        report(f"100,000 x 40 x {arity} x 2", make_rows(100_000, 40, arity, 2))
    for n_classes in (10, 26, 100, 1000):
        report(f"100,000 x 140 x 4 x {n_classes}", make_rows(100_000, 140, 4, n_classes))
    rng = np.random.default_rng(0)
    whole = rng.multinomial(100_000, np.full(100_000, 1e-5))
    report("100,000 x 140 x 4 x 2, bootstrap weights", base, sample_weight=whole)
    small = make_rows(20_000, 140, 4, 2)
    report("20,000 x 140 x 4 x 2, real weights", small, sample_weight=rng.random(20_000) + 0.5)
    rival = make_rows(5_000, 140, 4, 2)
    slow = seconds(lambda: count_with_bincount(*rival), 1) / 5_000
    ratio = slow / (spent / 100_000)
    print(f"\none bincount per pair: {1 / slow:.3g} rows/s/core, {ratio:.0f} times slower")


if __name__ == "__main__":
    main()
