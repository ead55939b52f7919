"""The keywords of a task, their order, and the languages of its files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.domain.text.keywords import MOST, keywords, stem, words


def test_names_are_split() -> None:
    """A name in code counts as a whole and by its parts."""
    assert words("parsePlan, snake_case & kebab-case") == [
        "parseplan",
        "parse",
        "plan",
        "snake",
        "case",
        "kebab",
        "case",
    ]
    assert words("HTTP JWTs") == ["http", "jwts"]


def test_common_words_are_left_out() -> None:
    """Verbs of tasks, small words and numbers are no keywords."""
    assert keywords(["Add and implement the new file 42 of x: uses tokens"]) == ["tokens"]


def test_frequent_words_come_first() -> None:
    """Words are sorted by frequency, then by first occurrence."""
    assert keywords(["cookies tokens", "tokens sessions"]) == ["tokens", "cookies", "sessions"]


@pytest.mark.parametrize(
    "forms", [("upload", "uploads", "uploading", "uploaded"), ("verify", "verifies", "verifier"), ("stop", "stopped")]
)
def test_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    """Endings are cut, and a doubled letter before them becomes one."""
    assert len({stem(form) for form in forms}) == 1


@given(st.text())
def test_any_text_has_few_clean_words(text: str) -> None:
    """Any text gives few words, without spaces and duplicates."""
    result = keywords([text])
    assert len(result) <= MOST
    assert len(set(result)) == len(result)
    assert all(word.strip() == word and word for word in result)
