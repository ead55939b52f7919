"""The keywords of a task, their order, and the languages of its files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.domain.text.keywords import MOST, keywords, stem, words


def test_names_are_taken_apart() -> None:
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


def test_words_that_every_task_has_are_left_out() -> None:
    """Verbs of tasks, small words and numbers tell nothing."""
    assert keywords(["Add and implement the new file 42 of x: uses tokens"]) == ["tokens"]


def test_what_is_said_often_leads() -> None:
    """Words are ordered by how often they are reported, then by who comes first."""
    assert keywords(["cookies tokens", "tokens sessions"]) == ["tokens", "cookies", "sessions"]


@pytest.mark.parametrize(
    "forms", [("upload", "uploads", "uploading", "uploaded"), ("verify", "verifies", "verifier"), ("stop", "stopped")]
)
def test_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    """Endings are cut, and a doubled letter before one is single."""
    assert len({stem(form) for form in forms}) == 1


@given(st.text())
def test_any_text_has_few_clean_words(text: str) -> None:
    """Whatever the text is, its words are few, without spaces, and not two alike."""
    result = keywords([text])
    assert len(result) <= MOST
    assert len(set(result)) == len(result)
    assert all(word.strip() == word and word for word in result)
