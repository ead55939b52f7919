"""Consent to commands: exact texts, patterns, and the user's own setup."""

from __future__ import annotations

import pytest
from support.quick_cases import all_of

from sow.domain.checks.task_checks import Consent, matches

COVERED = (
    ("pytest*", "pytest -q"),
    ("pytest*", "pytest"),
    ("npm test*", "npm test -- --ci"),
    ("python3 -m unittest", "python3 -m unittest"),
    ("cat a | grep b", "cat a | grep b"),
    ("*", "true; false"),
    ("*", "anything at all"),
)
NOT_COVERED = (
    ("pytest", "pytest -q"),
    ("pytest*", "python -m pytest"),
    ("pytest*", "PYTEST"),
    ("pytest*", "pytest; rm -rf x"),
    ("pytest*", "pytest && true"),
    ("pytest*", "pytest $(touch x)"),
    ("pytest*", "pytest `touch x`"),
    ("pytest*", "pytest > x"),
    ("pytest*", "pytest\ntouch x"),
    ("pytest*", "pytest | sh"),
    ("pytest*", "pytest 'unclosed"),
    ("**", "true; false"),
    ("", "true"),
)


@pytest.mark.parametrize(("pattern", "command"), COVERED)
def test_a_pattern_covers(pattern: str, command: str) -> None:
    """A pattern covers commands without shell syntax, and its own text; `*` covers everything."""
    assert matches(command, pattern)


@all_of(("pattern", "command"), NOT_COVERED)
def test_a_pattern_does_not_cover(pattern: str, command: str) -> None:
    """Wildcards never match a text with shell syntax."""
    assert not matches(command, pattern)


def test_the_origin_of_consent_is_named() -> None:
    """Each command is covered by its exact text, by a pattern, or by the user's config, or not at all."""
    agreed = Consent(["make test"], allow=["pytest*"], own=["npm ci"])
    texts = [agreed.reason(text) for text in ("make test", "pytest -q", "npm ci", "make  test", "rm x")]
    assert texts == ["you agreed", "checks.allow", "your config", "", ""]
    assert agreed.missing(["rm x", "make test", "rm y", "rm x"]) == ["rm x", "rm y"]
    assert agreed.with_more(["rm x"]).missing(["rm x", "pytest", "npm ci", "rm y"]) == ["rm y"]
