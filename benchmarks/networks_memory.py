"""How much memory does a network take where nominal features have many values?

Fits kDB on rows with three nominal features of many values and a few small ones, in a process of
its own, and prints the largest resident set of that process: after the data is made, after the
fit, and after a prediction.

    python benchmarks/networks_memory.py --rows 100000 --values 10000 --max-parents 5
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np


def make_rows(n_rows, n_values, seed=0):
    """Three features of many values, five of few, two numbers; a class that depends on all."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    many = {
        # Frequent and rare values, as names and codes have them.
        f"many{i}": (n_values * rng.random(n_rows) ** (2 + y)).astype(int)
        for i in range(3)
    }
    few = {f"few{i}": (y + rng.integers(0, 4, n_rows)) % 5 for i in range(5)}
    nominal = {name: [f"v{v}" for v in column] for name, column in (many | few).items()}
    numbers = {f"number{i}": y + rng.normal(size=n_rows) for i in range(2)}
    return pd.DataFrame(nominal | numbers), y


def peak_megabytes():
    # Kilobytes on Linux, bytes on macOS.
    scale = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def measure(arguments):
    from priorwise import KDBClassifier

    X, y = make_rows(arguments.rows, arguments.values)
    found = {"data": peak_megabytes()}
    model = KDBClassifier(arguments.max_parents, smoothing=arguments.smoothing)
    start = time.perf_counter()
    model.fit(X, y)
    found["seconds"] = time.perf_counter() - start
    found["fit"] = peak_megabytes()
    model.predict_proba(X)
    found["predict"] = peak_megabytes()
    found["contexts"] = sum(tree.n_nodes for tree in model.count_trees_)
    found["cells"] = sum(tree.n_cells for tree in model.count_trees_)
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--values", type=int, default=10_000)
    parser.add_argument("--max-parents", type=int, default=5)
    parser.add_argument("--smoothing", default="hdp")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        measure(arguments)
        return
    command = [sys.executable, __file__, "--inside"]
    for name in ("rows", "values", "max_parents", "smoothing"):
        command += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(f"contexts {found['contexts']:,}, cells {found['cells']:,}, fit {found['seconds']:.1f} s")
    for step in ("data", "fit", "predict"):
        print(f"peak after {step}: {found[step]:,.0f} MB")


if __name__ == "__main__":
    main()
