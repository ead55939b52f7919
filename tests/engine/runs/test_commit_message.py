"""The message of a task's commit: subject, description, and the task's id."""

from __future__ import annotations

import pytest
from support.samples import task

from sow.engine.runs.task_job import LONGEST, commit_subject, delivered_message


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Add a login form", "Add a login form"),
        ("  Add \n a form ", "Add a form"),
        ("x" * 72, "x" * 72),
        ("x" * 73, "x" * 71 + "…"),
        ("word " * 20, ("word " * 14).strip() + "…"),
    ],
)
def test_a_subject_is_one_short_line(name: str, wanted: str) -> None:
    """A long name is cut at a word, and only a single long word in the middle."""
    assert commit_subject(name) == wanted
    assert len(commit_subject(name)) <= LONGEST


def test_a_message_describes_the_task() -> None:
    """The body is the first paragraph of the description, in short lines, without headings and lists."""
    text = f"# Title\n\n- a list\n\n{'many words ' * 20}\n\nAnother paragraph."
    lines = delivered_message(task(name="Add it", iteration=2), text).split("\n")
    assert lines[0] == "Add it"
    assert lines[1] == ""
    assert lines[2].startswith("many words many")
    assert lines[-1] == "Task 010, iteration 2"
    assert all(len(line) <= LONGEST for line in lines)
    assert "Another" not in "".join(lines)
    assert delivered_message(task(name="Add it"), "") == "Add it\n\nTask 010, iteration 1"
