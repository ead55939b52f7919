"""A lifecycle: one table, from which everything about it follows."""

from __future__ import annotations

import pytest

from sow.domain.task import Lifecycle
from sow.errors import IllegalStatusChange

DOOR = Lifecycle(
    "door",
    start="open",
    moves={("open", "shut"): "close", ("shut", "open"): "push", ("shut", "locked"): "turn", ("open", "gone"): "burn"},
)


def test_statuses_come_from_the_table():
    """The statuses are the start and all that the moves name, once each, in the order of the table."""
    assert DOOR.statuses == ("open", "shut", "locked", "gone")


def test_targets_of_a_status():
    """The targets of a status are those of its moves; a final status has none."""
    assert DOOR.targets("shut") == ("open", "locked")
    assert DOOR.targets("locked") == ()


def test_a_legal_move_has_the_name_of_the_table():
    """A legal move is called as the table calls it."""
    assert DOOR.move("the door", "shut", "locked") == "turn"


@pytest.mark.parametrize(
    ("source", "to", "message", "hint"),
    [
        ("shut", "gone", "the door cannot go from shut to gone", "from shut it can go to: open, locked"),
        ("locked", "open", "the door cannot go from locked to open", "no status follows locked"),
        ("shut", "shut", "the door is shut already", "nothing to do"),
        ("shut", "ajar", "the door: unknown status 'ajar'", "a status is one of: open, shut, locked, gone"),
    ],
)
def test_an_illegal_move_names_the_legal_ones(source, to, message, hint):
    """A refused move names the noun, both statuses and the legal targets."""
    with pytest.raises(IllegalStatusChange) as refused:
        DOOR.move("the door", source, to)
    assert (refused.value.message, refused.value.hint, refused.value.exit_code) == (message, hint, 2)


def test_the_table_cannot_be_changed_from_outside():
    """A lifecycle keeps its own copy of the moves."""
    moves = {("a", "b"): "go"}
    lifecycle = Lifecycle("thing", start="a", moves=moves)
    moves["b", "a"] = "return"
    with pytest.raises(IllegalStatusChange):
        lifecycle.move("thing", "b", "a")
