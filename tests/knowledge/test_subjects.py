"""The subjects of a text, found by their names and by related words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sow.knowledge.subjects import Subjects, singular, table

SMALL = Subjects(
    "# A comment\n~ page data\n"
    "pagination, cursor | page by page, too many rows\nlock, race | at once\nbig, large, huge\n"
)


@pytest.mark.parametrize(
    ("text", "subject", "terms"),
    [
        ("The cursor is opaque", 0, {"cursor": True}),
        ("Return orders page by page", 0, {"page by page": False}),
        ("There are too very many rows", 0, {"too many row": False}),
        ("Locked, locking and locks", 1, {"lock": True}),
        ("a race of two at once", 1, {"race": True, "at once": False}),
    ],
)
def test_words_and_phrases_lead_to_a_subject(text: str, subject: int, terms: dict[str, bool]) -> None:
    """Each term may name the subject; one other word is allowed between two words of a phrase."""
    assert SMALL.find(text) == {subject: terms}


@pytest.mark.parametrize("text", ["A page of many rows", "page by, for example, page", "# A comment", "data", ""])
def test_a_part_of_a_phrase_is_no_subject(text: str) -> None:
    """All words of a phrase are needed near each other; comments and everyday words are no subjects."""
    assert SMALL.find(text) == {}


def test_lines_without_a_bar_count_less() -> None:
    """Lines of synonyms are a subject of lower weight."""
    assert SMALL.ordinary == {2}


def test_common_words_weigh_less() -> None:
    """A phrase weighs more than a rare word, and a rare word more than a common one."""
    assert SMALL.weight("page by page") > SMALL.weight("cursor") > SMALL.rarity("pages")
    twice = Subjects("key, lock\nkey, token\n")
    assert twice.weight("key") < twice.weight("lock")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Return them page by page", "Cursor pagination"),
        ("It must be safe to retry", "Idempotency"),
        ("People were logged out after lunch", "Session timeout"),
        ("A blind customer cannot use it", "Accessibility"),
        ("Nobody noticed that it failed", "Monitoring and alerts"),
    ],
)
def test_texts_in_other_words_share_a_subject(one: str, other: str) -> None:
    """The packaged table connects a task's words with those of documents."""
    assert table().find(one).keys() & table().find(other).keys()


@pytest.mark.parametrize(
    ("word", "one"), [("policies", "policy"), ("boxes", "box"), ("classes", "class"), ("bus", "bus"), ("keys", "key")]
)
def test_plurals_have_the_same_form(word: str, one: str) -> None:
    assert singular(word) == one


@given(st.text())
def test_any_text_has_known_subjects_only(text: str) -> None:
    """For any text, the result has only terms of the table."""
    for terms in table().find(text).values():
        for term in terms:
            assert term in table().by_word or any(
                term == " ".join(phrase) for phrase, _, _ in table().phrases[term.split()[0]]
            )
