"""The commands and their options, and how shells complete them, without other libraries."""

from __future__ import annotations

import argparse
import sys
from argparse import Namespace
from difflib import get_close_matches
from typing import Any, NoReturn

from priorwise import __version__
from priorwise.common.texts import FEW


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
        words = sys.argv[1:] if args is None else list(args)
        if self.commands and words and not words[0].startswith("-"):
            self._check_command(words[0])
        options, unknown = self.parse_known_args(args, namespace)
        if not unknown:
            return options
        parser = self.commands.get(getattr(options, "command", ""), self)
        known = [text for action in parser.listed for text in action.option_strings]
        near = get_close_matches(unknown[0].split("=")[0], known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"unknown argument {unknown[0]!r}{hint} (see {parser.prog} --help)")

    def _check_command(self, word: str) -> None:
        """Raise unless a word is a command; a near one, or one of this meaning, is named."""
        if word in self.commands:
            return
        near = get_close_matches(word.lower(), [*self.commands, *MEANT], n=1)
        hint = f"; did you mean {MEANT.get(near[0], near[0])}?" if near else ""
        raise UsageError(f"unknown command {word!r}{hint} (one of {', '.join(self.commands)})")


MEANT = {
    **dict.fromkeys(("train", "learn", "build", "create"), "fit"),
    **dict.fromkeys(("test", "score", "eval", "validate"), "evaluate"),
    **dict.fromkeys(("show", "describe", "summary", "inspect", "print", "card"), "info"),
    **dict.fromkeys(("apply", "classify", "infer", "run"), "predict"),
    **dict.fromkeys(("convert", "save", "to"), "export"),
    **dict.fromkeys(("ui", "app", "page", "serve", "browse"), "explorer"),
    **dict.fromkeys(("lint", "audit", "profile"), "check"),
    **dict.fromkeys(("benchmark", "cv", "cross-validate"), "bench"),
}
"""Commands by the words that other programs have for them."""


