"""The table of skipped tests, and the environment variable that makes some of them an error."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skip_table import REQUIRED

TOOLS = Path(__file__).parents[2] / "tools"
WANTING = """
import pytest
pytestmark = pytest.mark.skipif(True, reason="needs a fast horse")
@pytest.mark.parametrize("i", range(3))
def test_a(i): pass
"""
ABSENT = "import pytest\npytest.importorskip('absent_package')\n"
PLATFORM = "import pytest\ndef test_b(): pytest.skip('only Linux has it')\ndef test_c(): pass\n"


def run(
    folder: Path, *files: str, required: bool, options: tuple[str, ...] = ()
) -> tuple[int, str]:
    """Exit code and output of pytest on test files with these texts."""
    (folder / "conftest.py").write_text(
        "from skip_table import pytest_sessionfinish, pytest_terminal_summary\n"
    )
    for i, text in enumerate(files):
        (folder / f"test_{i}.py").write_text(text)
    environment = {
        **os.environ,
        "PYTHONPATH": str(TOOLS),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # a short start
    }
    environment.pop(REQUIRED, None)
    if required:
        environment[REQUIRED] = "1"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return ran.returncode, ran.stdout


@pytest.mark.parametrize(
    "options", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "two processes"]
)
def test_reasons_are_counted(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, output = run(tmp_path, WANTING, ABSENT, PLATFORM, required=False, options=options)
    assert code == 0
    assert "    3  needs a fast horse\n" in output
    assert "    1  could not import 'absent_package'" in output
    assert "    1  only Linux has it\n" in output


@pytest.mark.parametrize(
    ("text", "code"), [(WANTING, 1), (ABSENT, 1), (PLATFORM, 0)], ids=["test", "file", "platform"]
)
def test_a_required_component_must_not_be_missing(tmp_path: Path, text: str, code: int) -> None:
    assert run(tmp_path, text, PLATFORM, required=True)[0] == code
