"""Pages of the API reference: one for each public name, linked from docs/names.md."""

import importlib
import inspect
import re
from pathlib import Path

from check_docstrings import PACKAGES, member_names


def page_text(package: str, name: str) -> str:
    """Page of one public name in reStructuredText."""
    item = getattr(importlib.import_module(package), name)
    lines = [name, "=" * len(name), "", f".. currentmodule:: {package}", ""]
    if inspect.isclass(item):
        lines += [f".. autoclass:: {name}", ""]
        members = sorted({member.rsplit(".", 1)[1] for member in member_names(item)})
        for member in members:
            if re.fullmatch(r"set_\w+_request", member):
                continue  # scikit-learn's routing of metadata, which it documents itself
            static = inspect.getattr_static(item, member)
            is_method = callable(static) or isinstance(static, classmethod)
            directive = "automethod" if is_method else "autoattribute"
            lines += [f"   .. {directive}:: {member}", ""]
    elif inspect.isroutine(item):
        lines += [f".. autofunction:: {name}"]
    else:
        lines += [f".. autodata:: {name}", "   :no-value:"]
    return "\n".join(lines) + "\n"


def write_pages(folder: Path) -> None:
    """Write all pages; a page that is the same already is not touched, others are removed."""
    folder.mkdir(exist_ok=True)
    pages = {
        f"{package}.{name}.rst": page_text(package, name)
        for package in PACKAGES
        for name in importlib.import_module(package).__all__
    }
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()
    for file, text in pages.items():
        path = folder / file
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def link_names(page: str) -> str:
    """The page of names with a link to the page of each name, and with their table of contents."""
    package, lines, listed = "", [], []
    for line in page.splitlines():
        if heading := re.fullmatch(r"## (\S+)", line):
            package = heading[1]
        if row := re.fullmatch(r"\| `(\w+)` (\|.*)", line):
            target = f"api/{package}.{row[1]}"
            listed.append(target)
            line = f"| [`{row[1]}`]({target}.rst) {row[2]}"
        lines.append(line)
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *listed, "```", ""])