def _argument(*names: str, **options: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    return names, options


def _target(usual: str = " (that of the model)", **options: Any) -> Any:
    text = f"column of the classes: name, or position from 0, -1 for the last{usual}"
    return _argument("--target", metavar="COLUMN", help=text, **options)


def _output(text: str, **options: Any) -> list[Any]:
    overwrite = _argument("--overwrite", action="store_true", help="replace a file that exists")
    return [_argument("-o", "--output", metavar="FILE", help=text, **options), overwrite]


_DATA_HELP = (
    "text (CSV, TSV), Excel, Parquet, Arrow or ARFF files, folders or patterns of them; - is "
    "standard input"
)
_DATA = _argument("data", nargs="+", metavar="DATA", help=_DATA_HELP)
_READING = [
    _argument("--separator", metavar="MARK", help="what is between fields of text (recognised)"),
    _argument("--decimal", choices=[".", ","], help="the mark before decimals (recognised)"),
    _argument("--encoding", metavar="NAME", help="of text, such as cp1252 (recognised)"),
    _argument("--sheet", metavar="NAME", help="sheet of an Excel file: name, or position from 0"),
]
_MODEL = _argument("model", metavar="MODEL", help="file that 'priorwise fit' has written")
_MODEL_HELP = (
    "[name=]Class[(option=value, ...)], a class of priorwise or, after 'sklearn:', of "
    "scikit-learn, for example 'KDBClassifier(max_parents=2)' or "
    "'rf=sklearn:RandomForestClassifier(n_estimators=100)'"
)
_COLUMNS = [
    _argument("--categorical", nargs="+", metavar="COLUMN", help="numbers that are labels"),
    _argument("--numeric", nargs="+", metavar="COLUMN",
              help="columns of numbers; text in them is missing"),
    _argument("--ordinal", nargs="+", metavar="COLUMN=VALUES",
              help="columns with an order and their values from low to high, size=small,large"),
    _argument("--missing-values", nargs="+", metavar="VALUE",
              help="values that mean missing, besides the usual ones"),
]  # fmt: skip
"""What the columns of the table are."""
_SCORES = _argument(
    "--scores", nargs="+", metavar="SCORE", help="only these: log-loss, Brier, error, AUC, RMSE"
)
_PAGE = _output("the .html file; - is standard output", required=True)
_KEY = _argument("--key", metavar="COLUMN", help="what rows are called (their numbers from 1)")
_COMMON = [
    _argument("--json", action="store_true", help="print JSON, for programs"),
    _argument("--quiet", action="store_true", help="show no progress"),
]
_JOBS = [_argument("--jobs", type=int, default=-1, help="threads, -1 for all cores (-1)"), *_COMMON]


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


_COMMANDS: dict[str, tuple[str, str, list[Any]]] = {
    "fit": ("models", "learn a model from a table and save it", [
        _DATA,
        *_READING,
        _target(""),
        *_output("file of the model, such as model.priorwise; may be left out with --cv"),
        _argument("--model", default="PriorwiseClassifier", metavar="MODEL", help=_MODEL_HELP),
        _argument("--effort", choices=["fast", "balanced"], help="of the default model"),
        _argument("--max-seconds", type=float, metavar="S", help="of the default model and pools"),
        _argument("--features", nargs="+", metavar="COLUMN", help="learn from these columns only"),
        _argument("--drop", nargs="+", default=[], metavar="COLUMN", help="columns to leave out"),
        *_COLUMNS,
        _argument("--dates", nargs="+", metavar="COLUMN=FORM", help="form of dates in text: "
                  "when=day-first, month-first or iso (recognised)"),
        _argument("--text", nargs="+", metavar="COLUMN", help="columns of text, read as words "
                  "(recognised)"),
        _argument("--min-rows-per-label", type=int, metavar="N",
                  help="labels of fewer rows become one, 'other', and are not in the model (1)"),
        _argument("--weights", metavar="COLUMN",
                  help="column that counts how often a row is there"),
        _argument("--test-size", type=float, metavar="SHARE", help="score on this share of rows"),
        _argument("--cv", type=int, metavar="FOLDS", help="score by cross-validation"),
        _argument("--stream", action="store_true", help="read in batches: fit_dataset"),
        _argument("--seed", type=int, default=0, help="of all random draws (0)"),
        *_JOBS,
    ]),
    "check": ("checks", "what may be wrong with a table, before a fit", [
        _DATA,
        _target(""),
        _argument("--drop", nargs="+", default=[], metavar="COLUMN", help="columns to leave out"),
        _argument("--model", metavar="MODEL", help="say how the table differs from the training of "
                  "this model, and nothing else"),
        *_READING,
        *_COLUMNS,
        _argument("--html", dest="output", metavar="FILE", help="also write a page; - is "
                  "standard output"),
        _argument("--overwrite", action="store_true", help="replace a file that exists"),
        *_COMMON,
    ]),
    "predict": ("models", "write classes and probabilities of new rows", [
        _MODEL,
        _DATA,
        *_READING,
        *_output(".csv, .csv.gz or .parquet file; - is CSV on standard output (-)", default="-"),
        _argument("--keep", nargs="+", default=[], metavar="COLUMN", help="columns to copy"),
        _argument("--interval", type=float, metavar="LEVEL", help="also the ends of intervals of "
                  "this level, such as 0.9, as low(class) and high(class)"),
        _argument("--batch-rows", type=int, metavar="N", help="most rows in memory at a time"),
        *_JOBS,
    ]),
    "evaluate": ("models", "score a model on rows with known classes", [
        _MODEL,
        _DATA,
        *_READING,
        _target(),
        _argument("--weights", metavar="COLUMN", help="column that counts rows"),
        _SCORES,
        *_JOBS,
    ]),
    "explain": ("models", "what each feature adds to the log-odds", [
        _MODEL,
        _DATA,
        *_READING,
        _argument("--rows", type=int, default=FEW, metavar="N",
                  help=f"first rows to explain ({FEW})"),
        _argument("--top", type=int, default=5, metavar="N", help="features to print (5)"),
        _argument("--against", metavar="CLASS", help="class that log-odds are taken against"),
        *_JOBS,
    ]),
    "report": ("models", "write a report of a model as an HTML file", [
        _MODEL,
        _DATA,
        *_READING,
        _target(),
        _argument("--event", metavar="CLASS", help="class to choose a threshold for (the rarest)"),
        _KEY,
        *_PAGE,
        *_JOBS,
    ]),
    "explorer": ("models", "write a page to try out a model in a browser", [
        _MODEL,
        _argument("data", nargs="*", metavar="DATA", help=f"rows to start from: {_DATA_HELP}"),
        *_READING,
        _target(),
        _argument("--fixed", type=_split_names, metavar="COLUMN,...",
                  help="features that cannot be changed, such as age,sex"),
        _argument("--rows", type=int, default=500, metavar="N",
                  help="most rows in the page; 0 keeps them and their values out of it (500)"),
        _KEY,
        *_PAGE,
        *_JOBS,
    ]),
    "export": ("models", "write a model for other programs", [
        _MODEL,
        _argument("--to", required=True, choices=["c", "sql", "json", "onnx"]),
        *_output("the file; - is standard output (-)", default="-"),
        *_COMMON,
    ]),
    "info": ("models", "what is in a model file", [
        _MODEL,
        _argument("--card", action="store_true", help="print a model card in Markdown"),
        *_COMMON,
    ]),
    "bench": ("bench", "cross-validate models on data sets, resumable", [
        _argument("--data", metavar="PATH", help="a table or a folder of tables"),
        *_READING,
        _argument("--suite", metavar="NAME", help="suite to download from OpenML: uci, weka36"),
        _argument("--datasets", nargs="+", metavar="NAME", help="only these; * is a wildcard"),
        _target(" (-1)", default="-1"),
        _argument("--models", nargs="+", required=True, metavar="MODEL", help=_MODEL_HELP),
        _argument("--protocol", default="5x2", help="repeats x folds (5x2)"),
        _SCORES,
        _argument("--small-classes", default="keep", choices=["keep", "drop", "error"]),
        _argument("--jobs", type=int, default=1, help="processes, -1 for all cores (1)"),
        _argument("--out", required=True, metavar="CSV", help="result file, added to row by row"),
        _argument("--retry-errors", action="store_true", help="run failed cells again"),
        *_COMMON,
    ]),
    "compare": ("bench", "tables, tests and pictures of a result file", [
        _argument("results", metavar="CSV"),
        _SCORES,
        _argument("--baseline", metavar="MODEL", help="only pairs with this model"),
        _argument("--alpha", type=float, default=0.05, help="level of significance (0.05)"),
        _argument("--per-dataset", action="store_true", help="also every data set's mean"),
        _argument("--pictures", metavar="DIR", help="save pictures here (needs matplotlib)"),
        *_COMMON,
    ]),
    "completion": ("parser", "print a script that completes commands", [
        _argument("shell", choices=["bash", "zsh"]),
    ]),
}  # fmt: skip
"""Of each command the module with its function, what it does, and its arguments."""


def build_parser() -> OneLineParser:
    """Return the parser of all commands; ``run`` of its result is the module and the function."""
    parser = OneLineParser(
        prog="priorwise",
        description="Class probabilities of tables: learn, predict, evaluate, explain, compare.",
        epilog="Exit codes: 0 success, 1 every cell of a bench failed, 2 wrong arguments or data, "
        "130 interrupted, 143 terminated.",
    )
    parser.add_argument("--version", action="version", version=f"priorwise {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, title="commands", metavar="COMMAND"
    )
    parser.commands = commands.choices
    for name, (module, text, arguments) in _COMMANDS.items():
        command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        command.set_defaults(run=(module, f"run_{name}"))
        for names, options in arguments:
            command.add_argument(*names, **options)
    return parser


_ZSH = "autoload -Uz bashcompinit && bashcompinit\n"
"""What zsh needs before the script."""

_SCRIPT = """\
# Completion of priorwise: source <(priorwise completion {shell})
_priorwise() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}} $before" in
{values}
        esac
        if [[ -z $words && $word == -* ]]; then
            case "${{COMP_WORDS[1]}}" in
{options}
            esac
        fi
    fi
    [[ -z $words ]] || COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _priorwise priorwise
"""


def run_completion(options: Namespace) -> None:
    """Print the script for a shell."""
    script = _write_script(build_parser(), options.shell)
    print(_ZSH + script if options.shell == "zsh" else script, end="")


def _write_script(parser: OneLineParser, shell: str) -> str:
    commands = [*parser.commands, *_option_names(parser)]
    values, options = [], []
    for name, command in parser.commands.items():
        options.append(f'            {name}) words="{" ".join(_option_names(command))}";;')
        for action in command.listed:
            if action.choices:
                words = " ".join(map(str, action.choices))
                # Values of an option follow it, those of an argument its command.
                places = " | ".join(f'"{name} {at}"' for at in action.option_strings or [name])
                values.append(f'        {places}) words="{words}";;')
    return _SCRIPT.format(
        shell=shell,
        commands=" ".join(commands),
        values="\n".join(values),
        options="\n".join(options),
    )


def _option_names(parser: OneLineParser) -> list[str]:
    return [text for action in parser.listed for text in action.option_strings]
