"""Wrong uses of the command line: one line that names what is wrong, exit code 2, no new file."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import children
from priorwise.cli import main

MODEL, TRAIN, TEST = "made/model.priorwise", "made/train.csv", "made/test.csv"
FIT = ["fit", TRAIN, "--target", "ill", "-o", "m.priorwise", "--quiet"]
PREDICT = ["predict", MODEL, "--quiet", "-o", "out.csv"]
FILES = {
    "empty.csv": b"",
    "header.csv": b"age,job,ill\n",
    "long.csv": b"age,job,ill\n1,a,no\n2,b,no,more\n",
    "short.csv": b"age,job,ill\n1,a,no\n2,b\n",
    "bytes.csv": b"age,job,ill\n1,\xff\xfe,no\n",
    "twice.csv": b"age,age,ill\n1,2,no\n3,4,yes\n",
    "one_class.csv": b"age,job,ill\n1,a,no\n2,b,no\n",
    "no_class.csv": b"age,job,ill\n1,a,\n2,b,\n",
    "words.csv": b"age,job,ill\nold,a,no\nyoung,b,yes\n",
    "key.csv": b"key,ill\na,no\nb,yes\n",
    "euro.csv": b"cost,ill\n"
    + b"".join(b"%d.5,no\n%d,yes\n" % (i, i) for i in range(9))
    + b"12 EUR,no\n",
    "weights.csv": b"age,n,ill\n1,-1,no\n2,1,yes\n",
    "broken.parquet": b"PAR1 and nothing else",
    "broken.priorwise": b"no model at all",
    "table.xls": b"what",
    "old.priorwise": b"old",
}
WRONG_USES = {
    "a word for a command": (["train", TRAIN], "'train'; did you mean fit?"),
    "a misspelt command": (["evalute", MODEL, TEST], "'evalute'; did you mean evaluate?"),
    "a misspelt word for a command": (["trian", TRAIN], "'trian'; did you mean fit?"),
    "an unknown command": (["fly"], "unknown command 'fly' (one of fit, check, predict"),
    "an unknown option": ([*FIT, "--efort", "fast"], "'--efort'; did you mean --effort?"),
    "an option without its value": (["fit", TRAIN, "--target"], "--target: expected one argument"),
    "a word for a number": ([*FIT, "--cv", "five"], "--cv: invalid int value: 'five'"),
    "a missing target": (
        ["fit", TRAIN, "-o", "m.priorwise"],
        "--target must name the column of the classes, one of 'id', 'age', 'job', 'ill'",
    ),
    "a target without its option": (
        ["fit", TRAIN, "ill", "-o", "m"],
        f"if it is the target: priorwise fit {TRAIN} --target ill",
    ),
    "a target in front": (
        ["fit", "ill", TRAIN, "-o", "m"],
        f"if it is the target: priorwise fit {TRAIN} --target ill",
    ),
    "a wrong encoding": ([*FIT, "--encoding", "utf-9"], "--encoding must be one that Python knows"),
    "rows of other lengths": (
        ["fit", "long.csv", "--target", "ill", "-o", "m"],
        "line 3 has 4 fields and the line of names 3; --separator says",
    ),
    "a missing file": (["fit", "none.csv", "--target", "y", "-o", "m"], "none.csv"),
    "a wrong target": (["fit", TRAIN, "--target", "il", "-o", "m"], "did you mean 'ill'?"),
    "a position too far": (["fit", TRAIN, "--target", "9", "-o", "m"], "position of 4 columns"),
    "an empty file": (["fit", "empty.csv", "--target", "ill", "-o", "m"], "empty.csv"),
    "a file without rows": (["fit", "header.csv", "--target", "ill", "-o", "m"], "header.csv"),
    "a row too long": (["fit", "long.csv", "--target", "ill", "-o", "m"], "long.csv"),
    "a row too short": (["fit", "short.csv", "--target", "ill", "-o", "m"], "short.csv"),
    "bytes that are no text": (
        ["fit", "bytes.csv", "--encoding", "utf-8", "--target", "ill", "-o", "m"],
        "bytes.csv",
    ),
    "a name twice": (["fit", "twice.csv", "--target", "ill", "-o", "m"], "age"),
    "one class": (["fit", "one_class.csv", "--target", "ill", "-o", "m"], "class"),
    "an unknown format": (["fit", "table.xls", "--target", "ill", "-o", "m"], "table.xls"),
    "damaged Parquet": (["fit", "broken.parquet", "--target", "y", "-o", "m"], "broken.parquet"),
    "an unknown feature": ([*FIT, "--features", "agee"], "--features must be one of the columns"),
    "an unknown column to drop": ([*FIT, "--drop", "nothing"], "--drop must be one of the columns"),
    "an unknown category": ([*FIT, "--categorical", "agee"], "--categorical must be one of"),
    "a form of dates": ([*FIT, "--dates", "age=German"], "--dates must be written COLUMN=FORM"),
    "dates of an unknown column": ([*FIT, "--dates", "agee=iso"], "--dates must be one of"),
    "weights of text": ([*FIT, "--weights", "job"], "--weights must name a column of numbers"),
    "negative weights": (
        ["fit", "weights.csv", "--target", "ill", "--weights", "n", "-o", "m"],
        "--weights must be finite and not negative",
    ),
    "an unknown model": ([*FIT, "--model", "NoClassifier"], "no class 'NoClassifier'"),
    "a wrong option of a model": ([*FIT, "--model", "KDBClassifier(k=1)"], "has no option 'k'"),
    "a wrong value of a model": ([*FIT, "--model", "KDBClassifier(-1)"], "max_parents must be"),
    "a smoother as model": ([*FIT, "--model", "HDP"], "--model must be a classifier, got HDP"),
    "a model that cannot be saved": ([*FIT, "--model", "sklearn:GaussianNB"], "cannot be saved"),
    "an option of another model": (
        [*FIT, "--model", "KDBClassifier", "--effort", "fast"],
        "--effort is no option of KDBClassifier",
    ),
    "no work at all": (["fit", TRAIN, "--target", "ill"], "fit needs --output"),
    "a share above one": ([*FIT, "--test-size", "1.5"], "--test-size must be a number"),
    "one fold": ([*FIT, "--cv", "1"], "--cv must be a whole number at least 2"),
    "two ways to score": ([*FIT, "--cv", "2", "--test-size", "0.5"], "exclude each other"),
    "a stream with missing classes": ([*FIT, "--stream"], "'ill' must not be missing"),
    "a folder as output": (
        ["fit", TRAIN, "--target", "ill", "-o", "made"],
        "got the folder 'made'",
    ),
    "no folder for the output": (
        ["fit", TRAIN, "--target", "ill", "-o", "none/m.priorwise"],
        "must be in an existing folder",
    ),
    "an output that exists": (
        ["fit", TRAIN, "--target", "ill", "-o", "old.priorwise"],
        "'old.priorwise' exists; --overwrite replaces it",
    ),
    "the table as output": (
        ["fit", TRAIN, "--target", "ill", "-o", TRAIN, "--overwrite"],
        f"--output must not be a file that is read, got '{TRAIN}'",
    ),
    "the rows as output of their predictions": (
        ["predict", MODEL, TEST, "-o", f"./{TEST}", "--overwrite"],
        "--output must not be a file that is read",
    ),
    "the model as output of predictions": (
        ["predict", MODEL, TEST, "-o", MODEL, "--overwrite"],
        "--output must not be a file that is read",
    ),
    "the model as output of an export": (
        ["export", MODEL, "--to", "c", "-o", MODEL, "--overwrite"],
        "--output must not be a file that is read",
    ),
    "a file of the folder as output of a check": (
        ["check", "made/*.csv", "--html", TRAIN, "--overwrite"],
        "--output must not be a file that is read",
    ),
    "a device as output": (["fit", TRAIN, "--target", "ill", "-o", "/dev/full"], "/dev/full"),
    "a missing model": (["predict", "none.priorwise", TEST], "none.priorwise"),
    "an unreadable model": (["predict", "broken.priorwise", TEST], "broken.priorwise"),
    "data in place of a model": (["evaluate", TRAIN, TEST], "train.csv is a table, not a model"),
    "a model behind its data": (
        ["evaluate", TEST, MODEL],
        "the model comes first: priorwise evaluate made/model.priorwise made/test.csv",
    ),
    "a model in place of data": (
        ["fit", MODEL, "--target", "ill", "-o", "m"],
        "model.priorwise is a model, not a table",
    ),
    "text among numbers": (
        ["fit", "euro.csv", "--target", "ill", "-o", "m"],
        "List them in --missing-values if they mean missing, name the column in --numeric",
    ),
    "an order without values": ([*FIT, "--ordinal", "job"], "written COLUMN=LOW,...,HIGH"),
    "an order of no column": ([*FIT, "--ordinal", "jib=a,b"], "--ordinal must be one of"),
    "a folder as model": (["info", "made"], "made"),
    "missing columns": ([*PREDICT, "key.csv"], "columns 'age', 'job' are missing"),
    "missing columns of explained rows": (
        ["explain", MODEL, "key.csv"],
        "columns 'age', 'job' are missing",
    ),
    "words where numbers were": ([*PREDICT, "words.csv"], "age"),
    "an unknown ending": (["predict", MODEL, TEST, "-o", "out.xls"], "out must end in one of"),
    "an unknown key": ([*PREDICT, TEST, "--keep", "key"], "column 'key' is missing"),
    "two uses of standard output": (["predict", MODEL, TEST, "--json"], "standard output"),
    "standard input twice": (["predict", MODEL, "-", "-"], "is named twice"),
    "an unknown score": (["evaluate", MODEL, TEST, "--scores", "f1"], "--scores must be among"),
    "rows without classes": (
        ["evaluate", MODEL, "made/new.parquet"],
        "the column 'ill' of the classes",
    ),
    "no known class": (["evaluate", MODEL, "no_class.csv"], "has no known values"),
    "an unknown class": (["explain", MODEL, TEST, "--against", "maybe"], "must be one of no, yes"),
    "no rows to explain": (["explain", MODEL, TEST, "--rows", "0"], "--rows must be"),
    "an unknown target format": (["export", MODEL, "--to", "java"], "invalid choice: 'java'"),
    "an unknown shell": (["completion", "fish"], "invalid choice: 'fish'"),
}


@pytest.fixture
def faulty(work: Path) -> Path:
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    return work


@pytest.mark.parametrize("use", WRONG_USES)
def test_a_wrong_use_is_one_line_and_leaves_nothing(
    use: str, faulty: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments, message = WRONG_USES[use]
    before = {path: path.stat().st_mtime_ns for path in faulty.iterdir()}
    assert main(arguments) == 2
    captured = capfd.readouterr()
    lines = [line for line in captured.err.splitlines() if "note: " not in line]
    assert len(lines) == 1
    assert lines[0].startswith("priorwise: ")
    assert message in lines[0]
    assert captured.out == ""
    assert {path: path.stat().st_mtime_ns for path in faulty.iterdir()} == before


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files may have 1000 bytes only: the system refuses to write on, as on a full disk."""
    # Python would keep compiled modules that are cut off.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ([*FIT[:4], "--drop", "id", "--model", "NaiveBayesClassifier"], "m.priorwise"),
        (["predict", MODEL, TEST], "out.csv"),
        (["predict", MODEL, TEST], "out.parquet"),
        (["export", MODEL, "--to", "json"], "model.json"),
    ],
)
def test_a_full_disk_is_one_line_and_leaves_nothing(
    arguments: list[str],
    name: str,
    work: Path,
    full_disk: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*arguments, "-o", name, "--quiet"]) == 2
    error = capsys.readouterr().err
    assert len([line for line in error.splitlines() if "note: " not in line]) == 1
    assert f"priorwise: {name}: " in error
    assert os.listdir() == ["made"]


