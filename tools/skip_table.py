"""Hooks of pytest: a table of skipped tests, and an error where a component is required."""

import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

REQUIRED = "PRIORWISE_ALL_COMPONENTS"
"""Name of the environment variable that makes skips for want of a component or a file an error."""

WANTS = ("needs ", "could not import ", "got empty parameter set")
"""How the reason of a skip begins where a component, or a file of a given folder, is missing."""


def count_reasons(reports: Iterable[Any]) -> Counter[str]:
    """Number of skips, of tests or of whole files, for each reason.

    >>> from types import SimpleNamespace
    >>> count_reasons([SimpleNamespace(longrepr=("file.py", 7, "Skipped: needs zsh"))])
    Counter({'needs zsh': 1})
    """
    return Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)


def is_required(reason: str) -> bool:
    """Whether a skip for this reason is an error here."""
    return bool(os.environ.get(REQUIRED)) and reason.startswith(WANTS)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the reasons for skips, the most frequent first."""
    reasons = count_reasons(terminalreporter.stats.get("skipped", ()))
    if reasons:
        terminalreporter.section("skipped, and why")
    for reason, count in reasons.most_common():
        note = f" ({REQUIRED} is set: an error)" if is_required(reason) else ""
        terminalreporter.line(f"{count:5}  {reason}{note}")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: Any) -> None:
    """Fail if a component is missing that was required."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", ()) if reporter else ()
    if any(map(is_required, count_reasons(reports))):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
