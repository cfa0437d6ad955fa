"""Servers and browsers that tests share; tests are skipped where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
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


@pytest.fixture(scope="session")
def postgres() -> Iterator[Path]:
    """A folder whose socket a PostgreSQL server of the system listens to."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found or shutil.which("psql") is None:
        pytest.skip("needs PostgreSQL of the system's packages")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        user: list[str] = []
        if os.getuid() == 0:
            # The server refuses to run as root.
            if shutil.which("runuser") is None:
                pytest.skip("needs runuser to start PostgreSQL as root")
            user = ["runuser", "-u", "postgres", "--"]
            shutil.chown(folder, "postgres")
        data, options = folder / "data", f"-k {folder} -c listen_addresses="
        run: dict[str, Any] = {
            "cwd": folder,
            "check": True,
            "stdout": subprocess.DEVNULL,
            "timeout": 120,
        }
        make: list[Any] = [
            found[-1],
            "-D",
            data,
            "-A",
            "trust",
            "-U",
            "tester",
            "-E",
            "UTF8",
            "--no-locale",
        ]
        control: list[Any] = [*user, found[-1].with_name("pg_ctl"), "-D", data, "-w"]
        subprocess.run([*user, *make], **run)
        subprocess.run([*control, "-l", folder / "log", "-o", options, "start"], **run)
        try:
            yield folder
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **run)
