"""Tests with real agent CLIs run when they are asked for: `make test-real`, with CLIS=claude,codex for some of them."""

from __future__ import annotations

import os

import pytest

from real import install


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what nobody asked for; a CLI that does not exist is an error and not an empty run."""
    try:
        files = {f"test_{each}.py" for each in install.chosen(os.environ.get("SOW_TEST_CLIS", ""))}
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    asked = "real" in str(config.getoption("markexpr"))
    dropped = [each for each in items if each.get_closest_marker("real") and not (asked and each.path.name in files)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [each for each in items if each not in set(dropped)]
