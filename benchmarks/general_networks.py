"""Tables of known Bayesian networks learnt from samples: divergence and time.

    python benchmarks/general_networks.py NETWORKS                  # divergence, as CSV
    python benchmarks/general_networks.py NETWORKS --time munin1    # time of fitting 10,000 rows
    python benchmarks/general_networks.py NETWORKS --libraries alarm

NETWORKS is a folder of BIF files. Rows are drawn from each network; every method learns the tables
of the true graph. The Kullback-Leibler divergence from the true joint distribution, in nats, is the
sum over tables of that of their rows, weighted by the true distribution of the parents, which a
sample of 1,000,000 rows estimates. Constant priors are computed by their formulas; `--libraries`
shows that those are what pgmpy and pyAgrum compute, which must be installed for this and for times.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from priorwise import BayesianNetwork, read_bif

N_LARGE = 1_000_000
BATCH = 100_000
SIZES = (100, 1_000, 10_000, 100_000)
Tables = dict[str, np.ndarray]
"""The table of each variable: one axis per parent, in the order of the file, then the states."""


def learn_priorwise(smoothing: Any) -> Callable[[Any, Any], Tables]:
    def learn(truth: BayesianNetwork, frame: Any) -> Tables:
        model = BayesianNetwork(truth, smoothing=smoothing).fit(frame)
        tables = {}
        for i, name in enumerate(model.variables_):
            ranked = [*model.structure_.parents[i]]
            order = [ranked.index(parent) for parent in truth.structure_.parents[i]]
            tables[name] = np.transpose(model.table(name), [*order, len(order)])
        return tables

    return learn


def learn_pgmpy(prior: str | None, **options: Any) -> Callable[[Any, Any], Tables]:
    def learn(truth: BayesianNetwork, frame: Any) -> Tables:
        model = fit_pgmpy(truth, frame, prior, **options)
        tables = {}
        for i, name in enumerate(truth.variables_):
            cpd = model.get_cpds(name)
            parents = [truth.variables_[parent] for parent in truth.structure_.parents[i]]
            order = [cpd.variables.index(one) for one in [*parents, name]]
            tables[name] = np.transpose(cpd.values, order)
        return tables

    return learn


def fit_pgmpy(truth: BayesianNetwork, frame: Any, prior: str | None, **options: Any) -> Any:
    from pgmpy.estimators import BayesianEstimator, MaximumLikelihoodEstimator
    from pgmpy.models import DiscreteBayesianNetwork

    names = truth.variables_
    model = DiscreteBayesianNetwork([(names[a], names[b]) for a, b in truth.structure_.arcs()])
    model.add_nodes_from(names)
    states = {name: list(own) for name, own in truth.states_.items()}
    if prior is None:
        estimator = MaximumLikelihoodEstimator(model, frame, state_names=states)
        model.add_cpds(*estimator.get_parameters())
    else:
        estimator = BayesianEstimator(model, frame, state_names=states)
        model.add_cpds(*estimator.get_parameters(prior_type=prior, **options))
    return model


def learn_pyagrum(prior: str) -> Callable[[Any, Any], Tables]:
    def learn(truth: BayesianNetwork, frame: Any) -> Tables:
        graph = truth.to_pyagrum()
        model = fit_pyagrum(graph, frame, prior)
        tables = {}
        for i, name in enumerate(truth.variables_):
            cpt = model.cpt(name)
            parents = [truth.variables_[parent] for parent in truth.structure_.parents[i]]
            given = list(reversed(cpt.names))
            tables[name] = np.transpose(
                np.asarray(cpt.toarray()), [given.index(one) for one in [*parents, name]]
            )
        return tables

    return learn


def fit_pyagrum(graph: Any, frame: Any, prior: str) -> Any:
    import pyagrum

    learner = pyagrum.BNLearner(frame, graph)
    if prior == "bdeu":
        learner.useBDeuPrior()
    elif prior == "smoothing":
        learner.useSmoothingPrior()
    return learner.learnParameters(graph.dag())


def learn_constant(rows_of_prior: float) -> Callable[[Any, Any], Tables]:
    """Learn with BDeu, whose prior has so many rows in all; with 0, one row for each cell."""

    def learn(truth: BayesianNetwork, frame: Any) -> Tables:
        tables = {}
        for i, name in enumerate(truth.variables_):
            shape = truth.table(name).shape
            family = [truth.variables_[parent] for parent in truth.structure_.parents[i]]
            codes = [frame[one].cat.codes.to_numpy() for one in [*family, name]]
            counts = np.bincount(np.ravel_multi_index(codes, shape), minlength=np.prod(shape))
            prior = rows_of_prior / counts.size if rows_of_prior else 1.0
            cells = counts.reshape(shape) + prior
            tables[name] = cells / cells.sum(axis=-1, keepdims=True)
        return tables

    return learn


METHODS: dict[str, Callable[[Any, Any], Tables]] = {
    "HDP": learn_priorwise("hdp"),
    "Pitman-Yor": learn_priorwise("pitman-yor"),
    "MLE": learn_priorwise("mle"),
    "Laplace": learn_constant(0),
    "BDeu 1": learn_constant(1),
    "BDeu 5": learn_constant(5),
    "BDeu 10": learn_constant(10),
}
LIBRARIES: dict[str, tuple[Callable[[Any, Any], Tables], str]] = {
    "pgmpy BDeu": (learn_pgmpy("BDeu"), "BDeu 5"),
    "pgmpy K2": (learn_pgmpy("K2"), "Laplace"),
    "pyAgrum smoothing": (learn_pyagrum("smoothing"), "Laplace"),
    "pyAgrum BDeu": (learn_pyagrum("bdeu"), "BDeu 1"),
}
"""Estimators of other libraries with their defaults, and the formulas that they compute."""


def draw_codes(truth: BayesianNetwork, n_rows: int, rng: np.random.RandomState) -> list[np.ndarray]:
    codes: list[Any] = [None] * len(truth.variables_)
    for i in truth.structure_.order:
        table = truth.table(truth.variables_[i])
        upper = np.cumsum(table, axis=-1)
        rows = upper[tuple(codes[parent] for parent in truth.structure_.parents[i])]
        below = rng.random_sample(n_rows)[:, None] * rows[..., -1:]
        codes[i] = (below >= rows[..., :-1]).sum(axis=-1)
    return codes


def draw_frame(truth: BayesianNetwork, n_rows: int, seed: int) -> Any:
    codes = draw_codes(truth, n_rows, np.random.RandomState(seed))
    states = truth.states_.values()
    columns = [pd.Categorical.from_codes(c, own) for c, own in zip(codes, states, strict=True)]
    return pd.DataFrame(dict(zip(truth.variables_, columns, strict=True)))


def parent_weights(truth: BayesianNetwork) -> Tables:
    """Estimate the true distribution of the parents of each variable."""
    rng = np.random.RandomState(0)
    totals = {name: np.zeros(truth.table(name).shape[:-1]) for name in truth.variables_}
    for _ in range(N_LARGE // BATCH):
        codes = draw_codes(truth, BATCH, rng)
        for i, name in enumerate(truth.variables_):
            parents = [codes[parent] for parent in truth.structure_.parents[i]]
            shape = totals[name].shape
            flat = np.ravel_multi_index(parents, shape) if parents else np.zeros(BATCH, dtype=int)
            n_contexts = int(np.prod(shape))
            totals[name] += np.bincount(flat, minlength=n_contexts).reshape(shape)
    return {name: total / N_LARGE for name, total in totals.items()}


def divergence(truth: BayesianNetwork, weights: Tables, tables: Tables) -> float:
    total = 0.0
    for name in truth.variables_:
        p, q = truth.table(name), tables[name]
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(p > 0, p * (np.log(p) - np.log(q)), 0.0)
        by_context = np.where(weights[name] > 0, weights[name] * terms.sum(axis=-1), 0.0)
        total += float(by_context.sum())
    return total


def count_parameters(truth: BayesianNetwork) -> int:
    tables = [truth.table(name) for name in truth.variables_]
    return sum(table.size // table.shape[-1] * (table.shape[-1] - 1) for table in tables)


def measure(
    folder: Path, names: list[str], methods: list[str], sizes: list[int]
) -> Iterator[list[Any]]:
    for path in sorted(folder.glob("*.bif.gz")):
        name = path.name.removesuffix(".bif.gz")
        if names and name not in names:
            continue
        truth = read_bif(path)
        weights = parent_weights(truth)
        n_parameters = count_parameters(truth)
        frame = draw_frame(truth, max(SIZES), seed=1)
        for n_rows in sizes:
            rows = frame.iloc[:n_rows]
            for method in methods:
                tables = METHODS[method](truth, rows)
                kl = divergence(truth, weights, tables)
                yield [name, n_parameters, n_rows, method, f"{kl:.6g}"]


def compare_libraries(path: Path, n_rows: int = 1_000) -> None:
    """Print how far the estimators of other libraries are from the formulas used here."""
    truth = read_bif(path)
    frame = draw_frame(truth, n_rows, seed=1)
    for name, (learn, formula) in LIBRARIES.items():
        theirs, ours = learn(truth, frame.astype(str)), METHODS[formula](truth, frame)
        error = max(np.abs(theirs[one] - ours[one]).max() for one in truth.variables_)
        print(f"{path.name}, {n_rows} rows, {name} is {formula} to {error:.1e}")


def time_fits(path: Path, n_rows: int = 10_000, n_repeats: int = 3) -> None:
    truth = read_bif(path)
    frame = draw_frame(truth, n_rows, seed=1).astype(str)
    graph = truth.to_pyagrum()
    fits: dict[str, Callable[[], Any]] = {
        "priorwise HDP": lambda: BayesianNetwork(truth).fit(frame),
        "pyAgrum BDeu": lambda: fit_pyagrum(graph, frame, "bdeu"),
        "pgmpy BDeu": lambda: fit_pgmpy(truth, frame, "BDeu"),
    }
    for name, fit in fits.items():
        times = []
        for _ in range(n_repeats):
            start = time.perf_counter()
            fit()
            times.append(time.perf_counter() - start)
        print(f"{path.name}, {n_rows} rows, {name}: {min(times):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--networks", nargs="*", default=[])
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--time", metavar="NETWORK")
    parser.add_argument("--libraries", metavar="NETWORK")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.time:
        time_fits(options.folder / f"{options.time}.bif.gz")
        return
    if options.libraries:
        compare_libraries(options.folder / f"{options.libraries}.bif.gz")
        return
    writer = csv.writer(sys.stdout)
    writer.writerow(["network", "parameters", "rows", "method", "kl"])
    for row in measure(options.folder, options.networks, options.methods, options.sizes):
        writer.writerow(row)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
