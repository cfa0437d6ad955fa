"""The check of the built site finds dead links and pages that nobody links to."""

from pathlib import Path

from check_site import check_site


def write_site(folder: Path, pages: dict[str, str]) -> None:
    for name, text in pages.items():
        (folder / name).write_text(text)


def test_a_site_whose_links_lead_somewhere_has_no_faults(tmp_path: Path) -> None:
    link = '<a href="b.html#place">b</a> <a href="https://example.org/x">far</a>'
    write_site(tmp_path, {"index.html": link, "b.html": '<p id="place"><a href="index.html">'})
    assert check_site(tmp_path) == []


def test_dead_links_missing_places_and_orphans_are_found(tmp_path: Path) -> None:
    links = '<a href="gone.html"></a><a href="b.html#nowhere"></a><img src="no.png">'
    write_site(tmp_path, {"index.html": links, "b.html": "", "orphan.html": ""})
    assert check_site(tmp_path) == [
        "index.html: gone.html leads nowhere",
        "index.html: b.html#nowhere leads nowhere",
        "index.html: no.png leads nowhere",
        "orphan.html: no page links to it",
    ]
