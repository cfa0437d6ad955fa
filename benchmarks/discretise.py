"""What do the discretisers cost, and what does reading a table cost?

Prints CPU seconds on one core for 20,000 x 5 numbers, the growth of MDLP, and the time to turn
frames into codes.

    python benchmarks/discretise.py
"""

import time

import numpy as np
import pandas as pd
import polars as pl

from priorwise.data import (
    EqualFrequencyDiscretizer,
    EqualWidthDiscretizer,
    KMeansDiscretizer,
    MDLPDiscretizer,
    TreeDiscretizer,
)
from priorwise.data.encoding import TableEncoder


def make_numbers(n_rows, n_features, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_rows)
    return rng.normal(size=(n_rows, n_features)) + rng.normal(size=(n_classes, n_features))[y], y


def seconds(work, n_repeats=3):
    """The least CPU time of a few runs: other processes only ever add to it."""
    times = []
    for _ in range(n_repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main():
    X, y = make_numbers(20_000, 5, 3)
    print("20,000 x 5, fit, seconds")
    for discretizer in (
        EqualWidthDiscretizer(),
        EqualFrequencyDiscretizer(),
        KMeansDiscretizer(),
        TreeDiscretizer(),
        MDLPDiscretizer(),
    ):
        spent = seconds(lambda d=discretizer: d.fit(X, y))
        print(f"  {type(discretizer).__name__:<28}{spent:>8.4f}")
    print("MDLP, 5 features, seconds")
    for n_rows, n_classes in ((20_000, 26), (200_000, 3), (1_000_000, 3)):
        data = make_numbers(n_rows, 5, n_classes)
        spent = seconds(lambda d=data: MDLPDiscretizer().fit(*d), 1)
        print(f"  {n_rows:>9,} rows, {n_classes:>2} classes{spent:>16.4f}")
    print("200,000 rows of 5 numbers and 5 strings of 10,000 values, seconds")
    X, y = make_numbers(200_000, 5, 3)
    labels = np.random.default_rng(1).integers(0, 10_000, (5, 200_000)).astype(str)
    columns = {f"x{i}": X[:, i] for i in range(5)} | {f"s{i}": labels[i] for i in range(5)}
    for kind, frame in (("pandas", pd.DataFrame(columns)), ("polars", pl.DataFrame(columns))):
        encoder = TableEncoder()
        fit = seconds(lambda f=frame, e=encoder: e.fit_transform(f, y), 1)
        again = seconds(lambda f=frame, e=encoder: e.transform(f), 1)
        print(f"  {kind}: fit {fit:.3f}, transform {again:.3f}")


if __name__ == "__main__":
    main()
