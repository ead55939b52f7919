"""Tests with real agent CLIs run when they are asked for: `make test-real`, with CLIS=claude,codex for some of them."""

from __future__ import annotations

import os

import pytest

from real.install import PINNED


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what nobody asked for; a CLI that does not exist is an error and not an empty run."""
    chosen = [each.strip() for each in os.environ.get("SOW_TEST_CLIS", "").split(",") if each.strip()] or list(PINNED)
    unknown = [each for each in chosen if each not in PINNED]
    if unknown:
        raise pytest.UsageError(f"CLIS: there is no {', '.join(unknown)}; the CLIs are {', '.join(PINNED)}")
    asked = "real" in str(config.getoption("markexpr"))
    files = {f"test_{each}.py" for each in chosen}
    dropped = [each for each in items if each.get_closest_marker("real") and not (asked and each.path.name in files)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [each for each in items if each not in set(dropped)]
