"""The commands and their options."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from priorwise.cli.model_spec import parse_model
from priorwise.cli.report import choose_pairs, describe_results, save_pictures
from priorwise.datasets import SUITES, fetch_suite, find_datasets
from priorwise.evaluation import SCORES, cross_validate, read_results
from priorwise.evaluation.protocol import DEFAULT_SCORES
from priorwise.storage import load

_MODELS_HELP = (
    "[name=]Class[(option=value, ...)], a class of priorwise or, after 'sklearn:', of "
    "scikit-learn, for example 'NaiveBayesClassifier' "
    "'rf=sklearn:RandomForestClassifier(n_estimators=100)'"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status (2 for a wrong argument)."""
    options = _build_parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except BrokenPipeError:
        # The reader, such as head, has seen enough; Python would complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, ImportError, OSError, ArithmeticError, csv.Error) as error:
        print(f"priorwise: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\npriorwise: interrupted; the same command continues from here", file=sys.stderr)
        return 130


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="priorwise", description="Judge the class probabilities of models."
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    bench = commands.add_parser("bench", help="cross-validate models on data sets, resumable")
    source = bench.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", metavar="DIR", help="folder of .arff, .csv and .parquet files")
    source.add_argument("--suite", choices=sorted(SUITES), help="suite to download from OpenML")
    bench.add_argument("--datasets", nargs="+", metavar="NAME", help="only these; * is a wildcard")
    bench.add_argument("--target", default="-1", help="class column: name or position (-1)")
    bench.add_argument("--models", nargs="+", required=True, metavar="MODEL", help=_MODELS_HELP)
    bench.add_argument("--protocol", default="5x2", help="repeats x folds (5x2)")
    bench.add_argument("--scores", nargs="+", default=list(DEFAULT_SCORES), choices=sorted(SCORES))
    bench.add_argument("--small-classes", default="keep", choices=["keep", "drop", "error"])
    bench.add_argument("--jobs", type=int, default=1, help="processes, -1 for all cores (1)")
    bench.add_argument(
        "--out", required=True, metavar="CSV", help="result file, added to row by row"
    )
    bench.add_argument("--retry-errors", action="store_true", help="run failed cells again")
    bench.add_argument("--quiet", action="store_true", help="show no progress")
    bench.set_defaults(command=_run_bench)
    compare = commands.add_parser("compare", help="tables, tests and pictures of a result file")
    compare.add_argument("results", metavar="CSV")
    compare.add_argument("--scores", nargs="+", metavar="SCORE", help="only these scores")
    compare.add_argument("--baseline", metavar="MODEL", help="only pairs with this model")
    compare.add_argument("--alpha", type=float, default=0.05, help="level of significance (0.05)")
    compare.add_argument("--per-dataset", action="store_true", help="also every data set's mean")
    compare.add_argument("--pictures", metavar="DIR", help="save pictures here (needs matplotlib)")
    compare.set_defaults(command=_run_compare)
    info = commands.add_parser("info", help="what is inside a model file")
    info.add_argument("model", metavar="FILE", help="file written by the method save")
    info.add_argument("--card", action="store_true", help="the model card, in Markdown")
    info.set_defaults(command=_run_info)
    return parser


def _run_bench(options: argparse.Namespace) -> int:
    models = _parse_models(options.models)
    datasets = _choose_datasets(options)
    results = cross_validate(
        models,
        datasets,
        protocol=options.protocol,
        scores=options.scores,
        n_jobs=options.jobs,
        out=options.out,
        progress=not options.quiet,
        small_classes=options.small_classes,
        retry_errors=options.retry_errors,
    )
    n_failed = len(results.errors)
    failed = f"; {n_failed} failed, see the column error" if n_failed else ""
    print(f"{len(results.rows)} cells in {options.out}{failed}")
    return 0


def _parse_models(texts: Sequence[str]) -> dict[str, Any]:
    models: dict[str, Any] = {}
    for text in texts:
        name, model = parse_model(text)
        if name in models:
            raise ValueError(f"two models are called {name!r}")
        models[name] = model
    return models


def _choose_datasets(options: argparse.Namespace) -> Mapping[str, Any]:
    if options.suite is not None:
        found: Mapping[str, Any] = fetch_suite(options.suite)
    else:
        position = options.target.lstrip("-").isdecimal()
        target = int(options.target) if position else options.target
        found = find_datasets(options.data, target)
    if not found:
        raise ValueError(f"no .arff, .csv or .parquet file in {options.data!r}")
    if options.datasets is None:
        return found
    chosen = {}
    for pattern in options.datasets:
        matches = {name: item for name, item in found.items() if fnmatchcase(name, pattern)}
        if not matches:
            close = get_close_matches(pattern, found, n=5, cutoff=0.4)
            raise ValueError(f"no data set of {len(found)} is called {pattern!r}; near: {close}")
        chosen.update(matches)
    return chosen


def _run_info(options: argparse.Namespace) -> int:
    model = load(options.model)
    print(model.card() if options.card else model.summary())
    return 0


def _run_compare(options: argparse.Namespace) -> int:
    results = read_results(options.results)
    scores = options.scores or list(results.scores)
    if results.errors:
        print(f"{len(results.errors)} cells failed; the first: {results.errors[0]['error']}\n")
    pairs = choose_pairs(results, options.baseline)
    for score in scores:
        text = describe_results(results, score, pairs, options.alpha, options.per_dataset)
        print(text, end="\n\n")
        if options.pictures:
            folder = Path(options.pictures)
            for path in save_pictures(results, score, pairs, folder, options.alpha):
                print(path)
            print()
    return 0
