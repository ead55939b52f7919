"""Runs tests with real agent CLIs only on request: `make test-real`, with CLIS=claude,codex for some of them."""

from __future__ import annotations

import os

import pytest

from real import install


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out CLIs that were not requested; an unknown one is an error."""
    try:
        files = {f"test_{item}.py" for item in install.chosen(os.environ.get("SOW_TEST_CLIS", ""))}
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    asked = "real" in str(config.getoption("markexpr"))
    dropped = [item for item in items if item.get_closest_marker("real") and not (asked and item.path.name in files)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in set(dropped)]
