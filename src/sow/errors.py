"""Defines the errors that users see: what happened, where, and what to do next."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


DONE, FAILED, WAITS, INTERRUPTED = 0, 1, 4, 130  # exit codes; bad input is 2


class SowError(Exception):
    """Bad input or a change that is not allowed; nothing was changed (exit 2)."""

    exit_code = 2

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class IllegalStatusChange(SowError):
    """A status change that is not allowed."""


class InvalidFile(SowError):
    """A file with invalid content; `place` is the path of the bad field, `messages` has one message per problem."""

    def __init__(self, message: str, hint: str, *, place: str = "", messages: Sequence[str] = ()) -> None:
        super().__init__(message, hint)
        self.field_path = place
        self.messages = list(messages) or [message]


class MergeConflict(InvalidFile):
    """A file with a conflict that git left; a person has to resolve it."""


class SystemFailure(SowError):
    """A failure of disk, permissions or git (exit 1)."""

    exit_code = FAILED


class Interrupted(SowError):
    """The user stopped it; the message says how far it came and how to continue (exit 130)."""

    exit_code = INTERRUPTED


class Waiting(SowError):
    """Something else must happen first: a person's answer, a lock, a limit (exit 4)."""

    exit_code = WAITS


class RunTakenOver(Waiting):
    """Another checkout runs the project now: this call ends, and settles nothing more."""


SHORT_WORD = 4


def suggestion(value: str, names: Iterable[str]) -> str:
    """Returns a hint for a mistyped name, or ""."""
    near = close_name(value, names)
    return f"did you mean {near}?" if near else ""


def close_name(value: str, names: Iterable[str]) -> str:
    """Returns the name that a mistyped one probably means, or "" if none is close."""
    from difflib import get_close_matches

    near = next(iter(get_close_matches(value, list(names), n=1)), "")
    # Of two words with four letters, one other letter makes another word: nope is not note. Letters can be swapped.
    is_another = len(value) == len(near) <= SHORT_WORD and sorted(value) != sorted(near)
    return "" if is_another else near
