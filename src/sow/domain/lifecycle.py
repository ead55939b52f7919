"""Lifecycles as tables that map (from, to) to the name of the move. A move that is not in the table is illegal."""

from __future__ import annotations

from sow.errors import IllegalStatusChange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Lifecycle:
    """The legal moves of one kind of thing. The tables in the docs are generated from it."""

    __slots__ = ("moves", "noun", "start", "statuses")

    def __init__(self, noun: str, *, start: str, moves: Mapping[tuple[str, str], str]) -> None:
        self.noun = noun
        self.start = start
        self.moves = dict(moves)
        self.statuses = tuple(dict.fromkeys([start, *(status for pair in self.moves for status in pair)]))

    def targets(self, status: str) -> tuple[str, ...]:
        """Returns the statuses that can follow this one."""
        return tuple(to for source, to in self.moves if source == status)

    def move(self, subject: str, status: str, to: str) -> str:
        """Returns the name of the move from `status` to `to`, or raises IllegalStatusChange."""
        event = self.moves.get((status, to))
        if event is not None:
            return event
        if to not in self.statuses:
            raise IllegalStatusChange(
                f"{subject}: unknown status {to!r}", "a status is one of: " + ", ".join(self.statuses)
            )
        if status == to:
            raise IllegalStatusChange(f"{subject} is {status} already", "nothing to do")
        targets = self.targets(status)
        hint = f"from {status} it can go to: {', '.join(targets)}" if targets else f"no status follows {status}"
        raise IllegalStatusChange(f"{subject} cannot go from {status} to {to}", hint)
