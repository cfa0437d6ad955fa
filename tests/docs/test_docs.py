"""README, the page of names and the citation agree with the code."""

import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import priorwise
from check_docstrings import PACKAGES
from priorwise.common import container
from priorwise.counts import CountTree
from priorwise.export import json_file
from priorwise.smoothing.base import Smoother, as_smoother
from reference.trees import as_dict_tree, as_table

ROOT = Path(__file__).parents[2]


def listed_names(package: str) -> list[str]:
    """Names in the section of a package on the page of names."""
    page = (ROOT / "docs" / "names.md").read_text()
    (section,) = re.findall(rf"^## {re.escape(package)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    return re.findall(r"^\| `(\w+)` \| .+ \|$", section, re.M)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_of_names_lists_exactly_the_public_names(package: str) -> None:
    assert sorted(listed_names(package)) == sorted(importlib.import_module(package).__all__)


def test_the_page_of_names_has_a_section_for_every_package() -> None:
    page = (ROOT / "docs" / "names.md").read_text()
    assert set(re.findall(r"^## (.+)$", page, re.M)) == set(PACKAGES)


def test_versions_in_metadata_package_and_citation_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (cited,) = re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert project["version"] == priorwise.__version__ == cited


def test_contributing_names_every_layer_and_import_linter_knows_every_module() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    page = (ROOT / "CONTRIBUTING.md").read_text()
    for contract in project["tool"]["importlinter"]["contracts"]:
        if contract["type"] != "layers":
            continue
        named = [name for line in contract["layers"] for name in line.split(" | ")]
        assert [name for name in named if f"`{name}`" not in page] == []
        (package,) = contract["containers"]
        folder = ROOT / "src" / Path(*package.split("."))
        modules = {one.name for one in folder.iterdir() if (one / "__init__.py").exists()}
        modules |= {one.stem for one in folder.glob("*.py") if package != "priorwise"}
        assert set(named) == modules - {"__init__"}


def test_appendices_stand_at_the_end_of_pages() -> None:
    n_appendices = 0
    for page in (ROOT / "docs").rglob("*.md"):
        heads = re.findall(r"^## (.+)$", page.read_text(), re.M)
        is_appendix = [head.startswith("Appendix") for head in heads]
        assert is_appendix == sorted(is_appendix), page
        n_appendices += sum(is_appendix)
    assert n_appendices >= 5


def test_pages_name_the_formats_that_are_written() -> None:
    versions = (ROOT / "docs" / "versions.md").read_text()
    assert set(re.findall(r"container, format (\d+)", versions)) == {str(container.FORMAT)}
    assert re.findall(r"JSON, format (\d+)", versions) == [str(json_file.FORMAT)]
    page = (ROOT / "docs" / "export.md").read_text()
    assert re.findall(r"description, now (\d+)", page) == [str(json_file.FORMAT)]


def test_links_of_pages_that_the_site_includes_are_found_from_docs() -> None:
    for name, page in (("CHANGELOG", "changelog"), ("CONTRIBUTING", "contributing")):
        text = (ROOT / "docs" / f"{page}.md").read_text()
        assert text == f"```{{include}} ../{name}.md\n:relative-docs: docs/\n```\n"


def test_the_smoother_of_the_guide_agrees_with_its_twin(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Smoother, "by_name", {})
    guide = (ROOT / "docs" / "add_a_smoother.md").read_text()
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(# \w+/.*?)```", guide, re.S):
        exec(block, names)
    path, outcome = rng.integers(3, size=(2, 60)), rng.integers(4, size=60)
    tree = CountTree.from_rows(list(path), outcome, n_outcomes=4)
    smoothed = as_table(tree, names["SquareRoot"](0.7).smooth(tree))
    assert as_smoother("square-root").m == 0.5
    twin = names["square_root"](as_dict_tree(tree), 0.7)
    assert len(twin) == tree.n_nodes
    for context, row in twin.items():
        np.testing.assert_allclose(smoothed[context], row, rtol=1e-12)


def test_the_walk_of_one_row_names_files_that_have_what_it_says() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    lines = re.findall(r"^\d+\. (.*)$", text.split("## One row of data")[1].split("\n## ")[0], re.M)
    assert 1 <= len(lines) <= 12
    for line in lines:
        path, *others = re.findall(r"`([^`]+)`", line)
        places = [ROOT / "src" / folder / path for folder in ("priorwise", "core")]
        (file,) = [place for place in places if place.exists()]
        name = others[0].split(".")[-1]
        assert re.search(rf"\b(def|class) {name}\b|\b{name}\(", file.read_text()), line
