"""Sizes as text."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from sow.domain.text import units
from sow.errors import SowError


@pytest.mark.parametrize(("value", "tokens"), [("8k", 8000), ("1", 1), ("12000", 12000), ("9999999k", 9_999_999_000)])
def test_a_budget_is_a_number_of_tokens(value: str, tokens: int) -> None:
    """8k is eight thousand."""
    assert units.parse_tokens(value, "--budget") == tokens


@all_of("value", ["", "k", "0", "0k", "8K", "8kk", "-1", "1.5k", "٣", "12345678", " 8k"])
def test_an_invalid_budget_is_refused(value: str) -> None:
    """The error has the invalid text."""
    with pytest.raises(SowError, match="is not a number of tokens"):
        units.parse_tokens(value, "--budget")


@pytest.mark.parametrize(("bytes_", "shown"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_500_000, "2.5 MB")])
def test_bytes_as_text(bytes_: int, shown: str) -> None:
    """People see a few letters."""
    assert units.format_bytes(bytes_) == shown
