"""Fixtures of tests that learn from streams."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def without_flushes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: no test loses power, and one test counts the calls."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
