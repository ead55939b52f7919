"""Conflicts of git in a text: how the sides differ, and keeping one side or both."""

from __future__ import annotations

import pytest

from sow.errors import MergeConflict
from sow.store.formats import merge_conflict, yaml_text

CONFLICT = "a: 1\n<<<<<<< HEAD\nb: 1\n||||||| base\nb: 0\n=======\nb: 2\nc: 3\n>>>>>>> 1234567890abcdef\nd: 4\n"


@pytest.mark.parametrize(
    ("side", "text"),
    [
        ("ours", "a: 1\nb: 1\nd: 4\n"),
        ("theirs", "a: 1\nb: 2\nc: 3\nd: 4\n"),
        ("both", "a: 1\nb: 1\nb: 2\nc: 3\nd: 4\n"),
    ],
)
def test_a_side_is_kept_without_the_base(side, text):
    """The lines of the other side, of the base and of the marks are dropped."""
    assert merge_conflict.keep(CONFLICT, side) == text


def test_a_line_of_equals_signs_is_no_conflict():
    """A line of equals signs alone is no conflict."""
    text = "Title\n=======\n"
    assert merge_conflict.keep(text, "ours") == text
    merge_conflict.refuse(text, ".sow/project/log.md")


def test_the_hint_shows_the_differences():
    """Each differing field is named with both values, and the command with the sides' names (B4)."""
    with pytest.raises(MergeConflict) as excinfo:
        merge_conflict.refuse(CONFLICT, ".sow/project/state.yaml", yaml_text.load)
    assert excinfo.value.message == ".sow/project/state.yaml:2: git left a merge conflict here"
    assert excinfo.value.hint.split("\n") == [
        "b: ours is 1, theirs is 2",
        "c: only theirs has it",
        "keep ours (HEAD): sow project resolve ours",
        "or keep theirs (1234567890ab): sow project resolve theirs",
    ]


def test_entries_of_a_list_are_compared_by_name():
    """A phase that one side added is one line, whatever its fields."""
    text = (
        "phases:\n  - name: a\n<<<<<<< HEAD\n  - name: b\n    reason: x\n=======\n  - name: c\n>>>>>>> x\nrevision: 2\n"
    )
    with pytest.raises(MergeConflict) as excinfo:
        merge_conflict.refuse(text, ".sow/project/state.yaml", yaml_text.load)
    assert excinfo.value.hint.split("\n")[:2] == ["phases.b: only ours has it", "phases.c: only theirs has it"]


def test_a_file_outside_the_project_is_edited_by_hand():
    """`sow project resolve` knows only the project's files, so other files get the steps of an edit."""
    with pytest.raises(MergeConflict) as excinfo:
        merge_conflict.refuse("<<<<<<< HEAD\ntrust: []\n=======\n>>>>>>> x\n", "/home/me/.config/sow/config.yaml")
    assert "delete the lines <<<<<<<, ======= and >>>>>>>" in excinfo.value.hint
