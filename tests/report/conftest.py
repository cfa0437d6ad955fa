"""A browser for all tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser import open_browser, why_no_browser


@pytest.fixture(scope="session")
def driver() -> Iterator[Any]:
    """A wide headless browser; tests are skipped where there is none."""
    if why := why_no_browser():
        pytest.skip(why)
    with open_browser() as opened:
        yield opened