NEEDS_FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
NO_SPACE = ["priorwise: standard output: No space left on device"]


@NEEDS_FULL
@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", MODEL, TEST],
        ["evaluate", MODEL, "made/test.csv", "--json"],
        ["export", MODEL, "--to", "json"],
    ],
)
def test_standard_output_without_space_is_one_line(
    arguments: list[str],
    work: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # To close the file is to try once more to write what could not be written.
    with suppress(OSError), open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(arguments) == 2
        monkeypatch.undo()
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "note: " not in line] == NO_SPACE


@NEEDS_FULL
def test_python_ends_without_a_word_when_standard_output_has_no_space() -> None:
    command = [sys.executable, "-m", "priorwise", "completion", "zsh"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines() == NO_SPACE


def evaluate_in(temporary: str) -> int:
    # Tests that run in the background inherit that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tempfile.tempdir = temporary
    return main(["evaluate", MODEL, "-"])


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")],
)
def test_an_end_from_outside_leaves_no_temporary_file(
    number: int, code: int, message: str, work: Path
) -> None:
    """The command waits for the rest of its standard input, which it copies to a file."""
    temporary = work / "temporary"
    temporary.mkdir()
    os.mkfifo("in")
    streams = {"stdin": work / "in", "stderr": work / "err"}
    with children.start(evaluate_in, str(temporary), **streams) as child, open("in", "wb") as file:
        file.write(b"age,job,ill\n")
        file.flush()
        while not list(temporary.glob("*/standard-input.csv")):
            assert child.is_alive()
            time.sleep(0.01)
        assert child.pid is not None
        os.kill(child.pid, number)
        child.join()  # standard input is still open
        assert Path("err").read_text().splitlines() == [f"priorwise: {message}"]
        assert child.exitcode == code
    assert list(temporary.iterdir()) == []


def test_a_reader_that_has_seen_enough_is_no_error(work: Path) -> None:
    command = f"{sys.executable} -m priorwise predict {MODEL} {TEST} | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
