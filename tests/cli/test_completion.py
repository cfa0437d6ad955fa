"""Completion in bash and zsh, asked of the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from priorwise.cli import main


@pytest.fixture
def script(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", request.param]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("script", ["bash"], indirect=True)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pre"], ["predict"]),
        (["fit", "--tes"], ["--test-size"]),
        (["fit", "--effort", ""], ["fast", "balanced"]),
        (["export", "m", "--to", "j"], ["json"]),
        (["completion", ""], ["bash", "zsh"]),
        (["fit", "data"], []),
    ],
)
def test_bash_completes_commands_options_and_values(
    script: str, words: list[str], expected: list[str]
) -> None:
    quoted = " ".join(f"'{word}'" for word in ["priorwise", *words])
    ask = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _priorwise; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", script + ask], capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected
    assert done.stderr == ""


@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize("script", ["zsh"], indirect=True)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("priorwise pre", "predict"),
        ("priorwise fit --test", "--test-size"),
        ("priorwise export m --to j", "json"),
        ("priorwise completion z", "zsh"),
    ],
)
def test_zsh_completes_commands_options_and_values(
    script: str, line: str, expected: str, tmp_path: Path
) -> None:
    # A terminal of its own, in which a tab is pressed and the line is then printed.
    (tmp_path / "setup").write_text(
        f"PS1=; autoload -Uz compinit; compinit -u -D; cd {tmp_path}\n{script}\n"
        'show() { print -r -- "<$BUFFER>"; zle kill-buffer; }\n'
        "zle -N show; bindkey '^X' show; print READY\n"
    )
    ask = f"""
zmodload zsh/zpty
zpty shell 'zsh -f -i'
zpty -w shell 'source {tmp_path}/setup'
zpty -m -r shell text '*READY*'
zpty -w -n shell $'{line}\\t\\x18'
zpty -m -r shell text '*<*>*'
print -r -- "$text"
"""
    done = subprocess.run(
        ["zsh", "-f", "-c", ask], capture_output=True, text=True, check=True, timeout=60
    )
    shown = done.stdout.rpartition("<")[2].partition(">")[0]
    assert shown.split()[-1] == expected
