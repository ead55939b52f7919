"""Notes of different workers about one file or topic are grouped."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from sow.domain.reviews.similar_notes import groups


def a_note(text, number=1, **options):
    made = {"note_id": f"note_{number:03d}", "timestamp": 1, "description": text, "context": "c", "status": "open"}
    return {**made, **options}


UNIQUE = a_note("Assuming email addresses are unique for each user")
REPEAT = a_note("Assuming an email may be used by several tenants", status="resolved", resolution="So says the summary")
HASH = a_note("Passwords are hashed with argon2")


def shown(found):
    return [(item.about, item.owners, [note["note_id"] for _, note in item.notes]) for item in found]


def test_notes_about_one_file_are_grouped():
    """Two workers that touch one file see all of each other's notes, once for all shared files."""
    result = groups([
        ("010", ["src/a.py", "./src/b.py"], [UNIQUE]), ("020", ["src/b.py", "src//a.py"], [HASH]),
        ("030", ["src/c.py"], [a_note("Colours are blue")]),
    ])  # fmt: skip
    assert shown(result) == [("file", ["010", "020"], ["note_001", "note_001"])]
    assert result[0].names == ["src/a.py", "src/b.py"]


def test_notes_on_one_topic_are_grouped():
    """Two workers without a common file that write about one topic are grouped; a third topic is not."""
    (result,) = groups([("database_agent", [], [UNIQUE]), ("api_agent", [], [REPEAT]), ("ui_agent", [], [HASH])])
    assert (result.about, result.owners, result.names) == ("topic", ["database_agent", "api_agent"], ["email"])
    assert (
        "- api_agent note_001 (resolved): Assuming an email may be used by several tenants → So says" in result.text()
    )


def test_one_worker_makes_no_group():
    """Notes of one owner do not contradict each other, and a shared file without notes gives no group."""
    assert groups([("010", ["a.py"], [UNIQUE, a_note(UNIQUE["description"], 2)]), ("020", ["a.py"], [])]) == []


def test_common_words_are_no_topic():
    """Words of every note, such as assuming and should, group nothing."""
    assert (
        groups([("010", [], [a_note("I assume this should work")]), ("020", [], [a_note("Assuming it should change")])])
        == []
    )


def test_groups_of_one_owner_can_be_chosen():
    """A verifier of one worker gets the groups with that worker."""
    rows = [("010", ["a.py"], [UNIQUE]), ("020", ["a.py"], [HASH]), ("030", ["b.py"], [a_note("Blue buttons")]),
             ("040", ["b.py"], [a_note("Green fields")])]  # fmt: skip
    assert [group.owners for group in groups(rows, "030")] == [["030", "040"]]
    assert len(groups(rows)) == 2


def test_a_topic_within_one_file_is_not_repeated():
    """Notes that a file already groups are no group of a topic."""
    assert [group.about for group in groups([("010", ["a.py"], [UNIQUE]), ("020", ["a.py"], [REPEAT])])] == ["file"]


def test_many_notes_are_grouped_quickly():
    """Fifty workers with 200 notes each take less than 2 seconds of work."""
    numbers = [f"topic{number} thing{number % 97} part{number % 89}" for number in range(10_000)]
    rows = [
        (f"{at}", [], [a_note(numbers[at * 200 + number], number + 1) for number in range(200)]) for at in range(50)
    ]
    start = time.process_time()
    groups(rows)
    assert time.process_time() - start < 2


NOTES = st.lists(
    st.sampled_from(["email unique", "email repeated often", "password hash", "", "²", "blue"]), max_size=3
)
DESKS = st.lists(st.tuples(st.sampled_from("abc"), st.lists(st.sampled_from(["x", "y"]), max_size=2), NOTES),
                 max_size=3, unique_by=lambda each: each[0])  # fmt: skip


@given(DESKS)
def test_every_group_has_several_owners(given_desks):
    """Each group has two owners or more, and a note is listed only under its owner."""
    rows = [
        (owner, files, [a_note(text, at) for at, text in enumerate(notes, 1)]) for owner, files, notes in given_desks
    ]
    notes_of = {owner: notes for owner, _, notes in rows}
    for group in groups(rows):
        assert len(group.owners) > 1 and group.names
        assert all(any(note is item for item in notes_of[owner]) for owner, note in group.notes)
        assert group.text().count("\n") == len(group.notes)
