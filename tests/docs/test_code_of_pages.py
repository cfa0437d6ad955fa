"""The code of README and of every page runs, and prints what the page says."""

import doctest
import importlib
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest

from check_docstrings import PACKAGES
from priorwise import demo

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.S)
TESTED_ELSEWHERE = {"add_a_member.md", "add_a_smoother.md", "README.md"}
"""Pages whose code has a test of its own."""


def pages_with_code() -> list[Path]:
    return [
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page.name not in TESTED_ELSEWHERE and "gallery" not in page.parts
        if BLOCK.search(page.read_text())
    ]


@pytest.fixture
def _drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


@pytest.mark.usefixtures("_drawing")
@pytest.mark.parametrize("page", pages_with_code(), ids=lambda page: page.stem)
def test_the_code_of_a_page_runs_from_top_to_bottom(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A value in the comment behind a line is what the line prints.

    Blocks in comments of the page set up what it needs. A block that begins with ``# needs name``
    is left out where there is no such package.
    """
    text = page.read_text()
    names: dict[str, Any] = {"__name__": page.stem}
    for block in BLOCK.findall(text):
        needed = re.match(r"# needs (?:a )?(\w+)", block)
        if not needed or find_spec(needed[1]):
            exec(block, names)
    lines = capsys.readouterr().out.splitlines()
    for printed in re.findall(r"^print\(.*\)  # (True|False|[-\d(\['].*)$", text, re.M):
        assert printed in lines


def test_the_ten_lines_of_the_readme_run_and_win(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = BLOCK.findall((ROOT / "README.md").read_text())
    assert len(code.replace("\n\n", "\n").splitlines()) <= 10
    exec(code, {})
    (own, own_rmse, own_loss), (_, rmse, loss) = map(
        str.split, capsys.readouterr().out.splitlines()
    )
    assert own == "PriorwiseClassifier"
    assert float(own_rmse) < float(rmse)
    assert float(own_loss) < float(loss)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_an_example(package: str) -> None:
    module = importlib.import_module(package)
    folder = ROOT / "src" / Path(*package.split("."))
    source = "".join(path.read_text() for path in folder.rglob("*.py"))
    for name in module.__all__:
        document = getattr(module, name).__doc__ or ""
        if not isinstance(getattr(module, name), type) and not callable(getattr(module, name)):
            after = re.search(rf'^{name}(?:: [^\n]*)? = .*?\n"""(.*?)"""', source, re.M | re.S)
            document = after[1] if after else ""
            runner = doctest.DocTestRunner()
            names = {name: getattr(module, name)}
            runner.run(doctest.DocTestParser().get_doctest(document, names, name, None, None))
            assert not runner.summarize(verbose=False).failed
        assert ">>>" in document, f"{package}.{name} has no example"


def test_the_picture_of_the_readme_is_what_the_demo_draws() -> None:
    """The picture carries the numbers that it shows."""
    _, errors = demo.show_generated_table()
    assert demo.describe_errors(errors).encode() in (ROOT / "docs" / "smoothing.png").read_bytes()


def test_figures_of_the_guide_are_those_of_the_results() -> None:
    results = (ROOT / "docs" / "results.md").read_text()
    guide = (ROOT / "docs" / "guide" / "choosing.md").read_text()
    figures = re.findall(r"\b\d+\.\d{4}\b|\b\d+-\d+-\d+\b", guide)
    assert len(figures) > 20
    assert [figure for figure in figures if figure not in results] == []
