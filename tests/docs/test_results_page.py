"""The page of results says what its files say."""

import importlib
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def writer(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("write_results")


def test_the_page_is_what_the_script_writes_from_the_result_files(writer):
    assert (ROOT / "docs" / "results.md").read_text() == writer.write_page()


def test_a_changed_result_changes_the_page(writer, tmp_path, monkeypatch):
    shutil.copytree(writer.FOLDER, tmp_path / "results")
    monkeypatch.setattr(writer, "FOLDER", tmp_path / "results")
    file = tmp_path / "results" / "superparent.csv"
    changed = re.sub(r"^iris,CLL-SP,[^,]*", "iris,CLL-SP,-99", file.read_text(), flags=re.M)
    assert changed != file.read_text()
    before = writer.write_page()
    file.write_text(changed)
    assert writer.write_page() != before


def test_wins_and_losses_are_counted_from_the_files_scores(writer, tmp_path):
    rows = ["dataset,model,rmse", "a,x,0.1", "a,y,0.2", "b,x,0.3", "b,y,0.2", "c,x,0.1", "c,y,0.2"]
    file = tmp_path / "small.csv"
    file.write_text("\n".join(rows) + "\n")
    table = writer.Table(
        "small", "Title", "Note.", {"x : y": writer.Pair("x", "y", {"rmse": "9-0-0"})}
    )
    page = writer.describe(table, writer.Scores(file))
    assert "| x : y | 2-0-1 | 1.0000 | 9-0-0 |" in page
    assert "| x | 0.1667 |" in page
    assert "Data sets (3): a, b, c." in page


def test_the_table_of_the_readme_is_that_of_its_runs(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    script = importlib.import_module("log_loss_for_time")
    page = (ROOT / "README.md").read_text()
    (table,) = re.findall(r"^\| \| log-loss .*?\n(?!\|)", page, re.M | re.S)
    shown = [name for name, (text, _) in script.MODELS.items() if f"| {text} |" in table]
    runs = ROOT / "docs" / "results" / "log_loss_for_time.csv"
    assert len(shown) >= 8
    assert table == script.write_table(runs, ["fast", "balanced", *shown])
