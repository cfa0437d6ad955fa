"""Laws that do not hold yet."""

import pytest

from contract.pending import PENDING


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the failure of what is pending; what holds by now must leave the list."""
    for item in items:
        pending = PENDING.get(getattr(item, "originalname", ""), ())
        case = item.callspec.id if hasattr(item, "callspec") else ""
        if case in pending:
            item.add_marker(pytest.mark.xfail(strict=True, reason="pending"))
