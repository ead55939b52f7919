"""The words of a task: what tells, in which order, and in which language its files are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sow.domain.text.keywords import MOST, keywords, languages, words


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
    """Words are ordered by how often they are said, then by who comes first."""
    assert keywords(["cookies tokens", "tokens sessions"]) == ["tokens", "cookies", "sessions"]


def test_languages_are_told_by_endings() -> None:
    """Files tell their languages, each once; a file without an ending tells nothing."""
    assert languages(["a/b.py", "c.PY", "web/x.tsx", "Makefile", "a.b/c"]) == ["python", "typescript"]


@given(st.text())
def test_any_text_has_few_clean_words(text: str) -> None:
    """Whatever the text is, its words are few, without spaces, and not two alike."""
    found = keywords([text])
    assert len(found) <= MOST
    assert len(set(found)) == len(found)
    assert all(word.strip() == word and word for word in found)
