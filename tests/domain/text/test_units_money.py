"""Amounts of money as text."""

from __future__ import annotations

import pytest

from sow.domain.text.units import dollars


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0, "$0.00"),
        (0.00001, "less than $0.0001"),
        (0.0042, "$0.0042"),
        (0.48, "$0.48"),
        (1200.5, "$1,200.50"),
    ],
)
def test_an_amount_as_text(amount: float, words: str) -> None:
    """Small amounts have four digits, larger ones two, and only zero is shown as zero."""
    assert dollars(amount) == words
