"""The programs of the gallery run and draw."""

import runpy
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))


@pytest.fixture(autouse=True)
def _figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Draw without a screen, in a folder of its own, and close all figures afterwards."""
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    with matplotlib.rc_context():
        yield
    plt.close("all")


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_the_program_runs_and_draws(script: Path, tmp_path: Path) -> None:
    runpy.run_path(str(script))
    assert plt.get_fignums()
    assert not list(tmp_path.iterdir()), "a program of the gallery leaves no files"
