"""The errors that a person sees: what, where, and what to do next."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class SowError(Exception):
    """Bad input or a refused move: nothing was changed (exit 2)."""

    exit_code = 2

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class IllegalMove(SowError):
    """A status change that the table does not have."""


class InvalidFile(SowError):
    """A file that cannot be read as what it should be; `place` is the path of the bad field."""

    def __init__(self, message: str, hint: str, *, place: str = "") -> None:
        super().__init__(message, hint)
        self.place = place


class MergeConflict(InvalidFile):
    """A file in which git left a conflict: a person is at work there."""


class Failed(SowError):
    """The machine said no: disk, permission, git (exit 1)."""

    exit_code = 1


class Interrupted(SowError):
    """A person stopped it: what it was about is in a state that is said, and can go on (exit 130)."""

    exit_code = 130


class Waiting(SowError):
    """Something else must happen first: a person's answer, a lock, a limit (exit 4)."""

    exit_code = 4


def nearest(value: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(value, list(known), n=1)
    return f"did you mean {near[0]}?" if near else ""
