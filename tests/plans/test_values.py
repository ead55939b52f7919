"""The short values of a plan."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.quick_cases import all_of
from support.samples import PLAN_STATUSES

from sow.plans import values

DURATIONS = {
    "30m": 30, "1h 15m": 75, "1.5h": 90, "15 minutes": 15, "2h30m": 150, "2 days": 2880, "1 week": 10080,
    "90s": 1.5, "1 sec": 0.02, "2 hrs": 120, "1 hour, 10 mins": 70, "1 hour and 5 minutes": 65, "~45m": 45,
    "`20m`": 20, "30m (with tests)": 30, "15 min.": 15, "0m": 0, "1d 2h 3m": 1563, "3H": 180, ".5h": 30,
}  # fmt: skip
NO_DURATIONS = [
    "", "x", "45", "1h30", "m", "1 2m", "500ms", "1..5h", "30-45 minutes", "half an hour", "½h", "²h", "٣m", "-5m",
    "1e3m", "9" * 10 + "m", "9" * 2_000_000, "1h" * 1000, "∞", "1h\n1", "h1",
]  # fmt: skip
STATUS_TEXTS = {
    "pending": "pending", "PENDING": "pending", "todo": "pending", "to do": "pending", "not started": "pending",
    "in-progress": "in_progress", "in_progress": "in_progress", "In Progress": "in_progress",
    "🚧 in progress": "in_progress",
    "completed": "completed", "COMPLETE": "completed", "✅ COMPLETE": "completed", "done": "completed",
    "Completed (2026-01-31)": "completed", "completed 2026-01-31": "completed", "[x] done": "completed",
    "`failed`": "failed", "**skipped**": "skipped",
}  # fmt: skip
NO_STATUSES = ["", "✅", "not completed", "nearly done", "blocked", "uncompleted", "pending or done", "x" * 1_000_000]
IDS = ["1", "01", "2.5", "integration-1", "v1.2_final", "0x10", "1e3", "2026-01-31", "a", "1_000", "x" * 60]
NO_IDS = [
    "", " ", "1 2", "-1", ".5", "_a", "1-3", "²", "٣", "é", "a#1", "a:1", "a/b", "none", "None", "no", "N/A", "null",
    "x" * 61, "1\n2", "—", "1.", "a-", "_", "-", ".",
]  # fmt: skip
PATHS = {
    "a.py": ["a.py"],
    "a.py, b.py": ["a.py", "b.py"],
    "`a.py`, `b.py`": ["a.py", "b.py"],
    "`a.py` and `b.py`": ["a.py", "b.py"],
    "a.py and b.py": ["a.py", "b.py"],
    "a.py, b.py, and c.py": ["a.py", "b.py", "c.py"],
    "`a.py`, b.py": ["a.py", "b.py"],
    "`my file.md`": ["my file.md"],
    "`a, b.md`": ["a, b.md"],
    "a.py (new, small), b.py": ["a.py", "b.py"],
    "app/(shop)/page.tsx": ["app/(shop)/page.tsx"],
    "app/(shop)/page.tsx (new), b.tsx": ["app/(shop)/page.tsx", "b.tsx"],
    "`app/(shop)/page.tsx`": ["app/(shop)/page.tsx"],
    "Create: `a.py`": ["a.py"],
    "Modify: a.py": ["a.py"],
    "a.py - the entry": ["a.py"],
    "`a.py:10-20`": ["a.py"],
    "a.py:7": ["a.py"],
    "**a.py**": ["a.py"],
    "Makefile": ["Makefile"],
    "None": [],
    "n/a": [],
    "—": [],
    ", ,": [],
    "``": [],
}


@all_of("text", DURATIONS)
def test_a_duration_is_read_in_minutes(text: str):
    """Hours, minutes, days and weeks, in short and in words, are minutes."""
    assert values.minutes(text) == DURATIONS[text]


@all_of("text", NO_DURATIONS)
def test_other_texts_are_no_duration(text: str):
    """Any other text is no duration, with any length and any digits."""
    assert values.minutes(text) is None


@given(
    st.integers(0, 99),
    st.integers(0, 9999),
    st.sampled_from(["{}h{}m", "{}h {}m", "{} hours, {} minutes", "{}hr {}min"]),
)
def test_hours_and_minutes_add_up(hours: int, minutes: int, form: str):
    """A duration in any form is its hours and its minutes."""
    assert values.minutes(form.format(hours, minutes)) == hours * 60 + minutes


@all_of("text", STATUS_TEXTS)
def test_a_status_word_is_understood(text: str):
    """Words, capitals, pictures and dates around a status do not hide it."""
    assert values.status(text) == STATUS_TEXTS[text]


@all_of("text", NO_STATUSES)
def test_an_unknown_status_is_none(text: str):
    """A status in other words is not guessed."""
    assert values.status(text) is None


def test_every_status_has_a_word():
    """All statuses of a plan can be written, and no word means two of them."""
    assert set(values.STATUS_WORDS.values()) == set(PLAN_STATUSES)


@all_of("text", IDS)
def test_an_id_is_one_plain_word(text: str):
    """Letters, digits, dots, dashes and underscores make an id."""
    assert values.is_id(text)


@all_of("text", NO_IDS)
def test_an_invalid_id(text: str):
    """Ranges, words for nothing and other characters are no id."""
    assert not values.is_id(text)


PLAIN = {"01": "1", "1": "1", "000": "0", "0" * 50 + "7": "7", "1.10": "1.10", "a01": "a01", " 1 ": "1"}


@pytest.mark.parametrize("text", PLAIN)
def test_numbers_are_compared_without_zeros(text: str):
    """01 is 1, and other texts stay as they are."""
    assert values.normalized_id(text) == PLAIN[text]


@all_of("text", PATHS)
def test_paths_are_found_in_a_text(text: str):
    """Backticks, commas, remarks, verbs and line numbers around a path do not hide it."""
    assert values.paths(text) == (PATHS[text], [])


@pytest.mark.parametrize("text", ["a.py, and some more", "the whole tree", "two words, a.py"])
def test_other_words_are_returned(text: str):
    """Several words outside backticks are no path, and are not lost."""
    result, strange = values.paths(text)
    assert strange and all(" " in text for text in strange)
    assert set(result) <= {"a.py"}


@given(st.text())
def test_any_text_is_read(text: str):
    """Each reader accepts any text."""
    values.minutes(text)
    values.status(text)
    values.paths(text)
    values.is_id(values.normalized_id(text))
    assert len(values.without_remarks(text)) <= len(text)
