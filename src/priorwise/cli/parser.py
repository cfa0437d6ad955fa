"""The commands and their options; nothing here needs another library."""

from __future__ import annotations

import argparse
from difflib import get_close_matches
from typing import Any, NoReturn

from priorwise import __version__

_MODEL_HELP = (
    "[name=]Class[(option=value, ...)], a class of priorwise or, after 'sklearn:', of "
    "scikit-learn, for example 'KDBClassifier(max_parents=2)' or "
    "'rf=sklearn:RandomForestClassifier(n_estimators=100)'"
)
_DATA_HELP = "CSV, Parquet, Arrow or ARFF files, or folders of them; - is standard input"


class UsageError(ValueError):
    """Arguments that the parser does not understand."""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line, for `main` to print."""

    def __init__(self, **options: Any) -> None:
        self.listed: list[argparse.Action] = []
        self.commands: dict[str, OneLineParser] = {}
        super().__init__(allow_abbrev=False, **options)

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        self.listed.append(super().add_argument(*names, **options))
        return self.listed[-1]

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = self.parse_known_args(args, namespace)
        if not unknown:
            return options
        parser = self.commands.get(getattr(options, "command", ""), self)
        known = [text for action in parser.listed for text in action.option_strings]
        near = get_close_matches(unknown[0].split("=")[0], known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"unknown argument {unknown[0]!r}{hint} (see {parser.prog} --help)")


def build_parser() -> OneLineParser:
    """Return the parser of all commands; ``run`` of its result is the module and the function."""
    parser = OneLineParser(
        prog="priorwise",
        description="Class probabilities of tables: learn, predict, evaluate, explain, compare.",
        epilog="Exit codes: 0 success, 1 every cell of a bench failed, 2 wrong arguments or data, "
        "130 interrupted, 143 terminated.",
    )
    parser.add_argument("--version", action="version", version=f"priorwise {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    parser.commands = commands.choices
    _add_fit(commands)
    _add_predict(commands)
    _add_evaluate(commands)
    _add_explain(commands)
    _add_pages(commands)
    _add_export(commands)
    _add_info(commands)
    _add_bench(commands)
    _add_compare(commands)
    completion = _add_command(commands, "completion", "print a script that completes commands")
    completion.add_argument("shell", choices=["bash", "zsh"])
    completion.set_defaults(run=("completion", "run_completion"))
    return parser


def _add_command(commands: Any, name: str, text: str) -> Any:
    return commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")


def _add_fit(commands: Any) -> None:
    fit = _add_command(commands, "fit", "learn a model from a table and save it")
    fit.add_argument("data", nargs="+", metavar="DATA", help=_DATA_HELP)
    _add_target(fit, required=True)
    _add_output(fit, "file of the model, such as model.priorwise; may be left out with --cv")
    fit.add_argument("--model", default="PriorwiseClassifier", metavar="MODEL", help=_MODEL_HELP)
    fit.add_argument("--effort", choices=["fast", "balanced", "best"], help="of the default model")
    fit.add_argument(
        "--max-seconds", type=float, metavar="S", help="of the default model and pools"
    )
    fit.add_argument(
        "--features", nargs="+", metavar="COLUMN", help="learn from these columns only"
    )
    fit.add_argument("--drop", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    fit.add_argument("--categorical", nargs="+", metavar="COLUMN", help="numbers that are labels")
    fit.add_argument(
        "--weights", metavar="COLUMN", help="column that counts how often a row is there"
    )
    fit.add_argument("--test-size", type=float, metavar="SHARE", help="score on this share of rows")
    fit.add_argument("--cv", type=int, metavar="FOLDS", help="score by cross-validation")
    fit.add_argument("--stream", action="store_true", help="read in batches: fit_dataset")
    fit.add_argument("--seed", type=int, default=0, help="of all random draws (0)")
    _add_common(fit, ("fit", "run_fit"), jobs=True)


def _add_predict(commands: Any) -> None:
    predict = _add_command(commands, "predict", "write classes and probabilities of new rows")
    _add_model(predict)
    predict.add_argument("data", nargs="+", metavar="DATA", help=_DATA_HELP)
    _add_output(predict, ".csv, .csv.gz or .parquet file; - is CSV on standard output (-)", "-")
    predict.add_argument("--keep", nargs="+", default=[], metavar="COLUMN", help="columns to copy")
    predict.add_argument(
        "--interval",
        type=float,
        metavar="LEVEL",
        help="also the ends of intervals of this level, such as 0.9, as low(class) and high(class)",
    )
    predict.add_argument(
        "--batch-rows", type=int, metavar="N", help="most rows in memory at a time"
    )
    _add_common(predict, ("predict", "run_predict"), jobs=True)


def _add_evaluate(commands: Any) -> None:
    evaluate = _add_command(commands, "evaluate", "score a model on rows with known classes")
    _add_model(evaluate)
    evaluate.add_argument("data", nargs="+", metavar="DATA", help=_DATA_HELP)
    _add_target(evaluate, required=False)
    evaluate.add_argument("--weights", metavar="COLUMN", help="column that counts rows")
    evaluate.add_argument("--scores", nargs="+", metavar="SCORE", help="names of these scores only")
    _add_common(evaluate, ("predict", "run_evaluate"), jobs=True)


def _add_explain(commands: Any) -> None:
    explain = _add_command(commands, "explain", "what each feature adds to the log-odds")
    _add_model(explain)
    explain.add_argument("data", nargs="+", metavar="DATA", help=_DATA_HELP)
    explain.add_argument(
        "--rows", type=int, default=3, metavar="N", help="first rows to explain (3)"
    )
    explain.add_argument("--top", type=int, default=5, metavar="N", help="features to print (5)")
    explain.add_argument("--against", metavar="CLASS", help="class that log-odds are taken against")
    _add_common(explain, ("predict", "run_explain"), jobs=True)


def _add_pages(commands: Any) -> None:
    report = _add_command(commands, "report", "write a report of a model as an HTML file")
    _add_model(report)
    report.add_argument("data", nargs="+", metavar="DATA", help=_DATA_HELP)
    _add_target(report, required=False)
    _add_output(report, "the .html file; - is standard output", required=True)
    _add_common(report, ("pages", "run_report"), jobs=True)
    explorer = _add_command(commands, "explorer", "write a page to try out a model in a browser")
    _add_model(explorer)
    explorer.add_argument(
        "data", nargs="*", metavar="DATA", help=f"rows to start from: {_DATA_HELP}"
    )
    _add_target(explorer, required=False)
    _add_output(explorer, "the .html file; - is standard output", required=True)
    _add_common(explorer, ("pages", "run_explorer"), jobs=True)


def _add_export(commands: Any) -> None:
    export = _add_command(commands, "export", "write a model for other programs")
    _add_model(export)
    export.add_argument("--to", required=True, choices=["c", "sql", "json", "onnx"])
    _add_output(export, "the file; - is standard output (-)", "-")
    _add_common(export, ("export", "run_export"))


def _add_info(commands: Any) -> None:
    info = _add_command(commands, "info", "what is in a model file")
    _add_model(info)
    info.add_argument("--card", action="store_true", help="print a model card in Markdown")
    _add_common(info, ("export", "run_info"))


def _add_bench(commands: Any) -> None:
    bench = _add_command(commands, "bench", "cross-validate models on data sets, resumable")
    bench.add_argument("--data", metavar="PATH", help="a table or a folder of tables")
    bench.add_argument("--suite", metavar="NAME", help="suite to download from OpenML: uci, weka36")
    bench.add_argument("--datasets", nargs="+", metavar="NAME", help="only these; * is a wildcard")
    _add_target(bench, required=False, default="-1")
    bench.add_argument("--models", nargs="+", required=True, metavar="MODEL", help=_MODEL_HELP)
    bench.add_argument("--protocol", default="5x2", help="repeats x folds (5x2)")
    bench.add_argument("--scores", nargs="+", metavar="SCORE", help="names of scores")
    bench.add_argument("--small-classes", default="keep", choices=["keep", "drop", "error"])
    bench.add_argument("--jobs", type=int, default=1, help="processes, -1 for all cores (1)")
    bench.add_argument(
        "--out", required=True, metavar="CSV", help="result file, added to row by row"
    )
    bench.add_argument("--retry-errors", action="store_true", help="run failed cells again")
    _add_common(bench, ("bench", "run_bench"))


def _add_compare(commands: Any) -> None:
    compare = _add_command(commands, "compare", "tables, tests and pictures of a result file")
    compare.add_argument("results", metavar="CSV")
    compare.add_argument("--scores", nargs="+", metavar="SCORE", help="only these scores")
    compare.add_argument("--baseline", metavar="MODEL", help="only pairs with this model")
    compare.add_argument("--alpha", type=float, default=0.05, help="level of significance (0.05)")
    compare.add_argument("--per-dataset", action="store_true", help="also every data set's mean")
    compare.add_argument("--pictures", metavar="DIR", help="save pictures here (needs matplotlib)")
    _add_common(compare, ("bench", "run_compare"))


def _add_model(parser: Any) -> None:
    parser.add_argument("model", metavar="MODEL", help="file that 'priorwise fit' has written")


def _add_target(parser: Any, *, required: bool, default: str | None = None) -> None:
    usual = "" if required else f" ({default or 'that of the model'})"
    text = f"column of the classes: name, or position from 0, -1 for the last{usual}"
    parser.add_argument("--target", required=required, default=default, metavar="COLUMN", help=text)


def _add_output(
    parser: Any, text: str, default: str | None = None, *, required: bool = False
) -> None:
    parser.add_argument(
        "-o", "--output", default=default, required=required, metavar="FILE", help=text
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file that exists")


def _add_common(parser: Any, run: tuple[str, str], *, jobs: bool = False) -> None:
    if jobs:
        parser.add_argument("--jobs", type=int, default=-1, help="threads, -1 for all cores (-1)")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run)
