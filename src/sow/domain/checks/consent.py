"""The commands that the user agreed to run in one repository."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sow.domain.plans.command_line import split_words

EVERYTHING = "*"
OWN, REMEMBERED, ALLOWED = "your config", "you agreed", "checks.allow"
REFUSED_SETUP = "refused_setup"  # in a run's record of what the user accepted
ASK_AGAIN = "to be asked again: sow consent forget --refused"
NO_SETUP = f"you refused the setup of checkouts, so what it installs is missing; {ASK_AGAIN}"


class Consent:
    """Commands by their exact text, the patterns of checks.allow, and the setup commands of the user's own config."""

    def __init__(self, remembered: Iterable[str] = (), *, allow: Sequence[str] = (), own: Iterable[str] = ()) -> None:
        self.remembered = frozenset(remembered)
        self.allow = tuple(allow)
        self.own = frozenset(own)

    def reason(self, command: str) -> str:
        """Returns the reason why a command may run, or an empty text if the user has not agreed to it."""
        if command in self.own:
            return OWN
        if command in self.remembered:
            return REMEMBERED
        return ALLOWED if any(matches(command, pattern) for pattern in self.allow) else ""

    def missing(self, commands: Iterable[str]) -> list[str]:
        """Returns the commands that the user has not agreed to, each once, in the given order."""
        return [command for command in dict.fromkeys(commands) if not self.reason(command)]

    def with_more(self, commands: Iterable[str]) -> Consent:
        """Returns a copy with more commands that the user agreed to."""
        return Consent(self.remembered.union(commands), allow=self.allow, own=self.own)


def matches(command: str, pattern: str) -> bool:
    """Returns whether a pattern of checks.allow covers a command.

    A pattern with wildcards covers no shell text: `pytest*` must not cover `pytest; rm -rf ~`. `*` alone covers all.
    """
    if pattern in (EVERYTHING, command):
        return True
    if split_words(command) is None:
        return False
    from fnmatch import fnmatchcase  # imported here, because a worker's start should not wait for it

    return fnmatchcase(command, pattern)
