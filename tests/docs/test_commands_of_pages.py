"""Every command that README and the pages show is one that exists, with these options."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from priorwise.cli.parser import UsageError, build_parser

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md", ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if "gallery" not in page.parts),
]  # fmt: skip
CODE = re.compile(r"```(?:sh|bash|console)?\n(.*?)```|`([^`\n]+)`", re.S)
PROGRAMS = ("priorwise", "make", "python")


def list_commands() -> list[str]:
    """Command lines of blocks and spans of code, without what is behind a pipe or a comment."""
    commands = set()
    for page in PAGES:
        for block, span in CODE.findall(page.read_text(encoding="utf-8")):
            for line in (block or span).splitlines():
                command = re.split(r"\s+#\s|\s[|<>]\s", line.removeprefix("$ "))[0].strip()
                if re.match(rf"(\.venv/bin/)?({'|'.join(PROGRAMS)}) [-\w]", command):
                    commands.add(command)
    return sorted(commands)


def list_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))


def find_wrong(command: str) -> str:
    """Return what is wrong with a command, or nothing."""
    program, *arguments = shlex.split(command)
    if program == "make":
        wrong = {word for word in arguments if "=" not in word} - list_targets()
        return f"no targets {wrong}" if wrong else ""
    if program == "priorwise":
        return find_wrong_options(*arguments)
    name, *rest = arguments[1:] if arguments[0] == "-m" else arguments
    if arguments[0] == "-m":
        return "" if find_spec(name) else f"no module {name}"
    source = ROOT / name
    if not source.exists() or "__main__" not in source.read_text():
        return f"{name} is no program"
    text = source.read_text()
    unknown = [word for word in rest if word.startswith("--") and f'"{word}"' not in text]
    return f"no options {unknown}" if unknown else ""


def find_wrong_options(command: str, *arguments: str) -> str:
    """Return what is wrong with arguments of the command line, or nothing.

    A command without files, such as `info --card`, is only mentioned: it needs no more.
    """
    parser = build_parser()
    if command not in parser.commands:
        return f"no command {command}"
    known = {name for one in parser.commands[command].listed for name in one.option_strings}
    unknown = [word for word in arguments if word.startswith("--") and word not in known]
    if arguments and not arguments[0].startswith("--") and not unknown:
        parser.parse_args([command, *arguments])
    return f"no options {unknown}" if unknown else ""


@pytest.mark.parametrize("command", list_commands())
def test_a_command_of_a_page_exists_with_its_options(command: str) -> None:
    assert find_wrong(command) == ""


def test_commands_of_all_programs_are_found_and_wrong_ones_are_seen() -> None:
    commands = list_commands()
    assert len(commands) > 20
    assert {command.split()[0] for command in commands} == set(PROGRAMS)
    for wrong in (
        "make nothing", "python benchmarks/nothing.py", "python benchmarks/networks.py --nothing",
        "priorwise nothing", "priorwise info --nothing", "python -m priorwise.nothing",
    ):  # fmt: skip
        assert find_wrong(wrong), wrong
    with pytest.raises(UsageError):  # without a number
        find_wrong("priorwise explain model.priorwise test.csv --rows")
