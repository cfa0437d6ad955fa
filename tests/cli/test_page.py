"""The page on the command line shows commands that run and what they print."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from priorwise.cli import main

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "command_line.md"


def read_commands() -> list[tuple[str, str]]:
    """Each command of the page and what it is said to print."""
    commands = []
    for block in re.findall(r"```\n(\$ .*?)```", PAGE.read_text(), re.S):
        starts = [*(match.start() for match in re.finditer(r"^\$ ", block, re.M)), len(block)]
        for start, end in pairwise(starts):
            command, _, printed = block[start + 2 : end].partition("\n")
            commands.append((command, printed))
    return commands


def mask(text: str) -> str:
    """The text without digits and padding, which depend on the machine."""
    text = re.sub(r"[+-]?\d[\d.,]*(e-?\d+)?", "#", text)
    return re.sub(r"-{2,}", "-", re.sub(r" +", " ", text))


def run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command of the page: of priorwise, or head."""
    program, *arguments = shlex.split(command)
    if program == "head":
        lines = Path(arguments[1]).read_text().splitlines(keepends=True)
        return "".join(lines[: -int(arguments[0])])
    assert program == "priorwise"
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_the_commands_of_the_page_print_what_it_says(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("train.csv", "test.csv", "new.parquet"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    commands = read_commands()
    assert len(commands) >= 10
    for command, printed in commands:
        assert mask(run(command, capsys)) == mask(printed), command


def test_the_commands_of_the_readme_run(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("train.csv", "test.csv"):
        text = (made / name).read_text().replace("ill", "class", 1)
        (tmp_path / name).write_text(text)
    (tmp_path / "new.csv").write_text((tmp_path / "test.csv").read_text())
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^priorwise .+$", (ROOT / "README.md").read_text(), re.M)
    assert len(commands) == 5
    for command in commands:
        run(f"{command} --quiet", capsys)
    pages = {"model.priorwise", "predictions.csv", "report.html", "explorer.html"}
    assert pages <= {path.name for path in tmp_path.iterdir()}
