"""What people see when they evaluate an object, at the prompt and in a notebook."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import BaseEstimator

from browser import list_errors, open_browser, open_page, why_no_browser
from check_docstrings import PACKAGES
from priorwise.common.documents import Document
from report.bare_values import DRAWN, SETUP, SHORT

MAX_LINES, MAX_CHARACTERS = 40, 4_000
WIDTHS = {"wide": 1300, "phone": 390}

BOXES = (Path(__file__).parent / "boxes.js").read_text()
"""Defines `faults()`, which lists what overlaps, is cut off, or cannot be read in the boxes."""


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(SETUP, names)
    return {code: eval(code, names) for code in (*DRAWN, *SHORT)}


def test_bare_values_are_short_texts(values: dict[str, Any]) -> None:
    for code, value in values.items():
        text = repr(value)
        assert len(text) <= MAX_CHARACTERS, code
        assert text.count("\n") < MAX_LINES, code


def test_every_public_kind_of_object_is_among_them(values: dict[str, Any]) -> None:
    """Estimators that are not fitted are drawn by scikit-learn."""
    seen = {kind for value in values.values() for kind in type(value).__mro__}
    modules = map(importlib.import_module, PACKAGES)
    public = [getattr(module, name) for module in modules for name in module.__all__]
    kinds = [one for one in public if isinstance(one, type)]
    elsewhere = (BaseEstimator, Exception)
    missing = [one for one in kinds if one not in seen and not issubclass(one, elsewhere)]
    assert [one.__name__ for one in missing] == ["SqlSource"]  # needs a database


def test_exported_texts_are_whole_although_their_bare_values_are_cut(values, tmp_path) -> None:
    text = values["export.export_c(kdb)"]
    assert isinstance(text, Document)
    path = tmp_path / "model.c"
    path.write_text(text)
    assert len(path.read_text()) == len(text) > 10 * len(repr(text))
    written = values["export.export_c(kdb, folder / 'model.c')"]
    assert f"written to {written.path}" in repr(written)
    assert Path(written.path).read_text() == written


def test_a_card_is_drawn_as_markdown(values) -> None:
    card = values["kdb.card()"]
    assert card._repr_mimebundle_()["text/markdown"] == card


def test_an_answer_of_a_network_names_what_is_known(values) -> None:
    drawn = values["general.query(['y'], {'smoker': True})"]._repr_html_()
    assert "<h3>p(y | smoker = True)</h3>" in drawn


@pytest.fixture(scope="module")
def notebook() -> Any:
    """A notebook that evaluates each object, run by Jupyter."""
    reason = "needs Jupyter's nbconvert and ipykernel (pip install priorwise[components])"
    nbformat = pytest.importorskip("nbformat", reason=reason)
    execute = pytest.importorskip("nbconvert.preprocessors", reason=reason)
    pytest.importorskip("ipykernel", reason=reason)
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(code) for code in (SETUP, *DRAWN, *SHORT)]
    execute.ExecutePreprocessor(timeout=300).preprocess(book, {})
    return book


@pytest.mark.filterwarnings("ignore")  # of Jupyter itself
@pytest.mark.xdist_group("browser")
def test_notebooks_draw_objects_or_show_short_texts(notebook: Any) -> None:
    for cell in notebook.cells[1:]:
        (output,) = cell.outputs
        data = output.data
        assert ("text/html" in data) >= (cell.source in DRAWN), cell.source
        assert len(data.get("text/html", "")) <= 40_000, cell.source
        assert data["text/plain"].count("\n") < MAX_LINES, cell.source
        assert len(data["text/plain"]) <= MAX_CHARACTERS, cell.source


def write_page(notebook: Any, page: Path, theme: str) -> Path:
    """Write a notebook as a page without scripts of other addresses."""
    from nbconvert import HTMLExporter

    none = "data:text/javascript,"
    urls = {f"{name}_url": none for name in ("mathjax", "require_js", "jquery", "mermaid_js")}
    exporter = HTMLExporter(theme=theme, **urls)
    page.write_text(exporter.from_notebook_node(notebook)[0], encoding="utf-8")
    return page


@pytest.mark.filterwarnings("ignore")
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(bool(why_no_browser()), reason=why_no_browser() or "needs nothing")
@pytest.mark.parametrize(("theme", "width"), [("light", "wide"), ("dark", "phone")])
def test_nothing_overlaps_or_is_cut_off_in_a_notebook(notebook, tmp_path, theme, width) -> None:
    page = write_page(notebook, tmp_path / "page.html", theme)
    with open_browser(WIDTHS[width], dark=theme == "dark") as driver:
        open_page(driver, page)
        # The page of Jupyter itself says that it has no icon.
        assert [one for one in list_errors(driver) if "copy-paste icon" not in one] == []
        assert driver.execute_script(BOXES + "return boxes().length;") == len(DRAWN)
        assert driver.execute_script(BOXES + "return faults(arguments[0]);", width == "wide") == []
        # The measures see what is wrong: the styles of Jupyter without ours.
        broken = "document.querySelectorAll('.priorwise-box table').forEach(t =>"
        broken += " t.style.cssText = 'table-layout: fixed; width: 60px');"
        found = driver.execute_script(broken + BOXES + "return faults(arguments[0]);", False)
        assert len(found) > 20
