"""Settings of the documentation site; `make docs` builds it."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import matplotlib  # noqa: E402

import api_pages  # noqa: E402
import draw_smoothers  # noqa: E402
import priorwise  # noqa: E402

matplotlib.use("agg")
api_pages.write_pages(ROOT / "docs" / "api")
draw_smoothers.draw_smoothers(ROOT / "docs" / "smoothers")

project = "priorwise"
author = "The priorwise developers"
copyright = author
version = release = priorwise.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "results"]
suppress_warnings = ["config.cache"]  # the gallery's order is a function, which cannot be cached
default_role = "py:obj"
highlight_language = "default"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings have the types
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "plot_gallery": "True",
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "priorwise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "gallery/**": [], "search": []}


def adapt_page(app, docname, source):
    """Make links of Markdown pages, which also work on their own, lead to pages of the site."""
    text = source[0].replace("](../CHANGELOG.md", "](changelog.md")
    text = text.replace("](../CONTRIBUTING.md", "](contributing.md")
    if docname == "names":
        text = api_pages.link_names(text)
    elif docname == "guide/index":
        text = add_further_pages(text)
    source[0] = text


def add_further_pages(guide):
    """Add to the guide a table of contents of the pages of docs that no other one lists."""
    docs = ROOT / "docs"
    listed = guide + (docs / "index.md").read_text() + (docs / "smoothers/index.md").read_text()
    pages = sorted(path.stem for path in docs.glob("*.md") if path.stem != "index")
    further = [f"../{page}" for page in pages if not re.search(rf"^(\.\./)?{page}$", listed, re.M)]
    return "\n".join([guide, "```{toctree}", ":hidden:", ":caption: More", "", *further, "```", ""])


def escape_shapes(app, what, name, obj, options, lines):
    """Write shapes such as (n_features_in_,) so that the underscore is no link."""
    lines[:] = [re.sub(r"\((\w+)_,\)", r"(\1\\_,)", line) for line in lines]


def setup(app):
    app.connect("autodoc-process-docstring", escape_shapes, priority=400)
    app.connect("source-read", adapt_page)
