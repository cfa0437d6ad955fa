"""Check the built site: no link leads nowhere, and every page is reached from the front page.

usage: python tools/check_site.py build/docs
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

NOT_LINKED = {"search.html", "genindex.html", "404.html"}
"""Pages that a form or the theme leads to."""


class PageParser(HTMLParser):
    """Collects the targets of links and pictures of a page, and the names of its places."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value and tag != "link":
                self.targets.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def read_pages(site: Path) -> dict[Path, PageParser]:
    """All pages of a site, parsed."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        if "_static" not in path.relative_to(site).parts:
            pages[path.resolve()] = parser = PageParser()
            parser.feed(path.read_text(encoding="utf-8"))
    return pages


def check_site(site: Path) -> list[str]:
    """Faults of a site, one line each."""
    pages = read_pages(site)
    faults, links = [], {path: set[Path]() for path in pages}
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            place = unquote(parts.fragment)
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not aim.exists() or (aim in pages and place not in pages[aim].places):
                faults.append(f"{path.relative_to(site.resolve())}: {target} leads nowhere")
            links[path].add(aim)
    reached, waiting = set[Path](), [(site / "index.html").resolve()]
    while waiting:
        path = waiting.pop()
        if path in pages and path not in reached:
            reached.add(path)
            waiting += links[path]
    names = sorted(path.relative_to(site.resolve()) for path in pages.keys() - reached)
    faults += [f"{name}: no page links to it" for name in names if name.name not in NOT_LINKED]
    return faults


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    if not (folder / "index.html").exists():
        sys.exit(f"{folder} has no index.html")
    faults = check_site(folder)
    print("\n".join(faults) or f"All links of {len(read_pages(folder))} pages lead somewhere.")
    sys.exit(bool(faults))
