"""Fixtures that several guarantees share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.call_server import Caller


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    """A warm process that calls sow many times."""
    with Caller() as started:
        yield started
