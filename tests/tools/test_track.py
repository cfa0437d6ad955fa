"""The history of benchmarks has one line for each commit and benchmark."""

import importlib
from pathlib import Path

import pytest


def line(commit: str, ratio: str) -> dict[str, str]:
    values = {"commit": commit, "date": "2026-01-01", "benchmark": "fit: tree, tree"}
    return values | {"priorwise": "1.0", "rival": "2.0", "ratio": ratio}


def test_lines_of_the_same_commit_are_replaced_and_the_history_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    track = importlib.import_module("track")

    path = tmp_path / "history.csv"
    track.add_to_history([line("a", "0.5")], path)
    track.add_to_history([line("b", "0.6")], path)
    history = track.add_to_history([line("a", "0.4")], path)
    assert [(entry["commit"], entry["ratio"]) for entry in history] == [("b", "0.6"), ("a", "0.4")]
    assert path.read_text().count("\n") == 3
    track.draw_history(history, tmp_path / "history.png")
    assert (tmp_path / "history.png").stat().st_size > 0
