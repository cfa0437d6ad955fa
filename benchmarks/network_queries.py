"""Exact queries of known Bayesian networks: answers and times beside those of pgmpy and pyAgrum.

    python benchmarks/network_queries.py NETWORKS [NAME ...]     # a Markdown table

NETWORKS is a folder of BIF files. Of each network, one row is drawn; a tenth of its variables are
known. Three questions are asked of a network object that has not been asked before:

- one: the distribution of a variable, the mean of several of them;
- all: the distribution of each variable that is not known;
- rows: the distribution of one variable for other values of the known ones, in each of 200 rows.

pyAgrum answers the first by its faster one of `VariableElimination` and `LazyPropagation`, and the
others by `LazyPropagation`, which is kept for all rows. pgmpy answers by `VariableElimination`; it
has no call for many distributions, so that the third is left out and the second is asked for a few
variables and scaled up. Times are those of the processor, the best of three, in
milliseconds; the difference is the largest one of any probability from those of the other two
libraries.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from priorwise import BayesianNetwork, read_bif

NAMES = (
    "asia", "survey", "sachs", "child", "alarm", "insurance", "win95pts", "hepar2", "hailfinder",
    "water", "andes", "pathfinder", "munin1", "barley",
)  # fmt: skip
N_ASKED = 5
N_ROWS = 200
REPEATS = 3


def measure(ask: Callable[[], Any]) -> tuple[float, Any]:
    """Return the best time in milliseconds, and the answer."""
    best, answer = float("inf"), None
    for _ in range(REPEATS):
        start = time.process_time()
        answer = ask()
        best = min(best, 1e3 * (time.process_time() - start))
        if best > 5_000:
            break
    return best, answer


class Question:
    """A network, known values, and the variables that are asked for."""

    def __init__(self, network: BayesianNetwork, seed: int = 0) -> None:
        rng = random.Random(seed)
        self.network = network
        names = network.variables_
        known = rng.sample(names, max(1, len(names) // 10))
        self.rows = network.sample(N_ROWS, random_state=seed)[known]
        self.evidence = dict(self.rows.iloc[0])
        self.free = [name for name in names if name not in known]
        self.asked = rng.sample(self.free, min(N_ASKED, len(self.free)))


class Priorwise:
    def __init__(self, question: Question) -> None:
        self.question = question

    def one(self) -> tuple[float, list[np.ndarray]]:
        def ask() -> list[np.ndarray]:
            # A copy has been asked nothing: its tables are made ready again.
            return [
                np.asarray(copy(network).query(name, self.question.evidence))
                for name in self.question.asked
            ]

        network = self.question.network
        time_of_all, answers = measure(ask)
        return time_of_all / len(answers), answers

    def all(self) -> tuple[float, list[np.ndarray]]:
        question = self.question
        each: Any
        ask = lambda: copy(question.network).query(question.free, question.evidence, joint=False)  # noqa: E731
        best, each = measure(ask)
        return best, [np.asarray(each[name]) for name in question.free]

    def rows(self) -> tuple[float, np.ndarray]:
        question = self.question
        return measure(
            lambda: copy(question.network).predict_proba(question.rows, question.asked[0])
        )


class PyAgrum:
    def __init__(self, question: Question) -> None:
        import pyagrum

        self.question, self.library = question, pyagrum
        self.network = question.network.to_pyagrum()

    def _posterior(self, kind: str, names: list[str]) -> list[np.ndarray]:
        inference = getattr(self.library, kind)(self.network)
        inference.setEvidence(self.question.evidence)
        for name in names if len(names) == 1 else ():
            inference.addTarget(name)
        inference.makeInference()
        return [np.asarray(inference.posterior(name).toarray()) for name in names]

    def one(self) -> tuple[float, list[np.ndarray]]:
        times = []
        for kind in ("VariableElimination", "LazyPropagation"):
            ask = lambda kind=kind: [self._posterior(kind, [n])[0] for n in self.question.asked]  # noqa: E731
            best, answers = measure(ask)
            times.append(best / len(answers))
        return min(times), answers

    def all(self) -> tuple[float, list[np.ndarray]]:
        return measure(lambda: self._posterior("LazyPropagation", self.question.free))

    def rows(self) -> tuple[float, np.ndarray]:
        def ask() -> np.ndarray:
            target = self.question.asked[0]
            inference = self.library.LazyPropagation(self.network)
            inference.addTarget(target)
            result = []
            for row in self.question.rows.to_dict("records"):
                inference.setEvidence(row)
                inference.makeInference()
                result.append(np.asarray(inference.posterior(target).toarray()))
            return np.array(result)

        return measure(ask)


class Pgmpy:
    def __init__(self, question: Question) -> None:
        self.question = question
        self.network = question.network.to_pgmpy()

    def one(self) -> tuple[float, list[np.ndarray]]:
        from pgmpy.inference import VariableElimination

        def ask() -> list[np.ndarray]:
            answers = []
            for name in self.question.asked:
                inference = VariableElimination(self.network)
                factor = inference.query([name], self.question.evidence, show_progress=False)
                states = self.question.network.states_[name]
                answers.append(np.array([factor.get_value(**{name: one}) for one in states]))
            return answers

        best, answers = measure(ask)
        return best / len(answers), answers


def compare(name: str, folder: Path) -> Iterator[str]:
    network = read_bif(folder / f"{name}.bif.gz")
    question = Question(network)
    ours, agrum, pgmpy = Priorwise(question), PyAgrum(question), Pgmpy(question)
    yield name
    yield str(len(network.variables_))
    own, answers = ours.one()
    theirs, expected = agrum.one()
    other, again = pgmpy.one()
    yield from (f"{own:.2f}", f"{theirs:.2f}", f"{other:.2f}")
    gaps = [np.abs(a - b).max() for a, b in zip(answers + answers, expected + again, strict=True)]
    own, answers = ours.all()
    theirs, expected = agrum.all()
    yield from (f"{own:.2f}", f"{theirs:.2f}", f"{other * len(question.free):.0f}")
    gaps += [np.abs(a - b).max() for a, b in zip(answers, expected, strict=True)]
    own, many = ours.rows()
    theirs, expected_rows = agrum.rows()
    yield from (f"{own:.2f}", f"{theirs:.2f}")
    gaps.append(np.abs(many - expected_rows).max())
    yield f"{max(gaps):.0e}"


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    options = parser.parse_args()
    head = ["network", "variables"]
    head += [f"one: {library}" for library in ("priorwise", "pyAgrum", "pgmpy")]
    head += [f"all: {library}" for library in ("priorwise", "pyAgrum", "pgmpy")]
    head += ["rows: priorwise", "rows: pyAgrum", "difference"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for name in options.names:
        print("| " + " | ".join(compare(name, options.folder)) + " |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
