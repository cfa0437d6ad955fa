"""Bad input on the command line: one line and exit code 2, and nothing outside the folder."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from priorwise.cli.bench import _safe_name
from priorwise.cli.main import main
from priorwise.evaluation import read_results

HEADER = "dataset,model,repeat,fold,protocol,n_train,n_test,n_classes,n_dropped,rmse,error\n"


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (HEADER.encode() + b"d,m,0,0,5x2,\xff\xfe,1,2,0,0.5,\n", "line 2 holds bytes that are no"),
        (HEADER.encode() + b"d,m,x,0,5x2,1,1,2,0,0.5,\n", "line 2: repeat must be a whole number"),
        (HEADER.encode() + b'd,m,0,0,5x2,1,1,2,0,0.5,"x\n', "line 2: unexpected end of data"),
        (HEADER.encode() + b"d,m,0,0,5x2,1,1,2,0,0.5," + b"x" * 200_000 + b"\n", "line 2: field"),
    ],
)
def test_a_bad_result_file_is_named_with_its_line(
    content: bytes, rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"odd\.csv' {rule}"):
        read_results(path)
    assert main(["compare", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_results_of_no_training_rows_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd.csv"
    rows = [f"d,{m},0,{f},1x2,0,10,2,0,{f + k / 10},\n" for k, m in enumerate("ab") for f in (0, 1)]
    path.write_text(HEADER + "".join(rows))
    assert main(["compare", str(path)]) == 2
    assert (
        capsys.readouterr().err == "priorwise: n_train and n_test of 'd' must be positive, got 0\n"
    )


def test_a_folder_in_place_of_a_result_file_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", ["/x/evil", "../../evil", "..", "", "a/b", "x\0y", "C:\\evil"])
def test_names_of_pictures_stay_inside_the_folder(name: str, tmp_path: Path) -> None:
    safe = _safe_name(name)
    assert safe
    assert (tmp_path / f"{safe}-ranks.png").parent == tmp_path
    assert "\0" not in safe


COMMANDS = [
    ["fit", "rows.csv", "--target", "y", "--output", "model"], ["predict", "model", "rows.csv"],
    ["info", "model"], ["--version"], ["--help"], ["completion", "bash"],
]  # fmt: skip


def run_in_shell(arguments: list[str], streams: str, folder: Path) -> Any:
    command = f"{shlex.join([sys.executable, *arguments])} {streams}"
    return subprocess.run(command, shell=True, capture_output=True, text=True, cwd=folder)


@pytest.mark.skipif(sys.platform == "win32", reason="the shell of Unix closes streams")
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda command: command[0])
def test_a_closed_standard_output_is_one_line(arguments: list[str], tmp_path: Path) -> None:
    result = run_in_shell(["-m", "priorwise", *arguments], ">&-", tmp_path)
    assert result.returncode == 2
    assert result.stderr == "priorwise: standard output is closed\n"
    assert list(tmp_path.iterdir()) == []


WITHOUT_STREAMS = """
import sys
from priorwise.cli import main
fit = ["fit", "rows.csv", "--target", "y", "--output", "model", "--model", "NaiveBayesClassifier()"]
assert main([*fit, "--json"]) == 0
assert main(["info", "nowhere"]) == 2
with open("messages", "w") as sys.stderr:
    assert main(["predict", "model", "-"]) == 2
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the shell of Unix closes streams")
def test_messages_for_a_closed_error_stream_are_written_nowhere(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,y\n1,x\n2,z\n" * 20)
    result = run_in_shell(["-c", WITHOUT_STREAMS], "<&- 2>&-", tmp_path)
    assert result.returncode == 0
    # Of the first command alone; a closed stream gets no bytes that were meant for another.
    assert json.loads(result.stdout)["output"] == "model"
    assert (tmp_path / "messages").read_text() == "priorwise: standard input is closed\n"
    assert sorted(os.listdir(tmp_path)) == ["messages", "model", "rows.csv"]
